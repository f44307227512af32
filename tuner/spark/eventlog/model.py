"""What an event log says, as frozen values.

Times are seconds since the epoch, lengths of time seconds, sizes bytes as Spark counts them. ``None`` means that the
log does not say: a peak of memory that Spark wrote as 0 was never sampled and is unknown, not small.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from tuner.spark.eventlog.properties import lookup, mask
from tuner.spark.eventlog.tasks import TaskSample, TaskTotals


class LogState(StrEnum):
    """How far a log can be trusted."""

    COMPLETE = "complete"
    """Read whole, and it ends with the application's end."""
    INCOMPLETE = "incomplete"
    """Sound as far as it goes, but the application's end is not in it: still running, killed, or cut."""
    DAMAGED = "damaged"
    """Something in the middle is missing or unreadable; what is whole was counted."""
    NOT_READY = "not ready"
    """No whole event has been written yet."""


@dataclass(frozen=True)
class ResourceProfile:
    """What executors and tasks of one profile ask for (``spark.resources``, stage-level scheduling)."""

    profile_id: int
    executor: Mapping[str, float]
    """Amounts as in the log: ``cores``, and ``memory``, ``memoryOverhead``, ``offHeap``, ``pyspark.memory`` in MiB."""
    task: Mapping[str, float]


@dataclass(frozen=True)
class MemoryPeaks:
    """Largest sampled values of one process or group of processes, in bytes; None was never sampled.

    Source: ``org.apache.spark.metrics.ExecutorMetricType``.
    """

    jvm_heap: int | None = None
    jvm_off_heap: int | None = None
    on_heap_unified: int | None = None
    off_heap_unified: int | None = None
    jvm_rss: int | None = None
    python_rss: int | None = None
    other_rss: int | None = None

    @property
    def unified(self) -> int | None:
        """Execution and storage memory together, on the heap and off it."""
        return _sum_of_known(self.on_heap_unified, self.off_heap_unified)

    @property
    def process_rss(self) -> int | None:
        """Resident memory of the executor's whole process tree."""
        return _sum_of_known(self.jvm_rss, self.python_rss, self.other_rss)


@dataclass(frozen=True)
class ExecutorLog:
    """One executor, or the driver where ``executor_id`` is ``driver``."""

    executor_id: str
    host: str
    cores: int | None
    added_s: float | None
    removed_s: float | None
    removal_reason: str | None
    profile_id: int
    max_on_heap_bytes: int | None
    """Unified memory that the block manager registered."""
    tasks: int
    failed_tasks: int
    busy_s: float
    """Sum of its tasks' durations; more than its life where tasks ran side by side."""
    peaks: MemoryPeaks


@dataclass(frozen=True)
class JobLog:
    """One Spark job."""

    job_id: int
    submitted_s: float | None
    completed_s: float | None
    succeeded: bool | None
    stage_ids: tuple[int, ...]
    sql_execution_id: int | None
    description: str | None
    error: str | None


@dataclass(frozen=True)
class RddInfo:
    """One RDD as the last event that named it had it."""

    rdd_id: int
    name: str
    scope: str | None
    """The operator that made it, for example ``Exchange`` or ``map``."""
    parents: tuple[int, ...]
    partitions: int
    use_memory: bool
    use_disk: bool
    use_off_heap: bool
    deserialized: bool
    replication: int
    cached_partitions: int
    """Most partitions seen cached at one time; 0 where the log does not trace blocks."""
    memory_bytes: int
    disk_bytes: int
    largest_block_bytes: int
    unpersisted: bool

    @property
    def storage_level(self) -> str:
        """The level's name as in ``org.apache.spark.storage.StorageLevel``; ``NONE`` where it is not persisted."""
        if self.use_off_heap:
            return "OFF_HEAP"
        if not (self.use_memory or self.use_disk):
            return "NONE"
        if self.use_memory:
            name = "MEMORY_AND_DISK" if self.use_disk else "MEMORY_ONLY"
            name += "" if self.deserialized else "_SER"
        else:
            name = "DISK_ONLY"
        return name if self.replication == 1 else f"{name}_{self.replication}"


