"""Why a job waits: for how many seconds each rule was the one that kept its next container, or its AM, from it.

A scheduler says which rule stops a job when it looks at it (:func:`bind`); the time until it says something else counts
for that rule. While no node has room for anything, the time counts for the cluster's resources, whatever was said.
Rules are named by their place in their rule set.
"""

from __future__ import annotations

from typing import Any

from rules.simulation.compiled import compiled
from rules.simulation.tables import bound_at, job_at, node_at, wait_at

__all__ = ["NO_RULE", "bind", "note_room", "settle", "settle_all"]

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
def settle(state: Any, job_row: int) -> None:
    """Counts the time since the job last said something else."""
    wait = wait_at(state, job_row)
    full_s = state.full_s
    if state.full_nodes == state.nodes_count:
        full_s += state.now - state.full_since
    if wait.rule != NO_RULE:
        in_full_s = full_s - wait.full_s
        bound_at(state, job_row * state.reasons + wait.rule).seconds += state.now - wait.since - in_full_s
        bound_at(state, job_row * state.reasons).seconds += in_full_s
    wait.since = state.now
    wait.full_s = full_s


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
