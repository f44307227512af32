"""The steps of one plan in the store, each written before it is made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rules.lifecycle.context import Context
from rules.lifecycle.lock import renew
from rules.lifecycle.result import ApplyResult
from rules.lifecycle.states import PlanState, may_follow
from rules.plan import Configuration, Plan, configuration_from_json, configuration_to_json, plan_from_json
from tuner.errors import InputError, YarntuneError
from tuner.store import AuditRow, PlanTransition
from tuner.store import Plan as PlanRow

__all__ = ["Journal", "LostPlanError", "load_plan", "undo_of", "write_audit"]


class LostPlanError(YarntuneError):
    """Another process has taken the plan over: this one was silent for too long."""


class Journal:
    """Where a plan is, and the only way to take it further.

    Args:
        context: the store, who acts, and the clock.
        plan_id: of the plan in the store.
        state: that it is in.
    """

    def __init__(self, context: Context, plan_id: int, state: PlanState) -> None:
        self._context = context
        self.plan_id = plan_id
        self.state = state

    def enter(
        self, state: PlanState, detail: Mapping[str, Any] | None = None, *, undo: Configuration | None = None
    ) -> None:
        """Writes the row of the next step.

        Args:
            state: the next one.
            detail: why, or with what.
            undo: the configuration that taking the plan back leads to, where this is the step before the write.

        Raises:
            LostPlanError: the plan is in another state by now.
        """
        assert may_follow(self.state, state), f"{state} may not follow {self.state}"
        step = PlanTransition(
            plan_id=self.plan_id,
            from_state=self.state.value,
            to_state=state.value,
            at=self._context.clock(),
            who=self._context.who,
            detail=detail or {},
        )
        way_back = None if undo is None else {"configuration": configuration_to_json(undo)}
        if not self._context.store.plans.transition(step, undo=way_back):
            raise LostPlanError(
                f"plan {self.plan_id} is not {self.state} any more: another process has taken it over",
                "see `yarntune scheduler history`",
            )
        self.state = state
        renew(self._context)


def load_plan(context: Context, plan_id: int) -> tuple[PlanRow, Plan]:
    """A plan from the store.

    Raises:
        InputError: there is none, or it is for another cluster.
    """
    row = context.store.plans.get(plan_id)
    if row is None:
        raise InputError(f"there is no plan {plan_id} in the store", "see `yarntune scheduler history`")
    if row.scheduler != context.cluster.id:
        raise InputError(
            f"plan {plan_id} is for the cluster {row.scheduler}, and this is {context.cluster.id}",
            "name the same cluster, in the same way, as when it was made (HADOOP_CONF_DIR or YARNTUNE_RM_URL)",
        )
    return row, plan_from_json(row.plan, f"plan {plan_id}")


def undo_of(row: PlanRow, plan: Plan) -> Configuration:
    """The configuration of before the write: as it was stored before it, else the one that the plan was made from."""
    return configuration_from_json(row.undo["configuration"]) if row.undo else plan.base


def write_audit(context: Context, action: str, result: ApplyResult) -> None:
    """One row on what a command came to."""
    context.store.audit.append(
        AuditRow(
            at=context.clock(),
            who=context.who,
            action=action,
            subject=f"plan {result.plan_id}" if result.plan_id is not None else f"cluster {context.cluster.id}",
            outcome=result.outcome.value,
            detail={"message": result.message, "cluster": context.cluster.id},
        )
    )
