"""Reserving a node for an ask that does not fit yet (``RegularContainerAllocator``, ``FiCaSchedulerApp``)."""

from __future__ import annotations

from typing import Any, Final, cast

import numpy as np

from rules.simulation.capacity.books import add_reserved, add_used
from rules.simulation.capacity.order import mark_stale
from rules.simulation.capacity.state import app_at, cluster_of, request_at
from rules.simulation.capacity.users import use
from rules.simulation.compiled import compiled
from rules.simulation.containers import next_number
from rules.simulation.tables import ask_at, node_at

__all__ = ["NONE", "fewer_reservations", "own_reservation", "reserve", "should_allocate", "unreserve"]

NONE: Final = cast(int, np.int64(-1))
"""No node, no job, no queue; typed, so that the compiler does not make a version of a function for it."""


@compiled
def should_allocate(state: Any, ask_row: int) -> bool:
    """``shouldAllocOrReserveNewContainer``: starvation + outstanding - reserved > 0.

    Starvation grows with the beats that reserved nodes have had in vain, and less for large asks.
    """
    ask, request, cluster = ask_at(state, ask_row), request_at(state, ask_row), cluster_of(state)
    starvation = 0
    if request.reserved > 0:
        size, most = np.float32(0), np.float32(0)
        if cluster.maximum_memory > 0:
            size = np.float32(np.float32(ask.memory) / np.float32(cluster.maximum_memory))
            room = cluster.maximum_memory - cluster.step_memory
            most = np.float32(np.float32(room) / np.float32(cluster.maximum_memory))
        if cluster.maximum_vcores > 0 and cluster.vcores > 0:
            size = max(size, np.float32(np.float32(ask.vcores) / np.float32(cluster.maximum_vcores)))
            room = cluster.maximum_vcores - cluster.step_vcores
            most = max(most, np.float32(np.float32(room) / np.float32(cluster.maximum_vcores)))
        tries = np.float32(np.float32(request.re_reservations) / np.float32(request.reserved))
        starvation = int(np.float32(tries * np.float32(np.float32(1) - min(size, most))))
    return bool(starvation + ask.pending - request.reserved > 0)


@compiled
def own_reservation(state: Any, job: int, ask: int) -> int:
    """The node whose reservation this ask would give up: the first in the order of a HashMap of node ids."""
    found, found_bucket = NONE, 0
    buckets = request_at(state, ask).buckets
    for node in range(state.nodes_count):
        here = node_at(state, node)
        if here.reserved_by != job or here.reserved_ask != ask:
            continue
        bucket = here.host_rank & (buckets - 1)
        if (
            found == NONE
            or bucket < found_bucket
            or (bucket == found_bucket and here.reserved_at < node_at(state, found).reserved_at)
        ):
            found, found_bucket = node, bucket
    return found


@compiled
def reserve(state: Any, job: int, ask_row: int, node_row: int) -> None:
    """Keeps the node for one container of this ask; it counts as used by queue and user, not by the application."""
    node, ask, request, app = (
        node_at(state, node_row),
        ask_at(state, ask_row),
        request_at(state, ask_row),
        app_at(state, job),
    )
    node.reserved_by = job
    node.reserved_ask = ask_row
    node.reserved_at = state.version
    if state.tracked:
        node.reserved_number = next_number(state, job)
    request.reserved += 1
    request.re_reservations = 0
    if request.reserved == 1:
        request.buckets = 16
    while 4 * request.reserved > 3 * request.buckets:
        request.buckets *= 2
    app.reservations += 1
    state.reserved_nodes += 1
    app.reserved_memory += ask.memory
    app.reserved_vcores += ask.vcores
    add_reserved(state, app.queue, ask.memory, ask.vcores)
    add_used(state, app.queue, ask.memory, ask.vcores)
    use(state, job, ask.memory, ask.vcores)
    mark_stale(state, job)
    state.version += 1


@compiled
def fewer_reservations(state: Any, node_row: int) -> None:
    """Takes the node's reservation off the books of the application and the queue, not off what is used."""
    node = node_at(state, node_row)
    ask, request = ask_at(state, node.reserved_ask), request_at(state, node.reserved_ask)
    app = app_at(state, node.reserved_by)
    node.reserved_by = NONE
    request.reserved -= 1
    request.re_reservations = 0
    app.reservations -= 1
    state.reserved_nodes -= 1
    app.reserved_memory -= ask.memory
    app.reserved_vcores -= ask.vcores
    add_reserved(state, app.queue, -ask.memory, -ask.vcores)
    state.version += 1


@compiled
def unreserve(state: Any, node_row: int) -> None:
    """Gives a reservation up."""
    job, ask_row = node_at(state, node_row).reserved_by, node_at(state, node_row).reserved_ask
    ask, app = ask_at(state, ask_row), app_at(state, job)
    fewer_reservations(state, node_row)
    mark_stale(state, job)
    add_used(state, app.queue, -ask.memory, -ask.vcores)
    use(state, job, -ask.memory, -ask.vcores)
