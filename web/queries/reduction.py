"""A workload against itself reduced: what it submits and holds over time, and how far the two are apart."""

from __future__ import annotations

from typing import Any

import numpy as np

from web import charts
from web.queries.workloads import edges_of, use_in
from web.respond import View
from web.tables import Column, Table
from workloads.reduce import By, ReplicationError, reduce_workload, replication_error
from workloads.workload import Workload

_MEASURES = (
    ("arrivals", "tasks submitted"),
    ("concurrency", "tasks running"),
    ("cores", "cores asked for"),
    ("memory_mib", "memory asked for"),
    ("mean", "mean of the four"),
)


def with_reduction(view: View, found: Workload, factor: float, by: By) -> View:
    """The view of a workload, and beside it the same reduced.

    The reduced one is scaled up again, by the factor in time or in tasks, so that the same is compared with the same.

    Args:
        view: of the workload.
        found: the workload.
        factor: at least 1.
        by: what is divided.

    Raises:
        InputError: the factor is below 1, or no task would be left.
    """
    reduced = reduce_workload(found, factor, by=by)
    error = replication_error(found, reduced, factor, by)
    edges = edges_of(found)
    stretched = edges / factor if by == "time" else edges
    weight = factor if by == "tasks" else 1.0
    rows = _rows(edges, _figures(found, edges, 1.0), _figures(reduced, stretched, weight))
    begin_s, end_s = reduced.span_s
    values = {
        "factor": factor,
        "by": by,
        "reduced_jobs": len(reduced.jobs),
        "reduced_tasks": reduced.tasks.total,
        "reduced_span_s": end_s - begin_s,
        "replication_error": error.mean,
    }
    tables = (_comparison_table(rows), _error_table(error))
    return View(
        view.name, view.title, {**view.values, **values}, (*view.tables, *tables), (*view.charts, *_charts(rows, error))
    )


def _figures(workload: Workload, edges: Any, weight: float) -> tuple[Any, Any]:
    """Tasks submitted and mean MiB asked for in each span, without waits, as the error has it."""
    tasks = workload.tasks
    submitted, _ = np.histogram(tasks.submit_s, edges, weights=tasks.count * weight)
    return submitted, use_in(workload, edges, waits=False)[1] * weight


def _rows(edges: Any, before: tuple[Any, Any], after: tuple[Any, Any]) -> list[dict[str, Any]]:
    return [
        {
            "from_s": float(edges[i]),
            "tasks": float(before[0][i]),
            "reduced_tasks": float(after[0][i]),
            "memory_mib": float(before[1][i]),
            "reduced_memory_mib": float(after[1][i]),
        }
        for i in range(len(edges) - 1)
    ]


def _comparison_table(rows: list[dict[str, Any]]) -> Table:
    columns = (
        Column("from_s", "From", "seconds"),
        Column("tasks", "Tasks submitted", "number"),
        Column("reduced_tasks", "Reduced, scaled", "number"),
        Column("memory_mib", "Memory asked for, mean", "mib"),
        Column("reduced_memory_mib", "Reduced, scaled", "mib"),
    )
    return Table("reduction", "Original and reduced over time", columns, rows)


def _error_table(error: ReplicationError) -> Table:
    columns = (Column("what", "Of"), Column("error", "Replication error", "percent"))
    rows = [{"what": title, "error": getattr(error, name)} for name, title in _MEASURES]
    return Table("replication_error_by", "Replication error", columns, rows)


def _charts(rows: list[dict[str, Any]], error: ReplicationError) -> tuple[charts.Chart, ...]:
    hours = [row["from_s"] / 3600 for row in rows]

    def compared(name: str, title: str, unit: str, summary: str, key: str, scale: float) -> charts.Chart:
        def series(column: str) -> list[float]:
            return [row[column] / scale for row in rows]

        return charts.Chart(
            name, title, summary,
            (
                charts.line("original", hours, series(key), shape="hv", fill=True),
                charts.line("reduced, scaled up", hours, series(f"reduced_{key}"), colour="@warn", shape="hv"),
            ), "reduction",
            {"xaxis": charts.axis("Hours"), "yaxis": charts.axis(unit, rangemode="tozero")},
        )  # fmt: skip

    arrivals = f"In a step of the span the tasks submitted differ by {error.arrivals:.0%} on average."
    memory = f"In a step of the span the memory asked for differs by {error.memory_mib:.0%} on average."
    return (
        compared("reduced-arrivals-chart", "Tasks submitted", "Tasks", arrivals, "tasks", 1.0),
        compared("reduced-usage-chart", "Memory asked for", "GiB", memory, "memory_mib", 1024.0),
    )
