"""Making a plan against the configuration that is in force, and recording it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from rules.backends.checks import error, warning
from rules.lifecycle.context import Context
from rules.lifecycle.drift import find_drift
from rules.lifecycle.states import PlanState
from rules.model import Finding
from rules.plan import Configuration, Origin, Plan, QueueEffect, plan_to_json
from rules.planner import proposed_configuration, proposed_file
from tuner.errors import InputError
from tuner.store import AuditRow, NewPlan

__all__ = ["VALID_S", "adopt", "make_plan", "record_plan"]

VALID_S = 3600.0
"""How long a plan may be applied: the load that it was made for changes."""


def make_plan(
    context: Context,
    *,
    changes: Mapping[str, str | None] | None = None,
    allocations: str | None = None,
    origin: Origin = Origin.BY_HAND,
    effects: Sequence[QueueEffect] = (),
    reasons: Sequence[str] = (),
    valid_s: float = VALID_S,
) -> Plan:
    """Makes a plan, with what the checks here and at the ResourceManager say of it. Nothing is written, nor recorded.

    Args:
        context: the cluster and the store.
        changes: properties by full name, as the back end names them (the Fair Scheduler's as ``root.a.weight``).
        allocations: instead, the whole text of a new allocation file.
        origin: who proposes it.
        effects: what it should bring (:func:`rules.planner.effects_of`).
        reasons: why, in sentences.
        valid_s: for how many seconds it may be applied.

    Raises:
        InputError: a value cannot stand in the configuration, or a queue is not there.
        YarnError: the cluster cannot be read.
    """
    current = context.back_end.read()
    if allocations is not None:
        proposed = proposed_file(current, allocations)
    else:
        proposed = proposed_configuration(context.back_end.kind, current, changes or {})
    plan = Plan(
        cluster=context.cluster,
        scheduler="fair" if context.back_end.kind.value.startswith("fair") else "capacity",
        back_end=context.back_end.kind,
        base=current,
        proposed=proposed,
        effects=tuple(effects),
        reasons=tuple(reasons),
        origin=origin,
        created_at=context.clock(),
        created_by=context.who,
        expires_at=context.clock() + valid_s,
    )
    if plan.is_empty:
        return plan
    return replace(plan, findings=(*context.back_end.check(current, proposed), *_drift(context, current)))


def _drift(context: Context, current: Configuration) -> tuple[Finding, ...]:
    drift = find_drift(context, current)
    if drift is None:
        return ()
    if current.data is None:
        return (warning("drift", drift.sentence()),)
    return (
        error(
            "file-of-others",
            f"{drift.sentence()}; a file that somebody else manages is not overwritten. If it is to be yarntune's from "
            "now on, say so with `yarntune scheduler plan --adopt`",
        ),
    )


def record_plan(context: Context, plan: Plan) -> int:
    """Writes a plan to the store in state PROPOSED, and gives its id; that of the row where it is there already.

    Raises:
        InputError: it is for another cluster.
    """
    if plan.cluster.id != context.cluster.id:
        raise InputError(
            f"the plan is for the cluster {plan.cluster.id}, and this is {context.cluster.id}",
            "name the same cluster, in the same way, as when it was made (HADOOP_CONF_DIR or YARNTUNE_RM_URL)",
        )
    for row in context.store.plans.made_at(plan.cluster.id, plan.created_at):
        if row.plan.get("digest") == plan.digest:
            return row.id
    return _create(context, plan, PlanState.PROPOSED)


def adopt(context: Context) -> int:
    """Takes the configuration that is in force for ours from now on; gives the id of the plan that says so."""
    current = context.back_end.read()
    now = context.clock()
    plan = Plan(
        cluster=context.cluster,
        scheduler="fair" if context.back_end.kind.value.startswith("fair") else "capacity",
        back_end=context.back_end.kind,
        base=current,
        proposed=current,
        reasons=("the configuration that was found is taken for ours",),
        origin=Origin.ADOPTED,
        created_at=now,
        created_by=context.who,
        expires_at=now,
    )
    return _create(context, plan, PlanState.ADOPTED)


def _create(context: Context, plan: Plan, state: PlanState) -> int:
    row = context.store.plans.create(
        NewPlan(
            scheduler=plan.cluster.id,
            state=state.value,
            plan=plan_to_json(plan),
            created_at=plan.created_at,
            created_by=plan.created_by,
        )
    )
    context.store.audit.append(
        AuditRow(
            at=plan.created_at,
            who=context.who,
            action="adopt-configuration" if state is PlanState.ADOPTED else "propose-plan",
            subject=f"plan {row.id}",
            outcome="done",
            detail={"cluster": plan.cluster.id, "origin": plan.origin.value},
        )
    )
    return row.id
