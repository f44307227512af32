from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import optuna
import pytest

from tests.tuner.search.simulated import LIMITS, MEMORY, SimulatedJob, space
from tuner.search.engine import LEAST_TRIALS, Ask, SearchEngine, Stop
from tuner.search.objective import Observation, TrialState, best_of, summarise
from tuner.search.space import Dimension, SearchSpace
from tuner.search.start import start_proposals
from tuner.spark.params import ParamSpec

SPACE = space()
DEFAULT = SPACE.render(SPACE.point_of({}))


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'store.db'}"


@contextlib.contextmanager
def opened(url: str, *, seed: int = 1, start: bool = True) -> Iterator[SearchEngine]:
    proposals = start_proposals(SPACE, MEMORY.limits, DEFAULT) if start else []
    engine = SearchEngine(SPACE, MEMORY, 0.05, seed, proposals)
    engine.open(url, "study", contextlib.nullcontext())
    try:
        yield engine
    finally:
        engine.close()


def search(engine: SearchEngine, job: SimulatedJob, trials: int) -> None:
    if not engine.observations():
        engine.record(job.run(DEFAULT))
    while len(engine.observations()) < trials:
        ask = engine.ask()
        assert isinstance(ask, Ask)
        engine.tell(ask.number, job.run(ask.configuration))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_ten_runs_find_a_configuration_near_the_best(url: str, seed: int) -> None:
    """The best that there is: one executor, 4 cores, 1216 MiB of heap for 300 MiB a task: 2 containers, 3 GiB."""
    job = SimulatedJob(noise=0.02, seed=seed)
    with opened(url, seed=seed, start=False) as engine:
        search(engine, job, 10)
        best = best_of(summarise(engine.observations()), 0.05)
    assert best is not None
    assert job.cost(best.configuration) < 0.5 * job.cost(DEFAULT)
    assert job.time_s(best.configuration) < 1.05 * job.time_s(DEFAULT)


def test_the_same_seed_asks_the_same(tmp_path: Path) -> None:
    asked = []
    for run in ("a", "b"):
        with opened(f"sqlite:///{tmp_path / run}.db", seed=7, start=False) as engine:
            search(engine, SimulatedJob(noise=0.0, seed=0), 5)
            asked.append([o.configuration for o in engine.observations()])
    assert asked[0] == asked[1]


def test_start_proposals_come_first_and_in_order(url: str) -> None:
    job = SimulatedJob(noise=0.0, seed=0)
    with opened(url) as engine:
        engine.record(job.run(DEFAULT))
        reasons = []
        for _ in range(4):
            ask = engine.ask()
            assert isinstance(ask, Ask)
            reasons.append(ask.reason)
            engine.tell(ask.number, job.run(ask.configuration))
    assert reasons[:3] == [
        "same executors in containers of half the size",
        "one executor on each node, with all of its cores",
        "a single executor with all cores of a node",
    ]
    assert reasons[3].startswith("model expects")


def test_a_failed_configuration_is_not_tried_again_and_never_wins(url: str) -> None:
    job = SimulatedJob(noise=0.0, seed=0, failing_heap_mib=700)
    with opened(url, start=False) as engine:
        search(engine, job, 10)
        observations = engine.observations()
    tried = [o.key for o in observations]
    assert len(set(tried)) == len(tried)
    failed = [o for o in observations if o.state is TrialState.FAILED]
    assert failed, "the smallest heaps look best until they fail"
    best = best_of(summarise(observations), 0.05)
    assert best is not None
    assert int(best.configuration["spark.executor.memory"].removesuffix("m")) >= 700


@pytest.mark.parametrize("seed", range(4))
def test_no_configuration_is_run_twice(url: str, seed: int) -> None:
    job = SimulatedJob(noise=0.05, seed=seed)
    with opened(url, seed=seed) as engine:
        search(engine, job, 12)
        keys = [o.key for o in engine.observations()]
    assert len(set(keys)) == len(keys)


