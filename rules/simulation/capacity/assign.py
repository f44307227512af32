"""One assignment on one node: down the hierarchy to a leaf.

Every pass gives at most one container.
"""

from __future__ import annotations

from typing import Any

from rules.simulation.binding import bind
from rules.simulation.capacity.application import allocate
from rules.simulation.capacity.arithmetic import compare, compare_in_partition, float32, fraction, round_down, smaller
from rules.simulation.capacity.leaf import ALLOCATED, NOTHING, OVER_LIMIT, RESERVED, assign_in_leaf
from rules.simulation.capacity.reasons import QUEUE_ORDER
from rules.simulation.capacity.reservations import NONE, fewer_reservations, unreserve
from rules.simulation.capacity.state import (
    app_at,
    child_at,
    cluster_of,
    limits_of,
    queue_at,
    ranked_at,
    request_at,
    root_of,
)
from rules.simulation.compiled import compiled
from rules.simulation.tables import ask_at, node_at

__all__ = ["assign_on_node", "has_looked", "has_room", "serve_reservation"]

_Outcome = tuple[int, int, int]
"""What came of it and, for OVER_LIMIT, the room that was too small, which the parent then keeps from the others."""


@compiled
def assign_on_node(state: Any, node: int) -> int:
    """One assignment on a node of the partition that is looked at, from root down: what comes of it."""
    cluster = cluster_of(state)
    state.handed_down = state.partition
    outcome, _, _ = _assign(state, root_of(state), node, cluster.memory, cluster.vcores)
    return int(outcome)


@compiled
def _assign(state: Any, q: int, node: int, limit_m: int, limit_v: int) -> _Outcome:
    """``AbstractParentQueue.assignContainers``: the first child, in their order, that can use the node.

    Args:
        state: the Capacity Scheduler's state.
        q: the queue.
        node: the node.
        limit_m: memory that the queue may come to, as its parent says.
        limit_v: the same in vcores.
    """
    queue, limit, cluster = queue_at(state, q), limits_of(state, q), cluster_of(state)
    if queue.leaf:
        got, lack_m, lack_v = assign_in_leaf(state, q, node, limit_m, limit_v)
        return got, lack_m, lack_v
    if queue.pending_memory <= 0 and queue.pending_vcores <= 0:
        return NOTHING, 0, 0
    if node_at(state, node).reserved_by != NONE or not has_room(state, node):
        return NOTHING, 0, 0
    limit_m, limit_v = smaller(cluster, limit.maximum_memory, limit.maximum_vcores, limit_m, limit_v)
    if compare(cluster, queue.used_memory, queue.used_vcores, limit_m, limit_v) >= 0 and not _only_by_reservations(
        state, q, limit_m, limit_v
    ):
        return NOTHING, 0, 0
    _rank_children(state, q)
    blocked_m = blocked_v = 0
    result = NOTHING
    for i in range(queue.first_child, queue.first_child + queue.children):
        child = ranked_at(state, i).row
        if not limits_of(state, child).present:
            continue
        room_m = limit_m - blocked_m - queue.used_memory + queue_at(state, child).used_memory
        room_v = limit_v - blocked_v - queue.used_vcores + queue_at(state, child).used_vcores
        got, lack_m, lack_v = _assign(
            state, child, node, round_down(room_m, cluster.step_memory), round_down(room_v, cluster.step_vcores)
        )
        if got in (ALLOCATED, RESERVED):
            _note_served(state, q, child)
            return got, 0, 0
        if got == OVER_LIMIT:
            result = OVER_LIMIT
            if lack_m > 0 or (cluster.vcores > 0 and lack_v > 0):
                blocked_m += lack_m
                blocked_v += lack_v
    return result, blocked_m, blocked_v


@compiled
def has_looked(state: Any, here: Any) -> bool:
    """Whether the node's last beat found nothing to do, and would leave all as it is again.

    Nothing has changed since, and no node of another partition was looked at after it: the limits that are handed down
    to the leaves are kept, of whichever partition they are, and AM limits go by them.
    """
    return bool(here.idle_version == state.version and state.handed_down == state.partition)


@compiled
def has_room(state: Any, node_row: int) -> bool:
    """Whether the smallest container fits on the node."""
    node, cluster = node_at(state, node_row), cluster_of(state)
    if node.free_memory <= 0:
        return False
    return bool(node.free_memory >= cluster.step_memory and node.free_vcores >= cluster.step_vcores)


