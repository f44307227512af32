"""What the best configuration of a job is and why, and how its configurations relate to what they cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tuner.search.importance import importances
from tuner.spark.params import PARAMS
from tuner.store import Run, RunState, Study
from web import charts
from web.formats import mib, percent, size
from web.respond import View
from web.tables import Column, Table

_MOST_LINES = 60
_SIZES = ("spark.executor.memory", "spark.executor.memoryOverhead")


@dataclass(frozen=True)
class BestConfiguration:
    """What to set.

    Attributes:
        lines: as ``--conf NAME=VALUE``, one for each property that differs from the default.
        table: the same with the value before and the reason.
    """

    lines: tuple[str, ...]
    table: Table


def configuration_values(best: Run | None, default: Run | None, study: Study | None) -> BestConfiguration:
    """The best configuration against the default.

    Heap and overhead are set together, since Spark's own overhead moves with the heap.
    """
    columns = (
        Column("property", "Property", "code"),
        Column("before", "Default", "code"),
        Column("after", "Best", "code"),
        Column("why", "Why"),
    )
    rows: list[dict[str, Any]] = []
    if best is not None:
        before = default.configuration if default is not None else {}
        changed = {name for name, value in best.configuration.items() if before.get(name) != value}
        if changed & set(_SIZES):
            changed |= set(_SIZES) & set(best.configuration)
        rows = [
            {
                "property": name,
                "before": before.get(name),
                "after": value,
                "why": _why(name, before.get(name), value, best.metrics),
            }
            for name, value in best.configuration.items()
            if name in changed
        ]
    empty = "The search has found nothing better than the default."
    if study is None:
        empty = "Nobody has searched for a configuration of this job yet."
    elif best is None:
        empty = "No run of this search has succeeded yet."
    lines = tuple(f"--conf {row['property']}={row['after']}" for row in rows)
    return BestConfiguration(lines, Table("configuration", "Best configuration", columns, rows, empty))


def _why(name: str, before: str | None, after: str, metrics: Mapping[str, Any]) -> str:
    measured = _measured(name, metrics)
    if before == after:
        return "set together with the heap, which Spark's own overhead would follow"
    description = PARAMS[name].description.rstrip(".") if name in PARAMS else ""
    return "; ".join(part for part in (description, measured) if part)


def _measured(name: str, metrics: Mapping[str, Any]) -> str:
    """What the best run's event log says of a property; empty where it says nothing."""
    unified, rss, gc, idle = (
        metrics.get(key) for key in ("peak_unified_mib", "peak_rss_mib", "gc_share", "idle_share")
    )
    if name == "spark.executor.memory":
        parts = [f"execution and storage used {mib(unified)} at most" if unified else ""]
        parts.append(f"garbage collection took {gc:.1%} of the time" if gc else "")
        return ", ".join(part for part in parts if part)
    if name == "spark.executor.memoryOverhead" and rss:
        return f"the executor's processes held {mib(rss)} at most"
    if name in ("spark.executor.cores", "spark.executor.instances") and idle is not None:
        return f"task slots were idle {percent(idle)} of the time"
    if name == "spark.sql.shuffle.partitions" and metrics.get("shuffle_read_bytes"):
        read, spilt = size(metrics["shuffle_read_bytes"]), size(metrics.get("disk_spill_bytes") or 0)
        return f"shuffles read {read}, {spilt} were spilt"
    return ""


def parallel_chart(runs: Sequence[Run], best: Run | None) -> tuple[charts.Chart, Table] | None:
    """One line for each run over the properties that differ; None where fewer than two runs or properties do."""
    shown = [run for run in runs if run.state is not RunState.RUNNING and run.configuration][-_MOST_LINES:]
    names = sorted({name for run in shown for name in run.configuration})
    names = [name for name in names if len({run.configuration.get(name) for run in shown}) > 1]
    if len(shown) < 2 or len(names) < 2:
        return None
    costs = sorted(run.memory_seconds for run in shown if _counts(run) and run.memory_seconds is not None)
    third = costs[len(costs) // 3] if costs else 0
    # The best is drawn last, above the others.
    shown.sort(key=lambda run: (best is not None and run.id == best.id, -(run.memory_seconds or 0)))
    rows = [{**run.configuration, "GiB·s": _cost_text(run)} for run in shown]
    colours = [_colour(run, best, third) for run in shown]
    traces, layout = charts.parallel_coordinates([*names, "GiB·s"], rows, colours, [f"run {run.id}" for run in shown])
    columns = (
        Column("id", "Run", "number", ("jobs.run", {"run_id": "id"})),
        Column("state", "State", "state"),
        *(Column(name, name.removeprefix("spark."), "code") for name in names),
        Column("cost", "GiB·s", "number"),
    )
    table_rows = [
        {"id": run.id, "state": run.state, "cost": _cost(run), **run.configuration} for run in reversed(shown)
    ]
    summary = f"{len(shown)} runs over {len(names)} properties; green is the best, blue the cheapest third, red failed."
    chart = charts.Chart("parallel-chart", "Configurations and what they cost", summary, traces, "parallel", layout)
    return chart, Table("parallel", "Configurations of this search", columns, table_rows)


def _counts(run: Run) -> bool:
    return run.state is RunState.SUCCEEDED


def _cost(run: Run) -> float | None:
    return None if run.memory_seconds is None or not _counts(run) else run.memory_seconds / 1024


def _cost_text(run: Run) -> str:
    found = _cost(run)
    return "failed" if found is None else f"{found:.0f}"


def _colour(run: Run, best: Run | None, third: int) -> str:
    if best is not None and run.id == best.id:
        return "@good"
    if not _counts(run):
        return "@bad"
    return "@accent" if (run.memory_seconds or 0) <= third else "@faint"


def importance(runs: Sequence[Run]) -> View:
    """Which properties the cost of a search's runs depends on."""
    known = [
        (run.configuration, float(run.memory_seconds))
        for run in runs
        if run.state is RunState.SUCCEEDED and run.memory_seconds
    ]
    shares = importances(known)
    columns = (Column("property", "Property", "code"), Column("share", "Share of the variance", "percent"))
    rows: list[dict[str, Any]] = [{"property": name, "share": share} for name, share in (shares or {}).items()]
    empty = f"Too few different runs to tell: {len(known)} have a cost."
    table = Table("importance", "What the cost depends on", columns, rows, empty)
    summary = (
        empty if not rows else f"{rows[0]['property']} explains {percent(rows[0]['share'])} of the cost's variance."
    )
    chart = charts.Chart(
        "importance-chart",
        "What the cost depends on",
        summary,
        (
            charts.bars(
                "share", [str(row["property"]).removeprefix("spark.") for row in rows], [row["share"] for row in rows]
            ),
        ),
        "importance",
        {"xaxis": {"tickformat": ".0%", "rangemode": "tozero"}, "yaxis": {"autorange": "reversed", "automargin": True}},
    )
    return View("importance", "What the cost depends on", {"runs": len(known)}, (table,), (chart,))