def test_an_interrupted_search_goes_on_where_it_was(url: str) -> None:
    job = SimulatedJob(noise=0.0, seed=0)
    with opened(url) as engine:
        search(engine, job, 3)
        before = engine.observations()
        lost = engine.ask()
        assert isinstance(lost, Ask)
    # The process dies here, with a trial that never got its answer.
    with opened(url) as engine:
        assert engine.observations() == before
        again = engine.ask()
        assert isinstance(again, Ask)
        assert again.number == lost.number + 1
        assert again.configuration == lost.configuration, "nothing was learnt about it, so it is still worth a run"
        engine.tell(again.number, job.run(again.configuration))
        search(engine, job, 5)
        assert len(engine.observations()) == 5


def test_the_search_ends_when_nothing_is_to_be_gained_any_more(url: str) -> None:
    """A job that runs once more is worth few trials, one that runs for years is worth many."""
    job = SimulatedJob(noise=0.0, seed=0)
    with opened(url) as engine:
        search(engine, job, LEAST_TRIALS)
        engine.runs_ahead = 0.001
        stop = engine.ask()
        assert isinstance(stop, Stop)
        assert "0.001 runs do not pay back" in stop.reason
        trials = len(engine.observations())
        engine.runs_ahead = 1e9
        assert isinstance(engine.ask(), Ask)
        assert len(engine.observations()) == trials == LEAST_TRIALS


def test_an_abandoned_trial_is_no_observation(url: str) -> None:
    with opened(url) as engine:
        engine.record(SimulatedJob(noise=0.0, seed=0).run(DEFAULT))
        ask = engine.ask()
        assert isinstance(ask, Ask)
        engine.abandon(ask.number)
        assert len(engine.observations()) == 1


def test_what_is_run_fills_its_containers(url: str) -> None:
    job = SimulatedJob(noise=0.0, seed=0)
    with opened(url) as engine:
        search(engine, job, 6)
        for observation in engine.observations()[1:]:
            heap, overhead = (
                int(observation.configuration[name].removesuffix("m"))
                for name in ("spark.executor.memory", "spark.executor.memoryOverhead")
            )
            assert (heap + overhead) % MEMORY.limits.increment_mib == 0


# --------------------------------------------------------- what Optuna by itself does otherwise


def trial_states(url: str) -> list[str]:
    study = optuna.load_study(study_name="study", storage=url)
    return [trial.state.name for trial in study.get_trials(deepcopy=False)]


CHOICES = (("64", "128"), ("64", "128", "256"))


def test_a_study_whose_choices_have_changed_needs_another_name(url: str) -> None:
    """G3-13: [64, 128] and then [64, 128, 256] in a study of one name is refused, so the name has the space's hash."""
    spec = ParamSpec("spark.x", "choice", "sql", "64", "a choice", "none", choices=("64", "128"))
    spaces = [SearchSpace((Dimension.on(replace(spec, choices=choices), LIMITS, "64"),)) for choices in CHOICES]
    study = optuna.create_study(storage=url, study_name="one name")
    study.tell(study.ask(spaces[0].distributions()), 1.0)
    with pytest.raises(ValueError, match="does not support dynamic value space"):
        study.ask(spaces[1].distributions())
    assert spaces[0].hash != spaces[1].hash
    for searched in spaces:
        engine = SearchEngine(searched, MEMORY, 0.05, 1)
        engine.open(url, f"yarntune-1-{searched.hash}", contextlib.nullcontext())
        try:
            engine.record(Observation({"spark.x": searched.dimensions[0].choices[-1]}, TrialState.SUCCEEDED, 9, 1, 9))
            assert isinstance(engine.ask(), Ask)
        finally:
            engine.close()


