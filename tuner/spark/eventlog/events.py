"""The events of a log and the fields of them that are read; everything else is skipped without being built.

Names of events and fields are those of ``org.apache.spark.util.JsonProtocol``. A field without a default is one
without which the event says nothing; an event without it is counted as unreadable.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import msgspec


class Event(msgspec.Struct, frozen=True, gc=False):
    """Any event: its name alone."""

    name: str = msgspec.field(name="Event", default="")


class LogStart(msgspec.Struct, frozen=True, gc=False):
    """``SparkListenerLogStart``, and Databricks' own start of each of its files."""

    spark_version: str | None = msgspec.field(name="Spark Version", default=None)
    rollover: int | None = msgspec.field(name="Rollover Number", default=None)


class ApplicationStart(msgspec.Struct, frozen=True):
    """``SparkListenerApplicationStart``; no id before Spark 1.3."""

    app_name: str | None = msgspec.field(name="App Name", default=None)
    app_id: str | None = msgspec.field(name="App ID", default=None)
    timestamp: int = msgspec.field(name="Timestamp", default=0)
    user: str | None = msgspec.field(name="User", default=None)
    attempt_id: str | None = msgspec.field(name="App Attempt ID", default=None)


class ApplicationEnd(msgspec.Struct, frozen=True):
    """``SparkListenerApplicationEnd``; the exit code since Spark 4."""

    timestamp: int = msgspec.field(name="Timestamp", default=0)
    exit_code: int | None = msgspec.field(name="ExitCode", default=None)


class Jvm(msgspec.Struct, frozen=True):
    """Part of ``SparkListenerEnvironmentUpdate``."""

    version: str | None = msgspec.field(name="Java Version", default=None)


class EnvironmentUpdate(msgspec.Struct, frozen=True):
    """``SparkListenerEnvironmentUpdate``."""

    spark_properties: dict[str, Any] = msgspec.field(name="Spark Properties", default_factory=dict)
    jvm: Jvm | None = msgspec.field(name="JVM Information", default=None)


class Request(msgspec.Struct, frozen=True):
    """One resource of a profile."""

    amount: float = msgspec.field(name="Amount", default=0.0)


class ResourceProfileAdded(msgspec.Struct, frozen=True):
    """``SparkListenerResourceProfileAdded``."""

    profile_id: int = msgspec.field(name="Resource Profile Id")
    executor: dict[str, Request] = msgspec.field(name="Executor Resource Requests", default_factory=dict)
    task: dict[str, Request] = msgspec.field(name="Task Resource Requests", default_factory=dict)


class ExecutorInfo(msgspec.Struct, frozen=True):
    """Part of ``SparkListenerExecutorAdded``."""

    host: str = msgspec.field(name="Host", default="")
    cores: int | None = msgspec.field(name="Total Cores", default=None)
    profile_id: int = msgspec.field(name="Resource Profile Id", default=0)


class ExecutorAdded(msgspec.Struct, frozen=True):
    """``SparkListenerExecutorAdded``."""

    executor_id: str = msgspec.field(name="Executor ID")
    timestamp: int = msgspec.field(name="Timestamp", default=0)
    info: ExecutorInfo = msgspec.field(name="Executor Info", default=ExecutorInfo())


class ExecutorRemoved(msgspec.Struct, frozen=True):
    """``SparkListenerExecutorRemoved``."""

    executor_id: str = msgspec.field(name="Executor ID")
    timestamp: int = msgspec.field(name="Timestamp", default=0)
    reason: str | None = msgspec.field(name="Removed Reason", default=None)


class BlockManagerId(msgspec.Struct, frozen=True):
    """Where blocks are kept."""

    executor_id: str = msgspec.field(name="Executor ID")
    host: str = msgspec.field(name="Host", default="")


class BlockManagerAdded(msgspec.Struct, frozen=True):
    """``SparkListenerBlockManagerAdded``."""

    block_manager: BlockManagerId = msgspec.field(name="Block Manager ID")
    maximum: int | None = msgspec.field(name="Maximum Memory", default=None)
    on_heap: int | None = msgspec.field(name="Maximum Onheap Memory", default=None)
    timestamp: int = msgspec.field(name="Timestamp", default=0)


