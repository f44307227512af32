"""What queues hold, have reserved and wait for, from a leaf up to root (``ResourceUsage``)."""

from __future__ import annotations

from typing import Any

from rules.simulation.capacity.state import queue_at
from rules.simulation.compiled import compiled

__all__ = ["add_applications", "add_pending", "add_reserved", "add_used"]


@compiled
def add_applications(state: Any, q: int, change: int) -> None:
    """The queue and all above it have more applications, or fewer."""
    while q >= 0:
        queue_at(state, q).applications += change
        q = queue_at(state, q).parent


@compiled
def add_used(state: Any, q: int, memory: int, vcores: int) -> None:
    """The queue and all above it hold more, or less."""
    while q >= 0:
        queue = queue_at(state, q)
        queue.held_mib_s += queue.used_memory * (state.now - queue.held_since)
        queue.held_since = state.now
        queue.used_memory += memory
        queue.used_vcores += vcores
        q = queue.parent


@compiled
def add_reserved(state: Any, q: int, memory: int, vcores: int) -> None:
    """More, or less, of what the queue and all above it hold is reserved only."""
    while q >= 0:
        queue_at(state, q).reserved_memory += memory
        queue_at(state, q).reserved_vcores += vcores
        q = queue_at(state, q).parent


@compiled
def add_pending(state: Any, q: int, memory: int, vcores: int) -> None:
    """The queue and all above it wait for more, or less."""
    while q >= 0:
        queue_at(state, q).pending_memory += memory
        queue_at(state, q).pending_vcores += vcores
        q = queue_at(state, q).parent
