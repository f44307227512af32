"""What came of a plan: its prediction held against the applications of the time that it was made for."""

from __future__ import annotations

from rules.daemon.accuracy import PlanOutcome, assess
from rules.daemon.run import FORECAST_ACTION
from rules.history import start_up
from rules.lifecycle.states import PlanState
from rules.plan import plan_from_json
from tuner.errors import InputError
from tuner.store import Plan, Store

MOST_APPLICATIONS = 2_000
"""More would make the page slow; the command line has no such limit."""


def judge_plan(store: Store, found: Plan, *, now: float) -> PlanOutcome | None:
    """Holds one plan against what happened; None where it was not forecast, or is damaged.

    Args:
        store: the store.
        found: the plan.
        now: the clock.
    """
    span_s = next(
        (
            float(row.detail["span_s"])
            for row in store.audit.list(subject=f"plan {found.id}")
            if row.action == FORECAST_ACTION
        ),
        None,
    )
    if span_s is None:
        return None
    try:
        plan = plan_from_json(found.plan, f"plan {found.id}")
    except InputError:
        return None
    applications = store.history.applications(found.scheduler, finished_since=plan.created_at, limit=MOST_APPLICATIONS)
    if len(applications) == MOST_APPLICATIONS:
        why = "too many applications have ended since then to be read here: see `yarntune scheduler accuracy`"
        return PlanOutcome(found.id, found.created_at, found.state, applied=False, why=why)
    collections = store.history.collections(found.scheduler, since=plan.created_at)
    started = start_up(applications)
    start_up_s = 0.0 if started is None else started.am_s
    state = PlanState(found.state)
    return assess(found.id, plan, state, span_s, applications, collections, now, start_up_s=start_up_s)