def test_what_fails_is_told_as_a_bad_value_and_never_tried_again(url: str) -> None:
    """G3-15: five choices of 0, 1 and 9 that fail where their sum is 9 or more, as 211 of 243 do."""
    spec = ParamSpec("spark.x", "choice", "sql", "0", "a choice", "none", choices=("0", "1", "9"))
    dimensions = tuple(Dimension.on(replace(spec, name=f"spark.x{i}"), LIMITS, "0") for i in range(5))
    engine = SearchEngine(SearchSpace(dimensions), MEMORY, 0.05, 1)
    engine.open(url, "study", contextlib.nullcontext())
    try:
        engine.record(Observation({f"spark.x{i}": "0" for i in range(5)}, TrialState.SUCCEEDED, 60.0, 1.0, 100.0))
        for _ in range(30):
            ask = engine.ask()
            assert isinstance(ask, Ask)
            total = sum(int(value) for value in ask.configuration.values())
            state = TrialState.FAILED if total >= 9 else TrialState.SUCCEEDED
            engine.tell(ask.number, Observation(dict(ask.configuration), state, 60.0 - total, 1.0, 100.0 - total))
        observations = engine.observations()
    finally:
        engine.close()
    assert len({o.key for o in observations}) == len(observations) == 31
    failed = sum(o.state is TrialState.FAILED for o in observations)
    assert failed
    assert set(trial_states(url)) == {"COMPLETE"}, "a trial that FAILED has no value, and Optuna would learn nothing"
    values = [trial.value for trial in optuna.load_study(study_name="study", storage=url).trials]
    assert sum(value is not None and value > math.log(3.9 * 100.0) for value in values) == failed


def test_a_late_answer_of_a_process_that_was_taken_for_dead_is_not_lost(url: str) -> None:
    """G3-17: an ask without an answer stays RUNNING for ever; one that was swept refuses the answer."""
    job = SimulatedJob(noise=0.0, seed=0)
    with opened(url) as slow:
        slow.record(job.run(DEFAULT))
        late = slow.ask()
        assert isinstance(late, Ask)
        assert trial_states(url) == ["COMPLETE", "RUNNING"]
        with opened(url) as other:
            assert trial_states(url) == ["COMPLETE", "FAIL"]
            assert len(other.observations()) == 1
            slow.tell(late.number, job.run(late.configuration))
            assert [o.configuration for o in other.observations()] == [DEFAULT, late.configuration]
            slow.abandon(late.number)
            following = other.ask()
            assert isinstance(following, Ask)
            assert following.configuration != late.configuration
    assert trial_states(url)[:3] == ["COMPLETE", "FAIL", "COMPLETE"]


class Alike:
    """A cluster of which nothing is known: every configuration reserves the same."""

    def reserved_mib(self, configuration: Mapping[str, str]) -> float:
        return 1024.0

    def filled(self, configuration: Mapping[str, str]) -> dict[str, str]:
        return dict(configuration)


def test_where_memory_is_not_known_time_alone_is_lowered(url: str) -> None:
    """The fastest is one executor of 4 cores, 21.5 s; the default takes 33 s."""
    job = SimulatedJob(noise=0.0, seed=0)
    names = ("spark.executor.instances", "spark.executor.cores", "spark.executor.memory")
    engine = SearchEngine(space(*names), Alike(), 0.05, 1)
    engine.open(url, "study", contextlib.nullcontext())
    try:
        default = engine.space.render(engine.space.point_of({}))
        engine.record(Observation(default, TrialState.SUCCEEDED, job.time_s(default), 0.0, job.time_s(default)))
        while len(engine.observations()) < 12:
            ask = engine.ask()
            assert isinstance(ask, Ask)
            time_s = job.time_s(ask.configuration)
            engine.tell(ask.number, Observation(ask.configuration, TrialState.SUCCEEDED, time_s, 0.0, time_s))
        best = best_of(summarise(engine.observations()), 0.05)
    finally:
        engine.close()
    assert best is not None
    assert job.time_s(best.configuration) < 1.05 * 21.5
