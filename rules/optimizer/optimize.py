"""The optimization as a whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from rules.estimator import Comparison, Estimate, Summary, alone_latencies, estimate, job_times
from rules.optimizer.capacity_space import CapacitySpace
from rules.optimizer.fair_space import FairSpace
from rules.optimizer.judge import Judge
from rules.optimizer.knobs import Candidate
from rules.optimizer.result import Optimum, Outcome
from rules.optimizer.search import Effort, Search
from rules.optimizer.space import Space
from rules.optimizer.tables import LeafTables
from rules.optimizer.whole import Whole
from rules.policy import Objective, Policy
from workloads.trace import Case

__all__ = ["EVALUATIONS", "Guard", "make_space", "optimize"]

Guard = Literal["default", "none"]
"""``default``: the policy's ``most_queue_loss_percent`` holds, with no more jobs unfinished; ``none``: it does not."""

EVALUATIONS = 440
"""Simulations of the whole cluster at most."""
_LONGER = 10.0
"""A job that had no end by the horizon is given so many times as long before it is said that it cannot end."""
_MOST_CHECKED = 50


def make_space(case: Case, policy: Policy) -> Space:
    """The configurations that may be proposed for a case.

    Raises:
        InputError: the present configuration cannot be read.
    """
    return FairSpace(case, policy) if case.scheduler == "fair" else CapacitySpace(case, policy)


def optimize(
    case: Case | Sequence[Case],
    policy: Policy,
    *,
    objective: Objective | None = None,
    guard: Guard = "default",
    seed: int = 0,
    time_limit_s: float = 40.0,
    evaluations: int = EVALUATIONS,
    clock: Callable[[], float],
    progress: Callable[[float], None] = lambda _: None,
) -> Optimum:
    """Searches the configurations of the whole hierarchy for the one under which the workload goes best.

    The same input and seed give the same result, unless the time limit ends the search (then a note says so).

    Args:
        case: cluster, present configuration and workload; or several, which differ in their jobs alone: draws of a
            workload that is not known for certain. A configuration is judged by all of them.
        policy: what may be changed, and the objective where none is given.
        objective: what is to become small.
        guard: whether a queue may lose.
        seed: of the local search.
        time_limit_s: the search ends after so many seconds with the best so far.
        evaluations: simulations of the whole cluster at most.
        clock: seconds from any zero, such as ``time.perf_counter``.
        progress: told now and then what part of the effort is spent, from 0 to 1.

    Raises:
        InputError: the present configuration cannot be read, or is not one that the ResourceManager would start with.
    """
    begin_s = clock()
    draws = (case,) if isinstance(case, Case) else tuple(case)
    alone_s = [alone_latencies(own) for own in draws]
    before = [estimate(own, alone_s=alone) for own, alone in zip(draws, alone_s, strict=True)]
    paths = [[job.path for job in own.jobs] for own in before]
    space = make_space(draws[0], policy)
    judge = Judge(draws, paths, alone_s, policy, objective or policy.objective, guard == "default")
    whole = Whole(space, draws, judge)
    judge.set_baseline(whole.times(space.present))
    tables = LeafTables(space, draws, paths, judge)
    effort = Effort(evaluations, lambda: clock() - begin_s > time_limit_s)
    search = Search(space, whole, tables, paths, effort, seed, progress)
    search.run()
    notes = list(space.notes)
    if effort.is_over():
        notes.append(f"the time limit of {time_limit_s:g} s ended the search")
    best = _best_allowed(search, whole, space, policy)
    after = before
    if best != space.present:
        after = [estimate(space.case(best, own), alone_s=alone) for own, alone in zip(draws, alone_s, strict=True)]
    changes, allocations = space.outcome(best) if best != space.present else ((), None)
    return Optimum(
        changes=changes,
        allocations=allocations,
        baseline=_outcome(before, whole.score(space.present).cost),
        predicted=_outcome(after, whole.score(best).cost),
        comparison=_compare(draws, before, after),
        evaluations=whole.evaluations,
        leaf_evaluations=tables.evaluations,
        elapsed_s=clock() - begin_s,
        notes=tuple(notes),
    )


def _best_allowed(search: Search, whole: Whole, space: Space, policy: Policy) -> Candidate:
    """The best candidate that may be proposed: by the guard, by the gain, by the dialect, and no job is stuck."""
    present = whole.score(space.present)
    least = present.cost * (1.0 - policy.least_gain_percent / 100.0)
    checked = 0
    for candidate, score in sorted(search.ranking, key=lambda item: (item[1].rank, _changed(item[0], space.present))):
        if score.rank >= present.rank or checked >= _MOST_CHECKED:
            break
        if score.refused or score.excess > 0 or (score.unfinished == present.unfinished and score.cost > least):
            continue
        checked += 1
        if not space.findings(candidate) and not _leaves_a_job_stuck(candidate, whole, space):
            return candidate
    return space.present


def _changed(candidate: Candidate, present: Candidate) -> int:
    return sum(new != old for new, old in zip(candidate, present, strict=True))


def _leaves_a_job_stuck(candidate: Candidate, whole: Whole, space: Space) -> bool:
    """Whether a job that ends under the present configuration would not, however long it were waited for."""
    for before, after, case in zip(whole.times(space.present), whole.times(candidate), whole.draws, strict=True):
        lost = (before.finish_s >= 0) & (after.finish_s < 0)
        if lost.any():
            last_s = max(job.submit_s for job in case.jobs)
            longer = replace(case, horizon_s=last_s + _LONGER * (case.horizon_s - last_s))
            if (job_times(space.case(candidate, longer)).finish_s[lost] < 0).any():
                return True
    return False


def _outcome(estimates: Sequence[Estimate], cost: float) -> Outcome:
    queues = sorted({path for own in estimates for path in own.by_queue})
    by_queue = {path: _mean([own.by_queue[path] for own in estimates if path in own.by_queue]) for path in queues}
    return Outcome(_mean([own.summary for own in estimates]), by_queue, cost)


def _mean(summaries: Sequence[Summary]) -> Summary:
    if len(summaries) == 1:
        return summaries[0]
    jobs = np.array([summary.jobs for summary in summaries], float)

    def mean(name: str) -> float:
        return float(np.average([getattr(own, name) for own in summaries], weights=jobs if jobs.any() else None))

    return Summary(
        jobs=round(float(jobs.mean())),
        unfinished=round(float(np.mean([summary.unfinished for summary in summaries]))),
        mean_latency_s=mean("mean_latency_s"),
        median_latency_s=mean("median_latency_s"),
        p95_latency_s=mean("p95_latency_s"),
        mean_slowdown=mean("mean_slowdown"),
    )


def _compare(draws: Sequence[Case], before: Sequence[Estimate], after: Sequence[Estimate]) -> Comparison:
    """Job by job; over several draws the spread is that of the draws' means, which is what is not known."""
    changes_s = [
        new.latencies_s(case.horizon_s) - old.latencies_s(case.horizon_s)
        for case, old, new in zip(draws, before, after, strict=True)
    ]
    together = np.concatenate(changes_s)
    sample = together if len(draws) == 1 else np.array([own.mean() for own in changes_s if len(own)])
    spread_s = float(sample.std(ddof=1) / np.sqrt(len(sample))) if len(sample) > 1 else 0.0
    mean_s = float(together.mean()) if len(together) else 0.0
    first, second = (_mean([own.summary for own in estimates]) for estimates in (before, after))
    return Comparison(first, second, mean_s, spread_s, by_rules=after is before)
