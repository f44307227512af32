"""A row for each container, kept only where containers may be killed (``state.tracked``).

Elsewhere nobody has to tell one container of an ask from another, and none of this is paid for. Rows are named by their
number plus one, so that 0 stands for none; a row is used again when its container is gone, and ``serial`` tells whether
it has been. Containers of a job stand in a list of their own, the highest number (``ContainerId``) first.
"""

from __future__ import annotations

from typing import Any

from rules.simulation.compiled import compiled
from rules.simulation.tables import container_at, job_at

__all__ = ["KILLED", "LIVE", "MARKED", "drop_container", "hold_container", "next_number"]

# What has become of a container: runs; runs and will be killed; was killed, and its AM does not know.
LIVE, MARKED, KILLED = range(3)


@compiled
def next_number(state: Any, job_row: int) -> int:
    """``getNewContainerId``: containers of an attempt are counted through, reservations among them."""
    job_at(state, job_row).numbered += 1
    return int(job_at(state, job_row).numbered)


@compiled
def hold_container(state: Any, job_row: int, ask_row: int, node_row: int, number: int) -> int:
    """A container of this number begins to exist; returns its row plus one."""
    row = state.free_container
    container = container_at(state, row - 1)
    state.free_container = container.next
    container.job = job_row
    container.ask = ask_row
    container.node = node_row
    container.number = number
    container.task = -1
    container.standing = LIVE
    container.collected = 0
    container.marked_ms = -1
    before, after = 0, job_at(state, job_row).first_container
    while after > 0 and container_at(state, after - 1).number > number:
        before, after = after, container_at(state, after - 1).next
    _link(state, job_row, before, row)
    _link(state, job_row, row, after)
    return int(row)


@compiled
def drop_container(state: Any, row: int) -> None:
    """The container is gone for everyone."""
    container = container_at(state, row - 1)
    _link(state, container.job, container.previous, container.next)
    container.serial += 1
    container.next = state.free_container
    state.free_container = row


@compiled
def _link(state: Any, job_row: int, before: int, after: int) -> None:
    """Makes two containers neighbours in the list of a job; 0 is the list's beginning or its end."""
    if before > 0:
        container_at(state, before - 1).next = after
    else:
        job_at(state, job_row).first_container = after
    if after > 0:
        container_at(state, after - 1).previous = before
