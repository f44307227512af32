"""The containers that run on each node: kept only where the configuration preempts.

As in the replay that the model is held against, a job does not notice that a container of its was killed: its task runs
on and ends, but the room is free from the kill on. AMs are never killed. So what preemption costs in repeated work is
not in the result, and latencies with preemption are lower bounds.
"""

from __future__ import annotations

from typing import Any

from rules.simulation.compiled import compiled
from rules.simulation.fair.state import claim_at, held_at, host_at

__all__ = ["KILLED", "LIVE", "MARKED", "claim", "drop_claims", "has_claim", "hold", "let_go", "serve_claim"]

# What has become of a container: runs; runs and will be killed; was killed, and its job does not know.
LIVE, MARKED, KILLED = range(3)


@compiled
def hold(state: Any, job: int, ask: int, node: int) -> None:
    """A container starts; the newest of a node stands first in its list. Lists are of rows plus one, 0 ends them."""
    row = state.free_held
    state.free_held = held_at(state, row - 1).next
    held = held_at(state, row - 1)
    held.job = job
    held.ask = ask
    held.node = node
    held.standing = LIVE
    held.next = host_at(state, node).first_held
    host_at(state, node).first_held = row


@compiled
def let_go(state: Any, job: int, ask: int, node: int) -> int:
    """The oldest container of this kind ends; returns what had become of it."""
    found, before_found, before, row = 0, 0, 0, host_at(state, node).first_held
    while row > 0:
        held = held_at(state, row - 1)
        if held.job == job and held.ask == ask:
            found, before_found = row, before
        before, row = row, held.next
    held = held_at(state, found - 1)
    if before_found == 0:
        host_at(state, node).first_held = held.next
    else:
        held_at(state, before_found - 1).next = held.next
    standing = held.standing
    held.next = state.free_held
    held.serial += 1
    state.free_held = found
    return int(standing)


@compiled
def claim(state: Any, job: int, node: int, memory: int, vcores: int) -> None:
    """What will be free on a node by preemption is an application's (``addContainersForPreemption``)."""
    host = host_at(state, node)
    host.claimed_memory += memory
    host.claimed_vcores += vcores
    for i in range(state.claims):
        row = claim_at(state, i)
        if row.job == job and row.node == node:
            row.memory += memory
            row.vcores += vcores
            return
    row = claim_at(state, state.claims)
    row.job = job
    row.node = node
    row.memory = memory
    row.vcores = vcores
    state.claims += 1


@compiled
def has_claim(state: Any, job: int, node: int) -> bool:
    """``isPreemptedForApp``."""
    found = False
    for i in range(state.claims):
        found = found or (claim_at(state, i).job == job and claim_at(state, i).node == node)
    return found


@compiled
def serve_claim(state: Any, job: int, node: int, memory: int, vcores: int) -> None:
    """An application got a container on a node that it has a claim on (``FSSchedulerNode.allocateContainer``)."""
    for i in range(state.claims):
        row = claim_at(state, i)
        if row.job == job and row.node == node:
            less_memory, less_vcores = min(row.memory, memory), min(row.vcores, vcores)
            row.memory -= less_memory
            row.vcores -= less_vcores
            host_at(state, node).claimed_memory -= less_memory
            host_at(state, node).claimed_vcores -= less_vcores
            if row.memory == 0 and row.vcores == 0:
                _remove_claim(state, i)
            return


@compiled
def drop_claims(state: Any, job: int, node: int) -> None:
    """An application gives up its claim on a node; a node of -1 stands for all."""
    i = 0
    while i < state.claims:
        row = claim_at(state, i)
        if row.job == job and (node < 0 or row.node == node):
            host_at(state, row.node).claimed_memory -= row.memory
            host_at(state, row.node).claimed_vcores -= row.vcores
            _remove_claim(state, i)
        else:
            i += 1


@compiled
def _remove_claim(state: Any, place: int) -> None:
    """The order of the others stays: it is the order in which they are served."""
    state.claims -= 1
    for i in range(place, state.claims):
        here, after = claim_at(state, i), claim_at(state, i + 1)
        here.job = after.job
        here.node = after.node
        here.memory = after.memory
        here.vcores = after.vcores
