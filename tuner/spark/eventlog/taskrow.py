"""From the end of a task to its row of numbers."""

from __future__ import annotations

from typing import Final

from tuner.spark.eventlog import events
from tuner.spark.eventlog.executors import peak_values
from tuner.spark.eventlog.model import TaskFailure
from tuner.spark.eventlog.tasks import FAILED, KILLED, PEAKS, RESUBMITTED, SUCCEEDED
from tuner.spark.eventlog.values import clip

_NO_METRICS: Final = events.TaskMetrics()
_NO_READ: Final = events.ShuffleRead()
_NO_WRITE: Final = events.ShuffleWrite()
_NO_INPUT: Final = events.Input()
_NO_OUTPUT: Final = events.Output()
_NO_REASON: Final = events.Reason()
_NO_PEAKS: Final = (0,) * len(PEAKS)


def task_row(ended: events.EndedTask, executor: int, status: int) -> tuple[int, ...]:
    """A task in the order of :data:`tuner.spark.eventlog.tasks.COLUMNS`.

    Args:
        ended: the task's end.
        executor: its executor's position.
        status: how it ended.
    """
    event = ended.event
    info = event.info
    metrics = event.metrics or _NO_METRICS
    read, write = metrics.shuffle_read or _NO_READ, metrics.shuffle_write or _NO_WRITE
    taken, made = metrics.input or _NO_INPUT, metrics.output or _NO_OUTPUT
    sampled = event.executor_metrics
    return (
        info.task_id,
        info.index,
        info.attempt,
        info.launch,
        info.finish,
        executor,
        status,
        info.speculative,
        metrics.run,
        metrics.cpu,
        metrics.gc,
        metrics.deserialize,
        metrics.serialize,
        info.finish - info.getting_result if info.getting_result else 0,
        metrics.result_size,
        max(metrics.peak, ended.peak_among_accumulables),
        metrics.memory_spill,
        metrics.disk_spill,
        taken.read,
        taken.records,
        made.written,
        made.records,
        read.remote_bytes,
        read.local_bytes,
        read.records,
        read.fetch_wait,
        write.written,
        write.records,
        write.time,
        *(peak_values(sampled) if sampled is not None and (sampled.jvm_heap or sampled.jvm_rss) else _NO_PEAKS),
    )


def status_of(event: events.TaskEnd) -> int:
    """How a task ended; a log that lost the reason still has the flags."""
    kind = (event.reason or _NO_REASON).reason
    if kind == "Success":
        return SUCCEEDED
    if kind == "Resubmitted":
        return RESUBMITTED
    if kind == "TaskKilled" or event.info.killed:
        return KILLED
    return FAILED if kind or event.info.failed else SUCCEEDED


def failure_of(event: events.TaskEnd) -> TaskFailure:
    """Why a task did not end well, in Spark's words."""
    reason = event.reason or _NO_REASON
    said = reason.description or reason.message or reason.kill_reason or reason.loss_reason
    return TaskFailure(
        stage_id=event.stage_id,
        stage_attempt=event.stage_attempt,
        task_id=event.info.task_id,
        executor_id=event.info.executor_id,
        reason=reason.reason or ("TaskKilled" if event.info.killed else "UnknownReason"),
        detail=clip(": ".join(part for part in (reason.class_name, said) if part)) or "",
    )
