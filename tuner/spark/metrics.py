"""A run in a few numbers, to be stored with it and compared with other runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Final

import numpy as np

from tuner.spark.eventlog.executors import DRIVER
from tuner.spark.eventlog.model import ApplicationLog, ExecutorLog, StageLog

_MIB: Final = 1024**2
_SKEW_MIN_TASKS: Final = 4
"""A median of fewer tasks says nothing."""
_SKEW_MIN_SHARE: Final = 0.05
"""Stages below this share of all task time are left out of the skew: nobody waits for them."""


@dataclass(frozen=True)
class RunMetrics:
    """What one run of an application used. None is unknown, never zero.

    Sums are over all tasks, failed ones included, as Spark's own stage pages have them.
    """

    state: str
    """The event log's state: numbers of a log that is not ``complete`` are lower bounds."""
    duration_s: float | None
    """From the application's start to its end, without its wait in the queue."""
    driver_s: float | None
    """Time in which no task ran."""
    tasks: int
    failed_tasks: int
    killed_tasks: int
    stages: int
    retried_stages: int
    jobs: int
    failed_jobs: int
    executors: int
    """Executors that ever were; the driver counts where it runs the tasks."""
    peak_executors: int
    """Most of them at one time."""
    executor_s: float | None
    """Lives of all executors, summed."""
    idle_share: float | None
    """Share of the executors' task slots, over their lives, in which no task ran; in [0, 1]."""
    task_s: float
    """From launch to finish, summed."""
    executor_run_s: float
    cpu_s: float | None
    gc_s: float | None
    """None where Spark says 0, which it also does where it did not measure."""
    gc_share: float | None
    """Of the run time; in [0, 1]."""
    fetch_wait_s: float
    deserialize_s: float
    skew: float | None
    """Longest task over the median one, of the worst stage that matters; 1 is even."""
    input_bytes: int
    input_records: int
    output_bytes: int
    shuffle_read_bytes: int
    shuffle_write_bytes: int
    memory_spill_bytes: int
    disk_spill_bytes: int
    peak_execution_mib: int | None
    """Largest execution memory of one task."""
    peak_unified_mib: int | None
    """Largest execution and storage memory of one executor, on and off the heap."""
    peak_heap_mib: int | None
    """Largest heap of one executor, garbage included: no measure of what it needs."""
    peak_rss_mib: int | None
    """Largest resident memory of one executor's process tree."""
    peak_python_rss_mib: int | None
    cached_bytes: int | None
    """RDDs' blocks in memory and on disk at most; None where nothing is persisted or the log does not trace blocks."""

    def to_json(self) -> dict[str, str | int | float | None]:
        """As JSON has it; :meth:`from_json` is the way back."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> RunMetrics:
        """From what :meth:`to_json` gave, of this version or an older one: a number that it lacks is unknown."""
        return cls(**{each.name: value.get(each.name) for each in fields(cls)})  # type: ignore[arg-type]


def run_metrics(log: ApplicationLog) -> RunMetrics:
    """A run's numbers from its event log."""
    totals = log.totals
    workers = [executor for executor in log.executors if executor.executor_id not in DRIVER or executor.tasks]
    executor_s, idle_share = _executor_time(workers, log)
    cached = sum(rdd.memory_bytes + rdd.disk_bytes for rdd in log.rdds)
    return RunMetrics(
        state=log.state.value,
        duration_s=log.wall_s,
        driver_s=log.driver_s,
        tasks=totals.tasks - totals.resubmitted,
        failed_tasks=totals.failed,
        killed_tasks=totals.killed,
        stages=len(log.stages),
        retried_stages=sum(stage.attempt > 0 for stage in log.stages),
        jobs=len(log.jobs),
        failed_jobs=sum(job.succeeded is False for job in log.jobs),
        executors=len(workers),
        peak_executors=_most_at_once(workers),
        executor_s=executor_s,
        idle_share=idle_share,
        task_s=totals.duration_s,
        executor_run_s=totals.run_s,
        cpu_s=totals.cpu_s,
        gc_s=totals.gc_s or None,
        gc_share=min(1.0, totals.gc_s / totals.run_s) if totals.gc_s and totals.run_s else None,
        fetch_wait_s=totals.fetch_wait_s,
        deserialize_s=totals.deserialize_s,
        skew=worst_skew(log.stages),
        input_bytes=totals.input_bytes,
        input_records=totals.input_records,
        output_bytes=totals.output_bytes,
        shuffle_read_bytes=totals.shuffle_read_bytes,
        shuffle_write_bytes=totals.shuffle_write_bytes,
        memory_spill_bytes=totals.memory_spill_bytes,
        disk_spill_bytes=totals.disk_spill_bytes,
        peak_execution_mib=_mib(totals.peak_execution_bytes),
        peak_unified_mib=_mib(log.peaks.unified),
        peak_heap_mib=_mib(log.peaks.jvm_heap),
        peak_rss_mib=_mib(log.peaks.process_rss),
        peak_python_rss_mib=_mib(log.peaks.python_rss),
        cached_bytes=cached or None,
    )


def skew_of(stage: StageLog) -> float | None:
    """Longest successful task of a stage over its median one; None where too few are known."""
    durations = stage.tasks.succeeded.durations_s
    durations = durations[~np.isnan(durations)]
    if len(durations) < _SKEW_MIN_TASKS:
        return None
    median = float(np.median(durations))
    return float(durations.max()) / median if median > 0 else None


def worst_skew(stages: Iterable[StageLog]) -> float | None:
    """The largest skew of those stages that make up a share of all task time that matters."""
    kept = list(stages)
    least_s = _SKEW_MIN_SHARE * sum(stage.totals.duration_s for stage in kept)
    found = [skew_of(stage) for stage in kept if stage.totals.duration_s >= least_s]
    return max((skew for skew in found if skew is not None), default=None)


def _executor_time(workers: Iterable[ExecutorLog], log: ApplicationLog) -> tuple[float | None, float | None]:
    """Lives of the executors in s, and the share of their slots that was idle."""
    cpus_per_task = max(1, _whole(log.setting("spark.task.cpus")) or 1)
    life_s = slot_s = busy_s = 0.0
    slots_known = True
    for worker in workers:
        end_s = worker.removed_s or log.end_s
        if worker.added_s is None or end_s is None:
            return None, None
        alive_s = max(0.0, end_s - worker.added_s)
        life_s += alive_s
        busy_s += worker.busy_s
        if worker.cores is None:
            slots_known = False
        else:
            slot_s += alive_s * max(1, worker.cores // cpus_per_task)
    if not slots_known or slot_s <= 0:
        return life_s or None, None
    return life_s, min(1.0, max(0.0, 1.0 - busy_s / slot_s))


def _most_at_once(workers: Iterable[ExecutorLog]) -> int:
    changes = []
    for worker in workers:
        changes.append((worker.added_s or 0.0, 1))
        if worker.removed_s is not None:
            changes.append((worker.removed_s, -1))
    most = now = 0
    for _, change in sorted(changes):  # a removal before an addition of the same time
        now += change
        most = max(most, now)
    return most


def _mib(size: int | None) -> int | None:
    return None if size is None else math.ceil(size / _MIB)


def _whole(text: str | None) -> int | None:
    return int(text) if text and text.strip().isdigit() else None
