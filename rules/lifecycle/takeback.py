"""The way back, once it is decided: written once, read, and said as it is."""

from __future__ import annotations

from rules.lifecycle.context import Context
from rules.lifecycle.journal import Journal
from rules.lifecycle.position import Place, place_of, taken_back
from rules.lifecycle.readback import ReadBack, read_back
from rules.lifecycle.result import ApplyResult, Outcome
from rules.lifecycle.states import PlanState
from rules.plan import Configuration, Plan, differences
from tuner.errors import YarntuneError
from tuner.yarn.model import Rejected, Unknown

__all__ = ["take_back"]


def take_back(
    context: Context,
    journal: Journal,
    plan: Plan,
    base: Configuration,
    *,
    reason: str,
    end: PlanState = PlanState.ROLLED_BACK,
    outcome: Outcome = Outcome.ROLLED_BACK,
) -> ApplyResult:
    """Puts the configuration of before back.

    Args:
        context: the cluster.
        journal: of the plan, which may be in any state that ROLLING_BACK may follow.
        plan: what was applied, wholly or in part.
        base: the configuration of before, as it was stored before the write.
        reason: why, in a sentence.
        end: the state that the plan is in when it is done.
        outcome: what the command then came to.
    """
    journal.enter(PlanState.ROLLING_BACK, {"reason": reason})
    try:
        stored = context.back_end.read()
    except YarntuneError as error:
        return _unknown(journal, f"{reason}; taking it back has to wait, as nothing can be read: {error.message}")
    place = place_of(stored, base, plan.proposed)
    if place is Place.ELSEWHERE:
        return _diverged(journal, plan, stored, reason)
    if place is not Place.BASE:
        context.note("putting the configuration of before back")
        failed = _write(context, journal, plan, base, stored, reason)
        if failed is not None:
            return failed
    if context.back_end.needs_activation:
        journal.enter(PlanState.ROLLING_BACK, {"step": "activate"})
        context.back_end.activate()
    found = read_back(context, base, plan.proposed, Place.BASE, wait_for_a_change=True)
    return _ended(journal, plan, found, reason, end, outcome)


def _write(
    context: Context, journal: Journal, plan: Plan, base: Configuration, stored: Configuration, reason: str
) -> ApplyResult | None:
    """Writes it once; a result where that was refused, or could not be."""
    try:
        answer = context.back_end.write(stored, taken_back(stored, base, plan.proposed))
    except YarntuneError as error:
        return _unknown(journal, f"{reason}; it could not be taken back yet: {error.message}")
    if isinstance(answer, Unknown):
        context.note(f"the answer was lost ({answer.why}); reading instead")
    if isinstance(answer, Rejected):
        journal.enter(PlanState.APPLIED, {"rollback_refused": answer.reason, "reason": reason})
        return ApplyResult(
            Outcome.REJECTED,
            f"{reason}; taking it back was refused, so the new configuration stays in force: {answer.reason}",
            journal.plan_id,
            journal.state,
        )
    return None


def _ended(journal: Journal, plan: Plan, found: ReadBack, reason: str, end: PlanState, outcome: Outcome) -> ApplyResult:
    if found.place is Place.BASE and not found.unseen:
        journal.enter(end, {"reason": reason})
        return ApplyResult(
            outcome, f"{reason}; the configuration of before is in force", journal.plan_id, journal.state
        )
    if found.place is Place.ELSEWHERE and found.stored is not None:
        return _diverged(journal, plan, found.stored, reason)
    if found.place is None:
        return _unknown(journal, f"{reason}; it was taken back, but that cannot be read: {found.trouble}")
    unseen = f": {found.unseen[0].property} is {found.unseen[0].after}" if found.unseen else ""
    return _unknown(journal, f"{reason}; it was taken back, but the ResourceManager does not go by it yet{unseen}")


def _unknown(journal: Journal, message: str) -> ApplyResult:
    """The plan stays ROLLING_BACK, which the next ``apply`` or ``rollback`` goes on with."""
    hint = f"`yarntune scheduler rollback {journal.plan_id}` goes on with it"
    return ApplyResult(Outcome.UNKNOWN, f"{message}; {hint}", journal.plan_id, journal.state)


def _diverged(journal: Journal, plan: Plan, stored: Configuration, reason: str) -> ApplyResult:
    found = differences(plan.proposed.properties, stored.properties)
    journal.enter(PlanState.DIVERGED, {"reason": reason, "properties": [change.property for change in found]})
    return ApplyResult(
        Outcome.DIVERGED,
        f"{reason}; it was not taken back, since somebody else has changed the same meanwhile, and theirs is left "
        "alone: look at it, and change it by hand where need be",
        journal.plan_id,
        journal.state,
        found,
    )