@compiled
def _note_served(state: Any, q: int, child: int) -> None:
    """Another child is served than last time: who was served there last waits for its queue's turn."""
    queue = queue_at(state, q)
    last = queue.last_served
    queue.last_served = child
    if last in (child, NONE) or not queue_at(state, last).leaf:
        return
    job = queue_at(state, last).last_served
    if job != NONE and app_at(state, job).outstanding > 0:
        bind(state, job, QUEUE_ORDER)


@compiled
def _only_by_reservations(state: Any, q: int, limit_m: int, limit_v: int) -> bool:
    """Whether the queue is at its limit because of reservations, which it could give up.

    Hadoop takes those of nodes without a label, whatever the node.
    """
    queue, cluster = queue_at(state, q), cluster_of(state)
    home = queue_at(state, queue.home)
    if not cluster.continue_looking:
        return False
    if home.reserved_memory <= 0 and home.reserved_vcores <= 0:
        return False
    used_m, used_v = queue.used_memory - home.reserved_memory, queue.used_vcores - home.reserved_vcores
    return bool(compare(cluster, used_m, used_v, limit_m, limit_v) < 0)


@compiled
def _rank_children(state: Any, q: int) -> None:
    """Sorts the children by ``policy.PriorityUtilizationQueueOrderingPolicy``; ties keep their order."""
    queue, cluster = queue_at(state, q), cluster_of(state)
    first = queue.first_child
    for i in range(first, first + queue.children):
        child = child_at(state, i).row
        held, limit = queue_at(state, child), limits_of(state, child)
        base_m, base_v = limit.guaranteed_memory, limit.guaranteed_vcores
        if compare_in_partition(cluster, base_m, base_v, cluster.step_memory, cluster.step_vcores) < 0:
            base_m, base_v = cluster.step_memory, cluster.step_vcores
        used = fraction(cluster, held.used_memory, held.used_vcores)
        if limit.absolute != 0:
            base = fraction(cluster, base_m, base_v)
            used = used / base if base > 0 else 0.0
        held.usage = float32(used)
        place = i
        while place > first and _goes_before(state, q, child, ranked_at(state, place - 1).row):
            ranked_at(state, place).row = ranked_at(state, place - 1).row
            place -= 1
        ranked_at(state, place).row = child


@compiled
def _goes_before(state: Any, parent: int, a: int, b: int) -> bool:
    """Whether child a is served before child b, of which b comes first in the order of ties."""
    limit_a, limit_b = limits_of(state, a), limits_of(state, b)
    if not limits_of(state, parent).ordered:
        return False
    if (limit_a.absolute == 0) != (limit_b.absolute == 0):
        return bool(limit_b.absolute == 0)
    usage_a, usage_b = queue_at(state, a).usage, queue_at(state, b).usage
    if limits_of(state, parent).by_priority and limit_a.priority != limit_b.priority:
        if (usage_a < 1) == (usage_b < 1):
            return bool(limit_a.priority > limit_b.priority)
        return bool(usage_a < usage_b)
    if usage_a != usage_b:
        return bool(usage_a < usage_b)
    configured = limit_a.configured_memory + limit_a.configured_vcores + limit_b.configured_memory
    if configured + limit_b.configured_vcores > 0:
        if limit_a.configured_memory != limit_b.configured_memory:
            return bool(limit_a.configured_memory > limit_b.configured_memory)
        return bool(limit_a.configured_vcores > limit_b.configured_vcores)
    return bool(limit_a.absolute > limit_b.absolute)


@compiled
def serve_reservation(state: Any, node: int) -> None:
    """A reserved node does one thing in a beat: fulfil (no limit is checked), drop, or wait on."""
    here = node_at(state, node)
    job, ask_row = here.reserved_by, here.reserved_ask
    ask = ask_at(state, ask_row)
    if ask.pending <= 0:
        unreserve(state, node)
    elif ask.memory <= here.free_memory and ask.vcores <= here.free_vcores:
        fewer_reservations(state, node)
        allocate(state, job, ask_row, node, here.reserved_number)
    else:
        request_at(state, ask_row).re_reservations += 1
        state.version += 1
