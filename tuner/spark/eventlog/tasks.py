"""Tasks of a stage: exact totals, and the tasks themselves as columns of numbers, a sample where they are many."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]

COLUMNS: Final = (
    "task_id",
    "index",
    "task_attempt",
    "launch_ms",
    "finish_ms",
    "executor",
    "status",
    "speculative",
    "run_ms",
    "cpu_ns",
    "gc_ms",
    "deserialize_ms",
    "serialize_ms",
    "getting_result_ms",
    "result_bytes",
    "peak_execution_bytes",
    "memory_spill_bytes",
    "disk_spill_bytes",
    "input_bytes",
    "input_records",
    "output_bytes",
    "output_records",
    "shuffle_remote_bytes",
    "shuffle_local_bytes",
    "shuffle_read_records",
    "fetch_wait_ms",
    "shuffle_write_bytes",
    "shuffle_write_records",
    "shuffle_write_ns",
    "jvm_heap",
    "jvm_off_heap",
    "on_heap_unified",
    "off_heap_unified",
    "jvm_rss",
    "python_rss",
    "other_rss",
)
"""What is kept of a task. ``executor`` is a position in the application's executors; ``status`` one of the constants
below; ``cpu_ns`` is -1 before Spark 2.1, which did not measure it; a peak of 0 is unknown."""

SUCCEEDED, FAILED, KILLED, RESUBMITTED = range(4)
"""How a task ended. ``RESUBMITTED`` is not an end: Spark logs a task that had succeeded a second time when the
executor with its shuffle output is lost. Such a row counts no time and no bytes a second time."""

AT: Final = {name: position for position, name in enumerate(COLUMNS)}
WIDTH: Final = len(COLUMNS)
PEAKS: Final = COLUMNS[AT["jvm_heap"] :]
_FIRST_SUM: Final = AT["run_ms"]
_FIRST_PEAK: Final = AT["jvm_heap"]


@dataclass(frozen=True)
class TaskTotals:
    """Exact sums over all tasks of a stage or an application, sampled or not."""

    tasks: int = 0
    """Task ends in the log, whatever the end."""
    succeeded: int = 0
    failed: int = 0
    killed: int = 0
    resubmitted: int = 0
    speculative: int = 0
    duration_s: float = 0.0
    """From launch to finish, summed."""
    longest_s: float = 0.0
    run_s: float = 0.0
    cpu_s: float | None = None
    gc_s: float = 0.0
    deserialize_s: float = 0.0
    serialize_s: float = 0.0
    fetch_wait_s: float = 0.0
    shuffle_write_s: float = 0.0
    result_bytes: int = 0
    memory_spill_bytes: int = 0
    disk_spill_bytes: int = 0
    input_bytes: int = 0
    input_records: int = 0
    output_bytes: int = 0
    output_records: int = 0
    shuffle_read_bytes: int = 0
    shuffle_remote_bytes: int = 0
    shuffle_read_records: int = 0
    shuffle_write_bytes: int = 0
    shuffle_write_records: int = 0
    peak_execution_bytes: int | None = None
    """Largest of any one task; None where every task says 0 (apache/spark#25949)."""


@dataclass(frozen=True, eq=False)
class TaskSample:
    """Tasks as rows of :data:`COLUMNS`; all of them, or a uniform random sample of ``of_tasks``."""

    rows: Rows = field(default_factory=lambda: np.empty((0, WIDTH), np.int64))
    """Shape (kept tasks, columns)."""
    of_tasks: int = 0

    @property
    def complete(self) -> bool:
        """Whether every task is here."""
        return len(self.rows) == self.of_tasks

    def column(self, name: str) -> Rows:
        """One column, shape (kept tasks,); the name carries the unit."""
        return self.rows[:, AT[name]]

    @property
    def succeeded(self) -> TaskSample:
        """The tasks that succeeded, alone."""
        kept = self.rows[self.column("status") == SUCCEEDED]
        return TaskSample(kept, len(kept) if self.complete else self.of_tasks)

    @property
    def durations_s(self) -> NDArray[np.float64]:
        """From launch to finish, shape (kept tasks,); NaN where the log's times make no sense."""
        launch, finish = self.column("launch_ms"), self.column("finish_ms")
        good = (launch > 0) & (finish >= launch)
        return np.where(good, (finish - launch) / 1000.0, np.nan)


class Tally:
    """Running totals of a group of tasks."""

    __slots__ = ("counts", "cpu_known", "longest_ms", "peaks", "speculative", "sums")

    def __init__(self) -> None:
        self.counts = np.zeros(4, np.int64)
        self.sums = np.zeros(_FIRST_PEAK - _FIRST_SUM + 1, np.int64)
        self.peaks = np.zeros(WIDTH - _FIRST_PEAK + 1, np.int64)
        self.longest_ms = 0
        self.speculative = 0
        self.cpu_known = False

    def add(self, rows: Rows, durations_ms: Rows) -> None:
        """Adds tasks.

        Args:
            rows: shape (n, columns).
            durations_ms: their durations, shape (n,), 0 where unknown.
        """
        status = rows[:, AT["status"]]
        self.counts += np.bincount(status, minlength=4)
        self.speculative += int(rows[:, AT["speculative"]].sum())
        worked = status != RESUBMITTED
        if not worked.all():
            rows, durations_ms = rows[worked], durations_ms[worked]
        if len(rows) == 0:
            return
        cpu = rows[:, AT["cpu_ns"]]
        self.cpu_known = self.cpu_known or bool((cpu >= 0).any())
        self.sums[:-1] += rows[:, _FIRST_SUM:_FIRST_PEAK].sum(axis=0)
        self.sums[AT["cpu_ns"] - _FIRST_SUM] += int((cpu < 0).sum())
        self.sums[-1] += int(durations_ms.sum())
        self.longest_ms = max(self.longest_ms, int(durations_ms.max()))
        np.maximum(self.peaks[:-1], rows[:, _FIRST_PEAK:].max(axis=0), out=self.peaks[:-1])
        self.peaks[-1] = max(self.peaks[-1], rows[:, AT["peak_execution_bytes"]].max())

    def merge(self, other: Tally) -> None:
        """Adds another group's totals."""
        self.counts += other.counts
        self.sums += other.sums
        np.maximum(self.peaks, other.peaks, out=self.peaks)
        self.longest_ms = max(self.longest_ms, other.longest_ms)
        self.speculative += other.speculative
        self.cpu_known = self.cpu_known or other.cpu_known

    def totals(self) -> TaskTotals:
        """The totals as a value."""
        sums = self.sums.tolist()

        def total(name: str) -> int:
            return int(sums[AT[name] - _FIRST_SUM])

        counts = self.counts.tolist()
        return TaskTotals(
            tasks=sum(counts),
            succeeded=counts[SUCCEEDED],
            failed=counts[FAILED],
            killed=counts[KILLED],
            resubmitted=counts[RESUBMITTED],
            speculative=self.speculative,
            duration_s=sums[-1] / 1e3,
            longest_s=self.longest_ms / 1e3,
            run_s=total("run_ms") / 1e3,
            cpu_s=total("cpu_ns") / 1e9 if self.cpu_known else None,
            gc_s=total("gc_ms") / 1e3,
            deserialize_s=total("deserialize_ms") / 1e3,
            serialize_s=total("serialize_ms") / 1e3,
            fetch_wait_s=total("fetch_wait_ms") / 1e3,
            shuffle_write_s=total("shuffle_write_ns") / 1e9,
            result_bytes=total("result_bytes"),
            memory_spill_bytes=total("memory_spill_bytes"),
            disk_spill_bytes=total("disk_spill_bytes"),
            input_bytes=total("input_bytes"),
            input_records=total("input_records"),
            output_bytes=total("output_bytes"),
            output_records=total("output_records"),
            shuffle_read_bytes=total("shuffle_remote_bytes") + total("shuffle_local_bytes"),
            shuffle_remote_bytes=total("shuffle_remote_bytes"),
            shuffle_read_records=total("shuffle_read_records"),
            shuffle_write_bytes=total("shuffle_write_bytes"),
            shuffle_write_records=total("shuffle_write_records"),
            peak_execution_bytes=int(self.peaks[-1]) or None,
        )


class Reservoir:
    """A uniform sample of rows in bounded memory: algorithm R (Vitter 1985), whose size can be lowered on the way."""

    __slots__ = ("_capacity", "_random", "_rows", "_used", "seen")

    def __init__(self, capacity: int, seed: int) -> None:
        self._capacity = capacity
        self._random: np.random.Generator | int = seed
        self._rows = np.empty((0, WIDTH), np.int64)
        self._used = 0
        self.seen = 0

    def __len__(self) -> int:
        return self._used

    @property
    def rows(self) -> Rows:
        """The sample, shape (kept, columns)."""
        return self._rows[: self._used]

    def add(self, rows: Rows) -> None:
        """Offers rows, shape (n, columns)."""
        room = self._capacity - self._used
        if room > 0:
            head = rows[:room]
            self._grow(self._used + len(head))
            self._rows[self._used : self._used + len(head)] = head
            self._used += len(head)
            self.seen += len(head)
            rows = rows[room:]
        if len(rows):
            ranks = self.seen + np.arange(1, len(rows) + 1)
            places = (self._generator().random(len(rows)) * ranks).astype(np.int64)
            taken = places < self._capacity
            # Of two rows for one place the later one stays, as if they had come one at a time.
            self._rows[places[taken]] = rows[taken]
            self.seen += len(rows)

    def shrink(self, capacity: int) -> None:
        """Lowers the capacity; what is kept stays a uniform sample of all that was seen."""
        self._capacity = capacity
        if self._used > capacity:
            kept = np.sort(self._generator().choice(self._used, capacity, replace=False))
            self._rows = self._rows[kept]
            self._used = capacity

    def _grow(self, needed: int) -> None:
        if needed > len(self._rows):
            grown = np.empty((min(self._capacity, max(needed, len(self._rows) * 3 // 2)), WIDTH), np.int64)
            grown[: self._used] = self._rows[: self._used]
            self._rows = grown

    def _generator(self) -> np.random.Generator:
        # A generator costs more than a short stage's rows, and most stages never need one.
        if isinstance(self._random, int):
            self._random = np.random.default_rng(self._random)
        return self._random


class RowBuffer:
    """Collects tasks one by one and hands them on many at a time, so that numpy does the adding up."""

    ROWS: Final = 4096

    def __init__(self, sink: Callable[[Rows, Rows], None]) -> None:
        """Args: sink: takes keys, shape (n,), and rows, shape (n, columns)."""
        self._sink = sink
        self._keys: list[int] = []
        self._values = array("q")

    def append(self, key: int, row: Iterable[int]) -> None:
        """Adds one task.

        Raises:
            OverflowError: where a number is no 64-bit integer; nothing is added then.
        """
        self._values.extend(array("q", row))
        self._keys.append(key)
        if len(self._keys) >= self.ROWS:
            self.flush()

    def flush(self) -> None:
        """Hands on what is left."""
        if self._keys:
            rows = np.array(self._values, np.int64).reshape(-1, WIDTH)
            keys = np.array(self._keys, np.int64)
            self._keys, self._values = [], array("q")
            self._sink(keys, rows)
