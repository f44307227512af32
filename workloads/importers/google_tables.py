"""The tables of the Google trace of 2011, row by row; columns as its ``schema.csv`` has them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import nan
from typing import Final

from workloads.importers.google_tasks import Event, TaskEvent
from workloads.importers.rows import BadRowError, decimal, whole

__all__ = [
    "TABLES",
    "JobEvent",
    "MachineEvent",
    "UsageRow",
    "UsageSegment",
    "job_event",
    "machine_event",
    "table_of",
    "task_event",
    "usage_row",
    "usage_segment",
]

_LAST_EVENT: Final = max(Event)
_MOST_INDEX: Final = 2**31
_SECOND_US: Final = 1e6


@dataclass(slots=True)
class JobEvent:
    """One row of job_events; ``name`` is the logical name, which recurs."""

    time_us: int
    job_id: int
    event: int
    user: bytes
    scheduling_class: int
    name: bytes


@dataclass(slots=True)
class MachineEvent:
    """One row of machine_events: 0 ADD, 1 REMOVE, 2 UPDATE; sizes are fractions of the largest, NaN unknown."""

    time_us: int
    machine: int
    event: int
    cpu: float
    memory: float


@dataclass(slots=True)
class UsageRow:
    """One row of task_usage: what one task used from ``start_us`` to ``end_us``; NaN unknown."""

    start_us: int
    end_us: int
    job_id: int
    index: int
    cpu: float
    memory: float
    max_memory: float
    cpi: float
    mai: float


@dataclass(frozen=True, slots=True)
class UsageSegment:
    """One step of a job's usage over time.

    The files do not say how they put the tasks together. Sizes that fit are sums over ``tasks``, in fractions of the
    largest machine; ``cpi`` and ``mai`` are neither a mean nor a sum of possible values, so only their course over
    time, and their ratio, mean something. 0 of both: not measured.
    """

    start_s: float
    tasks: int
    machines: int
    cpu: float
    memory: float
    assigned_memory: float
    max_memory: float
    max_cpu: float
    cpi: float
    mai: float

    @property
    def cycles_per_access(self) -> float:
        """Cycles from one memory access to the next, CPI / MAI; NaN where they were not measured."""
        return self.cpi / self.mai if self.mai > 0 else nan


def task_event(line: bytes) -> TaskEvent:
    """Reads a row of task_events.

    Raises:
        BadRowError: it is none; so do the others here.
    """
    cells = _cells(line, 13)
    event = whole(cells[5], "the event type")
    index = whole(cells[3], "the task index")
    if event > _LAST_EVENT or index >= _MOST_INDEX:
        raise BadRowError(f"the event type is {event}" if event > _LAST_EVENT else f"the task index is {index}")
    return TaskEvent(
        time_us=whole(cells[0], "the time"),
        missing=_missing(cells[1]),
        job_id=whole(cells[2], "the job ID"),
        index=index,
        event=event,
        user=cells[6],
        scheduling_class=whole(cells[7], "the scheduling class") if cells[7] else -1,
        priority=whole(cells[8], "the priority"),
        cpu=_fraction(cells[9], "the CPU request"),
        memory=_fraction(cells[10], "the memory request"),
    )


def job_event(line: bytes) -> JobEvent:
    """Reads a row of job_events."""
    cells = _cells(line, 8)
    event = whole(cells[3], "the event type")
    if event > _LAST_EVENT:
        raise BadRowError(f"the event type is {event}")
    _missing(cells[1])
    return JobEvent(
        time_us=whole(cells[0], "the time"),
        job_id=whole(cells[2], "the job ID"),
        event=event,
        user=cells[4],
        scheduling_class=whole(cells[5], "the scheduling class") if cells[5] else -1,
        name=cells[7],
    )


def machine_event(line: bytes) -> MachineEvent:
    """Reads a row of machine_events."""
    cells = _cells(line, 6)
    event = whole(cells[2], "the event type")
    if event > 2:
        raise BadRowError(f"the event type is {event}, not 0, 1 or 2")
    return MachineEvent(
        time_us=whole(cells[0], "the time"),
        machine=whole(cells[1], "the machine ID"),
        event=event,
        cpu=_fraction(cells[4], "the CPUs"),
        memory=_fraction(cells[5], "the memory"),
    )


def usage_row(line: bytes) -> UsageRow:
    """Reads a row of task_usage, of version 2.0 (19 columns) or 2.1 (20)."""
    cells = line.split(b",")
    if len(cells) not in (19, 20):
        raise BadRowError(f"{len(cells)} columns, not 20")
    start_us, end_us = whole(cells[0], "the start time"), whole(cells[1], "the end time")
    if end_us <= start_us:
        raise BadRowError("it ends before it starts")
    return UsageRow(
        start_us=start_us,
        end_us=end_us,
        job_id=whole(cells[2], "the job ID"),
        index=whole(cells[3], "the task index"),
        cpu=_fraction(cells[5], "the CPU rate"),
        memory=_fraction(cells[6], "the memory usage"),
        max_memory=_fraction(cells[10], "the maximum memory usage"),
        cpi=_fraction(cells[15], "the cycles per instruction"),
        mai=_fraction(cells[16], "the memory accesses per instruction"),
    )


def usage_segment(line: bytes) -> UsageSegment:
    """Reads a row of a job's usage in equal steps (18 columns, no header)."""
    cells = _cells(line, 18)
    values = [decimal(cell, f"column {number}") for number, cell in enumerate(cells, 1)]
    if min(values) < 0:
        raise BadRowError(f"column {values.index(min(values)) + 1} is below 0")
    return UsageSegment(
        start_s=values[0],
        tasks=round(values[1]),
        machines=round(values[2]),
        cpu=values[3],
        memory=values[4],
        assigned_memory=values[5],
        max_memory=values[8],
        max_cpu=values[11],
        cpi=values[13],
        mai=values[14],
    )


TABLES: Final[Mapping[str, Callable[[bytes], object]]] = {
    "task_events": task_event,
    "job_events": job_event,
    "machine_events": machine_event,
    "task_usage": usage_row,
    "job_usage": usage_segment,
}
"""How to read a row of each table."""


def table_of(lines: Sequence[bytes]) -> str | None:
    """The table that most of the first lines are rows of; None where they are of none."""
    for table, parse in TABLES.items():
        if sum(_readable(line, parse) for line in lines) > len(lines) / 2:
            return table
    return None


def _readable(line: bytes, parse: Callable[[bytes], object]) -> bool:
    try:
        parse(line.rstrip(b"\r"))
    except BadRowError:
        return False
    return True


def _cells(line: bytes, expected: int) -> list[bytes]:
    cells = line.split(b",")
    if len(cells) != expected:
        raise BadRowError(f"{len(cells)} columns, not {expected}")
    return cells


def _missing(cell: bytes) -> int:
    if not cell:
        return -1
    value = whole(cell, "the missing info")
    if value > 2:
        raise BadRowError(f"the missing info is {value}, not 0, 1 or 2")
    return value


def _fraction(cell: bytes, name: str) -> float:
    if not cell:
        return nan
    value = decimal(cell, name)
    if value < 0:
        raise BadRowError(f"{name} is {value:g}, below 0")
    return value
