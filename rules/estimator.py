"""Predicts how a workload goes under a configuration, and whether another configuration is better.

Pure: a case in, numbers out. The same case always gives the same answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rules.limits import Limits
from rules.partitions import PARTITION_NOTE, divide, has_partitions
from rules.prepared import PreparedCase, RuleSet, prepare
from rules.simulation.loop import run
from workloads.trace import Case

__all__ = [
    "Binding",
    "Comparison",
    "Estimate",
    "JobEstimate",
    "JobTimes",
    "Summary",
    "alone_latencies",
    "compare",
    "estimate",
    "job_times",
    "summarize",
    "warm_up",
]

_LEAST_ALONE_S = 10.0


@dataclass(frozen=True, slots=True)
class Binding:
    """For how many seconds a rule was what a job waited for."""

    rule: str
    seconds: float


@dataclass(frozen=True, slots=True)
class JobEstimate:
    """When a job starts and ends; -1 for what does not happen by the horizon.

    Attributes:
        id: the job's.
        queue: as the job names it.
        path: full path of its leaf; the queue's name where there is none.
        submit_s: when it was submitted.
        am_start_s: when its application master started.
        first_s: when its first task started.
        finish_s: when it ended.
        rejected: why the ResourceManager refused it, None where it did not.
        binding: what it waited for, longest first.
    """

    id: str
    queue: str
    path: str
    submit_s: float
    am_start_s: float
    first_s: float
    finish_s: float
    rejected: str | None
    binding: tuple[Binding, ...]


@dataclass(frozen=True, slots=True)
class Summary:
    """Latencies of a set of jobs; an unfinished or rejected job counts as if it ended at the horizon.

    Percentiles as numpy's default. Slowdown: latency by the latency alone on the idle cluster, at least 1, with at
    least 10 s in the denominator. Without jobs all are 0.
    """

    jobs: int
    unfinished: int
    mean_latency_s: float
    median_latency_s: float
    p95_latency_s: float
    mean_slowdown: float

    @property
    def rank(self) -> tuple[int, float]:
        """What to compare configurations by, less being better: jobs without an end first, then the mean."""
        return self.unfinished, self.mean_latency_s


@dataclass(frozen=True)
class Estimate:
    """The outcome of a case.

    Attributes:
        jobs: in the order of the case.
        summary: all jobs.
        by_queue: the jobs of each leaf, by full path.
        utilisation: share of the cluster's memory that each queue held between the first submission and the last end
            (or the horizon), by full path; root's is the cluster's.
        notes: what the configuration asks for that is not modelled, and what is done instead.
    """

    jobs: tuple[JobEstimate, ...]
    summary: Summary
    by_queue: Mapping[str, Summary]
    utilisation: Mapping[str, float]
    notes: tuple[str, ...] = ()

    def latencies_s(self, horizon_s: float) -> NDArray[np.float64]:
        """Each job's latency, in the order of the case."""
        return np.array([_latency_s(job, horizon_s) for job in self.jobs], np.float64)


@dataclass(frozen=True, slots=True)
class Comparison:
    """One configuration against another on the same workload, job by job.

    Attributes:
        before: summary of the first.
        after: summary of the second.
        mean_change_s: mean of the jobs' changes of latency; negative is better.
        spread_s: standard error of that mean, from the jobs' paired differences.
        by_rules: whether no simulation was needed, as the limits are the same.
    """

    before: Summary
    after: Summary
    mean_change_s: float
    spread_s: float
    by_rules: bool

    @property
    def better(self) -> bool:
        """Whether the second is better by more than the spread; fewer jobs without an end are better in any case."""
        if self.after.unfinished != self.before.unfinished:
            return self.after.unfinished < self.before.unfinished
        return self.mean_change_s < -self.spread_s


def estimate(case: Case, *, rules: RuleSet | None = None, alone_s: NDArray[np.float64] | None = None) -> Estimate:
    """Simulates a case.

    Args:
        case: the workload, the cluster and the configuration.
        rules: another rule set than the whole one of the case's scheduler.
        alone_s: each job's latency on the idle cluster where it is known already; it is the same for all
            configurations that are compared.

    Raises:
        InputError: the configuration cannot be read, or is not one that the ResourceManager would start with.
    """
    if has_partitions(case):
        return _estimate_partitions(case, rules)
    return _estimate(case, prepare(case, rules), alone_s)


