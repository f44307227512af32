"""One beat of a node: who gets the next container on it (``FairScheduler.attemptScheduling``)."""

from __future__ import annotations

import math
from typing import Any, Final, cast

import numpy as np

from rules.simulation.binding import NO_RULE, bind
from rules.simulation.compiled import compiled
from rules.simulation.containers import next_number
from rules.simulation.fair.apps import add_used, want_nothing
from rules.simulation.fair.held import has_claim, put_on_node, serve_claim
from rules.simulation.fair.order import goes_before, make_heap, pop_heap
from rules.simulation.fair.reasons import AM_SHARE, HEARTBEAT, MAX_SHARE, NO_ROOM, ORDER_FAIR, WEIGHT
from rules.simulation.fair.state import DRF, UNORDERED, app_at, cluster_of, heap_at, plan_of, queue_at, wanting_at
from rules.simulation.jobs import grant
from rules.simulation.tables import ask_at, job_at, node_at

__all__ = ["ASSIGNED", "assign_to_app", "attempt_scheduling", "is_below", "is_large", "is_over_am_share", "unreserve"]

# What an assignment comes to.
NOTHING, ASSIGNED, RESERVED = range(3)

NEXT: Final = cast(int, np.int64(0))
"""The container gets the next number of its attempt; typed, for the compiler."""


@compiled
def attempt_scheduling(state: Any, node_row: int) -> None:
    """A reserved node serves its reservation; another one gives out containers while it may."""
    node = node_at(state, node_row)
    if node.reserved_by < 0 or not _serve_reservation(state, node_row):
        half_memory, half_vcores = int(node.free_memory * 0.5), int(node.free_vcores * 0.5)
        containers = 0
        state.assigned_memory = 0
        state.assigned_vcores = 0
        while node.reserved_by < 0:
            if _assign(state, node_row) == NOTHING:
                break
            containers += 1
            if not _goes_on(state, containers, half_memory, half_vcores):
                break
    state.free_memory = cluster_of(state).memory - queue_at(state, 0).used_memory
    state.free_vcores = cluster_of(state).vcores - queue_at(state, 0).used_vcores


@compiled
def _goes_on(state: Any, containers: int, half_memory: int, half_vcores: int) -> bool:
    """``shouldContinueAssigning``."""
    cluster = cluster_of(state)
    if not cluster.multiple:
        return False
    if cluster.dynamic:
        return bool(state.assigned_memory <= half_memory and state.assigned_vcores <= half_vcores)
    return bool(cluster.most_assigned <= 0 or containers < cluster.most_assigned)


@compiled
def _assign(state: Any, node_row: int) -> int:
    """``FSParentQueue.assignContainer``, from root down: the children in their order, each with all below it.

    Where each queue has got to in its children is kept with the queue, so that the way back up is known.
    """
    q = 0
    _enter(state, q)
    while True:
        queue = queue_at(state, q)
        if queue.left == 0:
            if q == 0:
                return NOTHING
            q = queue.parent
            continue
        queue.left -= 1
        child = pop_heap(state, False, plan_of(state, q).policy, state.jobs_count + queue.first_child, queue.left + 1)
        if queue_at(state, child).children > 0:
            _enter(state, child)
            q = child
        elif _is_open(state, child):
            outcome = _assign_in_leaf(state, child, node_row)
            if outcome != NOTHING:
                _tell_siblings(state, child)
                return int(outcome)


@compiled
def _is_open(state: Any, q: int) -> bool:
    """``assignContainerPreCheck``: nothing is given to a queue above its maximum; an empty one wants nothing."""
    queue, plan = queue_at(state, q), plan_of(state, q)
    above = queue.used_memory > plan.most_memory or queue.used_vcores > plan.most_vcores
    return bool(queue.running > 0 and not above)


@compiled
def _enter(state: Any, q: int) -> None:
    """Sorts the children of a queue that is open; a closed one has none to go through."""
    queue = queue_at(state, q)
    queue.left = 0
    if not _is_open(state, q):
        return
    begin, length = state.jobs_count + queue.first_child, 0
    for child in range(queue.first_child, queue.first_child + queue.children):
        if queue_at(state, child).running > 0:
            heap_at(state, begin + length).row = child
            length += 1
    make_heap(state, False, plan_of(state, q).policy, begin, length)
    queue.left = length