class BlockManagerRemoved(msgspec.Struct, frozen=True):
    """``SparkListenerBlockManagerRemoved``."""

    block_manager: BlockManagerId = msgspec.field(name="Block Manager ID")
    timestamp: int = msgspec.field(name="Timestamp", default=0)


class StorageLevel(msgspec.Struct, frozen=True, gc=False):
    """How an RDD is persisted."""

    use_disk: bool = msgspec.field(name="Use Disk", default=False)
    use_memory: bool = msgspec.field(name="Use Memory", default=False)
    use_off_heap: bool = msgspec.field(name="Use Off Heap", default=False)
    deserialized: bool = msgspec.field(name="Deserialized", default=False)
    replication: int = msgspec.field(name="Replication", default=1)


class Rdd(msgspec.Struct, frozen=True):
    """Part of a stage."""

    rdd_id: int = msgspec.field(name="RDD ID")
    name: str = msgspec.field(name="Name", default="")
    scope: str | None = msgspec.field(name="Scope", default=None)
    parents: tuple[int, ...] = msgspec.field(name="Parent IDs", default=())
    level: StorageLevel = msgspec.field(name="Storage Level", default=StorageLevel())
    partitions: int = msgspec.field(name="Number of Partitions", default=0)
    cached: int = msgspec.field(name="Number of Cached Partitions", default=0)
    memory: int = msgspec.field(name="Memory Size", default=0)
    disk: int = msgspec.field(name="Disk Size", default=0)


class Stage(msgspec.Struct, frozen=True):
    """Part of the events of stages and jobs."""

    stage_id: int = msgspec.field(name="Stage ID")
    attempt: int = msgspec.field(name="Stage Attempt ID", default=0)
    name: str = msgspec.field(name="Stage Name", default="")
    tasks: int = msgspec.field(name="Number of Tasks", default=0)
    rdds: list[Rdd] = msgspec.field(name="RDD Info", default_factory=list)
    parents: tuple[int, ...] = msgspec.field(name="Parent IDs", default=())
    submitted: int | None = msgspec.field(name="Submission Time", default=None)
    completed: int | None = msgspec.field(name="Completion Time", default=None)
    failure: str | None = msgspec.field(name="Failure Reason", default=None)
    profile_id: int = msgspec.field(name="Resource Profile Id", default=0)


class StageEvent(msgspec.Struct, frozen=True):
    """``SparkListenerStageSubmitted`` and ``SparkListenerStageCompleted``."""

    stage: Stage = msgspec.field(name="Stage Info")


class JobProperties(msgspec.Struct, frozen=True):
    """The local properties of a job that say what it is part of."""

    sql_execution_id: int | None = msgspec.field(name="spark.sql.execution.id", default=None)
    description: str | None = msgspec.field(name="spark.job.description", default=None)


class JobStart(msgspec.Struct, frozen=True):
    """``SparkListenerJobStart``; no time before Spark 1.3."""

    job_id: int = msgspec.field(name="Job ID")
    submitted: int | None = msgspec.field(name="Submission Time", default=None)
    stage_ids: tuple[int, ...] = msgspec.field(name="Stage IDs", default=())
    properties: JobProperties | None = msgspec.field(name="Properties", default=None)


class JobError(msgspec.Struct, frozen=True):
    """Part of a job's result."""

    message: str | None = msgspec.field(name="Message", default=None)


class JobResult(msgspec.Struct, frozen=True):
    """Part of ``SparkListenerJobEnd``."""

    result: str | None = msgspec.field(name="Result", default=None)
    error: JobError | None = msgspec.field(name="Exception", default=None)


class JobEnd(msgspec.Struct, frozen=True):
    """``SparkListenerJobEnd``; no time before Spark 1.3."""

    job_id: int = msgspec.field(name="Job ID")
    completed: int | None = msgspec.field(name="Completion Time", default=None)
    result: JobResult | None = msgspec.field(name="Job Result", default=None)


