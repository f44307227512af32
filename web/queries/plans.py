"""Plans: what they change, what the checks say, what they should bring and brought, and every step that they took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rules.lifecycle.states import OPEN, PlanState
from tuner.store import Plan, PlanTransition, Store
from web import charts
from web.respond import View
from web.tables import Column, Table

PAGE_SIZE = 25
_EMPTY = "No plans yet: `yarntune scheduler plan` proposes one, and the daemon does by itself."


def plans(store: Store, *, state: str = "", before_id: int | None = None, limit: int = PAGE_SIZE) -> View:
    """A page of plans, newest first.

    Args:
        store: the store.
        state: in this state only; in any where it is empty.
        before_id: the last id of the page before.
        limit: how many plans a page has.
    """
    found = store.plans.list(states=[state] if state else (), limit=limit, before_id=before_id)
    columns = (
        Column("id", "Plan", "number", ("plans.plan", {"plan_id": "id"})),
        Column("state", "State", "state"),
        Column("created_at", "Made", "time"),
        Column("created_by", "By"),
        Column("cluster", "Cluster"),
        Column("changes", "Changes", "number"),
        Column("errors", "Errors", "number"),
        Column("expected_change", "Expected mean latency", "change"),
    )
    rows = [_row(each) for each in found]
    empty = f"No plan is {state}." if state else _EMPTY
    values = {
        "state": state,
        "states": store.statistics.plan_states(),
        "next_before": found[-1].id if len(found) == limit else None,
    }
    return View("plans", "Plans", values, (Table("plans", "Plans, newest first", columns, rows, empty),))


def _row(found: Plan) -> dict[str, Any]:
    body = found.plan
    total = next((each for each in body.get("effects", ()) if each.get("queue") == "all"), None)
    change = None
    if total and total.get("before"):
        change = total["after"] / total["before"] - 1
    return {
        "id": found.id,
        "state": found.state,
        "created_at": found.created_at,
        "created_by": found.created_by,
        "cluster": found.scheduler,
        "changes": len(body.get("changes", ())),
        "errors": sum(each.get("severity") == "ERROR" for each in body.get("findings", ())),
        "expected_change": change,
    }


def plan(store: Store, found: Plan, measured: Mapping[str, float] | None = None, why_not: str = "") -> View:
    """Everything of one plan.

    Args:
        store: the store.
        found: the plan.
        measured: mean latency in seconds by queue, as it came out; None where it cannot be told.
        why_not: why it cannot, or what to take into account.
    """
    body = found.plan
    steps = store.plans.transitions(found.id)
    changes = [dict(each) for each in body.get("changes", ())]
    findings = [dict(each) for each in body.get("findings", ())]
    values: dict[str, Any] = {
        "id": found.id,
        "state": found.state,
        "created_at": found.created_at,
        "created_by": found.created_by,
        "updated_at": found.updated_at,
        "expires_at": body.get("expires_at"),
        "cluster": found.scheduler,
        "scheduler": body.get("scheduler"),
        "back_end": body.get("back_end"),
        "origin": body.get("origin"),
        "reasons": list(body.get("reasons", ())),
        "errors": sum(each.get("severity") == "ERROR" for each in findings),
        "in_progress": found.state in OPEN,
        "can_apply": found.state == PlanState.PROPOSED,
        "can_roll_back": found.state == PlanState.APPLIED,
        "summary": _summary(changes),
        "measured_note": why_not,
    }
    effects = _effects_table(body.get("effects", ()), {} if measured is None else measured)
    tables = (_changes_table(changes), _findings_table(findings), effects, _steps_table(steps))
    return View("plan", f"Plan {found.id}", values, tables, (_effects_chart(effects),))


def _summary(changes: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    return {
        "add": sum(each.get("before") is None for each in changes),
        "change": sum(each.get("before") is not None and each.get("after") is not None for each in changes),
        "remove": sum(each.get("after") is None for each in changes),
    }


def _changes_table(changes: Sequence[Mapping[str, Any]]) -> Table:
    columns = (
        Column("property", "Property", "code"),
        Column("before", "Before", "code"),
        Column("after", "After", "code"),
    )
    return Table("changes", "What it changes", columns, changes, "It changes nothing.")


def _findings_table(findings: Sequence[Mapping[str, Any]]) -> Table:
    columns = (
        Column("severity", "Severity", "state"),
        Column("rule", "Check", "code"),
        Column("queue", "Queue"),
        Column("message", "What"),
    )
    return Table("findings", "What the checks say", columns, findings, "The checks have nothing to say against it.")


def _effects_table(effects: Sequence[Mapping[str, Any]], measured: Mapping[str, float]) -> Table:
    columns = (
        Column("queue", "Queue"),
        Column("jobs", "Jobs", "number"),
        Column("before_s", "Now, mean latency", "seconds"),
        Column("after_s", "Predicted", "seconds"),
        Column("spread_s", "± standard error", "seconds"),
        Column("change", "Predicted change", "change"),
        Column("measured_s", "Measured", "seconds"),
        Column("unfinished_before", "Unfinished now", "number"),
        Column("unfinished_after", "Unfinished then", "number"),
    )
    rows = [
        {
            "queue": each.get("queue"),
            "jobs": each.get("jobs"),
            "before_s": each.get("before"),
            "after_s": each.get("after"),
            "spread_s": each.get("spread"),
            "change": each["after"] / each["before"] - 1 if each.get("before") else None,
            "measured_s": measured.get(str(each.get("queue"))),
            "unfinished_before": each.get("unfinished_before"),
            "unfinished_after": each.get("unfinished_after"),
        }
        for each in effects
    ]
    return Table("effects", "Predicted against measured", columns, rows, "Nothing could be estimated for this plan.")


def _steps_table(steps: Sequence[PlanTransition]) -> Table:
    columns = (
        Column("at", "When", "time"),
        Column("from_state", "From", "state"),
        Column("to_state", "To", "state"),
        Column("who", "Who"),
        Column("detail", "Why"),
    )
    rows = [
        {
            "at": step.at,
            "from_state": step.from_state,
            "to_state": step.to_state,
            "who": step.who,
            "detail": "; ".join(
                f"{key}: {value}" for key, value in step.detail.items() if isinstance(value, (str, int, float))
            ),
        }
        for step in steps
    ]
    return Table("steps", "Steps", columns, rows)


def _effects_chart(table: Table) -> charts.Chart:
    rows = [row for row in table.rows if row["queue"] != "all"]
    queues = [str(row["queue"]) for row in rows]
    traces = [
        charts.bars("now", queues, [row["before_s"] for row in rows], colour="@muted"),
        charts.bars("predicted", queues, [row["after_s"] for row in rows]),
    ]
    if any(row["measured_s"] is not None for row in rows):
        traces.append(charts.bars("measured", queues, [row["measured_s"] for row in rows], colour="@good"))
    total = next((row for row in table.rows if row["queue"] == "all"), None)
    summary = "Nothing could be estimated for this plan."
    if total is not None and total["change"] is not None:
        summary = f"Over all queues the mean latency should change by {total['change']:+.0%}."
    layout = {
        "barmode": "group",
        "xaxis": charts.axis("Mean latency, s", rangemode="tozero"),
        "yaxis": {"autorange": "reversed", "automargin": True},
    }
    return charts.Chart("effects-chart", "Mean latency by queue", summary, traces, "effects", layout)
