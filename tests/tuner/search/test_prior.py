"""A search that knows the first run's event log, on a job that does what the model says, but for one thing."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from tests.tuner.search.simulated import LIMITS, MEMORY, space
from tuner.model.advice import Basis
from tuner.model.runtime import Contention, RunProfile, StageProfile, WhatIf, predict
from tuner.search.engine import Ask, SearchEngine
from tuner.search.objective import Observation, TrialState, best_of, summarise
from tuner.search.prior import TimePrior
from tuner.services.advise import advice_from_tuning

SPACE = space(
    "spark.executor.instances", "spark.executor.cores", "spark.executor.memory", "spark.executor.memoryOverhead"
)
DEFAULT = SPACE.render(SPACE.point_of({}))
PROFILE = RunProfile(
    stages=(
        StageProfile(np.full(48, 4.0), (), 8.0, False, 0.0, 0.0),
        StageProfile(np.full(12, 6.0), (0,), 1.0, False, 0.0, 0.0),
    ),
    tail_s=1.0,
    executors=2,
    cores=1,
    task_cpus=1,
    heap_mib=1024.0,
    memory_fraction=0.6,
    peak_unified_mib=150.0,
    partitions=None,
    cold_s=2.0,
    observed_s=140.0,
)


class Job:
    """Takes what the model says of it, with tasks in each other's way above six, which the log does not show."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)

    def time_s(self, configuration: Mapping[str, str]) -> float:
        what = WhatIf(
            int(configuration["spark.executor.instances"]),
            int(configuration["spark.executor.cores"]),
            float(configuration["spark.executor.memory"].removesuffix("m")),
        )
        return 3.0 + predict(PROFILE, what, Contention(6.0)).run_s

    def cost(self, configuration: Mapping[str, str]) -> float:
        held_mib = MEMORY.reserved_mib(configuration)
        assert held_mib is not None
        return held_mib / 1024 * self.time_s(configuration)

    def run(self, configuration: Mapping[str, str]) -> Observation:
        factor = float(np.exp(self._rng.normal(0.0, 0.02)))
        time_s = self.time_s(configuration) * factor
        return Observation(dict(configuration), TrialState.SUCCEEDED, time_s, 1.0, self.cost(configuration) * factor)


def best_cost(job: Job) -> float:
    """By looking at all that can be granted."""
    found = []
    for executors, cores, container in itertools.product(range(1, 16), range(1, 9), range(1024, 8193, 1024)):
        conf = MEMORY.filled(
            {
                "spark.executor.instances": str(executors),
                "spark.executor.cores": str(cores),
                "spark.executor.memory": f"{container - 384}m",
                "spark.executor.memoryOverhead": "384m",
            }
        )
        if MEMORY.reserved_mib(conf) is not None:
            found.append((job.time_s(conf), job.cost(conf)))
    limit = 1.05 * min(time for time, _ in found)
    return min(cost for time, cost in found if time <= limit)


def searched(folder: Path, seed: int, trials: int, *, informed: bool) -> list[Observation]:
    job = Job(seed)
    engine = SearchEngine(SPACE, MEMORY, 0.05, seed)
    engine.open(f"sqlite:///{folder / f'{seed}{informed}.db'}", "study", contextlib.nullcontext())
    try:
        engine.record(job.run(DEFAULT))
        if informed:
            engine.believe(TimePrior(PROFILE, MEMORY, wait_s=3.0))
        while len(engine.observations()) < trials:
            ask = engine.ask()
            assert isinstance(ask, Ask)
            engine.tell(ask.number, job.run(ask.configuration))
        return engine.observations()
    finally:
        engine.close()


def reached(observations: list[Observation], job: Job) -> float:
    best = best_of(summarise(observations), 0.05)
    assert best is not None
    return job.cost(best.configuration) / best_cost(job)


def test_the_second_run_is_the_what_if_models(tmp_path: Path) -> None:
    second = searched(tmp_path, 1, 2, informed=True)[1]
    prior = TimePrior(PROFILE, MEMORY, wait_s=3.0)
    assert prior.time_s(second.configuration) < 0.6 * prior.time_s(DEFAULT)
    assert MEMORY.reserved_mib(second.configuration) is not None


def test_a_few_runs_show_where_tasks_are_in_each_others_way() -> None:
    job = Job(1)
    prior = TimePrior(PROFILE, MEMORY, wait_s=3.0)
    slots = [("2", "1"), ("4", "1"), ("2", "4"), ("4", "3")]
    runs = [job.run({**DEFAULT, "spark.executor.instances": n, "spark.executor.cores": cores}) for n, cores in slots]
    assert prior.fitted(runs[:2]).contention == Contention(), "too few to say"
    assert prior.fitted(runs).contention.tasks == pytest.approx(6.0)


def test_what_the_log_says_makes_up_for_runs(tmp_path: Path) -> None:
    """The same number of runs, with and without it, over several seeds."""
    seeds = range(1, 4)
    informed, blind = (
        [reached(searched(tmp_path, seed, 5, informed=known), Job(0)) for seed in seeds] for known in (True, False)
    )
    assert np.median(informed) < np.median(blind)
    assert np.median(informed) < 1.25


def test_nothing_is_expected_of_what_the_cluster_cannot_grant() -> None:
    assert LIMITS.total_vcores == 16
    prior = TimePrior(PROFILE, MEMORY)
    twice = prior.time_s({**DEFAULT, "spark.executor.instances": "4"})
    assert twice < prior.time_s(DEFAULT)


def test_a_run_that_gets_fewer_executors_than_it_asks_for_takes_longer() -> None:
    prior = TimePrior(PROFILE, MEMORY)
    asked = {**DEFAULT, "spark.executor.instances": "8"}
    times = [prior.run_with(asked, n) for n in (8, 4, 2, 1)]
    assert times == sorted(times)
    assert times[0] == prior.time_s(asked)
    assert times[3] > 2 * times[0]


def test_the_advice_knows_the_times_with_fewer_executors(tmp_path: Path) -> None:
    runs = searched(tmp_path, 2, 4, informed=True)
    prior = TimePrior(PROFILE, MEMORY, wait_s=3.0)
    best = best_of(summarise(runs), 0.05)
    advice = advice_from_tuning(
        "k", runs, best, MEMORY, lambda conf: conf, default=DEFAULT, slack=0.05, basis=Basis(), prior=prior, now=0.0
    )
    assert advice is not None
    for candidate in advice.candidates:
        fewer = sorted(candidate.run_s)
        assert fewer[0] == 1
        assert [candidate.run_s[n] for n in fewer] == sorted((candidate.run_s[n] for n in fewer), reverse=True)
