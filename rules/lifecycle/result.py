"""What applying a plan, or taking it back, came to: values, never exceptions."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from rules.lifecycle.states import PlanState
from rules.model import PropertyChange

__all__ = ["ApplyResult", "Outcome"]


class Outcome(StrEnum):
    """What a command came to."""

    APPLIED = "applied"
    ROLLED_BACK = "rolled-back"
    """By the command ``rollback``, or by ``apply`` since the watch saw it get worse."""
    NOTHING_TO_DO = "nothing-to-do"
    STALE = "stale"
    """The configuration is not the one that it was made against; ``differences`` says what differs."""
    REJECTED = "rejected"
    """A check or the ResourceManager refused it; nothing has changed."""
    EXPIRED = "expired"
    FROZEN = "frozen"
    """The freeze switch is on; nothing was done."""
    BUSY = "busy"
    """Another process changes this cluster's queues at this moment; nothing was done."""
    FAILED = "failed"
    """The configuration of before is in force: no connection, or a write without an effect."""
    DIVERGED = "diverged"
    """Somebody else changed the same properties meanwhile; theirs are left alone."""
    UNKNOWN = "unknown"
    """The configuration could not be read after the write; the next command reads it."""
    NOT_POSSIBLE = "not-possible"
    """The plan is in a state from which this cannot be done."""


@dataclass(frozen=True)
class ApplyResult:
    """What it came to.

    Attributes:
        outcome: in a word.
        message: in a sentence, with what to do where something is to be done.
        plan_id: of the plan in the store; None where there is none.
        state: of the plan in the store now.
        differences: what stands in the way, property by property: ``before`` is what was expected, ``after`` what is.
    """

    outcome: Outcome
    message: str
    plan_id: int | None = None
    state: PlanState | None = None
    differences: tuple[PropertyChange, ...] = ()

    @property
    def done(self) -> bool:
        """Whether what was asked for is so now."""
        return self.outcome in {Outcome.APPLIED, Outcome.NOTHING_TO_DO} or (
            self.outcome is Outcome.ROLLED_BACK and self.state is PlanState.ROLLED_BACK
        )
