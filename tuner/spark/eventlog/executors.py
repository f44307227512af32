"""Executors gathered while a log is read: who they are, and what their tasks came to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tuner.spark.eventlog import events
from tuner.spark.eventlog.model import ExecutorLog, MemoryPeaks
from tuner.spark.eventlog.tasks import AT, FAILED, PEAKS, RESUBMITTED, Rows
from tuner.spark.eventlog.values import clip, seconds

DRIVER: Final = ("driver", "<driver>")
"""The driver's executor id, since Spark 1.4 and before."""
_FIRST_PEAK: Final = AT[PEAKS[0]]


def memory_peaks(values: NDArray[np.int64]) -> MemoryPeaks:
    """Peaks from numbers in the order of :data:`tuner.spark.eventlog.tasks.PEAKS`; 0 was never sampled."""
    return MemoryPeaks(*(value or None for value in values.tolist()))


def peak_values(metrics: events.ExecutorMetrics) -> tuple[int, ...]:
    """Numbers in the order of :data:`tuner.spark.eventlog.tasks.PEAKS`."""
    return (
        metrics.jvm_heap,
        metrics.jvm_off_heap,
        metrics.on_heap_unified,
        metrics.off_heap_unified,
        metrics.jvm_rss,
        metrics.python_rss,
        metrics.other_rss,
    )


@dataclass
class _Facts:
    host: str = ""
    cores: int | None = None
    added: int | None = None
    removed: int | None = None
    reason: str | None = None
    profile_id: int = 0
    on_heap: int | None = None


class ExecutorStore:
    """Takes the events of executors; each method for one returns the event's time in ms."""

    def __init__(self) -> None:
        self._positions: dict[str, int] = {}
        self._facts: list[_Facts] = []
        self._tasks = np.zeros(16, np.int64)
        self._failed = np.zeros(16, np.int64)
        self._busy_ms = np.zeros(16, np.int64)
        self._peaks = np.zeros((16, len(PEAKS)), np.int64)

    def position(self, executor_id: str) -> int:
        """The executor's place in :meth:`result`; a new one for one that was never seen."""
        position = self._positions.get(executor_id)
        if position is None:
            position = self._positions[executor_id] = len(self._facts)
            self._facts.append(_Facts())
            self._reserve(position)
        return position

    @property
    def local(self) -> bool:
        """Whether nothing but a driver is known, as in local mode."""
        return all(executor_id in DRIVER for executor_id in self._positions)

    def added(self, event: events.ExecutorAdded) -> int:
        """``SparkListenerExecutorAdded``."""
        facts = self._of(event.executor_id)
        facts.host, facts.cores, facts.profile_id = event.info.host, event.info.cores, event.info.profile_id
        facts.added = event.timestamp or facts.added
        return event.timestamp

    def removed(self, event: events.ExecutorRemoved) -> int:
        """``SparkListenerExecutorRemoved``."""
        facts = self._of(event.executor_id)
        facts.removed, facts.reason = event.timestamp or None, clip(event.reason)
        return event.timestamp

    def block_manager_added(self, event: events.BlockManagerAdded) -> int:
        """``SparkListenerBlockManagerAdded``: before Spark 1.3 nothing else says that an executor is there."""
        facts = self._of(event.block_manager.executor_id)
        facts.host = facts.host or event.block_manager.host
        facts.on_heap = event.on_heap if event.on_heap is not None else event.maximum
        if facts.added is None:
            facts.added = event.timestamp or None
        return event.timestamp

    def block_manager_removed(self, event: events.BlockManagerRemoved) -> int:
        """``SparkListenerBlockManagerRemoved``."""
        facts = self._of(event.block_manager.executor_id)
        facts.removed = facts.removed or event.timestamp or None
        return event.timestamp

    def add_tasks(self, rows: Rows, durations_ms: Rows) -> None:
        """Adds tasks; see :meth:`tuner.spark.eventlog.tasks.Tally.add`."""
        status = rows[:, AT["status"]]
        worked = status != RESUBMITTED
        executors, size = rows[worked, AT["executor"]], len(self._tasks)
        self._tasks += np.bincount(executors, minlength=size)
        self._failed += np.bincount(rows[status == FAILED, AT["executor"]], minlength=size)
        np.add.at(self._busy_ms, executors, durations_ms[worked])
        np.maximum.at(self._peaks, executors, rows[worked, _FIRST_PEAK:])

    def raise_peaks(self, position: int, peaks: NDArray[np.int64]) -> None:
        """Takes in sampled peaks, shape (peaks,)."""
        np.maximum(self._peaks[position], peaks, out=self._peaks[position])

    def result(self) -> tuple[ExecutorLog, ...]:
        """The executors in the order in which the log first named them."""
        return tuple(
            ExecutorLog(
                executor_id=executor_id,
                host=facts.host,
                cores=facts.cores,
                added_s=seconds(facts.added),
                removed_s=seconds(facts.removed),
                removal_reason=facts.reason,
                profile_id=facts.profile_id,
                max_on_heap_bytes=facts.on_heap,
                tasks=int(self._tasks[position]),
                failed_tasks=int(self._failed[position]),
                busy_s=int(self._busy_ms[position]) / 1e3,
                peaks=memory_peaks(self._peaks[position]),
            )
            for (executor_id, position), facts in zip(self._positions.items(), self._facts, strict=True)
        )

    def largest_peaks(self) -> MemoryPeaks:
        """The largest of any one executor; the driver's count only where it ran tasks."""
        of_executors = [
            self._peaks[position]
            for executor_id, position in self._positions.items()
            if executor_id not in DRIVER or self._tasks[position]
        ]
        return memory_peaks(np.max(of_executors, axis=0)) if of_executors else MemoryPeaks()

    def _of(self, executor_id: str) -> _Facts:
        return self._facts[self.position(executor_id)]

    def _reserve(self, position: int) -> None:
        if position >= len(self._tasks):
            more = len(self._tasks)
            self._tasks, self._failed, self._busy_ms = (
                np.pad(each, (0, more)) for each in (self._tasks, self._failed, self._busy_ms)
            )
            self._peaks = np.pad(self._peaks, ((0, more), (0, 0)))
