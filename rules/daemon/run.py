"""One run of the queue tuner: collect, settle, forecast, decide, and do what the policy's mode says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from rules.daemon.observe import observe_history, observe_live
from rules.daemon.result import Action, RunResult
from rules.forecast.decision import Decision, ForecastPlan, Search, decide
from rules.history import collect
from rules.lifecycle.apply import apply_plan
from rules.lifecycle.context import Context
from rules.lifecycle.lock import hold_cluster
from rules.lifecycle.propose import make_plan, record_plan
from rules.lifecycle.reconcile import reconcile
from rules.lifecycle.result import Outcome
from rules.lifecycle.states import PlanState
from rules.live.model import LiveCluster
from rules.plan import Origin, Plan, plan_from_json
from rules.planner import effects_of
from rules.policy import Mode, Policy
from tuner.errors import InputError
from tuner.store import AuditRow
from tuner.store.history_records import Collection

__all__ = ["FORECAST_ACTION", "RunOptions", "collect_now", "run_once"]

FORECAST_ACTION = "forecast-plan"
"""The audit's row of what a plan was forecast from; ``accuracy`` reads how far it looked ahead."""
_HISTORY_S = 14 * 86_400.0
_MOST_HISTORY = 5_000


@dataclass(frozen=True)
class RunOptions:
    """What a run needs besides the cluster.

    Attributes:
        policy: mode, bounds, quiet hours, cool-down.
        forecast: how to look ahead; its span is the policy's horizon.
        search: finds candidates.
        read: reads the live cluster at a time.
        watch_s: how long the cluster is watched after a change.
    """

    policy: Policy
    forecast: ForecastPlan
    search: Search
    read: Callable[[float], LiveCluster]
    watch_s: float = 30.0


def run_once(context: Context, options: RunOptions) -> RunResult:
    """Runs once. One at a time for each cluster, on whatever machine; a second one says so and does nothing.

    Raises:
        YarntuneError: the cluster or the store cannot be reached or read; what was collected until then is kept.
    """
    if options.policy.mode is Mode.OFF:
        return RunResult(Action.OFF, "the policy's mode is off", news=False)
    # A lock of its own: applying a plan takes the cluster's.
    runner = replace(context, cluster=replace(context.cluster, id=f"run-once {context.cluster.id}"))
    with hold_cluster(runner, "run-once") as busy:
        if busy is not None:
            return RunResult(Action.BUSY, busy.replace("changes this cluster's queues", "tunes this cluster's queues"))
        live = options.read(context.clock())
        collected = collect_now(context, live)
        settled = tuple(result.message for result in reconcile(context))
        result = _decide_and_act(context, options, live)
        news = result.news or bool(settled) or collected.gap_from is not None
        return replace(result, collected=collected, settled=settled, news=news)


def collect_now(context: Context, live: LiveCluster) -> Collection:
    """Reads the cluster's applications and queues into the store."""
    return collect(context.store, context.rm, live, context.cluster.id, context.cluster.started_at_s)


def _decide_and_act(context: Context, options: RunOptions, live: LiveCluster) -> RunResult:
    now_s = live.time_s
    records = context.store.history.applications(
        context.cluster.id, submitted_since=now_s - _HISTORY_S, limit=_MOST_HISTORY
    )
    collections = context.store.history.collections(context.cluster.id, since=now_s - _HISTORY_S, limit=_MOST_HISTORY)
    seen, facts = observe_live(live)
    history = observe_history(records, collections, now_s)
    decision = decide(seen, facts, options.policy, options.forecast, options.search, history=history)
    if decision.change is None:
        return RunResult(Action.NOTHING, decision.reason, news=False)
    plan = make_plan(
        context,
        changes=decision.change.properties,
        origin=Origin.OPTIMIZER,
        effects=effects_of(decision.pairs),
        reasons=(f"by {len(decision.pairs)} draws of what may come: {decision.reason}",),
    )
    if plan.is_empty:
        return RunResult(Action.NOTHING, "what was found is what is configured", news=False)
    return _act(context, options, plan, decision)


def _act(context: Context, options: RunOptions, plan: Plan, decision: Decision) -> RunResult:
    told = _told_before(context, plan)
    plan_id = told if told is not None else _record(context, options, plan, decision)
    changes = f"plan {plan_id}: {len(plan.changes)} changes, {decision.reason}"
    if plan.errors:
        message = f"{changes}; not applicable: {plan.errors[0].message}"
        return RunResult(Action.NOT_APPLIED, message, plan_id, plan, news=told is None)
    if options.policy.mode is Mode.RECOMMEND:
        message = f"{changes}; apply it with `yarntune scheduler apply {plan_id}`"
        return RunResult(Action.RECOMMENDED, message, plan_id, plan, news=told is None)
    held = _held_back(context, options.policy)
    if held:
        return RunResult(Action.HELD_BACK, f"{changes}; not applied: {held}", plan_id, plan, news=told is None)
    result = apply_plan(context, plan_id, watch_s=options.watch_s)
    return RunResult(_ACTIONS.get(result.outcome, Action.NOT_APPLIED), result.message, plan_id, plan)


_ACTIONS = {
    Outcome.APPLIED: Action.APPLIED,
    Outcome.NOTHING_TO_DO: Action.NOTHING,
    Outcome.FROZEN: Action.HELD_BACK,
    Outcome.BUSY: Action.HELD_BACK,
    Outcome.UNKNOWN: Action.UNCLEAR,
    Outcome.DIVERGED: Action.UNCLEAR,
}


def _record(context: Context, options: RunOptions, plan: Plan, decision: Decision) -> int:
    plan_id = record_plan(context, plan)
    detail = {
        "span_s": options.forecast.span_s,
        "draws": len(decision.pairs),
        "seed": options.forecast.seed,
        "candidates": [
            {"name": each.name, "gain": each.gain, "spread": each.spread, "forbidden": each.forbidden}
            for each in decision.candidates
        ],
    }
    context.store.audit.append(
        AuditRow(
            at=plan.created_at,
            who=context.who,
            action=FORECAST_ACTION,
            subject=f"plan {plan_id}",
            outcome="done",
            detail=detail,
        )
    )
    return plan_id


def _told_before(context: Context, plan: Plan) -> int | None:
    """The newest plan, if it proposes the same and still waits: to say it again would be noise."""
    states = [PlanState.PROPOSED.value]
    row = next(iter(context.store.plans.list(scheduler=context.cluster.id, states=states, limit=1)), None)
    if row is None:
        return None
    try:
        before = plan_from_json(row.plan)
    except InputError:
        return None
    same = before.proposed == plan.proposed and before.base == plan.base
    return row.id if same and before.expires_at > context.clock() else None


def _held_back(context: Context, policy: Policy) -> str:
    now_s = context.clock()
    if policy.is_quiet(datetime.fromtimestamp(now_s)):
        return "it is within the policy's quiet hours"
    changed = [state.value for state in (PlanState.APPLIED, PlanState.ROLLED_BACK)]
    last = next(iter(context.store.plans.list(scheduler=context.cluster.id, states=changed, limit=1)), None)
    if last is not None and now_s - last.updated_at < policy.cool_down_s:
        since_s = now_s - last.updated_at
        return f"the last change was {since_s:.0f} s ago, and the policy's cool-down is {policy.cool_down_s:g} s"
    return ""