def _estimate(case: Case, prepared: PreparedCase, alone_s: NDArray[np.float64] | None) -> Estimate:
    if alone_s is None:
        alone_s = _alone_latencies(case, prepared)
    run(prepared.memory.record)
    jobs = _job_estimates(case, prepared)
    return Estimate(
        jobs=jobs,
        summary=summarize(jobs, alone_s, case.horizon_s),
        by_queue=_by_queue(jobs, alone_s, case.horizon_s),
        utilisation=_utilisation(case, prepared),
        notes=prepared.notes,
    )


def _estimate_partitions(case: Case, rules: RuleSet | None) -> Estimate:
    """All partitions together, and the jobs that are refused because of their labels."""
    plain, partitions, places, refused = divide(case)
    prepared = prepare(plain, rules, partitions)
    alone_s = np.full(len(case.jobs), np.inf)
    alone_s[list(places)] = _alone_latencies(plain, prepared)
    estimated = _estimate(plain, prepared, alone_s[list(places)])
    found = dict(zip(places, estimated.jobs, strict=True))
    for place, words in refused.items():
        job = case.jobs[place]
        found[place] = JobEstimate(job.id, job.queue, job.queue, job.submit_s, -1.0, -1.0, -1.0, words, ())
    jobs = tuple(found[place] for place in range(len(case.jobs)))
    return replace(
        estimated,
        jobs=jobs,
        summary=summarize(jobs, alone_s, case.horizon_s),
        by_queue=_by_queue(jobs, alone_s, case.horizon_s),
        notes=(PARTITION_NOTE, *estimated.notes),
    )


@dataclass(frozen=True)
class JobTimes:
    """The times of :class:`JobEstimate` alone, in the order of the case: what a search over configurations needs.

    Attributes:
        am_start_s: -1 where it does not happen by the horizon.
        first_s: likewise.
        finish_s: likewise.
        rejected: whether the ResourceManager refused the job.
    """

    am_start_s: NDArray[np.float64]
    first_s: NDArray[np.float64]
    finish_s: NDArray[np.float64]
    rejected: NDArray[np.bool_]


def job_times(case: Case, *, rules: RuleSet | None = None) -> JobTimes:
    """Simulates a case as :func:`estimate` does, and leaves out all that takes longer than the simulation itself.

    Raises:
        InputError: as :func:`estimate`.
    """
    prepared = prepare(case, rules)
    run(prepared.memory.record)
    table, places = prepared.memory["jobs"], np.argsort(np.array(prepared.order, np.int64))
    return JobTimes(
        table["am_start"][places], table["first"][places], table["finish"][places], table["rejection"][places] != 0
    )


def warm_up(case: Case) -> None:
    """Loads, or compiles where the disk does not have it, the simulation of the case's scheduler."""
    prepared = prepare(replace(case, jobs=(), updates=()))
    run(prepared.memory.record)


def alone_latencies(case: Case, *, rules: RuleSet | None = None) -> NDArray[np.float64]:
    """Each job's latency if it had the idle cluster for itself, under the configuration at the start.

    Infinite for a job that does not end even so by the horizon.
    """
    return _alone_latencies(case, prepare(case, rules))


def _alone_latencies(case: Case, prepared: PreparedCase) -> NDArray[np.float64]:
    alone_s = np.full(len(case.jobs), np.inf)
    places = np.array(prepared.order, np.int64)
    done, memory = 0, prepared.memory.copy()
    state, jobs = memory.state, memory["jobs"]
    state["alone"], state["updates_count"] = 1, 0
    begin = state.copy()
    while done < len(case.jobs):
        # A job that does not end would be in the way of the next: they start with a cluster of their own again.
        if done:
            memory.restore(prepared.memory, begin)
        state["next_alone"] = done
        run(memory.record)
        until = int(state["next_alone"][0])
        ended = np.flatnonzero(jobs["finish"][done:until] >= 0) + done
        alone_s[places[ended]] = jobs["finish"][ended] - jobs["submit"][ended]
        done = until
    return alone_s


def summarize(jobs: Sequence[JobEstimate], alone_s: NDArray[np.float64], horizon_s: float) -> Summary:
    """Summarises jobs.

    Args:
        jobs: the jobs.
        alone_s: the latency of each alone on the idle cluster, in seconds.
        horizon_s: when what has not ended counts as ended.
    """
    if not jobs:
        return Summary(0, 0, 0.0, 0.0, 0.0, 0.0)
    latencies_s = np.array([_latency_s(job, horizon_s) for job in jobs], np.float64)
    spans_s = np.array([horizon_s - job.submit_s for job in jobs], np.float64)
    least_s = np.maximum(np.where(np.isfinite(alone_s), alone_s, spans_s), _LEAST_ALONE_S)
    return Summary(
        jobs=len(jobs),
        unfinished=sum(job.finish_s < 0 for job in jobs),
        mean_latency_s=float(latencies_s.mean()),
        median_latency_s=float(np.median(latencies_s)),
        p95_latency_s=float(np.percentile(latencies_s, 95)),
        mean_slowdown=float(np.maximum(latencies_s / least_s, 1.0).mean()),
    )


