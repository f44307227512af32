"""``yarntune scheduler plan``: a change of the live queues, by the optimizer or by hand; nothing is changed yet."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tuner.cli.output import json_option, note, print_json

if TYPE_CHECKING:
    from rules.lifecycle.context import Context
    from rules.lifecycle.outlook import Outlook
    from rules.plan import Plan
    from rules.policy import Policy

__all__ = ["CHANGES_STATUS", "plan_command", "plan_document"]

CHANGES_STATUS = 3
"""The exit status where something would change, as ``terraform plan -detailed-exitcode`` has one of its own."""

_SEARCH_LIMIT_S = 60.0


@click.command("plan")
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), metavar="PLAN",
              help="Write the plan to this file, for review and `apply PLAN`.")  # fmt: skip
@click.option("--set", "assignments", multiple=True, metavar="KEY=VALUE",
              help="Change this property instead of searching: root.prod.capacity=60, or a full name. May be repeated; "
              "all are changed together.")  # fmt: skip
@click.option("--unset", "unset", multiple=True, metavar="KEY", help="Take this property out. May be repeated.")
@click.option("--policy", "policy_file", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
              help="What the search may change, and what for (docs/policy.md).")  # fmt: skip
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of all that is drawn.")
@click.option("--time-limit", "time_limit_s", type=click.FloatRange(min=0, min_open=True), metavar="S",
              default=_SEARCH_LIMIT_S, show_default=True, help="Seconds for the search.")  # fmt: skip
@click.option("--valid-for", "valid_s", type=click.FloatRange(min=0, min_open=True), metavar="S", default=3600.0,
              show_default=True, help="For how many seconds the plan may be applied.")  # fmt: skip
@click.option("--no-estimate", "unestimated", is_flag=True,
              help="With --set: do not predict what it brings, which takes some seconds.")  # fmt: skip
@click.option("--adopt", "adopting", is_flag=True,
              help="Take the present configuration for yarntune's own, after somebody else's change.")  # fmt: skip
@json_option
@click.pass_context
def plan_command(
    ctx: click.Context,
    output: Path | None,
    assignments: tuple[str, ...],
    unset: tuple[str, ...],
    policy_file: Path | None,
    seed: int,
    time_limit_s: float,
    valid_s: float,
    unestimated: bool,
    adopting: bool,
    as_json: bool,
) -> None:
    """Plan a change of the cluster's queues. Nothing is changed but by `yarntune scheduler apply`.

    Without --set the optimizer looks for the best configuration for the present workload. The plan is recorded in the
    store, with what it should bring. Exit status: 0 nothing to do, 3 it would change something, 1 it could not be
    applied (the checks say why).
    """
    from rules.lifecycle.context import open_context
    from rules.lifecycle.propose import adopt
    from rules.lifecycle.reconcile import reconcile
    from rules.policy import NO_LIMITS, load_policy
    from tuner.settings import Settings

    changes = _changes(assignments, unset)
    if adopting and changes:
        raise click.UsageError("--adopt goes without --set and --unset")
    if unestimated and not changes:
        raise click.UsageError("--no-estimate goes with --set or --unset: the search cannot do without")
    policy = NO_LIMITS if policy_file is None else load_policy(policy_file)
    with open_context(Settings.from_environment(), note=note) as context:
        reconcile(context)
        if adopting:
            _say_adopted(adopt(context), as_json)
            return
        forecast = _Forecast(seed, time_limit_s, policy)
        plan, reason = (
            _by_hand(context, changes, None if unestimated else forecast, valid_s)
            if changes
            else _searched(context, forecast, valid_s)
        )
        plan_id = None if plan is None or plan.is_empty else _record(context, plan, forecast)
    if plan is None or plan_id is None:
        _say_nothing(reason, as_json)
        return
    if output is not None:
        _write(output, plan)
    _say(plan, plan_id, as_json)
    ctx.exit(1 if plan.errors else CHANGES_STATUS)


class _Forecast:
    """How to look ahead, from the command's options."""

    def __init__(self, seed: int, time_limit_s: float, policy: Policy) -> None:
        from rules.forecast.decision import ForecastPlan
        from rules.forecast.search import optimizer_search

        self.policy = policy
        self.plan = ForecastPlan(
            seed=seed,
            span_s=policy.horizon_s,
            objective=policy.objective,
            guarded=policy.most_queue_loss_percent is not None,
        )
        self.search = optimizer_search(self.plan, clock=time.perf_counter, decision_limit_s=time_limit_s)