class Reason(msgspec.Struct, frozen=True, gc=False):
    """Why a task ended (``org.apache.spark.TaskEndReason``)."""

    reason: str = msgspec.field(name="Reason", default="")
    class_name: str | None = msgspec.field(name="Class Name", default=None)
    description: str | None = msgspec.field(name="Description", default=None)
    message: str | None = msgspec.field(name="Message", default=None)
    kill_reason: str | None = msgspec.field(name="Kill Reason", default=None)
    loss_reason: str | None = msgspec.field(name="Loss Reason", default=None)


class TaskInfo(msgspec.Struct, frozen=True, gc=False):
    """Part of ``SparkListenerTaskEnd``."""

    task_id: int = msgspec.field(name="Task ID")
    index: int = msgspec.field(name="Index", default=0)
    attempt: int = msgspec.field(name="Attempt", default=0)
    launch: int = msgspec.field(name="Launch Time", default=0)
    finish: int = msgspec.field(name="Finish Time", default=0)
    getting_result: int = msgspec.field(name="Getting Result Time", default=0)
    executor_id: str = msgspec.field(name="Executor ID", default="")
    speculative: bool = msgspec.field(name="Speculative", default=False)
    failed: bool = msgspec.field(name="Failed", default=False)
    killed: bool = msgspec.field(name="Killed", default=False)


class TaskLaunch(msgspec.Struct, frozen=True, gc=False):
    """Part of ``SparkListenerTaskStart``."""

    launch: int = msgspec.field(name="Launch Time", default=0)


class TaskStart(msgspec.Struct, frozen=True, gc=False):
    """``SparkListenerTaskStart``."""

    info: TaskLaunch = msgspec.field(name="Task Info")


class ExecutorMetrics(msgspec.Struct, frozen=True, gc=False):
    """Sampled memory of a process (``org.apache.spark.executor.ExecutorMetrics``)."""

    jvm_heap: int = msgspec.field(name="JVMHeapMemory", default=0)
    jvm_off_heap: int = msgspec.field(name="JVMOffHeapMemory", default=0)
    on_heap_unified: int = msgspec.field(name="OnHeapUnifiedMemory", default=0)
    off_heap_unified: int = msgspec.field(name="OffHeapUnifiedMemory", default=0)
    jvm_rss: int = msgspec.field(name="ProcessTreeJVMRSSMemory", default=0)
    python_rss: int = msgspec.field(name="ProcessTreePythonRSSMemory", default=0)
    other_rss: int = msgspec.field(name="ProcessTreeOtherRSSMemory", default=0)


class ShuffleRead(msgspec.Struct, frozen=True, gc=False):
    """Part of a task's metrics."""

    remote_bytes: int = msgspec.field(name="Remote Bytes Read", default=0)
    local_bytes: int = msgspec.field(name="Local Bytes Read", default=0)
    records: int = msgspec.field(name="Total Records Read", default=0)
    fetch_wait: int = msgspec.field(name="Fetch Wait Time", default=0)


class ShuffleWrite(msgspec.Struct, frozen=True, gc=False):
    """Part of a task's metrics."""

    written: int = msgspec.field(name="Shuffle Bytes Written", default=0)
    records: int = msgspec.field(name="Shuffle Records Written", default=0)
    time: int = msgspec.field(name="Shuffle Write Time", default=0)


class Input(msgspec.Struct, frozen=True, gc=False):
    """Part of a task's metrics."""

    read: int = msgspec.field(name="Bytes Read", default=0)
    records: int = msgspec.field(name="Records Read", default=0)


class Output(msgspec.Struct, frozen=True, gc=False):
    """Part of a task's metrics."""

    written: int = msgspec.field(name="Bytes Written", default=0)
    records: int = msgspec.field(name="Records Written", default=0)


class BlockStatus(msgspec.Struct, frozen=True, gc=False):
    """Where a block is and how large."""

    level: StorageLevel = msgspec.field(name="Storage Level", default=StorageLevel())
    memory: int = msgspec.field(name="Memory Size", default=0)
    disk: int = msgspec.field(name="Disk Size", default=0)