def compare(before: Case, after: Case) -> Comparison:
    """Compares two configurations on the same workload and cluster, job by job.

    Where the rules derive the same limits from both, nothing can differ and nothing is simulated twice. Limits that
    differ are simulated even if more is granted: more is not always better.
    """
    first = estimate(before)
    if _same_limits(before, after):
        return Comparison(first.summary, first.summary, 0.0, 0.0, by_rules=True)
    second = estimate(after, alone_s=alone_latencies(before))
    changes_s = second.latencies_s(after.horizon_s) - first.latencies_s(before.horizon_s)
    spread_s = float(changes_s.std(ddof=1) / np.sqrt(len(changes_s))) if len(changes_s) > 1 else 0.0
    mean_s = float(changes_s.mean()) if len(changes_s) else 0.0
    return Comparison(first.summary, second.summary, mean_s, spread_s, by_rules=False)


def _same_limits(before: Case, after: Case) -> bool:
    return [set(limits) for limits in _all_limits(before)] == [set(limits) for limits in _all_limits(after)]


def _all_limits(case: Case) -> tuple[Limits, ...]:
    return prepare(case).limits


def _latency_s(job: JobEstimate, horizon_s: float) -> float:
    return (job.finish_s if job.finish_s >= 0 else horizon_s) - job.submit_s


def _by_queue(jobs: Sequence[JobEstimate], alone_s: NDArray[np.float64], horizon_s: float) -> dict[str, Summary]:
    places: dict[str, list[int]] = {}
    for place, job in enumerate(jobs):
        places.setdefault(job.path, []).append(place)
    return {
        path: summarize([jobs[i] for i in found], alone_s[found], horizon_s) for path, found in sorted(places.items())
    }


def _job_estimates(case: Case, prepared: PreparedCase) -> tuple[JobEstimate, ...]:
    table = prepared.memory["jobs"]
    columns = [table[name].tolist() for name in ("am_start", "first", "finish", "rejection")]
    paths = [prepared.paths[q] if q >= 0 else None for q in prepared.memory["apps"]["queue"].tolist()]
    bindings = _bindings(prepared, len(case.jobs))
    found: list[JobEstimate | None] = [None] * len(case.jobs)
    for row, (place, am_start_s, first_s, finish_s, rejection) in enumerate(zip(prepared.order, *columns, strict=True)):
        job = case.jobs[place]
        found[place] = JobEstimate(
            job.id, job.queue, paths[row] or job.queue, job.submit_s, am_start_s, first_s, finish_s,
            prepared.rejection_words(rejection, job) if rejection else None, bindings[row],
        )  # fmt: skip
    return tuple(job for job in found if job is not None)


def _bindings(prepared: PreparedCase, jobs: int) -> list[tuple[Binding, ...]]:
    if not jobs:
        return []
    seconds = prepared.memory["bound"]["seconds"].reshape(jobs, -1)
    rows, rules = np.nonzero(seconds > 1e-9)
    found: list[list[Binding]] = [[] for _ in range(jobs)]
    for row, rule, value in zip(rows.tolist(), rules.tolist(), seconds[rows, rules].tolist(), strict=True):
        found[row].append(Binding(prepared.rule_ids[rule], value))
    return [tuple(sorted(items, key=lambda item: -item.seconds)) for items in found]


def _utilisation(case: Case, prepared: PreparedCase) -> dict[str, float]:
    if "held_mib_s" not in (prepared.memory["queues"].dtype.names or ()):
        return {}
    queues, now_s = prepared.memory["queues"], float(prepared.memory.state["now"][0])
    begin_s = min((job.submit_s for job in case.jobs), default=0.0)
    whole = sum(node.memory_mib for node in case.nodes) * (now_s - begin_s)
    held = queues["held_mib_s"] + queues["used_memory"] * (now_s - queues["held_since"])
    found = dict.fromkeys(prepared.paths, 0.0)
    for path, share in zip(prepared.paths, held.tolist(), strict=True):
        found[path] += share / whole if whole > 0 else 0.0
    return found
