"""Plans and applications out of the store, for :mod:`rules.daemon.accuracy`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rules.daemon.accuracy import PlanOutcome, assess
from rules.daemon.run import FORECAST_ACTION
from rules.history import start_up
from rules.lifecycle.states import PlanState
from rules.plan import plan_from_json
from tuner.errors import InputError

if TYPE_CHECKING:
    from tuner.store import Store

__all__ = ["judge_plans"]

_MOST_APPLICATIONS = 100_000


def judge_plans(store: Store, cluster: str, *, now_s: float, limit: int = 100) -> tuple[PlanOutcome, ...]:
    """Holds a cluster's newest plans against what happened, newest first.

    Raises:
        StoreError: the store cannot be read.
    """
    rows = store.plans.list(scheduler=cluster, limit=limit)
    if not rows:
        return ()
    applications = store.history.applications(cluster, limit=_MOST_APPLICATIONS)
    collections = store.history.collections(cluster, since=rows[-1].created_at, limit=_MOST_APPLICATIONS)
    started = start_up(applications)
    found = []
    for row in rows:
        try:
            plan = plan_from_json(row.plan, f"plan {row.id}")
        except InputError as error:
            found.append(PlanOutcome(row.id, row.created_at, row.state, applied=False, why=error.message))
            continue
        found.append(
            assess(
                row.id, plan, PlanState(row.state), _span_s(store, row.id), applications, collections, now_s,
                start_up_s=started.am_s if started is not None else 0.0,
            )
        )  # fmt: skip
    return tuple(found)


def _span_s(store: Store, plan_id: int) -> float | None:
    for row in store.audit.list(subject=f"plan {plan_id}"):
        if row.action == FORECAST_ACTION:
            return float(row.detail["span_s"])
    return None
