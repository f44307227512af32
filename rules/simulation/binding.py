"""Why a job waits: for how many seconds each rule was the one that kept its next container, or its AM, from it.

A scheduler says which rule stops a job when it looks at it (:func:`bind`); the time until it says something else counts
for that rule. Two things hold for many jobs at once, and are kept in one place for all of them: that no node has room
for anything, and that a queue is closed, being at a limit of its own (:func:`close_gate`). While they hold, the time
counts for them, whatever was said of the job, provided that it has come so far as to be looked at (:func:`enter`).
Rules are named by their place in their rule set.
"""

from __future__ import annotations

from typing import Any

from rules.simulation.compiled import compiled
from rules.simulation.tables import bound_at, gate_at, job_at, node_at, wait_at

__all__ = ["NO_RULE", "bind", "close_gate", "enter", "note_room", "open_gate", "settle", "settle_all"]

NO_RULE = -1
"""The job waits for nothing."""


@compiled
def bind(state: Any, job_row: int, rule: int) -> None:
    """From now on this rule is what the job waits for; NO_RULE where it waits for nothing."""
    wait = wait_at(state, job_row)
    if wait.rule == rule:
        return
    settle(state, job_row)
    wait.rule = rule


@compiled
def enter(state: Any, job_row: int, gate_row: int) -> None:
    """The job has come so far that its asks are looked at, in the queue of this gate."""
    settle(state, job_row)
    wait_at(state, job_row).gate = gate_row
    settle(state, job_row)


@compiled
def close_gate(state: Any, gate_row: int, rule: int) -> None:
    """Nobody in the queue gets anything, because of this rule."""
    gate = gate_at(state, gate_row)
    if gate.closed == 0:
        gate.closed = 1
        gate.rule = rule
        gate.since = state.now


@compiled
def open_gate(state: Any, gate_row: int) -> None:
    """Somebody in the queue gets something."""
    gate = gate_at(state, gate_row)
    if gate.closed != 0:
        gate.closed = 0
        gate.closed_s += state.now - gate.since


@compiled
def settle(state: Any, job_row: int) -> None:
    """Counts the time since the job last said something else."""
    wait = wait_at(state, job_row)
    full_s, closed_s = state.full_s, 0.0
    if state.full_nodes == state.nodes_count:
        full_s += state.now - state.full_since
    left_s = state.now - wait.since
    if wait.gate >= 0:
        gate = gate_at(state, wait.gate)
        closed_s = gate.closed_s + (state.now - gate.since if gate.closed != 0 else 0.0)
        if wait.rule != NO_RULE:
            in_full_s = min(full_s - wait.full_s, left_s)
            in_closed_s = min(closed_s - wait.closed_s, left_s - in_full_s)
            bound_at(state, job_row * state.reasons).seconds += in_full_s
            bound_at(state, job_row * state.reasons + gate.rule).seconds += in_closed_s
            left_s -= in_full_s + in_closed_s
    if wait.rule != NO_RULE:
        bound_at(state, job_row * state.reasons + wait.rule).seconds += left_s
    wait.since = state.now
    wait.full_s = full_s
    wait.closed_s = closed_s


@compiled
def note_room(state: Any, node_row: int, room: bool) -> None:
    """A node beats and has room for a container, or has none."""
    node = node_at(state, node_row)
    if room == (node.full == 0):
        return
    if room:
        if state.full_nodes == state.nodes_count:
            state.full_s += state.now - state.full_since
        node.full = 0
        state.full_nodes -= 1
    else:
        node.full = 1
        state.full_nodes += 1
        if state.full_nodes == state.nodes_count:
            state.full_since = state.now


@compiled
def settle_all(state: Any) -> None:
    """Counts what is still waited for at the end."""
    if state.unfinished > 0:
        state.now = state.horizon
    for job_row in range(state.jobs_count):
        if job_at(state, job_row).submit <= state.now:
            settle(state, job_row)