class UpdatedBlock(msgspec.Struct, frozen=True):
    """Part of a task's metrics (``spark.taskMetrics.trackUpdatedBlockStatuses``)."""

    block_id: str = msgspec.field(name="Block ID", default="")
    status: BlockStatus = msgspec.field(name="Status", default=BlockStatus())


class TaskMetrics(msgspec.Struct, frozen=True, gc=False):
    """Part of ``SparkListenerTaskEnd``."""

    deserialize: int = msgspec.field(name="Executor Deserialize Time", default=0)
    run: int = msgspec.field(name="Executor Run Time", default=0)
    cpu: int = msgspec.field(name="Executor CPU Time", default=-1)
    peak: int = msgspec.field(name="Peak Execution Memory", default=0)
    result_size: int = msgspec.field(name="Result Size", default=0)
    gc: int = msgspec.field(name="JVM GC Time", default=0)
    serialize: int = msgspec.field(name="Result Serialization Time", default=0)
    memory_spill: int = msgspec.field(name="Memory Bytes Spilled", default=0)
    disk_spill: int = msgspec.field(name="Disk Bytes Spilled", default=0)
    shuffle_read: ShuffleRead | None = msgspec.field(name="Shuffle Read Metrics", default=None)
    shuffle_write: ShuffleWrite | None = msgspec.field(name="Shuffle Write Metrics", default=None)
    input: Input | None = msgspec.field(name="Input Metrics", default=None)
    output: Output | None = msgspec.field(name="Output Metrics", default=None)
    updated_blocks: tuple[UpdatedBlock, ...] | None = msgspec.field(name="Updated Blocks", default=None)


class TaskEnd(msgspec.Struct, frozen=True, gc=False):
    """``SparkListenerTaskEnd``."""

    stage_id: int = msgspec.field(name="Stage ID")
    info: TaskInfo = msgspec.field(name="Task Info")
    stage_attempt: int = msgspec.field(name="Stage Attempt ID", default=0)
    reason: Reason | None = msgspec.field(name="Task End Reason", default=None)
    metrics: TaskMetrics | None = msgspec.field(name="Task Metrics", default=None)
    executor_metrics: ExecutorMetrics | None = msgspec.field(name="Task Executor Metrics", default=None)


class StageExecutorMetrics(msgspec.Struct, frozen=True):
    """``SparkListenerStageExecutorMetrics`` (``spark.eventLog.logStageExecutorMetrics``)."""

    executor_id: str = msgspec.field(name="Executor ID")
    stage_id: int = msgspec.field(name="Stage ID")
    stage_attempt: int = msgspec.field(name="Stage Attempt ID", default=0)
    metrics: ExecutorMetrics = msgspec.field(name="Executor Metrics", default=ExecutorMetrics())


class MetricsUpdate(msgspec.Struct, frozen=True):
    """Part of ``SparkListenerExecutorMetricsUpdate``."""

    metrics: ExecutorMetrics = msgspec.field(name="Executor Metrics", default=ExecutorMetrics())


class ExecutorMetricsUpdate(msgspec.Struct, frozen=True):
    """``SparkListenerExecutorMetricsUpdate``, which is logged of the driver alone (SPARK-34898)."""

    executor_id: str = msgspec.field(name="Executor ID")
    updates: tuple[MetricsUpdate, ...] = msgspec.field(name="Executor Metrics Updated", default=())


class BlockUpdate(msgspec.Struct, frozen=True):
    """Part of ``SparkListenerBlockUpdated``."""

    block_id: str = msgspec.field(name="Block ID", default="")
    level: StorageLevel = msgspec.field(name="Storage Level", default=StorageLevel())
    memory: int = msgspec.field(name="Memory Size", default=0)
    disk: int = msgspec.field(name="Disk Size", default=0)


class BlockUpdated(msgspec.Struct, frozen=True):
    """``SparkListenerBlockUpdated`` (``spark.eventLog.logBlockUpdates.enabled``)."""

    info: BlockUpdate = msgspec.field(name="Block Updated Info")


