"""Asynchronous scheduling (``CapacityScheduler.AsyncScheduleThread``): rounds over the nodes, apart from heartbeats.

In a round every node gets one container, beginning with one drawn by chance (which comes round twice), in the order of
Hadoop's HashMap of nodes. Between rounds the thread pauses; with several threads the rounds are as much denser. After
something has happened rounds are made at their next turns until nothing comes of one; while nodes are reserved that is
never, since every look at a reserved node counts. Drawn as ``java.util.Random`` draws, from the seed that the replay of
Hadoop's scheduler has, so that both are the same.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from rules.simulation.binding import note_room
from rules.simulation.capacity.assign import assign_on_node, has_looked, has_room, serve_reservation
from rules.simulation.capacity.reservations import NONE
from rules.simulation.capacity.state import cluster_of, look_at_node, turn_at
from rules.simulation.compiled import compiled
from rules.simulation.tables import node_at

__all__ = ["SEED", "make_round", "wake"]

_MULTIPLIER: Final = 0x5DEECE66D
_MASK: Final = (1 << 48) - 1
SEED: Final = (42 ^ _MULTIPLIER) & _MASK
"""State of the generator at the start."""


@compiled
def wake(state: Any) -> None:
    """Something happens: there is a round at the next turn."""
    if state.next_round == np.inf:
        state.round_number = math.floor(state.now / cluster_of(state).round_s) + 1
        state.next_round = state.round_number * cluster_of(state).round_s


@compiled
def make_round(state: Any) -> None:
    """One round, and the next one if anything came of it."""
    before, count = state.version, state.nodes_count
    start = _draw(state, count)
    # With several partitions the last node that is looked at decides whose limits are kept: see ``has_looked``.
    several = state.partitions > 1 and state.outstanding > 0 and state.alone == 0
    if state.reserved_nodes > 0 or state.scheduled_version != state.version or several:
        for place in range(start, count):
            _visit(state, turn_at(state, place).row)
        for place in range(start + 1):
            _visit(state, turn_at(state, place).row)
    state.next_round = np.inf
    if state.version == before:
        state.scheduled_version = before
    else:
        state.round_number += 1
        state.next_round = state.round_number * cluster_of(state).round_s


@compiled
def _visit(state: Any, node: int) -> None:
    here = node_at(state, node)
    look_at_node(state, node)
    if here.reserved_by != NONE:
        serve_reservation(state, node)
        return
    if has_looked(state, here):
        return
    room = has_room(state, node)
    note_room(state, node, room)
    before = state.version
    if room:
        assign_on_node(state, node)
    if state.version == before:
        here.idle_version = before


@compiled
def _draw(state: Any, bound: int) -> int:
    """``Random.nextInt(bound)``."""
    drawn = _next(state)
    if bound & (bound - 1) == 0:
        return int((bound * drawn) >> 31)
    while drawn - drawn % bound + bound - 1 >= 1 << 31:
        drawn = _next(state)
    return int(drawn % bound)


@compiled
def _next(state: Any) -> int:
    """``Random.next(31)``."""
    state.generator = (state.generator * _MULTIPLIER + 0xB) & _MASK
    return int(state.generator >> 17)
