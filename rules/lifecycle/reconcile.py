"""What a command that was cut off has left: found by its state, settled by reading the configuration.

A plan in one of the OPEN states that nobody works on belongs to a process that is gone. What it did is never guessed
and never simply done again: the configuration is read, and that decides.
"""

from __future__ import annotations

from rules.lifecycle.context import Context
from rules.lifecycle.journal import Journal, LostPlanError, load_plan, undo_of, write_audit
from rules.lifecycle.lock import hold_cluster
from rules.lifecycle.position import Place, place_of
from rules.lifecycle.readback import read_back
from rules.lifecycle.result import ApplyResult, Outcome
from rules.lifecycle.states import OPEN, SETTLED, PlanState
from rules.lifecycle.takeback import take_back
from rules.plan import Configuration, Plan, differences

__all__ = ["reconcile", "reconcile_held"]

_MOST = 1000


def reconcile(context: Context, *, mend: bool = False) -> tuple[ApplyResult, ...]:
    """Settles the plans of a cluster that a command has left open.

    Args:
        context: the cluster.
        mend: whether something may be written to get out of a change that was made by half; else that is told.

    Returns:
        What became of each; nothing where a command works on the cluster at this moment.

    Raises:
        YarntuneError: the configuration cannot be read, so nothing can be said.
    """
    with hold_cluster(context, "settle what a command has left open") as busy:
        return () if busy is not None else reconcile_held(context, mend=mend)


def reconcile_held(context: Context, *, mend: bool) -> tuple[ApplyResult, ...]:
    """As :func:`reconcile`, for who holds the cluster already."""
    found = []
    for row in reversed(
        context.store.plans.list(scheduler=context.cluster.id, states=[state.value for state in OPEN], limit=_MOST)
    ):
        try:
            result = _settle(context, row.id, mend)
        except LostPlanError as lost:
            result = ApplyResult(Outcome.BUSY, lost.message, row.id)
        context.note(f"plan {row.id}: {result.message}")
        write_audit(context, "settle-plan", result)
        found.append(result)
    late = _late_arrival(context)
    return (*found, late) if late is not None else tuple(found)


def _settle(context: Context, plan_id: int, mend: bool) -> ApplyResult:
    row, plan = load_plan(context, plan_id)
    journal = Journal(context, plan_id, PlanState(row.state))
    if journal.state is PlanState.CHECKING:
        message = "the command that checked it was cut off before it wrote anything"
        journal.enter(PlanState.PROPOSED, {"reason": message})
        return ApplyResult(Outcome.NOTHING_TO_DO, message, plan_id, journal.state)
    base = undo_of(row, plan)
    stored = context.back_end.read()
    place = place_of(stored, base, plan.proposed)
    if place is Place.ELSEWHERE:
        message = "the command was cut off, and somebody else has changed the same since; theirs is left alone"
        journal.enter(PlanState.DIVERGED, {"reason": message})
        return ApplyResult(
            Outcome.DIVERGED, message, plan_id, journal.state, differences(plan.proposed.properties, stored.properties)
        )
    if journal.state is PlanState.ROLLING_BACK:
        return _settle_rollback(context, journal, plan, base, mend, place)
    return _settle_apply(context, journal, plan, base, mend, place)


def _settle_apply(
    context: Context, journal: Journal, plan: Plan, base: Configuration, mend: bool, place: Place
) -> ApplyResult:
    if place is Place.BASE:
        message = "the command was cut off, and the change was not made; the configuration of before is in force"
        journal.enter(PlanState.FAILED, {"reason": message})
        return ApplyResult(Outcome.FAILED, message, journal.plan_id, journal.state)
    # The row before the refresh does not say that the refresh was made, and not everything is shown by the queues.
    activated = not context.back_end.needs_activation or journal.state is not PlanState.WRITING
    if place is Place.PROPOSED and activated:
        found = read_back(context, base, plan.proposed, Place.PROPOSED, wait_for_a_change=False)
        if found.place is Place.PROPOSED and not found.unseen:
            message = (
                "the command was cut off after the change was made; it is in force, and was not watched to the end"
            )
            journal.enter(PlanState.APPLIED, {"reason": message})
            return ApplyResult(Outcome.APPLIED, message, journal.plan_id, journal.state)
    if not mend:
        return _half(journal, "the command was cut off in the middle of the change")
    return take_back(context, journal, plan, base, reason="the command was cut off in the middle of the change")


def _settle_rollback(
    context: Context, journal: Journal, plan: Plan, base: Configuration, mend: bool, place: Place
) -> ApplyResult:
    if place is Place.BASE and not context.back_end.needs_activation:
        found = read_back(context, base, plan.proposed, Place.BASE, wait_for_a_change=False)
        if found.place is Place.BASE and not found.unseen:
            message = "the rollback was cut off after it was made; the configuration of before is in force"
            journal.enter(PlanState.ROLLED_BACK, {"reason": message})
            return ApplyResult(Outcome.ROLLED_BACK, message, journal.plan_id, journal.state)
    if not mend:
        return _half(journal, "the rollback was cut off in the middle")
    return take_back(context, journal, plan, base, reason="the rollback was cut off in the middle")


def _half(journal: Journal, what: str) -> ApplyResult:
    return ApplyResult(
        Outcome.UNKNOWN,
        f"{what}; `yarntune scheduler rollback {journal.plan_id}` puts the configuration of before back",
        journal.plan_id,
        journal.state,
    )


def _late_arrival(context: Context) -> ApplyResult | None:
    """A write whose answer was lost and which was given up may have been made later all the same."""
    latest = context.store.plans.latest(context.cluster.id, [state.value for state in (*SETTLED, PlanState.FAILED)])
    if latest is None or latest.state != PlanState.FAILED.value:
        return None
    row, plan = load_plan(context, latest.id)
    base = undo_of(row, plan)
    if plan.is_empty or place_of(context.back_end.read(), base, plan.proposed) is not Place.PROPOSED:
        return None
    message = "its configuration is in force after all: the write was made after it had been given up, or by hand"
    Journal(context, row.id, PlanState.FAILED).enter(PlanState.APPLIED, {"reason": message})
    result = ApplyResult(Outcome.APPLIED, message, row.id, PlanState.APPLIED)
    context.note(f"plan {row.id}: {message}")
    write_audit(context, "settle-plan", result)
    return result