@dataclass(frozen=True)
class StageLog:
    """One attempt of one stage."""

    stage_id: int
    attempt: int
    name: str
    parents: tuple[int, ...]
    rdd_ids: tuple[int, ...]
    profile_id: int
    expected_tasks: int
    """Tasks that the stage's own event announces."""
    submitted_s: float | None
    completed_s: float | None
    failure: str | None
    totals: TaskTotals
    tasks: TaskSample
    peaks: MemoryPeaks

    @property
    def lost_all_tasks(self) -> bool:
        """True where the stage succeeded but none of its tasks is in the log, as after compaction (SPARK-29779).

        A stage that failed may never have started a task.
        """
        finished = self.completed_s is not None and self.failure is None
        return finished and self.expected_tasks > 0 and self.totals.tasks == 0


@dataclass(frozen=True)
class SqlExecution:
    """One SQL execution; the plan's text is not kept."""

    execution_id: int
    root_execution_id: int | None
    description: str
    started_s: float | None
    ended_s: float | None
    adaptive: bool
    """Whether adaptive execution changed its plan."""
    error: str | None


@dataclass(frozen=True)
class TaskFailure:
    """One task that did not end well, with Spark's own reason."""

    stage_id: int
    stage_attempt: int
    task_id: int
    executor_id: str
    reason: str
    """Spark's class of reason: ``ExceptionFailure``, ``FetchFailed``, ``ExecutorLostFailure``, ``TaskKilled`` ..."""
    detail: str
    """Class and message of the exception, or why the executor was lost; at most 500 characters."""


@dataclass(frozen=True)
class ApplicationLog:
    """All that one event log says about one attempt of one application."""

    path: Path
    state: LogState
    losses: tuple[str, ...]
    """A sentence for each thing that is missing, estimated or left out."""
    application_id: str | None = None
    name: str | None = None
    attempt_id: str | None = None
    user: str | None = None
    spark_version: str | None = None
    java_version: str | None = None
    start_s: float | None = None
    end_s: float | None = None
    end_estimated: bool = False
    """True where the log has no application's end, so that ``end_s`` is the last time that it names."""
    exit_code: int | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    """Spark properties, raw: old names stay, secrets may be among them. Show :attr:`masked_properties` instead."""
    profiles: tuple[ResourceProfile, ...] = ()
    executors: tuple[ExecutorLog, ...] = ()
    jobs: tuple[JobLog, ...] = ()
    stages: tuple[StageLog, ...] = ()
    sql: tuple[SqlExecution, ...] = ()
    rdds: tuple[RddInfo, ...] = ()
    failures: tuple[TaskFailure, ...] = ()
    failure_counts: Mapping[str, int] = field(default_factory=dict)
    """Tasks that did not end well, by Spark's class of reason; exact, however many there were."""
    totals: TaskTotals = field(default_factory=TaskTotals)
    peaks: MemoryPeaks = field(default_factory=MemoryPeaks)
    """Largest of any one executor; the driver is not in it, except where it runs the tasks itself."""
    busy_s: float = 0.0
    """Time during which at least one task ran: the union of the tasks' intervals."""
    compacted: bool = False
    sampled: bool = False
    """True where tasks, stages or other parts were too many to keep all; every total is exact all the same."""
    lines: int = 0
    bad_lines: int = 0
    events: Mapping[str, int] = field(default_factory=dict)
    """Whole events by name, without the package."""

    @property
    def wall_s(self) -> float | None:
        """From the application's start to its end, never negative."""
        if self.start_s is None or self.end_s is None:
            return None
        return max(0.0, self.end_s - self.start_s)

    @property
    def driver_s(self) -> float | None:
        """Time in which no task ran; see :func:`tuner.spark.eventlog.intervals.driver_time`."""
        from tuner.spark.eventlog.intervals import driver_time

        return None if self.wall_s is None else driver_time(self.wall_s, self.busy_s)

    def setting(self, name: str) -> str | None:
        """A property's value under its present or any older name, as Spark would resolve it."""
        return lookup(self.properties, name)

    @property
    def masked_properties(self) -> dict[str, str]:
        """The properties fit to be shown or stored."""
        return mask(self.properties)

    @property
    def stages_without_tasks(self) -> tuple[StageLog, ...]:
        """Finished stages of which no task is in the log; nothing may be fitted on them."""
        return tuple(stage for stage in self.stages if stage.lost_all_tasks)


def _sum_of_known(*values: int | None) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
