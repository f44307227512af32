"""The heap of task ends, ordered by time and, at one time, by making."""

from __future__ import annotations

from typing import Any

from rules.simulation.compiled import compiled
from rules.simulation.tables import task_end_at

__all__ = ["pop_task_end", "push_task_end"]


@compiled
def push_task_end(state: Any, time: float, job_row: int, task_row: int) -> None:
    """Adds the end of a task."""
    hole = state.pending_task_ends
    state.pending_task_ends += 1
    while hole > 0:
        parent = (hole - 1) >> 1
        if time >= task_end_at(state, parent).time:  # at equal times the older one stays above
            break
        _move(state, parent, hole)
        hole = parent
    end = task_end_at(state, hole)
    end.time = time
    end.made = state.made
    end.job = job_row
    end.task = task_row
    state.made += 1


@compiled
def pop_task_end(state: Any) -> tuple[int, int]:
    """Removes the first task end; returns its job and task."""
    first = task_end_at(state, 0)
    job_row, task_row = first.job, first.task
    state.pending_task_ends -= 1
    last = state.pending_task_ends
    hole = 0
    while True:
        child = 2 * hole + 1
        if child >= last:
            break
        if child + 1 < last and _goes_before(state, child + 1, child):
            child += 1
        if not _goes_before(state, child, last):
            break
        _move(state, child, hole)
        hole = child
    _move(state, last, hole)
    return job_row, task_row


@compiled
def _goes_before(state: Any, a: int, b: int) -> bool:
    end_a, end_b = task_end_at(state, a), task_end_at(state, b)
    if end_a.time != end_b.time:
        return bool(end_a.time < end_b.time)
    return bool(end_a.made < end_b.made)


@compiled
def _move(state: Any, source: int, target: int) -> None:
    old, new = task_end_at(state, source), task_end_at(state, target)
    new.time = old.time
    new.made = old.made
    new.job = old.job
    new.task = old.task
