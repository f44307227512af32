"""Smaller workloads with the same shape: in a fraction of the time, or with a fraction of the tasks.

``time``: every time is divided, the fixed delays of a case (heartbeats, preemption) too; jobs, tasks and nodes stay, so
concurrency and use stay as they are. ``tasks``: of the tasks, in the order of their submission, every ``factor``-th is
kept, with the nodes in proportion; times stay. A job of which no task is kept is gone, so the number of jobs shrinks
less than that of tasks, and small jobs are thinned out first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from tuner.errors import InputError
from workloads.trace import Case, Executors, Job, Task
from workloads.workload import Ending, Workload, WorkloadJob

__all__ = ["By", "ReplicationError", "reduce_case", "reduce_workload", "replication_error"]

By = Literal["time", "tasks"]
_STEPS: Final = 48
_FLOOR: Final = 0.05
_NEVER_RAN: Final = (int(Ending.WAITING), int(Ending.WITHDRAWN))
_PREEMPTION: Final = "yarn.resourcemanager.monitor.capacity.preemption."
_DELAYS_MS: Final[Mapping[str, tuple[str, int]]] = {
    f"{_PREEMPTION}monitoring_interval": ("yarn.resourcemanager.scheduler.monitor.enable", 3000),
    f"{_PREEMPTION}max_wait_before_kill": ("yarn.resourcemanager.scheduler.monitor.enable", 15000),
    "yarn.scheduler.fair.waitTimeBeforeKill": ("yarn.scheduler.fair.preemption", 15000),
    "yarn.scheduler.fair.update-interval-ms": ("yarn.scheduler.fair.preemption", 500),
}
"""Delays in ms that a configuration names, what turns them on, and their defaults (Hadoop's 3.4 constants)."""


@dataclass(frozen=True, slots=True)
class ReplicationError:
    """How far a reduced workload is from the original: means over 48 equal steps of its span.

    Of each step the relative difference of what happens in it, scaled up again by the factor; against a twentieth of
    the mean where the original has less. Without waits: as if each task ran when it was submitted.

    Attributes:
        arrivals: tasks submitted.
        concurrency: tasks running.
        cores, memory_mib: what they ask for.
    """

    arrivals: float
    concurrency: float
    cores: float
    memory_mib: float

    @property
    def mean(self) -> float:
        """Mean of the four."""
        return (self.arrivals + self.concurrency + self.cores + self.memory_mib) / 4


def reduce_workload(workload: Workload, factor: float, *, by: By = "time", seed: int = 0) -> Workload:
    """Reduces a workload.

    Args:
        workload: what to reduce.
        factor: at least 1.
        by: see the module.
        seed: where the count of every ``factor``-th task begins.

    Raises:
        InputError: the factor is below 1, or no task would be left.
    """
    _check(factor)
    note = f"reduced by {factor:g} in {by}" + (f" (seed {seed})" if by == "tasks" else "")
    provenance = replace(workload.provenance, notes=(*workload.provenance.notes, note))
    reduced = _in_time(workload, factor) if by == "time" else _in_tasks(workload, factor, seed)
    return replace(reduced, name=f"{workload.name}-by-{factor:g}", provenance=provenance)


def _check(factor: float) -> None:
    if not 1 <= factor < float("inf"):
        raise InputError(f"a workload cannot be reduced by {factor:g}", "give --factor a number of at least 1")


def _in_time(workload: Workload, factor: float) -> Workload:
    tasks, machines = workload.tasks, workload.machines
    return replace(
        workload,
        jobs=tuple(replace(job, submit_s=job.submit_s / factor) for job in workload.jobs),
        tasks=replace(
            tasks,
            submit_s=tasks.submit_s / factor,
            wait_s=tasks.wait_s / factor,
            duration_s=tasks.duration_s / factor,
        ),
        machines=None if machines is None else replace(machines, time_s=machines.time_s / factor),
        epoch_s=None,
    )


def _in_tasks(workload: Workload, factor: float, seed: int) -> Workload:
    kept = _every(workload.tasks.count, factor, seed)
    if not kept.any():
        raise InputError(
            f"{workload.name} has {workload.tasks.total} tasks: none is left of them by {factor:g}",
            "choose a smaller --factor, or --by time",
        )
    jobs: list[WorkloadJob] = []
    rows: list[NDArray[np.int64]] = []
    first = 0
    for job in workload.jobs:
        own = np.flatnonzero(kept[job.first_task : job.first_task + job.task_rows]) + job.first_task
        if len(own):
            jobs.append(replace(job, first_task=first, task_rows=len(own)))
            rows.append(own)
            first += len(own)
    chosen = np.concatenate(rows)
    tasks = workload.tasks.take(chosen)
    machines = workload.machines
    if machines is not None:
        numbers = np.unique(machines.machine)
        there = np.isin(machines.machine, numbers[_every(np.ones(len(numbers), np.int64), factor, seed) > 0])
        machines = replace(machines, **{name: column[there] for name, column in machines.columns().items()})
    return replace(
        workload, jobs=tuple(jobs), tasks=replace(tasks, count=kept[chosen].astype(np.int32)), machines=machines
    )


def _every(counts: NDArray[np.integer], factor: float, seed: int) -> NDArray[np.int64]:
    """How many of each row's equal tasks are kept when every ``factor``-th is (systematic sampling)."""
    start = float(np.random.default_rng(seed).random()) * factor
    ends = np.cumsum(counts, dtype=np.float64)
    # The number of points start, start + factor, ... below each end.
    below = np.ceil(np.maximum(ends - start, 0.0) / factor)
    return np.diff(below, prepend=0.0).astype(np.int64)


# --- cases ------------------------------------------------------------------------------------------------------------


def reduce_case(case: Case, factor: float, *, by: By = "time", seed: int = 0) -> Case:
    """Reduces a case: its jobs, and either its delays or its nodes.

    Raises:
        InputError: the factor is below 1, or above the number of nodes where these are reduced.
    """
    _check(factor)
    if by == "time":
        return replace(
            case,
            jobs=tuple(_shorter(job, factor) for job in case.jobs),
            conf=_shorter_delays(case.conf, factor),
            updates=tuple(
                replace(update, time_s=update.time_s / factor, conf=_given_delays(update.conf, factor))
                for update in case.updates
            ),
            node_heartbeat_s=case.node_heartbeat_s / factor,
            am_heartbeat_s=case.am_heartbeat_s / factor,
            horizon_s=case.horizon_s / factor,
        )
    if factor > len(case.nodes):
        raise InputError(
            f"a cluster of {len(case.nodes)} nodes cannot be reduced by {factor:g}",
            "reduce it --by time, or choose a smaller --factor",
        )
    nodes = case.nodes[: max(1, round(len(case.nodes) / factor))]
    return replace(case, jobs=_fewer(case.jobs, factor, seed), nodes=nodes)


def _shorter(job: Job, factor: float) -> Job:
    return replace(
        job,
        submit_s=job.submit_s / factor,
        tasks=tuple(replace(task, duration_s=task.duration_s / factor) for task in job.tasks),
        stages=tuple(tuple(duration_s / factor for duration_s in stage) for stage in job.stages),
    )


def _shorter_delays(conf: Mapping[str, str | None], factor: float) -> dict[str, str | None]:
    """The configuration with shorter delays; those at their default are written out where they are in force."""
    defaults: dict[str, str | None] = {
        name: str(default) for name, (switch, default) in _DELAYS_MS.items() if conf.get(switch) == "true"
    }
    return _given_delays(defaults | dict(conf), factor)


def _given_delays(conf: Mapping[str, str | None], factor: float) -> dict[str, str | None]:
    return {
        name: str(max(1, round(float(value) / factor))) if name in _DELAYS_MS and value is not None else value
        for name, value in conf.items()
    }


def _fewer(jobs: tuple[Job, ...], factor: float, seed: int) -> tuple[Job, ...]:
    counts = np.array([max(len(job.tasks), sum(len(stage) for stage in job.stages)) for job in jobs], np.int64)
    order = np.argsort([job.submit_s for job in jobs], kind="stable")
    kept = np.empty(len(jobs), np.int64)
    kept[order] = _every(counts[order], factor, seed)
    return tuple(_smaller(job, int(count)) for job, count in zip(jobs, kept.tolist(), strict=True) if count)


def _smaller(job: Job, count: int) -> Job:
    """The job with so many of its tasks, taken evenly from the shortest to the longest, or from each stage."""
    if job.executors is None:
        return replace(job, tasks=_evenly(job.tasks, count))
    total = sum(len(stage) for stage in job.stages)
    share = count / total
    each = job.executors
    return replace(
        job,
        executors=Executors(max(1, round(each.count * share)), each.memory_mib, each.vcores),
        stages=tuple(tuple(sorted(stage)[:: max(1, round(1 / share))]) for stage in job.stages if stage),
    )


def _evenly(tasks: tuple[Task, ...], count: int) -> tuple[Task, ...]:
    order = sorted(range(len(tasks)), key=lambda number: tasks[number].duration_s)
    chosen = {order[int((i + 0.5) * len(tasks) / count)] for i in range(count)}
    return tuple(task for number, task in enumerate(tasks) if number in chosen)


# --- the error --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows of equal tasks, as columns of shape (rows,)."""

    submit_s: NDArray[np.float64]
    duration_s: NDArray[np.float64]
    cores: NDArray[np.float64]
    memory_mib: NDArray[np.float64]
    count: NDArray[np.float64]

    def submitted(self, edges_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Tasks submitted in each step."""
        return np.histogram(self.submit_s, edges_s, weights=self.count)[0].astype(np.float64)

    def running(self, weight: NDArray[np.float64], edges_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """The weight of the tasks that run, times how long, in each step."""
        until = [float((weight * np.clip(edge - self.submit_s, 0.0, self.duration_s)).sum()) for edge in edges_s]
        return np.diff(until)


def replication_error(original: Workload | Case, reduced: Workload | Case, factor: float, by: By) -> ReplicationError:
    """Compares a reduced workload with the original, as if both had a cluster without waits."""
    before, after = _rows(original), _rows(reduced)
    start_s, end_s = float(before.submit_s.min(initial=np.inf)), float(before.submit_s.max(initial=0.0))
    if not end_s > start_s:
        end_s = start_s + 1.0
    # A little more, so that what is submitted at the very end is in the last step.
    edges_s = np.linspace(start_s, end_s + 1e-9 * (end_s - start_s), _STEPS + 1)
    edges_after_s = edges_s / factor if by == "time" else edges_s
    # Either a task in `factor`, or a second in `factor`, stands for all of them.
    running = [
        _difference(before.running(own, edges_s), factor * after.running(other, edges_after_s))
        for own, other in (
            (before.count, after.count),
            (before.count * before.cores, after.count * after.cores),
            (before.count * before.memory_mib, after.count * after.memory_mib),
        )
    ]
    each = factor if by == "tasks" else 1.0
    return ReplicationError(_difference(before.submitted(edges_s), each * after.submitted(edges_after_s)), *running)


def _rows(value: Workload | Case) -> _Rows:
    if isinstance(value, Workload):
        tasks = value.tasks.take(~np.isin(value.tasks.ending, _NEVER_RAN))
        memory_mib, count = tasks.memory_mib.astype(np.float64), tasks.count.astype(np.float64)
        return _Rows(tasks.submit_s, tasks.duration_s, tasks.cores, memory_mib, count)
    rows = [
        (job.submit_s, task.duration_s, float(task.vcores), float(task.memory_mib), 1.0)
        for job in value.jobs
        for task in (job.tasks or _as_tasks(job))
    ]
    return _Rows(*(np.array([row[column] for row in rows], np.float64) for column in range(5)))


def _as_tasks(job: Job) -> tuple[Task, ...]:
    each = job.executors
    if each is None:
        return ()
    return tuple(Task(duration_s, each.memory_mib // each.vcores, 1) for stage in job.stages for duration_s in stage)


def _difference(original: NDArray[np.float64], reduced: NDArray[np.float64]) -> float:
    return float((np.abs(reduced - original) / np.maximum(original, max(_FLOOR * original.mean(), 1e-12))).mean())
