"""The states of a plan, and which may follow which.

A row with the next state is in the store before the step is made, so what a crash leaves behind is one of the OPEN
states, and each of them says what has to be looked at.
"""

from __future__ import annotations

from enum import StrEnum


class PlanState(StrEnum):
    """How far a plan is."""

    PROPOSED = "PROPOSED"
    """Recorded; nothing was done."""
    CHECKING = "CHECKING"
    """Being applied: version, configuration and checks. Nothing is written yet."""
    WRITING = "WRITING"
    """The way back is stored; the one write is being made, or was."""
    VERIFYING = "VERIFYING"
    """The write has an answer, or lost it; the configuration is being read back."""
    WATCHING = "WATCHING"
    """The ResourceManager has the configuration; it is being watched."""
    APPLIED = "APPLIED"
    """Done."""
    ROLLING_BACK = "ROLLING_BACK"
    """The configuration of before is being put back, or was."""
    ROLLED_BACK = "ROLLED_BACK"
    """Done, and taken back; the configuration of before is in force."""
    STALE = "STALE"
    """Not applied: the configuration is not the one that it was made against."""
    REJECTED = "REJECTED"
    """Not applied: a check, or the ResourceManager, refused it."""
    EXPIRED = "EXPIRED"
    """Not applied: it was too old."""
    FAILED = "FAILED"
    """Not applied: the write had no effect, or there was no connection. The configuration is the one of before."""
    DIVERGED = "DIVERGED"
    """Neither the configuration of before nor the proposed one is in force: somebody else changed it. Left alone."""
    ADOPTED = "ADOPTED"
    """No change: the configuration that was found is taken for ours."""


OPEN = frozenset(
    {
        PlanState.CHECKING,
        PlanState.WRITING,
        PlanState.VERIFYING,
        PlanState.WATCHING,
        PlanState.ROLLING_BACK,
    }
)
"""States that only a command in progress has; found without one, they are settled by reading the configuration."""

SETTLED = frozenset({PlanState.APPLIED, PlanState.ADOPTED, PlanState.ROLLED_BACK})
"""States that say which configuration we left in force."""

FOLLOWING: dict[PlanState, frozenset[PlanState]] = {
    PlanState.PROPOSED: frozenset({PlanState.CHECKING}),
    PlanState.CHECKING: frozenset(
        {
            PlanState.PROPOSED,
            PlanState.STALE,
            PlanState.REJECTED,
            PlanState.EXPIRED,
            PlanState.WRITING,
        }
    ),
    # Once more WRITING: a row before the second half of a write (refreshQueues).
    PlanState.WRITING: frozenset(
        {
            PlanState.WRITING,
            PlanState.VERIFYING,
            PlanState.REJECTED,
            PlanState.FAILED,
            PlanState.ROLLING_BACK,
            PlanState.APPLIED,
            PlanState.DIVERGED,
        }
    ),
    PlanState.VERIFYING: frozenset(
        {
            PlanState.WATCHING,
            PlanState.APPLIED,
            PlanState.FAILED,
            PlanState.DIVERGED,
            PlanState.ROLLING_BACK,
        }
    ),
    PlanState.WATCHING: frozenset({PlanState.APPLIED, PlanState.ROLLING_BACK, PlanState.DIVERGED, PlanState.FAILED}),
    PlanState.APPLIED: frozenset({PlanState.ROLLING_BACK}),
    PlanState.ROLLING_BACK: frozenset(
        {
            PlanState.ROLLING_BACK,
            PlanState.ROLLED_BACK,
            PlanState.APPLIED,
            PlanState.REJECTED,
            PlanState.FAILED,
            PlanState.DIVERGED,
        }
    ),
    # A write whose answer was lost may arrive after it was given up.
    PlanState.FAILED: frozenset({PlanState.APPLIED}),
}
"""What may follow a state; a state that is not here is final."""


def may_follow(before: PlanState, after: PlanState) -> bool:
    """Whether a plan may go from one state to another."""
    return after in FOLLOWING.get(before, frozenset())
