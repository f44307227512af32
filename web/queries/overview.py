"""The overview: the cluster now and over time, what tuning saved, what is going on, and what changed last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tuner.settings import MemoryPrice
from tuner.store import AuditRow, Run, Store, StudyState
from tuner.store.statistics import JobSaving
from tuner.units import gib_seconds
from web.changes import LOG_IN
from web.live import ClusterState, LoadSample
from web.queries.load import load_chart, load_table
from web.respond import View
from web.tables import Column, Table

_RECENT = 8
_MOST_SAVERS = 8

JOB_LINK = ("jobs.job", {"job_id": "job_id"})
OPEN_PLANS = ("PROPOSED", "VALIDATED", "APPROVED", "WAITING")


def overview(store: Store, state: ClusterState, samples: Sequence[LoadSample], price: MemoryPrice | None) -> View:
    """What there is to know at a glance.

    Args:
        store: the store.
        state: the cluster as it was seen last.
        samples: its load over time, oldest first.
        price: of memory, where it is set.
    """
    statistics = store.statistics
    runs, studies, plans = statistics.run_states(), statistics.study_states(), statistics.plan_states()
    savings = statistics.savings()
    values: dict[str, Any] = {
        "jobs": store.jobs.count(),
        "runs": sum(runs.values()),
        "runs_by_state": runs,
        "studies_running": studies.get(StudyState.RUNNING, 0),
        "plans": sum(plans.values()),
        "plans_by_state": plans,
        "saving": saving_values(savings, price),
        "load": load_values(state),
    }
    recent = store.runs.list(limit=_RECENT)
    names = {each: store.jobs.get(each) for each in {run.job_id for run in recent}}
    tables = (
        _savings_table(savings[:_MOST_SAVERS], price),
        _recent_table(recent, {key: job.name for key, job in names.items() if job is not None}),
        audit_table(_changes(store)),
        load_table(samples),
    )
    return View("overview", "Overview", values, tables, (load_chart(samples),), {"cluster": state})


def _changes(store: Store) -> list[AuditRow]:
    """The newest rows of the audit that are changes: logins are none."""
    rows = store.audit.list(limit=_RECENT * 8)
    return [row for row in rows if row.action != LOG_IN][:_RECENT]


def saving_values(savings: Sequence[JobSaving], price: MemoryPrice | None) -> dict[str, Any]:
    """What tuning saved, added up; money only where a price is set."""
    realised = sum(each.realised for each in savings)
    per_run = sum(each.per_run for each in savings)
    baseline = sum(each.baseline_memory_seconds for each in savings)
    return {
        "tuned_jobs": len(savings),
        "per_run_gib_s": gib_seconds(per_run),
        "per_run_share": per_run / baseline if baseline else None,
        "realised_gib_s": gib_seconds(realised),
        "production_runs": sum(each.production_runs for each in savings),
        "realised_money": None if price is None else price.of(realised),
        "currency": None if price is None else price.currency,
    }


def load_values(state: ClusterState) -> dict[str, Any] | None:
    """The cluster's load as single numbers; None where nothing is known."""
    if state.reading is None:
        return None
    metrics = state.reading.metrics
    total = metrics.total.memory_mib
    return {
        "at": state.reading.at,
        "stale": state.stale,
        "used_mib": metrics.allocated.memory_mib,
        "total_mib": total,
        "used_share": metrics.allocated.memory_mib / total if total else None,
        "vcores_used": metrics.allocated.vcores,
        "vcores_total": metrics.total.vcores,
        "applications_running": metrics.apps_running,
        "applications_waiting": metrics.apps_pending,
        "containers_waiting": metrics.containers_pending,
        "nodes": metrics.nodes_active,
        "nodes_lost": metrics.nodes_lost + metrics.nodes_unhealthy,
    }


def audit_table(rows: Sequence[AuditRow]) -> Table:
    """The audit as a table."""
    columns = (
        Column("at", "When", "time"),
        Column("who", "Who"),
        Column("action", "Did"),
        Column("subject", "To what"),
        Column("outcome", "Outcome", "state"),
        Column("why", "Why"),
    )
    return Table(
        "audit", "Changes, newest first", columns, [audit_row(row) for row in rows], "Nothing was changed yet."
    )


def audit_row(row: AuditRow) -> dict[str, Any]:
    """A row of the audit; ``why`` is what the person gave as the reason."""
    why = row.detail.get("why") or row.detail.get("reason") or ""
    return {
        "id": row.id,
        "at": row.at,
        "who": row.who,
        "action": row.action,
        "subject": row.subject,
        "outcome": row.outcome,
        "why": str(why),
        "detail": dict(row.detail),
    }


def _savings_table(savings: Sequence[JobSaving], price: MemoryPrice | None) -> Table:
    columns = [
        Column("name", "Job", link=JOB_LINK),
        Column("baseline_gib_s", "Default", "gib_s"),
        Column("best_gib_s", "Best", "gib_s"),
        Column("change", "Change", "change"),
        Column("production_runs", "Runs since", "number"),
        Column("realised_gib_s", "Saved so far", "gib_s"),
    ]
    if price is not None:
        columns.append(Column("realised_money", f"Saved, {price.currency}", "number"))
    rows = [saving_row(each, price) for each in savings]
    return Table(
        "savings", "Jobs by what tuning saves at each run", tuple(columns), rows,
        "No job is tuned yet: `yarntune tune APP`, or start one from a job's page.",
    )  # fmt: skip


def saving_row(saving: JobSaving, price: MemoryPrice | None) -> dict[str, Any]:
    """One job's saving."""
    baseline = saving.baseline_memory_seconds
    return {
        "job_id": saving.job_id,
        "name": saving.name,
        "baseline_gib_s": gib_seconds(baseline),
        "best_gib_s": gib_seconds(saving.best_memory_seconds),
        "change": saving.best_memory_seconds / baseline - 1 if baseline else None,
        "baseline_s": saving.baseline_duration_s,
        "best_s": saving.best_duration_s,
        "production_runs": saving.production_runs,
        "realised_gib_s": gib_seconds(saving.realised) if saving.production_runs else None,
        "realised_money": None if price is None or not saving.production_runs else price.of(saving.realised),
    }


def _recent_table(runs: Sequence[Run], names: Mapping[int, str]) -> Table:
    columns = (
        Column("id", "Run", "number", ("jobs.run", {"run_id": "id"})),
        Column("job", "Job", link=JOB_LINK),
        Column("kind", "Kind"),
        Column("state", "State", "state"),
        Column("submitted_at", "Submitted", "time"),
        Column("duration_s", "Time", "seconds"),
        Column("gib_s", "Memory x time", "gib_s"),
    )
    rows = [
        {
            "id": run.id,
            "job_id": run.job_id,
            "job": names.get(run.job_id, ""),
            "kind": run.kind,
            "state": run.state,
            "submitted_at": run.submitted_at,
            "duration_s": run.duration_s,
            "gib_s": None if run.memory_seconds is None else gib_seconds(run.memory_seconds),
        }
        for run in runs
    ]
    empty = "No runs yet: `yarntune tune APP` makes the first ones."
    return Table("runs", "Newest runs", columns, rows, empty)
