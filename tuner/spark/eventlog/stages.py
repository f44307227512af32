"""Tasks gathered by stage while a log is read, in bounded memory."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from tuner.spark.eventlog.executors import ExecutorStore
from tuner.spark.eventlog.intervals import BusySpells
from tuner.spark.eventlog.tasks import AT, RESUBMITTED, Reservoir, RowBuffer, Rows, Tally, TaskSample

MAX_ROWS: Final = 200_000
"""Tasks kept of one log, 288 bytes each; above that each stage keeps a sample."""
MAX_STAGES: Final = 5_000
"""Stages kept of one log; above that those with the least run time keep only their share of the totals."""
_ROWS_PER_STAGE: Final = 20_000

StageKey = tuple[int, int]


class StageTasks:
    """Tasks of one attempt of one stage."""

    __slots__ = ("sample", "tally")

    def __init__(self, capacity: int, seed: int) -> None:
        self.tally = Tally()
        self.sample = Reservoir(capacity, seed)


class TaskStore:
    """All tasks of a log: exact totals by stage, by executor and in all, and as many rows as there is room for.

    Args:
        executors: take their share of the tasks.
        max_rows: tasks to keep.
        max_stages: stages to keep.
    """

    def __init__(self, executors: ExecutorStore, max_rows: int = MAX_ROWS, max_stages: int = MAX_STAGES) -> None:
        self._executors = executors
        self._max_rows, self._max_stages = max_rows, max_stages
        self._capacity = min(_ROWS_PER_STAGE, max_rows)
        self._buffer = RowBuffer(self._take)
        self._numbers: dict[StageKey, int] = {}
        self._keys: list[StageKey] = []
        self._stages: dict[int, StageTasks] = {}
        self._kept_rows = 0
        self.everything = Tally()
        self.spells = BusySpells()
        self.bad_times = 0
        self.forgotten: set[StageKey] = set()
        """Stages of which only the share of the totals is left."""

    def add(self, stage: StageKey, row: tuple[int, ...]) -> None:
        """Adds one task.

        Args:
            stage: the stage's id and attempt.
            row: the task as in :data:`tuner.spark.eventlog.tasks.COLUMNS`.

        Raises:
            OverflowError: where a number of the row is no 64-bit integer.
        """
        self._buffer.append(self._number(stage), row)

    def flush(self) -> None:
        """Makes every total include every task."""
        self._buffer.flush()

    def stage(self, stage: StageKey) -> StageTasks:
        """The tasks of a stage, none where it has none; :meth:`flush` first."""
        number = self._numbers.get(stage)
        found = self._stages.get(number) if number is not None else None
        return found or StageTasks(0, 0)

    def stage_keys(self) -> list[StageKey]:
        """Every stage of which tasks are kept."""
        return [self._keys[number] for number in self._stages]

    def sample(self, stage: StageKey) -> TaskSample:
        """The kept tasks of a stage."""
        kept = self.stage(stage).sample
        return TaskSample(kept.rows, kept.seen)

    def raise_peaks(self, stage: StageKey, peaks: NDArray[np.int64]) -> None:
        """Takes in the peaks that an executor had during a stage, shape (peaks,)."""
        tally = self._stage_of(self._number(stage)).tally
        np.maximum(tally.peaks[:-1], peaks, out=tally.peaks[:-1])

    def _number(self, stage: StageKey) -> int:
        number = self._numbers.get(stage)
        if number is None:
            number = self._numbers[stage] = len(self._keys)
            self._keys.append(stage)
        return number

    def _stage_of(self, number: int) -> StageTasks:
        found = self._stages.get(number)
        if found is None:
            # Seeded by the stage, so that reading a log twice keeps the same tasks.
            found = self._stages[number] = StageTasks(self._capacity, seed=number)
        return found

    def _take(self, numbers: Rows, rows: Rows) -> None:
        launch, finish = rows[:, AT["launch_ms"]], rows[:, AT["finish_ms"]]
        good = (launch > 0) & (finish >= launch)
        durations = np.where(good, finish - launch, 0)
        self.bad_times += int((~good).sum())
        ran = good & (rows[:, AT["status"]] != RESUBMITTED)
        self.spells.add(launch[ran], finish[ran])
        self.everything.add(rows, durations)
        self._executors.add_tasks(rows, durations)
        order = np.argsort(numbers, kind="stable")
        numbers, rows, durations = numbers[order], rows[order], durations[order]
        starts = np.flatnonzero(np.diff(numbers, prepend=-1)).tolist()
        for start, end in zip(starts, [*starts[1:], len(numbers)], strict=True):
            stage = self._stage_of(int(numbers[start]))
            before = len(stage.sample)
            stage.tally.add(rows[start:end], durations[start:end])
            stage.sample.add(rows[start:end])
            self._kept_rows += len(stage.sample) - before
        self._stay_within_bounds()

    def _stay_within_bounds(self) -> None:
        if len(self._stages) > self._max_stages * 5 // 4:
            least_first = sorted(self._stages, key=lambda number: int(self._stages[number].tally.sums[0]))
            for number in least_first[: len(self._stages) - self._max_stages]:
                self._kept_rows -= len(self._stages.pop(number).sample)
                self.forgotten.add(self._keys[number])
        while self._kept_rows > self._max_rows:
            self._capacity = max(1, self._capacity // 2)
            for stage in self._stages.values():
                stage.sample.shrink(self._capacity)
            self._kept_rows = sum(len(stage.sample) for stage in self._stages.values())
