"""The product's own search on a problem, cold, or warmed up by other programs."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.search_problem import SLACK, WITHIN, Problem
from benchmarks.search_tables import OWN, Table
from tuner.model.runtime import RunProfile
from tuner.search.engine import SearchEngine, Stop
from tuner.search.objective import Observation, best_of, summarise
from tuner.search.prior import TimePrior
from tuner.search.proposal import Proposal
from tuner.search.start import start_proposals
from tuner.search.transfer import Neighbour, PastJob, neighbours, warm_proposals
from tuner.services.evidence import event_log_evidence, run_profile

__all__ = ["LOGS", "past_job", "search"]

LOGS = OWN.parent / "event-logs"
"""Where the event logs of the default runs are."""
_MOST = 3


def past_job(table: Table, observations: Sequence[Observation]) -> PastJob | None:
    """What the product's store has of a tuned job: the first run's figures, and the best that its search found."""
    best = best_of(summarise(observations), SLACK)
    return None if best is None else PastJob(table.name, _metrics(table), best.configuration)


def search(problem: Problem, seed: int, trials: int, past: Sequence[PastJob] = ()) -> list[Observation]:
    """The runs in their order, the default's first; ends with the first that is good enough.

    Args:
        problem: answers for the cluster.
        seed: of the search.
        trials: the most of them.
        past: jobs that were tuned before, nearest first; none for a cold search.
    """
    table = problem.table
    start = () if table.limits is None else start_proposals(table.space, table.limits, table.default)
    engine = SearchEngine(table.space, problem.memory, SLACK, seed, start)
    with tempfile.TemporaryDirectory() as folder:
        engine.open(f"sqlite:///{Path(folder) / 'study.db'}", "search", contextlib.nullcontext())
        try:
            observations = [problem.observe(table.default)]
            engine.record(observations[0])
            _learn_from_first_run(engine, table)
            engine.warm_up(_warm(problem, past))
            while len(observations) < trials and not good_enough(problem, observations[-1]):
                ask = engine.ask()
                if isinstance(ask, Stop):
                    break
                observations.append(problem.observe(ask.configuration))
                engine.tell(ask.number, observations[-1])
        finally:
            engine.close()
    return observations


def good_enough(problem: Problem, observation: Observation) -> bool:
    """Whether a search that has found it is there."""
    return problem.ratio(observation) <= 1.0 + WITHIN


def _learn_from_first_run(engine: SearchEngine, table: Table) -> None:
    if table.application_id is None or table.memory is None:
        return
    profile = _profile(table.application_id)
    if profile is not None:
        wait_s = max(0.0, engine.observations()[0].duration_s - profile.observed_s)
        engine.believe(TimePrior(profile, table.memory, wait_s))


def _metrics(table: Table) -> dict[str, Any]:
    return {} if table.application_id is None else _evidence(table.application_id)


@cache
def _evidence(application_id: str) -> dict[str, Any]:
    return event_log_evidence(LOGS, application_id)


@cache
def _profile(application_id: str) -> RunProfile | None:
    return run_profile(LOGS, application_id)


def _warm(problem: Problem, past: Sequence[PastJob]) -> list[Proposal]:
    table = problem.table
    if table.memory is None:
        # These tables have too few figures of a run for the product's own way to find neighbours.
        found = [Neighbour(job, 0.0, ("program",)) for job in past[:_MOST]]
    else:
        found = neighbours(_metrics(table), past, most=_MOST)
    return warm_proposals(table.space, problem.memory, found, table.default)
