"""Union of intervals: how long at least one task ran."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

Starts = NDArray[np.int64]
Ends = NDArray[np.int64]

# More disjoint spells than this happen in streaming applications that run for weeks; the shortest gaps are closed.
MAX_SPELLS: Final = 100_000


def merge(starts: Starts, ends: Ends) -> tuple[Starts, Ends]:
    """Merges intervals that overlap or touch.

    Args:
        starts: where each interval starts, shape (n,), in any order.
        ends: where each one ends, shape (n,), not before its start.

    Returns:
        Disjoint intervals in order, as two arrays of one shape (m,), m <= n.
    """
    if len(starts) == 0:
        return starts, ends
    order = np.argsort(starts, kind="stable")
    starts, ends = starts[order], np.maximum.accumulate(ends[order])
    first = np.concatenate(([True], starts[1:] > ends[:-1]))
    last = np.concatenate((first[1:], [True]))
    return starts[first], ends[last]


def driver_time(wall_s: float, busy_s: float) -> float:
    """Time that the driver alone took: wall clock without the union of the executors' busy intervals.

    Where events are lost, or clocks of driver and executors differ, the union can be longer than the wall clock; the
    driver's time is then 0, never negative (qubole/sparklens#50).

    Args:
        wall_s: from the application's start to its end.
        busy_s: length of the union of all tasks' intervals. Not their sum: stages run side by side.
    """
    return max(0.0, wall_s - busy_s)


class BusySpells:
    """Union of any number of intervals in bounded memory."""

    def __init__(self, max_spells: int = MAX_SPELLS) -> None:
        self._max = max_spells
        self._starts = np.empty(0, np.int64)
        self._ends = np.empty(0, np.int64)
        self.closed_gaps_ms = 0

    def add(self, starts: Starts, ends: Ends) -> None:
        """Adds intervals, in milliseconds; see :func:`merge`."""
        self._starts, self._ends = merge(np.concatenate((self._starts, starts)), np.concatenate((self._ends, ends)))
        if len(self._starts) > self._max:
            self._close_short_gaps()

    @property
    def length_ms(self) -> int:
        """Length of the union."""
        return int((self._ends - self._starts).sum())

    def _close_short_gaps(self) -> None:
        gaps = self._starts[1:] - self._ends[:-1]
        keep = np.sort(np.argpartition(gaps, -(self._max // 2))[-(self._max // 2) :])
        closed = int(gaps.sum() - gaps[keep].sum())
        self.closed_gaps_ms += closed
        self._starts = self._starts[np.concatenate(([0], keep + 1))]
        self._ends = self._ends[np.concatenate((keep, [len(self._ends) - 1]))]
