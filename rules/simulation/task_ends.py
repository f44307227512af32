"""The heap of task ends, ordered by time and, at one time, by making."""

from __future__ import annotations

from typing import Any

from rules.simulation.compiled import compiled
from rules.simulation.tables import task_at, task_end_at

__all__ = ["pop_task_end", "push_task_end"]


@compiled
def push_task_end(state: Any, time: float, job_row: int, task_row: int) -> None:
    """Adds the end of a task's present run."""
    if state.pending_task_ends == state.task_ends_count:
        _forget_lost_runs(state)
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
    end.run = task_at(state, task_row).run
    state.made += 1


@compiled
def pop_task_end(state: Any) -> tuple[int, int, int]:
    """Removes the first task end; returns its job, its task and which run of it ends."""
    first = task_end_at(state, 0)
    job_row, task_row, run = first.job, first.task, first.run
    state.pending_task_ends -= 1
    last = state.pending_task_ends
    _sink(state, 0, last, last)
    return job_row, task_row, run


@compiled
def _sink(state: Any, hole: int, item: int, last: int) -> None:
    """Puts an item into a hole, or as far below it as it has to go, of a heap of this length."""
    while True:
        child = 2 * hole + 1
        if child >= last:
            break
        if child + 1 < last and _goes_before(state, child + 1, child):
            child += 1
        if not _goes_before(state, child, item):
            break
        _move(state, child, hole)
        hole = child
    _move(state, item, hole)


@compiled
def _forget_lost_runs(state: Any) -> None:
    """Makes room: takes out the ends of runs that were killed, and makes a heap of the others anew."""
    kept = 0
    for i in range(state.pending_task_ends):
        if task_at(state, task_end_at(state, i).task).run == task_end_at(state, i).run:
            _move(state, i, kept)
            kept += 1
    state.pending_task_ends = kept
    spare = kept  # one row at least is free now: there are more rows than tasks
    for hole in range(kept // 2 - 1, -1, -1):
        _move(state, hole, spare)
        _sink(state, hole, spare, kept)


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
    new.run = old.run
