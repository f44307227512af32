"""Reading a configuration back until it is what it should be, or time is up. Never writes."""

from __future__ import annotations

from dataclasses import dataclass

from rules.lifecycle.context import Context
from rules.lifecycle.lock import renew
from rules.lifecycle.position import Place, place_of
from rules.model import PropertyChange
from rules.plan import Configuration
from tuner.errors import YarntuneError

__all__ = ["ReadBack", "read_back"]

_POLL_S = 1.0


@dataclass(frozen=True)
class ReadBack:
    """What was found.

    Attributes:
        stored: the configuration; None where it could not be read.
        place: where it stands; None likewise.
        unseen: what the ResourceManager's queues do not show of the wanted configuration.
        trouble: why it could not be read.
    """

    stored: Configuration | None
    place: Place | None
    unseen: tuple[PropertyChange, ...] = ()
    trouble: str = ""


def read_back(
    context: Context, base: Configuration, proposed: Configuration, wanted: Place, *, wait_for_a_change: bool
) -> ReadBack:
    """Reads until the configuration is the wanted one and the queues show it, or ``settle_s`` have passed.

    Args:
        context: the cluster.
        base: the configuration of before the plan.
        proposed: the plan's.
        wanted: BASE or PROPOSED: which of the two it should be.
        wait_for_a_change: whether the other of the two may still turn into the wanted one: the answer to the write was
            lost, and it may still be under way. Else a second look is enough.
    """
    target, other = (proposed, base) if wanted is Place.PROPOSED else (base, proposed)
    deadline = context.clock() + context.settle_s
    looks = 0
    while True:
        found = _look(context, base, proposed, target, other)
        looks += 1
        if found.place is wanted and not found.unseen:
            return found
        is_other = found.place in {Place.BASE, Place.PROPOSED, Place.BETWEEN} and found.place is not wanted
        if found.place is Place.ELSEWHERE or (is_other and not wait_for_a_change and looks > 1):
            return found
        if context.clock() >= deadline:
            return found
        renew(context)
        context.sleep(_POLL_S)


def _look(
    context: Context, base: Configuration, proposed: Configuration, target: Configuration, other: Configuration
) -> ReadBack:
    try:
        stored = context.back_end.read()
        return ReadBack(stored, place_of(stored, base, proposed), context.back_end.unseen(target, other))
    except YarntuneError as error:
        return ReadBack(None, None, trouble=error.message)
