"""Taking an applied plan back by hand: to the configuration of before, byte for byte where it is a file."""

from __future__ import annotations

from rules.lifecycle.apply import frozen_result
from rules.lifecycle.context import Context
from rules.lifecycle.journal import Journal, LostPlanError, load_plan, undo_of, write_audit
from rules.lifecycle.lock import hold_cluster
from rules.lifecycle.position import Place, place_of, taken_back
from rules.lifecycle.reconcile import reconcile_held
from rules.lifecycle.result import ApplyResult, Outcome
from rules.lifecycle.states import PlanState
from rules.lifecycle.takeback import take_back
from rules.model import PropertyChange, Severity
from rules.plan import Configuration, differences

__all__ = ["last_applied", "preview_rollback", "rollback_plan"]


def last_applied(context: Context) -> int | None:
    """The plan that was applied last and not taken back; None where there is none."""
    latest = context.store.plans.latest(context.cluster.id, [PlanState.APPLIED.value])
    return None if latest is None else latest.id


def preview_rollback(context: Context, plan_id: int) -> tuple[PropertyChange, ...]:
    """What taking a plan back would change now.

    Raises:
        YarntuneError: there is no such plan, or the configuration cannot be read.
    """
    row, plan = load_plan(context, plan_id)
    stored = context.back_end.read()
    return differences(stored.properties, taken_back(stored, undo_of(row, plan), plan.proposed).properties)


def rollback_plan(context: Context, plan_id: int | None = None) -> ApplyResult:
    """Takes a plan back.

    Without a file only the properties of the plan are put back, and what others have changed beside them stays. A file
    is put back as a whole, and only where it is still the one that was written.

    Args:
        context: the cluster and the store.
        plan_id: an APPLIED plan; the last one where it is not given.

    Returns:
        What it came to; the store says it too.

    Raises:
        YarntuneError: there is no such plan, or the cluster or the store cannot be reached.
    """
    with hold_cluster(context, f"roll back plan {plan_id or ''}".rstrip()) as busy:
        if busy is not None:
            return ApplyResult(Outcome.BUSY, busy, plan_id)
        for settled in reconcile_held(context, mend=True):
            # Going on with what was cut off is what was asked for; an older plan is not taken back on top of it.
            asked = plan_id is None or settled.plan_id == plan_id
            if asked and settled.outcome in {Outcome.ROLLED_BACK, Outcome.DIVERGED, Outcome.UNKNOWN}:
                return settled
        chosen = plan_id if plan_id is not None else last_applied(context)
        if chosen is None:
            return ApplyResult(
                Outcome.NOTHING_TO_DO, "no plan is applied on this cluster, so there is nothing to take back"
            )
        try:
            result = _roll_back(context, chosen)
        except LostPlanError as lost:
            result = ApplyResult(Outcome.BUSY, lost.message, chosen)
    write_audit(context, "roll-back-plan", result)
    return result


def _roll_back(context: Context, plan_id: int) -> ApplyResult:
    row, plan = load_plan(context, plan_id)
    state = PlanState(row.state)
    if state is PlanState.ROLLED_BACK:
        return ApplyResult(Outcome.NOTHING_TO_DO, f"plan {plan_id} has been taken back already", plan_id, state)
    if state is not PlanState.APPLIED:
        message = f"plan {plan_id} is {state.value}; only a plan that is APPLIED can be taken back"
        return ApplyResult(Outcome.NOT_POSSIBLE, message, plan_id, state)
    frozen = frozen_result(context, plan_id)
    if frozen is not None:
        return frozen
    base, stored = undo_of(row, plan), context.back_end.read()
    place = place_of(stored, base, plan.proposed)
    if place is Place.ELSEWHERE:
        return ApplyResult(
            Outcome.STALE,
            f"what plan {plan_id} has set was changed again since, by a later plan (take that one back first) or by "
            "somebody else; it is left alone",
            plan_id,
            state,
            differences(plan.proposed.properties, stored.properties),
        )
    refused = _refusals(context, stored, taken_back(stored, base, plan.proposed))
    if refused:
        return ApplyResult(Outcome.REJECTED, f"a check refuses it: {'; '.join(refused)}", plan_id, state)
    journal = Journal(context, plan_id, state)
    return take_back(context, journal, plan, base, reason=f"plan {plan_id} was taken back by {context.who}")


def _refusals(context: Context, stored: Configuration, target: Configuration) -> list[str]:
    if stored.fingerprint == target.fingerprint:
        return []
    findings = context.back_end.check(stored, target)
    return [finding.message for finding in findings if finding.severity is Severity.ERROR]
