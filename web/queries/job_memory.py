"""What a job's runs reserved against what they used, and the load that each of them met."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from tuner.errors import InputError
from tuner.model.container import Refusal, executor_request, grant
from tuner.model.limits import ClusterLimits
from tuner.store import Run, Study
from web import charts
from web.formats import mib, percent
from web.tables import Column, Table

_MOST_BARS = 40


def memory_table(runs: Sequence[Run], study: Study | None, program: str) -> Table:
    """Of each run with an event log: the executor's container, and what was used of it at most."""
    limits = _limits(study)
    rows = [row for run in runs if (row := _memory_row(run, limits, python=program.endswith(".py"))) is not None]
    columns = (
        Column("id", "Run", "number", ("jobs.run", {"run_id": "id"})),
        Column("reserved_mib", "Container", "mib"),
        Column("resident_mib", "Resident at most", "mib"),
        Column("unified_mib", "Execution and storage at most", "mib"),
        Column("used_share", "Resident of container", "percent"),
        Column("gc_share", "Garbage collection", "percent"),
        Column("spill_bytes", "Spilt to disk", "bytes"),
    )
    empty = "No run of this search has an event log with memory in it."
    return Table("memory", "One executor: reserved against used", columns, rows[::-1], empty)


def _limits(study: Study | None) -> ClusterLimits | None:
    if study is None or not study.limits:
        return None
    known = {field.name for field in fields(ClusterLimits)}
    try:
        return ClusterLimits(**{name: value for name, value in study.limits.items() if name in known})
    except TypeError:
        # Written by an older version that knew fewer limits: sizes are then shown as they were asked for.
        return None


def _memory_row(run: Run, limits: ClusterLimits | None, *, python: bool) -> dict[str, Any] | None:
    metrics = run.metrics
    unified, resident = metrics.get("peak_unified_mib"), metrics.get("peak_rss_mib")
    if unified is None and resident is None:
        return None
    reserved = _container_mib(run, limits, python=python)
    return {
        "id": run.id,
        "reserved_mib": reserved,
        "resident_mib": resident,
        "unified_mib": unified,
        "used_share": resident / reserved if resident and reserved else None,
        "gc_share": metrics.get("gc_share"),
        "spill_bytes": metrics.get("disk_spill_bytes"),
    }


def _container_mib(run: Run, limits: ClusterLimits | None, *, python: bool) -> int | None:
    try:
        request = executor_request(run.configuration, python=python)
    except InputError:
        return None
    granted = None if limits is None else grant(request, limits)
    return request.memory_mib if granted is None or isinstance(granted, Refusal) else granted.memory_mib


def memory_chart(table: Table) -> charts.Chart:
    """The table as lines over the runs."""
    rows = list(table.rows)[:_MOST_BARS][::-1]
    x = [f"run {row['id']}" for row in rows]

    def series(key: str) -> list[float | None]:
        return [None if row[key] is None else row[key] / 1024 for row in rows]

    summary = "Nothing was measured: see `spark.executor.processTreeMetrics.enabled`."
    shares = [row["used_share"] for row in rows if row["used_share"] is not None]
    if shares:
        summary = f"At most {percent(max(shares))} of the container was resident in any run."
    elif rows:
        peak = max(row["unified_mib"] or 0 for row in rows)
        summary = f"Execution and storage used {mib(peak)} at most; resident memory was not measured."
    return charts.Chart(
        "memory-chart",
        "Reserved against used, one executor",
        summary,
        (
            charts.line("container", x, series("reserved_mib"), colour="@muted", shape="hvh"),
            charts.line("resident at most", x, series("resident_mib"), markers=True),
            charts.line("execution and storage at most", x, series("unified_mib"), colour="@good", markers=True),
        ),
        "memory",
        {"yaxis": charts.axis("GiB", rangemode="tozero"), "xaxis": {"type": "category", "nticks": 8}},
    )


def load_table(runs: Sequence[Run]) -> Table:
    """The load that each run met when it was submitted."""
    columns = (
        Column("id", "Run", "number", ("jobs.run", {"run_id": "id"})),
        Column("submitted_at", "Submitted", "time"),
        Column("used_share", "Memory in use", "percent"),
        Column("pending_containers", "Containers waiting", "number"),
        Column("applications_running", "Applications running", "number"),
        Column("wait_s", "Waited", "seconds"),
        Column("duration_s", "Time", "seconds"),
    )
    rows = [row for run in reversed(runs) if (row := _load_row(run)) is not None]
    return Table("load", "Load at each submission", columns, rows, "No run has recorded the load that it met.")


def _load_row(run: Run) -> dict[str, Any] | None:
    load = run.load or {}
    total = load.get("total_memory_mib")
    if not total:
        return None
    return {
        "id": run.id,
        "submitted_at": run.submitted_at,
        "used_share": 1 - load.get("available_memory_mib", total) / total,
        "pending_containers": load.get("pending_containers"),
        "applications_running": load.get("applications_running"),
        "wait_s": run.wait_s,
        "duration_s": run.duration_s,
    }


def load_chart(runs: Sequence[Run]) -> charts.Chart:
    """How long runs waited against how full the cluster was."""
    rows = [row for run in runs if (row := _load_row(run)) is not None and row["wait_s"] is not None]
    traces = [
        charts.points(
            "runs",
            [row["used_share"] for row in rows],
            [row["wait_s"] for row in rows],
            labels=[
                f"run {row['id']}: {percent(row['used_share'])} in use, waited {row['wait_s']:.1f} s" for row in rows
            ],
        )
    ]
    summary = "No run has recorded the load that it met."
    if rows:
        worst = max(rows, key=lambda row: row["wait_s"])
        summary = (
            f"The longest wait was {worst['wait_s']:.1f} s, with {percent(worst['used_share'])} of the memory in use."
        )
    return charts.Chart(
        "load-at-run-chart",
        "Wait against load at submission",
        summary,
        traces,
        "load",
        {
            "xaxis": charts.axis("Memory of the cluster in use", tickformat=".0%", range=[-0.02, 1.02]),
            "yaxis": charts.axis("Waited, s", rangemode="tozero"),
        },
    )
