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
    observed = has_starts(found)
    cores, memory = use_in(found, edges, waits=observed)
    rows = [
        {
            "from_s": float(edges[i]),
            "arrivals": int(arrivals[i]),
            "cores": float(cores[i]),
            "memory_mib": float(memory[i]),
        }
        for i in range(BINS)
    ]
    columns = (
        Column("from_s", "From", "seconds"),
        Column("arrivals", "Jobs submitted", "number"),
        Column("cores", "Cores in use, mean" if observed else "Cores asked for, mean", "number"),
        Column("memory_mib", "Memory in use, mean" if observed else "Memory asked for, mean", "mib"),
    )
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
    return View("workload", f"Workload {found.name}", values, (table,), _charts(rows, observed=observed))


def edges_of(found: Workload) -> Any:
    """Where :data:`BINS` equal spans of its submissions begin and end, in seconds; one more than there are spans."""
    begin_s, end_s = found.span_s
    return np.linspace(begin_s, max(end_s, begin_s + 1.0), BINS + 1)


def has_starts(found: Workload) -> bool:
    """Whether it is known of any task when it began to run; of a sample, which never ran, it is not."""
    return bool(np.isfinite(found.tasks.submit_s + found.tasks.wait_s).any())


def use_in(found: Workload, edges: Any, *, waits: bool) -> tuple[Any, Any]:
    """Mean cores and MiB in use in each bin.

    Args:
        found: the workload.
        edges: of the bins, in seconds.
        waits: of the tasks whose start is known, with their waits; else of all, as if each ran when it was submitted.
    """
    tasks = found.tasks
    start, duration = tasks.submit_s + (tasks.wait_s if waits else 0.0), tasks.duration_s
    known = np.isfinite(start) & np.isfinite(duration)
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


def _charts(rows: list[dict[str, Any]], *, observed: bool) -> tuple[charts.Chart, ...]:
    hours = [row["from_s"] / 3600 for row in rows]
    arrivals = [row["arrivals"] for row in rows]
    most = max(arrivals, default=0)
    memory = [row["memory_mib"] / 1024 for row in rows]
    use = f"At most {max(memory, default=0.0):,.1f} GiB were {'in use' if observed else 'asked for'} in one span."
    if not observed:
        use += " As if each task ran when it was submitted: when it did is not known."
    return (
        charts.Chart(
            "arrivals-chart", "Arrivals", f"At most {most} jobs were submitted in one of {BINS} equal spans.",
            (charts.line("jobs submitted", hours, arrivals, shape="hv", fill=True),), "over_time",
            {"xaxis": charts.axis("Hours"), "yaxis": charts.axis("Jobs", rangemode="tozero")},
        ),
        charts.Chart(
            "usage-chart", "Memory in use" if observed else "Memory asked for", use,
            (charts.line("GiB", hours, memory, shape="hv", fill=True),), "over_time",
            {"xaxis": charts.axis("Hours"), "yaxis": charts.axis("GiB", rangemode="tozero")},
        ),
    )  # fmt: skip
