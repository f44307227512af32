"""What the event loop asks of a scheduler; each scheduler registers its own implementation (see the package).

In all of them ``job``, ``ask`` and ``node`` are rows of the tables in :mod:`rules.simulation.tables`.
"""

from __future__ import annotations

from typing import Any

__all__ = ["admit", "asked", "head_room", "leave", "node_beat", "reconfigure", "release", "restart", "submit", "tick"]


def tick(state: Any) -> None:
    """Before every event: what the scheduler does by the clock (update step, preemption monitor)."""
    raise NotImplementedError


def submit(state: Any, job: int) -> int:
    """An application arrives; its AM is asked for right afterwards. Returns 0 or the reason it is refused for."""
    raise NotImplementedError


def admit(state: Any, job: int) -> int:
    """A running AM is about to ask for its containers. Returns 0 or the reason that the request is refused for."""
    raise NotImplementedError


def asked(state: Any, job: int, ask: int, more: int) -> None:
    """``more`` containers more are asked for; ``ask_at(state, ask).pending`` has them already."""
    raise NotImplementedError


def head_room(state: Any, job: int) -> None:
    """The rest of an AM's allocate(), after its releases and asks were recorded and before it collects."""
    raise NotImplementedError


def release(state: Any, job: int, ask: int, node: int, container: int) -> None:
    """A container of this ask ended; the scheduler frees its room on the node and in its own books.

    ``container`` is its row plus one, 0 where containers have none (:mod:`rules.simulation.containers`).
    """
    raise NotImplementedError


def leave(state: Any, job: int) -> None:
    """The application is removed, its AM's container already released.

    The scheduler drops what the job still asks for and has reserved; the containers that it was granted and had not
    collected have been released before.
    """
    raise NotImplementedError


def restart(state: Any, job: int) -> None:
    """The application's AM was killed, and all its containers released: another attempt takes the place of this one.

    The scheduler drops what the job asks for and has reserved; the new attempt's AM is asked for right afterwards.
    """
    raise NotImplementedError


def node_beat(state: Any, node: int) -> None:
    """A node's heartbeat: the scheduler hands out containers on it."""
    raise NotImplementedError


def reconfigure(state: Any, update: int) -> None:
    """The configuration of the case's update number ``update`` takes effect."""
    raise NotImplementedError