class UnpersistRdd(msgspec.Struct, frozen=True):
    """``SparkListenerUnpersistRDD``."""

    rdd_id: int = msgspec.field(name="RDD ID")


class SqlStart(msgspec.Struct, frozen=True):
    """``SparkListenerSQLExecutionStart``."""

    execution_id: int = msgspec.field(name="executionId")
    root_execution_id: int | None = msgspec.field(name="rootExecutionId", default=None)
    description: str = msgspec.field(name="description", default="")
    time: int = msgspec.field(name="time", default=0)


class SqlEnd(msgspec.Struct, frozen=True):
    """``SparkListenerSQLExecutionEnd``; the error since Spark 3.4, empty where there is none."""

    execution_id: int = msgspec.field(name="executionId")
    time: int = msgspec.field(name="time", default=0)
    error: str | None = msgspec.field(name="errorMessage", default=None)


class SqlAdaptive(msgspec.Struct, frozen=True, gc=False):
    """``SparkListenerSQLAdaptiveExecutionUpdate``."""

    execution_id: int = msgspec.field(name="executionId")


class EndedTask(NamedTuple):
    """A task's end, with the one value that may be among its accumulables only; those are not built."""

    event: TaskEnd
    peak_among_accumulables: int


_KINDS: Final[dict[str, type[msgspec.Struct]]] = {
    "SparkListenerLogStart": LogStart,
    "DBCEventLoggingListenerMetadata": LogStart,
    "SparkListenerApplicationStart": ApplicationStart,
    "SparkListenerApplicationEnd": ApplicationEnd,
    "SparkListenerEnvironmentUpdate": EnvironmentUpdate,
    "SparkListenerResourceProfileAdded": ResourceProfileAdded,
    "SparkListenerExecutorAdded": ExecutorAdded,
    "SparkListenerExecutorRemoved": ExecutorRemoved,
    "SparkListenerBlockManagerAdded": BlockManagerAdded,
    "SparkListenerBlockManagerRemoved": BlockManagerRemoved,
    "SparkListenerJobStart": JobStart,
    "SparkListenerJobEnd": JobEnd,
    "SparkListenerStageSubmitted": StageEvent,
    "SparkListenerStageCompleted": StageEvent,
    "SparkListenerTaskStart": TaskStart,
    "SparkListenerTaskEnd": TaskEnd,
    "SparkListenerStageExecutorMetrics": StageExecutorMetrics,
    "SparkListenerExecutorMetricsUpdate": ExecutorMetricsUpdate,
    "SparkListenerBlockUpdated": BlockUpdated,
    "SparkListenerUnpersistRDD": UnpersistRdd,
    "SparkListenerSQLExecutionStart": SqlStart,
    "SparkListenerSQLExecutionEnd": SqlEnd,
    "SparkListenerSQLAdaptiveExecutionUpdate": SqlAdaptive,
}
"""Which events are read, by name without the package; any other is checked to be JSON and counted."""

_PEAK_NAME: Final = b'"internal.metrics.peakExecutionMemory"'
_PEAK_UPDATE: Final = re.compile(rb'\s*,\s*"Update"\s*:\s*"?(\d+)')


def parsers() -> dict[str, Callable[[bytes], Any]]:
    """What makes an event of a line, by the event's name; each raises msgspec's errors."""
    made: dict[str, Callable[[bytes], Any]] = {
        name: msgspec.json.Decoder(kind, strict=False).decode for name, kind in _KINDS.items()
    }
    task_end = made["SparkListenerTaskEnd"]
    made["SparkListenerTaskEnd"] = lambda line: EndedTask(task_end(line), _peak_among_accumulables(line))
    return made


def _peak_among_accumulables(line: bytes) -> int:
    # Spark 2 wrote the value here only, and 0 into the field meant for it (apache/spark#25949).
    at = line.find(_PEAK_NAME)
    update = _PEAK_UPDATE.match(line, at + len(_PEAK_NAME)) if at >= 0 else None
    return int(update[1]) if update else 0