def _changes(assignments: tuple[str, ...], unset: tuple[str, ...]) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for text in assignments:
        name, equals, value = text.partition("=")
        if not equals or not name.strip() or not value.strip():
            raise click.UsageError(f"--set takes KEY=VALUE, not {text!r}; --unset KEY takes a property out")
        found[name.strip()] = value.strip()
    return {**found, **{name.strip(): None for name in unset}}


def _record(context: Context, plan: Plan, forecast: _Forecast) -> int:
    """The plan's id in the store, where it is from now on, with what it was predicted from."""
    from rules.lifecycle.outlook import record_forecast
    from rules.lifecycle.propose import record_plan

    plan_id = record_plan(context, plan)
    if plan.effects:
        record_forecast(context, plan_id, forecast.plan)
    return plan_id


def _outlook(context: Context) -> Outlook:
    from rules.lifecycle.outlook import read_outlook
    from rules.live.read import read_cluster
    from tuner.settings import Settings
    from tuner.yarn.locate import locate

    return read_outlook(context, read_cluster(context.rm, locate(Settings.from_environment()), context.clock()))


def _searched(context: Context, forecast: _Forecast, valid_s: float) -> tuple[Plan | None, str]:
    """The optimizer's plan, and why; None where there is nothing better."""
    from rules.lifecycle.propose import make_plan
    from rules.plan import Origin
    from rules.planner import effects_of

    outlook = _outlook(context)
    note("searching; the first run after an installation compiles for some seconds")
    decision = outlook.decide(forecast.policy, forecast.plan, forecast.search)
    if decision.change is None:
        return None, decision.reason
    plan = make_plan(
        context,
        changes=decision.change.properties,
        origin=Origin.OPTIMIZER,
        effects=effects_of(decision.pairs),
        reasons=(f"by {len(decision.pairs)} draws of what may come: {decision.reason}",),
        valid_s=valid_s,
    )
    return plan, decision.reason


def _by_hand(
    context: Context, changes: dict[str, str | None], forecast: _Forecast | None, valid_s: float
) -> tuple[Plan, str]:
    """The plan of given changes, estimated where it is one that could be applied."""
    from dataclasses import replace

    from rules.lifecycle.propose import make_plan
    from rules.plan import Origin
    from rules.planner import full_name

    named = {full_name(context.back_end.kind, name): value for name, value in changes.items()}
    plan = make_plan(context, changes=named, origin=Origin.BY_HAND, reasons=("set by hand",), valid_s=valid_s)
    if plan.is_empty:
        return plan, "the configuration is so already"
    if plan.errors or forecast is None:
        return plan, ""
    return replace(plan, effects=_effects(context, plan, forecast)), ""


def _effects(context: Context, plan: Plan, forecast: _Forecast) -> tuple[Any, ...]:
    from rules.planner import effects_of
    from tuner.errors import YarntuneError

    note("estimating; the first run after an installation compiles for some seconds")
    try:
        outlook = _outlook(context)
        allocations = plan.proposed.data.decode("utf-8") if plan.scheduler == "fair" and plan.proposed.data else None
        conf = {} if allocations is not None else {change.property: change.after for change in plan.changes}
        pairs = outlook.pairs_of(forecast.plan, conf=conf, allocations=allocations)
    except (YarntuneError, UnicodeDecodeError) as error:
        note(f"what it would bring could not be estimated: {error}")
        return ()
    if not pairs:
        note("no job runs or is expected, so what it would bring cannot be estimated")
    return effects_of(pairs)


def _write(output: Path, plan: Plan) -> None:
    from rules.plan import plan_to_json
    from tuner.files import write_text_atomically

    write_text_atomically(output, json.dumps(plan_to_json(plan), indent=2) + "\n")


def plan_document(plan: Plan, plan_id: int | None) -> dict[str, Any]:
    """A plan for ``--json``: as in its file, with its id."""
    from rules.plan import plan_to_json

    return {"id": plan_id, "applicable": not plan.errors, **plan_to_json(plan)}


def _say(plan: Plan, plan_id: int, as_json: bool) -> None:
    from rules.plan_text import plan_text

    if as_json:
        print_json(plan_document(plan, plan_id))
        return
    click.echo(plan_text(plan, plan_id))
    if not plan.errors:
        note(f"apply it with `yarntune scheduler apply {plan_id}`")


def _say_nothing(reason: str, as_json: bool) -> None:
    if as_json:
        print_json({"id": None, "applicable": True, "changes": [], "reason": reason})
    else:
        click.echo(f"Nothing to do: {reason}.")


def _say_adopted(plan_id: int, as_json: bool) -> None:
    if as_json:
        print_json({"id": plan_id, "applicable": True, "changes": [], "reason": "adopted"})
    else:
        click.echo(f"The configuration as it is counts as yarntune's own from now on (recorded as {plan_id}).")