@compiled
def _assign_in_leaf(state: Any, q: int, node_row: int) -> int:
    """The first application, in the order of the policy, that this node has something for.

    Hadoop sorts them and tries one after the other. Trying changes nothing until one takes, so it is the first of those
    that would take; only applications whose demand at the last update is not what they hold now are looked at.
    """
    queue, policy = queue_at(state, q), plan_of(state, q).policy
    order = NO_RULE if policy == UNORDERED else ORDER_FAIR + policy
    best = -1
    for place in range(queue.first_app, queue.first_app + queue.wanting):
        job = wanting_at(state, place).row
        app = app_at(state, job)
        if app.demand_memory == app.used_memory and app.demand_vcores == app.used_vcores:
            continue
        if best >= 0 and not goes_before(state, policy, job, best):
            bind(state, job, order)
        elif is_over_am_share(state, job):
            bind(state, job, AM_SHARE)
        elif _find_ask(state, job, node_row) >= 0:
            if best >= 0:
                bind(state, best, order)
            best = job
    if best < 0:
        return NOTHING
    outcome = assign_to_app(state, best, node_row)
    queue.last_served = best
    app = app_at(state, best)
    bind(state, best, HEARTBEAT if app.pending_memory > 0 or app.pending_vcores > 0 else NO_RULE)
    return int(outcome)


@compiled
def _tell_siblings(state: Any, q: int) -> None:
    """A queue was served: whom the others served last waits because of the queues' shares."""
    while q > 0:
        q = queue_at(state, q).parent
        begin = state.jobs_count + queue_at(state, q).first_child
        for i in range(queue_at(state, q).left):
            sibling = queue_at(state, heap_at(state, begin + i).row)
            job = sibling.last_served
            if sibling.children == 0 and job >= 0 and app_at(state, job).pending_memory > 0:
                bind(state, job, WEIGHT)


@compiled
def is_over_am_share(state: Any, job: int) -> bool:
    """``FSLeafQueue.canRunAppAM``: AMs have a part of the queue's fair share, or where it has none of what is free."""
    app = app_at(state, job)
    if app.am_running:
        return False
    q = app.queue
    queue, plan = queue_at(state, q), plan_of(state, q)
    if not plan.am_limited:
        return False
    memory, vcores = queue.share_memory, queue.share_vcores
    if memory == 0:
        memory = min(state.free_memory, plan.most_memory)
    if vcores == 0:
        vcores = min(state.free_vcores, plan.most_vcores)
    ask = ask_at(state, job_at(state, job).am_ask)
    fits_memory = queue.am_memory + ask.memory <= math.ceil(memory * plan.am_share)
    return not (fits_memory and queue.am_vcores + ask.vcores <= math.ceil(vcores * plan.am_share))


@compiled
def assign_to_app(state: Any, job: int, node_row: int) -> int:
    """Gives an application a container on the node, or the node's next free room."""
    ask_row = _find_ask(state, job, node_row)
    if ask_row < 0:
        return NOTHING
    if _fits(state, ask_row, node_row):
        _allocate(state, job, ask_row, node_row, NEXT)
        return ASSIGNED
    _reserve(state, job, ask_row, node_row)
    return RESERVED


@compiled
def _find_ask(state: Any, job: int, node_row: int) -> int:
    """The ask that would be served or get a reservation; -1 where none would.

    The first, in the order of priorities, that this node could ever hold and the queues have room for: if that does not
    fit now and may not reserve, those behind it are not tried.
    """
    for ask_row in range(job_at(state, job).am_ask, job_at(state, job).ask_end):
        if _could_hold(state, job, ask_row, node_row):
            if _fits(state, ask_row, node_row):
                return ask_row
            bind(state, job, NO_ROOM)
            return ask_row if _may_reserve(state, job, ask_row, node_row) else -1
    return -1


@compiled
def _fits(state: Any, ask_row: int, node_row: int) -> bool:
    ask, node = ask_at(state, ask_row), node_at(state, node_row)
    return bool(ask.memory <= node.free_memory and ask.vcores <= node.free_vcores)


@compiled
def _could_hold(state: Any, job: int, ask_row: int, node_row: int) -> bool:
    """``hasContainerForNode``: something is asked for, the whole node is large enough, and all queues have room."""
    ask, node = ask_at(state, ask_row), node_at(state, node_row)
    if ask.pending <= 0:
        return False
    if cluster_of(state).placeable and (ask.memory > node.memory or ask.vcores > node.vcores):
        return False
    q = app_at(state, job).queue
    while q >= 0:
        queue, plan = queue_at(state, q), plan_of(state, q)
        if queue.used_memory + ask.memory > plan.most_memory or queue.used_vcores + ask.vcores > plan.most_vcores:
            bind(state, job, MAX_SHARE)
            return False
        q = queue.parent
    return True


