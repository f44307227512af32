"""What one run of the queue tuner came to: values, never exceptions."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from rules.plan import Plan
from tuner.store.history_records import Collection

__all__ = ["EXIT_CODES", "Action", "RunResult"]


class Action(StrEnum):
    """What a run did."""

    OFF = "off"
    """The policy's mode is `off`: nothing was looked at."""
    BUSY = "busy"
    """Another run works on this cluster at this moment: nothing was done."""
    NOTHING = "nothing"
    """Nothing is to be changed."""
    RECOMMENDED = "recommended"
    """A plan was recorded, and waits for somebody to apply it."""
    HELD_BACK = "held-back"
    """A plan was recorded that would have been applied, were it not for quiet hours, cool-down or the freeze switch."""
    APPLIED = "applied"
    """A plan was applied."""
    NOT_APPLIED = "not-applied"
    """A plan was refused, or taken back: the configuration is the one of before."""
    UNCLEAR = "unclear"
    """Nobody knows what is in force, or somebody else changed it: look at it."""


EXIT_CODES = {
    Action.OFF: 0,
    Action.NOTHING: 0,
    Action.APPLIED: 0,
    Action.NOT_APPLIED: 1,
    Action.UNCLEAR: 1,
    Action.RECOMMENDED: 3,
    Action.HELD_BACK: 3,
    Action.BUSY: 4,
}
"""The exit status of ``run-once``; 3 as that of ``plan`` when it would change something."""


@dataclass(frozen=True)
class RunResult:
    """What it came to.

    Attributes:
        action: in a word.
        message: in a sentence.
        plan_id: of the plan in the store; None where there is none.
        plan: what was proposed.
        news: whether there is anything that was not said by the run before; cron is told nothing else.
        collected: what was read into the store.
        settled: what an earlier command had left open, and what became of it.
    """

    action: Action
    message: str
    plan_id: int | None = None
    plan: Plan | None = None
    news: bool = True
    collected: Collection | None = None
    settled: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """The exit status that says the same."""
        return EXIT_CODES[self.action]
