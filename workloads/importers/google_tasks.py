"""The life of tasks in the Google trace of 2011: events in, runs out.

States and events as in the trace's description ("Google cluster-usage traces: format + schema", v2.1): a task is not
submitted, pending, running or dead. SUBMIT makes it pending, SCHEDULE running; EVICT, FAIL, FINISH, KILL and LOST end
it, from either state; the UPDATE events change what it asks for. After an end it may be submitted again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from math import nan
from typing import Final

from workloads.workload import Ending, Unsure

__all__ = ["NEVER_US", "START_US", "Event", "MissingInfo", "Run", "TaskEvent", "TaskLives"]

NEVER_US: Final = 2**63 - 1
"""The time of an event after the trace's end."""
START_US: Final = 600_000_000
"""The trace starts at 600 s; what is at 0 happened before."""
_SECOND_US: Final = 1e6
# Plain numbers: arithmetic on an IntFlag takes ten times as long, and this is done for every event.
_START, _END, _LATE_END = (int(each) for each in (Unsure.START, Unsure.END, Unsure.LATE_END))


class Event(IntEnum):
    """Event types of task_events and job_events."""

    SUBMIT = 0
    SCHEDULE = 1
    EVICT = 2
    FAIL = 3
    FINISH = 4
    KILL = 5
    LOST = 6
    UPDATE_PENDING = 7
    UPDATE_RUNNING = 8


class MissingInfo(IntEnum):
    """Why an event's record is not an original one; then its time may be wrong."""

    SNAPSHOT_BUT_NO_TRANSITION = 0
    """Seen in a later snapshot only: the time is the snapshot's, so it is late."""
    NO_SNAPSHOT_OR_TRANSITION = 1
    """An end that shows only by the task's absence: the time is an upper bound."""
    EXISTS_BUT_NO_CREATION = 2
    """The creation's record is not there: SUBMIT and SCHEDULE may be late, the request may be missing."""


_ENDINGS: Final[dict[int, Ending]] = {
    Event.EVICT: Ending.EVICTED,
    Event.FAIL: Ending.FAILED,
    Event.FINISH: Ending.FINISHED,
    Event.KILL: Ending.KILLED,
    Event.LOST: Ending.LOST,
}


@dataclass(slots=True)
class TaskEvent:
    """One row of task_events, as far as it is needed; requests are fractions of the largest machine, NaN unknown."""

    time_us: int
    missing: int
    """Of :class:`MissingInfo`; -1 where nothing is missing."""
    job_id: int
    index: int
    event: int
    user: bytes
    scheduling_class: int
    priority: int
    cpu: float
    memory: float


@dataclass(slots=True)
class Run:
    """One run of a task, or its waiting for one.

    Attributes:
        wait_s: NaN where it is not known.
        duration_s: 0 where it never ran; see ``ending``.
    """

    job_id: int
    index: int
    submit_s: float
    wait_s: float
    duration_s: float
    cpu: float
    memory: float
    ending: Ending
    unsure: int


@dataclass(slots=True)
class _Life:
    submit_us: int
    start_us: int
    """-1 while it is pending."""
    cpu: float
    memory: float
    unsure: int


class TaskLives:
    """Follows every task; holds only those that are alive, so that a trace of any length fits into memory."""

    def __init__(self) -> None:
        self._alive: dict[tuple[int, int], _Life] = {}
        self.last_us = 0
        self.odd: Counter[str] = Counter()
        """Transitions that no task can make, by what was done about them."""
        self._handlers: dict[int, Callable[[TaskEvent], Run | None]] = {
            Event.SUBMIT: self._submit,
            Event.SCHEDULE: self._schedule,
            Event.UPDATE_PENDING: self._update,
            Event.UPDATE_RUNNING: self._update,
            **dict.fromkeys(_ENDINGS, self._end),
        }

    def happened(self, event: TaskEvent) -> Run | None:
        """Takes in the next event, in the order of time.

        Returns:
            The run that it ended, or None.
        """
        if event.time_us >= NEVER_US:
            return None
        if event.time_us < self.last_us:
            self.odd["events earlier than the one before; taken as they come"] += 1
        else:
            self.last_us = event.time_us
        return self._handlers[event.event](event)

    def cut(self) -> list[Run]:
        """What is alive when the trace ends: runs with an unknown end, and tasks that still wait."""
        end_us = max(self.last_us, START_US)
        runs = [
            _run(key, life, end_us, Ending.RUNNING if life.start_us >= 0 else Ending.WAITING)
            for key, life in self._alive.items()
        ]
        self._alive.clear()
        return runs

    def _submit(self, event: TaskEvent) -> None:
        key = (event.job_id, event.index)
        if key in self._alive:
            self.odd["submitted while alive; left out"] += 1
            return
        # A task that was there before the trace has time 0, or the record of its creation is missing.
        unsure = _START if event.time_us == 0 or event.missing >= 0 else 0
        self._alive[key] = _Life(event.time_us, -1, event.cpu, event.memory, unsure)

    def _schedule(self, event: TaskEvent) -> None:
        key = (event.job_id, event.index)
        life = self._alive.get(key)
        if life is None:
            self.odd["scheduled without being submitted; taken as submitted then"] += 1
            life = self._alive[key] = _Life(event.time_us, -1, event.cpu, event.memory, _START)
        elif life.start_us >= 0:
            self.odd["scheduled while running; left out"] += 1
            return
        life.start_us = event.time_us
        if event.time_us == 0 or event.missing >= 0:
            life.unsure |= _START

    def _update(self, event: TaskEvent) -> None:
        life = self._alive.get((event.job_id, event.index))
        if life is None:
            self.odd["updated while dead; left out"] += 1
            return
        # NaN is the only number that differs from itself: what an update does not say stays.
        life.cpu = event.cpu if event.cpu == event.cpu else life.cpu
        life.memory = event.memory if event.memory == event.memory else life.memory

    def _end(self, event: TaskEvent) -> Run | None:
        key = (event.job_id, event.index)
        life = self._alive.pop(key, None)
        if life is None:
            self.odd["ended while dead; left out"] += 1
            return None
        if event.missing >= 0:
            life.unsure |= _LATE_END
        ending = _ENDINGS[event.event] if life.start_us >= 0 else Ending.WITHDRAWN
        return _run(key, life, event.time_us, ending)


def _run(key: tuple[int, int], life: _Life, end_us: int, ending: Ending) -> Run:
    started = life.start_us >= 0
    unsure = life.unsure | (_END if ending is Ending.RUNNING else 0)
    # Before the trace the cluster's own times are not known: a task at 0 ran from the trace's start at least.
    submit_us, start_us = max(life.submit_us, START_US), max(life.start_us, START_US)
    wait_us = (start_us if started else end_us) - submit_us
    return Run(
        job_id=key[0],
        index=key[1],
        submit_s=submit_us / _SECOND_US,
        wait_s=nan if unsure & _START else max(wait_us, 0) / _SECOND_US,
        duration_s=max(end_us - start_us, 0) / _SECOND_US if started else 0.0,
        cpu=life.cpu,
        memory=life.memory,
        ending=ending,
        unsure=unsure,
    )
