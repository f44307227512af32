"""What an explanation is made of: values only."""

from __future__ import annotations

from dataclasses import dataclass

from rules.live.model import LiveApplication
from rules.model import PropertyChange

__all__ = ["Effect", "Explanation", "Figure", "QueueEffect", "Remedy"]


@dataclass(frozen=True, slots=True)
class Figure:
    """One number that the explanation rests on, as the ResourceManager shows it.

    Attributes:
        name: what it is, for example ``limit of the queue's AMs``.
        value: with its unit.
    """

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class QueueEffect:
    """What a change does to the applications of one queue.

    Attributes:
        path: the queue's.
        applications: how many it has now.
        before_s: mean time from now to the end without the change, of those that end with and without it.
        after_s: the same with the change.
        unfinished_before: how many would not end within a day without the change.
        unfinished_after: likewise with it.
    """

    path: str
    applications: int
    before_s: float
    after_s: float
    unfinished_before: int = 0
    unfinished_after: int = 0


@dataclass(frozen=True)
class Effect:
    """What a change would do, by the estimator.

    Attributes:
        queues: those that have applications now.
        assumptions: what was assumed where nobody knows, each a sentence.
    """

    queues: tuple[QueueEffect, ...]
    assumptions: tuple[str, ...]


@dataclass(frozen=True)
class Remedy:
    """The smallest change of the configuration that would let an application go on.

    Attributes:
        changes: properties by full name (Fair: the queue's path and the element), all of them together.
        effect: what it would do to all; None where it was not asked for or cannot be told.
    """

    changes: tuple[PropertyChange, ...]
    effect: Effect | None = None


@dataclass(frozen=True)
class Explanation:
    """Why one application waits.

    Attributes:
        application: as it was read.
        waiting_s: since when it has waited: from its submission where its master waits.
        rule: id of the rule that binds, as ``docs/rules.md`` lists it; None where it waits for nothing.
        reason: the same in a sentence.
        figures: what it rests on.
        remedy: what would free it; None where no property would.
        no_remedy: why none would, in a sentence; empty where there is one.
        doubts: what makes this less sure, each a sentence.
    """

    application: LiveApplication
    waiting_s: float
    rule: str | None
    reason: str
    figures: tuple[Figure, ...] = ()
    remedy: Remedy | None = None
    no_remedy: str = ""
    doubts: tuple[str, ...] = ()
