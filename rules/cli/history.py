"""``yarntune scheduler history``: the plans of the store, and what became of each."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from tuner.cli.output import json_option, note, print_json, render_table

if TYPE_CHECKING:
    from rules.plan import Plan
    from tuner.settings import Settings
    from tuner.store import Plan as PlanRow
    from tuner.store import PlanTransition, Store

__all__ = ["history_command"]


@click.command("history")
@click.argument("plan_id", metavar="[ID]", type=click.IntRange(min=1), required=False)
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="How many, newest first.")
@json_option
def history_command(plan_id: int | None, limit: int, as_json: bool) -> None:
    """Show the plans of the store, newest first; with ID one of them, with every step that it took.

    What a command that was cut off has left is settled before, by reading the configuration, and a configuration that
    is not the one that was left in force is told. Without the cluster only the store is shown.
    """
    from tuner.settings import Settings
    from tuner.store import open_store

    settings = Settings.from_environment()
    drift = _settle(settings)
    with open_store(settings) as store:
        if plan_id is not None:
            _show_one(store, plan_id, as_json)
        else:
            _show_list(store.plans.list(limit=limit), drift, as_json)


def _settle(settings: Settings) -> str | None:
    """Settles what is open; a sentence where the configuration has drifted."""
    from rules.lifecycle.context import open_context
    from rules.lifecycle.drift import find_drift
    from rules.lifecycle.reconcile import reconcile
    from tuner.errors import YarntuneError

    try:
        with open_context(settings, note=note) as context:
            reconcile(context)
            drift = find_drift(context)
            return None if drift is None else drift.sentence()
    except YarntuneError as error:
        note(f"the cluster is not looked at: {error.message}")
        return None


def _show_list(rows: list[PlanRow], drift: str | None, as_json: bool) -> None:
    if as_json:
        print_json({"plans": [_row_document(row) for row in rows], "drift": drift})
        return
    if not rows:
        click.echo("There is no plan in the store yet: make one with `yarntune scheduler plan`.")
    else:
        several = len({row.scheduler for row in rows}) > 1
        header = ("ID", *(("CLUSTER",) if several else ()), "PLANNED", "STATE", "SINCE", "BY", "CHANGES")
        click.echo(render_table(header, [_cells(row, several) for row in rows]))
    if drift is not None:
        note(f"note: {drift}")


def _cells(row: PlanRow, several: bool) -> tuple[str, ...]:
    changes = row.plan.get("changes", [])
    first = changes[0] if changes else None
    what = "-" if first is None else f"{first['property'].rpartition('capacity.')[2]}={first['after']}"
    more = f" and {len(changes) - 1} more" if len(changes) > 1 else ""
    cluster = (row.scheduler,) if several else ()
    by = f"{row.created_by}, {row.plan.get('origin', '?')}"
    return (str(row.id), *cluster, _time(row.created_at), row.state, _time(row.updated_at), by, what + more)


def _row_document(row: PlanRow) -> dict[str, Any]:
    return {
        "id": row.id,
        "cluster": row.scheduler,
        "state": row.state,
        "created_at": row.created_at,
        "created_by": row.created_by,
        "updated_at": row.updated_at,
        "origin": row.plan.get("origin"),
        "back_end": row.plan.get("back_end"),
        "changes": row.plan.get("changes", []),
    }


def _show_one(store: Store, plan_id: int, as_json: bool) -> None:
    from rules.plan import plan_from_json
    from rules.plan_text import plan_text
    from tuner.errors import InputError

    row = store.plans.get(plan_id)
    if row is None:
        raise InputError(f"there is no plan {plan_id} in the store", "see `yarntune scheduler history`")
    steps = store.plans.transitions(plan_id)
    if as_json:
        print_json({**_row_document(row), "plan": dict(row.plan), "steps": [_step_document(step) for step in steps]})
        return
    plan: Plan = plan_from_json(row.plan, f"plan {plan_id}")
    click.echo(plan_text(plan, plan_id))
    click.echo("\n" + render_table(("WHEN", "STATE", "BY", "DETAIL"), [_step_cells(step) for step in steps]))


def _step_document(step: PlanTransition) -> dict[str, Any]:
    return {
        "at": step.at,
        "from": step.from_state,
        "to": step.to_state,
        "who": step.who,
        "detail": dict(step.detail),
    }


def _step_cells(step: PlanTransition) -> tuple[str, ...]:
    told = step.detail.get("message") or step.detail.get("reason")
    words = [f"{name.replace('_', ' ')} {step.detail[name]}" for name in _TOLD if step.detail.get(name) is not None]
    return (_time(step.at), step.to_state, step.who, told or ", ".join(words))


_TOLD = ("step", "version", "answer", "waiting_before")
"""What of a step's details is for people; all of them are in ``--json``."""


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S")
