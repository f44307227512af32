"""One assignment in a leaf: to one of its applications (``AbstractLeafQueue.assignContainers``)."""

from __future__ import annotations

from typing import Any

from rules.simulation.binding import bind, close_gate, open_gate
from rules.simulation.capacity.application import (
    ALLOCATED,
    NOTHING,
    OVER_LIMIT,
    RESERVED,
    assign_to_application,
)
from rules.simulation.capacity.arithmetic import ZERO, compare, round_down, smaller
from rules.simulation.capacity.order import place_stale, wanting_begin
from rules.simulation.capacity.reasons import (
    APPLICATION_ORDER,
    HEARTBEAT,
    MAXIMUM_CAPACITY,
    USER_LIMIT,
    USER_LIMIT_FACTOR,
)
from rules.simulation.capacity.reservations import NONE
from rules.simulation.capacity.state import app_at, cluster_of, limits_of, queue_at, served_at, user_at
from rules.simulation.capacity.users import over_user_limit, update_user_limit, user_limit
from rules.simulation.compiled import compiled

__all__ = ["ALLOCATED", "NOTHING", "OVER_LIMIT", "RESERVED", "assign_in_leaf", "keep_current_limit"]


@compiled
def assign_in_leaf(state: Any, q: int, node: int, limit_m: int, limit_v: int) -> tuple[int, int, int]:
    """The first application, in their order, that can use the node; for OVER_LIMIT also the room that was too small."""
    queue, limit, cluster = queue_at(state, q), limits_of(state, q), cluster_of(state)
    home = queue_at(state, queue.home)
    if not _wants(queue, home):
        return NOTHING, 0, 0
    place_stale(state, queue.home)
    most_m, most_v = smaller(cluster, limit.maximum_memory, limit.maximum_vcores, limit_m, limit_v)
    at_limit = compare(cluster, queue.used_memory, queue.used_vcores, most_m, most_v) >= 0
    reserving = cluster.continue_looking and (home.reserved_memory > 0 or home.reserved_vcores > 0)
    if at_limit:
        close_gate(state, q, MAXIMUM_CAPACITY)
        if not reserving:
            return NOTHING, 0, 0
    else:
        update_user_limit(state, q)
        keep_current_limit(state, q, limit_m, limit_v)
    # An application that asks for nothing matters only by what it has reserved.
    begin, length = wanting_begin(state, queue.home), home.wanting
    if reserving:
        begin, length = home.first_app, home.active
    look_at_limit = True
    for i in range(begin, begin + length):
        job = served_at(state, i).row
        app = app_at(state, job)
        if look_at_limit and at_limit and not _could_give_up(state, q, job, most_m, most_v):
            return NOTHING, 0, 0
        if app.queue != app.leaf or (app.reserved_memory == 0 and app.reserved_vcores == 0):
            look_at_limit = False
        update_user_limit(state, q)
        keep_current_limit(state, q, limit_m, limit_v)
        if app.queue != q or app.outstanding == 0:
            continue
        over_m, over_v, blocked = _over_user_limit(state, q, job)
        if blocked:
            continue
        room_m, room_v = most_m - queue.used_memory, most_v - queue.used_vcores
        got = assign_to_application(state, job, node, room_m, room_v, over_m, over_v)
        if got == OVER_LIMIT:
            close_gate(state, q, MAXIMUM_CAPACITY)
            return OVER_LIMIT, room_m, room_v
        if got != NOTHING:
            open_gate(state, q)
            _note_served(state, q, job)
            return got, 0, 0
    return NOTHING, 0, 0


@compiled
def _wants(queue: Any, home: Any) -> bool:
    """Whether the leaf asks for anything in the partition, and has an active application in any."""
    return bool((queue.pending_memory > 0 or queue.pending_vcores > 0) and home.active > 0)


@compiled
def _could_give_up(state: Any, q: int, job: int, most_m: int, most_v: int) -> bool:
    """Whether the queue is at its limit by what this application has reserved, of nodes without a label."""
    queue, app = queue_at(state, q), app_at(state, job)
    if app.queue != app.leaf or (app.reserved_memory <= 0 and app.reserved_vcores <= 0):
        return False
    used_m, used_v = queue.used_memory - app.reserved_memory, queue.used_vcores - app.reserved_vcores
    return bool(compare(cluster_of(state), used_m, used_v, most_m, most_v) < 0)


@compiled
def _over_user_limit(state: Any, q: int, job: int) -> tuple[int, int, bool]:
    """``canAssignToUser``: by how much the user is over the limit, and whether that blocks the application.

    A user may be over the limit by what the application has reserved, which it then has to give up. Hadoop looks here
    at what is held and reserved of nodes without a label, whatever the node.
    """
    queue, app, cluster = queue_at(state, q), app_at(state, job), cluster_of(state)
    if not over_user_limit(state, job, ZERO, ZERO):
        return 0, 0, False
    user = user_at(state, app.user)
    limit_m, limit_v = user_limit(state, job)
    held_m, held_v = user_at(state, app.member).used_memory, user_at(state, app.member).used_vcores
    if app.queue == app.leaf:
        held_m, held_v = held_m - app.reserved_memory, held_v - app.reserved_vcores
    blocked = compare(cluster, held_m, held_v, limit_m, limit_v) > 0
    if not cluster.continue_looking or blocked:
        bind(state, job, USER_LIMIT_FACTOR if queue.limit_by_factor else USER_LIMIT)
        return 0, 0, True
    return user.used_memory - limit_m, user.used_vcores - limit_v, False


@compiled
def keep_current_limit(state: Any, q: int, limit_m: int, limit_v: int) -> None:
    """Stores what the queue could come to, which the AM limit of nodes without a label is a share of.

    On any node, by the maximum of those without a label.
    """
    home = queue_at(state, q).home
    queue, limit, cluster = queue_at(state, home), limits_of(state, home), cluster_of(state)
    most_m = round_down(limit.maximum_memory, cluster.step_memory)
    most_v = round_down(limit.maximum_vcores, cluster.step_vcores)
    queue.current_memory, queue.current_vcores = smaller(cluster, most_m, most_v, limit_m, limit_v)


@compiled
def _note_served(state: Any, q: int, job: int) -> None:
    """An application is served: it waits for the next heartbeat, and who was served before it for its turn."""
    queue = queue_at(state, q)
    last = queue.last_served
    if last != job and last != NONE and app_at(state, last).outstanding > 0:
        bind(state, last, APPLICATION_ORDER)
    queue.last_served = job
    if app_at(state, job).outstanding > 0:
        bind(state, job, HEARTBEAT)
