"""One assignment to an application: a container for its next ask, or a reservation for it."""

from __future__ import annotations

from typing import Any

from rules.simulation.binding import NO_RULE, bind
from rules.simulation.capacity.arithmetic import ZERO, compare
from rules.simulation.capacity.books import add_pending, add_used
from rules.simulation.capacity.order import mark_stale, remove, wanting_begin
from rules.simulation.capacity.reasons import NO_ROOM
from rules.simulation.capacity.reservations import NONE, own_reservation, reserve, should_allocate, unreserve
from rules.simulation.capacity.state import app_at, cluster_of, limits_of, queue_at, request_at
from rules.simulation.capacity.users import drop_application, over_user_limit, use
from rules.simulation.compiled import compiled
from rules.simulation.jobs import grant
from rules.simulation.tables import ask_at, job_at, node_at

__all__ = ["ALLOCATED", "NOTHING", "OVER_LIMIT", "RESERVED", "allocate", "assign_to_application"]

# What came of an attempt; OVER_LIMIT: what is asked for is more than the queue has left.
NOTHING, ALLOCATED, RESERVED, OVER_LIMIT = range(4)


@compiled
def allocate(state: Any, job: int, ask_row: int, node: int, number: int) -> None:
    """The application's side of an allocation; what queue and user hold is the caller's."""
    app, ask = app_at(state, job), ask_at(state, ask_row)
    grant(state, job, ask_row, node, number)
    if ask.pending == 0:
        app.outstanding -= 1
        if app.outstanding == 0:
            queue = queue_at(state, app.leaf)
            remove(state, wanting_begin(state, app.leaf), queue.wanting, job)
            queue.wanting -= 1
            drop_application(state, job)
            bind(state, job, NO_RULE)
    add_pending(state, app.queue, -ask.memory, -ask.vcores)
    app.used_memory += ask.memory
    app.used_vcores += ask.vcores


@compiled
def _next_ask(state: Any, job: int) -> int:
    """The ask whose turn it is: the first that is outstanding (and, without looking on, not reserved for already)."""
    for ask in range(job_at(state, job).am_ask, job_at(state, job).ask_end):
        if ask_at(state, ask).pending > 0 and (cluster_of(state).continue_looking or should_allocate(state, ask)):
            return ask
    return NONE


@compiled
def assign_to_application(
    state: Any, job: int, node_row: int, room_m: int, room_v: int, over_m: int, over_v: int
) -> int:
    """``RegularContainerAllocator``: one container for the application's next ask, or a reservation for it.

    Args:
        state: the Capacity Scheduler's state.
        job: the application.
        node_row: the node.
        room_m: memory left to the queue.
        room_v: vcores left to the queue.
        over_m: memory by which the user is over its limit, to be given back from reservations.
        over_v: the same in vcores.
    """
    ask_row = _next_ask(state, job)
    if ask_row == NONE:
        return NOTHING
    app, ask, node, cluster = app_at(state, job), ask_at(state, ask_row), node_at(state, node_row), cluster_of(state)
    own_m = app.reserved_memory if cluster.continue_looking else 0
    own_v = app.reserved_vcores if cluster.continue_looking else 0
    if ask.memory > room_m + own_m or ask.vcores > room_v + own_v:
        return OVER_LIMIT
    if ask.memory > node.memory or ask.vcores > node.vcores:
        bind(state, job, NO_ROOM)
        return NOTHING
    lack_m, lack_v = ask.memory - room_m, ask.vcores - room_v
    if compare(cluster, lack_m, lack_v, over_m, over_v) < 0:
        lack_m, lack_v = over_m, over_v
    if not cluster.continue_looking:
        lack_m = lack_v = 0
    if ask.memory > node.free_memory or ask.vcores > node.free_vcores:
        bind(state, job, NO_ROOM)
        return int(_try_to_reserve(state, job, ask_row, node_row, lack_m > 0 or lack_v > 0))
    return int(_try_to_allocate(state, job, ask_row, node_row, lack_m, lack_v))


@compiled
def _try_to_reserve(state: Any, job: int, ask_row: int, node_row: int, must_give_up: bool) -> int:
    if must_give_up or not cluster_of(state).reserve or not should_allocate(state, ask_row):
        return NOTHING
    if _accepted(state, job, ask_row, ZERO, ZERO):
        reserve(state, job, ask_row, node_row)
    return RESERVED


@compiled
def _try_to_allocate(state: Any, job: int, ask_row: int, node_row: int, lack_m: int, lack_v: int) -> int:
    """Allocates; in exchange for a reservation where there are enough of them, or the queue or user lacks room."""
    app, ask = app_at(state, job), ask_at(state, ask_row)
    must_give_up = lack_m > 0 or lack_v > 0
    swapped = NONE
    freed_m = freed_v = ZERO
    if must_give_up or not should_allocate(state, ask_row):
        fits = not must_give_up or (lack_m <= ask.memory and lack_v <= ask.vcores)
        if fits and request_at(state, ask_row).reserved > 0:
            swapped = own_reservation(state, job, ask_row)
        if swapped == NONE:
            return NOTHING
        freed_m, freed_v = ask.memory, ask.vcores
    if _accepted(state, job, ask_row, freed_m, freed_v):
        allocate(state, job, ask_row, node_row, ZERO)
        if swapped != NONE:
            unreserve(state, swapped)
        add_used(state, app.queue, ask.memory, ask.vcores)
        use(state, job, ask.memory, ask.vcores)
        mark_stale(state, job)
    return ALLOCATED


@compiled
def _accepted(state: Any, job: int, ask_row: int, freed_m: int, freed_v: int) -> bool:
    """``FiCaSchedulerApp.accept``: the limits of the user and of every queue up to root, as they are when committing.

    A proposal that is refused here still counts as one of the beat's assignments.
    """
    app, ask = app_at(state, job), ask_at(state, ask_row)
    if over_user_limit(state, job, freed_m, freed_v):
        return False
    q = app.queue
    while q >= 0:
        held, limit = queue_at(state, q), limits_of(state, q)
        if held.used_memory + ask.memory - freed_m > limit.maximum_memory:
            return False
        if held.used_vcores + ask.vcores - freed_v > limit.maximum_vcores:
            return False
        q = held.parent
    return True
