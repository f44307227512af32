"""What runs on each node, in Hadoop's order, and who will get the room that preemption frees there.

Both are kept only where the configuration preempts.
"""

from __future__ import annotations

from typing import Any

from rules.simulation.application_ids import container_hash
from rules.simulation.compiled import compiled
from rules.simulation.fair.state import claim_at, held_at, host_at
from rules.simulation.tables import container_at, job_at

__all__ = ["claim", "drop_claims", "has_claim", "put_on_node", "serve_claim", "take_off_node"]


@compiled
def put_on_node(state: Any, row: int) -> None:
    """A container starts. Lists are of rows plus one; 0 ends them.

    ``SchedulerNode.getRunningContainersWithAMsAtTheEnd`` goes through a HashMap of container ids, and turns round the
    order of all but AMs: so these stand in falling order of buckets, AMs in rising order.
    """
    container, held = container_at(state, row - 1), held_at(state, row - 1)
    host = host_at(state, container.node)
    held.hash = container_hash(container.job, job_at(state, container.job).attempts + 1, container.number)
    held.made = state.version
    held.chosen = 0
    host.containers += 1
    _insert(state, host, row)
    if 4 * host.containers > 3 * host.buckets:
        host.buckets *= 2
        workers, ams = host.first_worker, host.first_am
        host.first_worker = host.first_am = 0
        _insert_all(state, host, workers)
        _insert_all(state, host, ams)


@compiled
def _insert_all(state: Any, host: Any, row: int) -> None:
    while row > 0:
        after = held_at(state, row - 1).next
        _insert(state, host, row)
        row = after


@compiled
def _insert(state: Any, host: Any, row: int) -> None:
    held, is_am = held_at(state, row - 1), _is_am(state, row)
    before, after = 0, host.first_am if is_am else host.first_worker
    while after > 0 and is_am == _lies_before(host, held_at(state, after - 1), held):
        before, after = after, held_at(state, after - 1).next
    held.next = after
    _link(state, host, is_am, before, row)


@compiled
def _lies_before(host: Any, a: Any, b: Any) -> bool:
    """Whether the HashMap gives a container back before another one: by bucket, then by when it was put in."""
    bucket_a, bucket_b = a.hash & (host.buckets - 1), b.hash & (host.buckets - 1)
    return bool(a.made < b.made) if bucket_a == bucket_b else bool(bucket_a < bucket_b)


@compiled
def _is_am(state: Any, row: int) -> bool:
    container = container_at(state, row - 1)
    return bool(container.ask == job_at(state, container.job).am_ask)


@compiled
def _link(state: Any, host: Any, is_am: bool, before: int, row: int) -> None:
    if before > 0:
        held_at(state, before - 1).next = row
    elif is_am:
        host.first_am = row
    else:
        host.first_worker = row


@compiled
def take_off_node(state: Any, row: int) -> None:
    """A container has ended."""
    host, is_am = host_at(state, container_at(state, row - 1).node), _is_am(state, row)
    before, here = 0, host.first_am if is_am else host.first_worker
    while here != row:
        before, here = here, held_at(state, here - 1).next
    _link(state, host, is_am, before, held_at(state, row - 1).next)
    host.containers -= 1


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