@compiled
def _allocate(state: Any, job: int, ask_row: int, node_row: int, number: int) -> None:
    ask, app = ask_at(state, ask_row), app_at(state, job)
    app.pending_memory -= ask.memory
    app.pending_vcores -= ask.vcores
    app.used_memory += ask.memory
    app.used_vcores += ask.vcores
    if app.pending_memory <= 0 and app.pending_vcores <= 0:
        want_nothing(state, job)
    app.large -= is_large(state, ask)
    if ask.pending == 1:  # the next size has its turn
        state.loosened += 1
    add_used(state, app.queue, ask.memory, ask.vcores)
    state.assigned_memory += ask.memory
    state.assigned_vcores += ask.vcores
    state.changed = 1
    if not app.am_running:
        app.am_running = 1
        app.am_memory = ask.memory
        app.am_vcores = ask.vcores
        queue_at(state, app.queue).am_memory += ask.memory
        queue_at(state, app.queue).am_vcores += ask.vcores
    row = grant(state, job, ask_row, node_row, number)
    if row > 0:
        put_on_node(state, row)
        serve_claim(state, job, node_row, ask.memory, ask.vcores)


@compiled
def is_below(state: Any, policy: int, memory: int, vcores: int, than_memory: int, than_vcores: int) -> bool:
    """``FSAppAttempt.isUsageBelowShare``: in memory, or with drf in the larger share of the cluster."""
    if policy != DRF:
        return bool(memory < than_memory)
    cluster = cluster_of(state)
    share = max(memory / cluster.memory, vcores / cluster.vcores)
    return bool(share < max(than_memory / cluster.memory, than_vcores / cluster.vcores))


@compiled
def is_large(state: Any, ask: Any) -> int:
    """Whether a container might be reserved for, whatever the policy; 0 or 1."""
    cluster = cluster_of(state)
    return 1 if ask.memory >= cluster.reservation_memory or ask.vcores >= cluster.reservation_vcores else 0


@compiled
def _is_large(state: Any, policy: int, memory: int, vcores: int) -> bool:
    """``isAtLeastReservationThreshold``: in memory, or with drf by the dominant share and then by the other."""
    cluster = cluster_of(state)
    if policy != DRF:
        return bool(memory >= cluster.reservation_memory)
    a, b = memory / cluster.memory, vcores / cluster.vcores
    c, d = cluster.reservation_memory / cluster.memory, cluster.reservation_vcores / cluster.vcores
    dominant, least = max(a, b), max(c, d)
    return bool(dominant > least or (dominant == least and min(a, b) >= min(c, d)))


@compiled
def _may_reserve(state: Any, job: int, ask_row: int, node_row: int) -> bool:
    """Below its fair share, for a large container (``isReservable``, ``reservationExceedsThreshold``)."""
    ask, app, cluster = ask_at(state, ask_row), app_at(state, job), cluster_of(state)
    policy = plan_of(state, app.queue).policy
    starved = is_below(state, policy, app.used_memory, app.used_vcores, app.share_memory, app.share_vcores)
    starved = starved or app.min_starved_memory != 0 or app.min_starved_vcores != 0
    if not cluster.reserve or not starved or not _is_large(state, policy, ask.memory, ask.vcores):
        return False
    taken = node_at(state, node_row).reserved_by >= 0 or has_claim(state, job, node_row)
    return bool(not taken and app.reservations < cluster.most_reserved)


@compiled
def _reserve(state: Any, job: int, ask_row: int, node_row: int) -> None:
    """Keeps the node for the application."""
    node = node_at(state, node_row)
    node.reserved_by = job
    node.reserved_ask = ask_row
    node.reserved_number = next_number(state, job)
    app_at(state, job).reservations += 1
    state.version += 1


@compiled
def unreserve(state: Any, node_row: int) -> None:
    """Gives a reservation up, or ends it as it is served."""
    node = node_at(state, node_row)
    app_at(state, node.reserved_by).reservations -= 1
    node.reserved_by = -1
    state.loosened += 1
    state.version += 1


@compiled
def _serve_reservation(state: Any, node_row: int) -> bool:
    """``assignReservedContainer``: False where the reservation no longer holds, so that the beat goes on."""
    node = node_at(state, node_row)
    job, ask_row = node.reserved_by, node.reserved_ask
    if not _could_hold(state, job, ask_row, node_row) or is_over_am_share(state, job):
        unreserve(state, node_row)
        return False
    if _fits(state, ask_row, node_row):
        unreserve(state, node_row)
        _allocate(state, job, ask_row, node_row, node.reserved_number)
    return True
