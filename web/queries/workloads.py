"""Workloads: what there is to replay, and how one arrives and uses the cluster."""

from __future__ import annotations

from typing import Any

import numpy as np

from tuner.settings import Settings
from web import charts
from web.respond import View
from web.tables import Column, Table
from workloads.catalogue import Entry, entries
from workloads.workload import Workload

BINS = 60


def workloads(settings: Settings) -> View:
    """The catalogue: programs, samples, and what was imported."""
    columns = (
        Column("name", "Name", link=("workloads.workload", {"name": "page"})),
        Column("kind", "Kind"),
        Column("title", "What it is"),
        Column("jobs", "Jobs", "number"),
        Column("tasks", "Tasks", "number"),
    )
    rows = [_row(each) for each in entries(settings)]
    return View("workloads", "Workloads", {}, (Table("workloads", "What there is", columns, rows),))


def _row(entry: Entry) -> dict[str, Any]:
    return {
        # A program has no arrivals to show, so no page.
        "page": None if entry.kind == "program" or entry.problem else entry.name,
        "name": entry.name,
        "kind": entry.kind,
        "title": entry.title if entry.problem is None else entry.problem,
        "jobs": entry.jobs,
        "tasks": entry.tasks,
    }


def workload(found: Workload) -> View:
    """One workload: arrivals and asked-for memory over time."""
    begin_s, end_s = found.span_s
    edges = edges_of(found)
    arrivals, _ = np.histogram([job.submit_s for job in found.jobs], edges)
    busy = busy_in(found, edges)
    rows = [
        {
            "from_s": float(edges[i]),
            "arrivals": int(arrivals[i]),
            "cores": None if busy is None else float(busy[0][i]),
            "memory_mib": None if busy is None else float(busy[1][i]),
        }
        for i in range(BINS)
    ]
    columns: tuple[Column, ...] = (
        Column("from_s", "From", "seconds"),
        Column("arrivals", "Jobs submitted", "number"),
        Column("cores", "Cores in use, mean", "number"),
        Column("memory_mib", "Memory in use, mean", "mib"),
    )
    if busy is None:
        columns = columns[:2]
    table = Table("over_time", "Arrivals and use over time", columns, rows)
    values = {
        "name": found.name,
        "jobs": len(found.jobs),
        "tasks": found.tasks.total,
        "span_s": end_s - begin_s,
        "core_seconds": found.tasks.core_seconds,
        "memory_gib_seconds": found.tasks.memory_mib_seconds / 1024,
        "assumptions": [f"{each.name} = {each.value}: {each.reason}" for each in found.assumptions],
    }
    return View("workload", f"Workload {found.name}", values, (table,), _charts(rows))


def edges_of(found: Workload) -> Any:
    """Where :data:`BINS` equal spans of its submissions begin and end, in seconds; one more than there are spans."""
    begin_s, end_s = found.span_s
    return np.linspace(begin_s, max(end_s, begin_s + 1.0), BINS + 1)


def busy_in(found: Workload, edges: Any) -> tuple[Any, Any] | None:
    """Mean cores and MiB in use in each bin, from the tasks whose start is known; None where none is."""
    tasks = found.tasks
    start, duration = tasks.submit_s + tasks.wait_s, tasks.duration_s
    known = np.isfinite(start) & np.isfinite(duration)
    if not known.any():
        return None
    start, end = start[known], start[known] + duration[known]
    weight_cores = _weights(tasks.cores, tasks.count, known)
    weight_memory = _weights(tasks.memory_mib, tasks.count, known)
    width = np.diff(edges)

    def mean(weights: Any) -> Any:
        order_start, order_end = np.argsort(start), np.argsort(end)
        done = _integral(start[order_start], weights[order_start], edges)
        gone = _integral(end[order_end], weights[order_end], edges)
        return np.diff(done - gone) / width

    return mean(weight_cores), mean(weight_memory)


def _weights(amounts: Any, count: Any, known: Any) -> Any:
    return np.nan_to_num(amounts[known].astype(float)) * count[known]


def _integral(at: Any, weights: Any, edges: Any) -> Any:
    """At each edge: the sum of ``weight * (edge - at)`` over what lies before it."""
    sums, moments = np.concatenate([[0.0], np.cumsum(weights)]), np.concatenate([[0.0], np.cumsum(weights * at)])
    place = np.searchsorted(at, edges)
    return edges * sums[place] - moments[place]


def _charts(rows: list[dict[str, Any]]) -> tuple[charts.Chart, ...]:
    hours = [row["from_s"] / 3600 for row in rows]
    arrivals = [row["arrivals"] for row in rows]
    most = max(arrivals, default=0)
    found = [
        charts.Chart(
            "arrivals-chart", "Arrivals", f"At most {most} jobs were submitted in one of {BINS} equal spans.",
            (charts.line("jobs submitted", hours, arrivals, shape="hv", fill=True),), "over_time",
            {"xaxis": charts.axis("Hours"), "yaxis": charts.axis("Jobs", rangemode="tozero")},
        )
    ]  # fmt: skip
    memory = [row["memory_mib"] for row in rows if row["memory_mib"] is not None]
    if memory:
        found.append(
            charts.Chart(
                "usage-chart", "Memory in use", f"At most {max(memory) / 1024:,.1f} GiB were in use in one span.",
                (charts.line("GiB", hours, [each / 1024 for each in memory], shape="hv", fill=True),), "over_time",
                {"xaxis": charts.axis("Hours"), "yaxis": charts.axis("GiB", rangemode="tozero")},
            )
        )  # fmt: skip
    return tuple(found)
