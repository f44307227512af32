"""One job: its runs against the baseline, time against memory, and what was best."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tuner.settings import MemoryPrice
from tuner.store import Job, Run, RunKind, RunState, Store, Study
from tuner.store.statistics import JobSaving
from tuner.units import gib_seconds
from web import charts
from web.formats import number, seconds
from web.queries.job_configuration import configuration_values, parallel_chart
from web.queries.job_memory import load_chart, load_table, memory_chart, memory_table
from web.queries.overview import saving_row
from web.respond import View
from web.tables import Column, Table

MOST_RUNS = 300
MEASURES = {"cost": ("gib_s", "Memory x time, GiB·s"), "time": ("duration_s", "Time, s")}
_KIND_COLOURS = {
    RunKind.DEFAULT: "@warn",
    RunKind.TRIAL: "@accent",
    RunKind.FINAL: "@good",
    RunKind.PRODUCTION: "@muted",
}


def job(
    store: Store, found: Job, price: MemoryPrice | None, *, study_id: int | None = None, measure: str = "cost"
) -> View:
    """Everything of one job.

    Args:
        store: the store.
        found: the job.
        price: of memory, where it is set.
        study_id: the study to look at; the newest one where it is not given.
        measure: a key of :data:`MEASURES`, for the runs over time.
    """
    runs = store.runs.list(job_id=found.id, limit=MOST_RUNS)[::-1]
    studies = store.studies.list(job_id=found.id, limit=20)
    study = next((each for each in studies if each.id == study_id), studies[0] if studies else None)
    mine = store.runs.list(study_id=study.id, limit=MOST_RUNS)[::-1] if study is not None else runs
    saving = next(iter(store.statistics.savings(job_ids=[found.id])), None)
    best = next((run for run in mine if study is not None and run.id == study.best_run_id), None)
    default = next((run for run in mine if run.kind is RunKind.DEFAULT and run.state is RunState.SUCCEEDED), None)
    configuration = configuration_values(best, default, study)
    values: dict[str, Any] = {
        "job": _job_values(found, store.runs.count(found.id)),
        "study": None if study is None else study_values(study, mine),
        "measure": measure,
        "saving": None if saving is None else saving_row(saving, price),
        "best_run_id": None if best is None else best.id,
        "configuration": configuration.lines,
    }
    parallel = parallel_chart(mine, best)
    tables = [
        _runs_table(runs, {each.best_run_id for each in studies}),
        _pareto_table(mine, best, study),
        configuration.table,
        memory_table(mine, study, found.program),
        load_table(runs),
        _studies_table(studies),
    ]
    figures = [
        _history_chart(runs, saving, measure),
        _pareto_chart(mine, best, default, study),
        memory_chart(tables[3]),
        load_chart(runs),
    ]
    if parallel is not None:
        figures.append(parallel[0])
        tables.append(parallel[1])
    extra = {"running": None if study is None or study.state.value != "RUNNING" else study, "price": price}
    return View("job", found.name, values, tuple(tables), tuple(figures), extra)


def _job_values(found: Job, runs: int) -> dict[str, Any]:
    return {
        "id": found.id,
        "key": found.key,
        "name": found.name,
        "program": found.program,
        "main_class": found.main_class,
        "arguments_shape": found.arguments_shape,
        "queue": found.queue,
        "created_at": found.created_at,
        "runs": runs,
    }


def study_values(study: Study, runs: Sequence[Run]) -> dict[str, Any]:
    """How far a study is."""
    trials = [run for run in runs if run.kind in (RunKind.DEFAULT, RunKind.TRIAL)]
    ended = [run for run in trials if run.state is not RunState.RUNNING]
    current = next((run for run in reversed(runs) if run.state is RunState.RUNNING), None)
    return {
        "id": study.id,
        "state": study.state,
        "slack": study.slack,
        "trials_wanted": study.trials_wanted,
        "trials_done": len(ended),
        "trials_failed": sum(run.state is not RunState.SUCCEEDED for run in ended),
        "final_runs": sum(run.kind is RunKind.FINAL for run in runs),
        "best_run_id": study.best_run_id,
        "created_at": study.created_at,
        "finished_at": study.finished_at,
        "pinned": dict(study.pinned),
        "current": None if current is None else run_row(current, set()),
    }


def run_row(run: Run, best: set[int | None]) -> dict[str, Any]:
    """A run for a table."""
    return {
        "id": run.id,
        "kind": run.kind if run.trial_number is None else f"{run.kind.value} {run.trial_number}",
        "state": run.state,
        "best": "best" if run.id in best else "",
        "submitted_at": run.submitted_at,
        "wait_s": run.wait_s,
        "run_s": run.run_s,
        "duration_s": run.duration_s,
        "gib_s": cost(run),
        "application_id": run.application_id,
        "failure": run.failure,
    }


def cost(run: Run) -> float | None:
    """What a run reserved, in GiB·s."""
    return None if run.memory_seconds is None else gib_seconds(run.memory_seconds)


def _runs_table(runs: Sequence[Run], best: set[int | None]) -> Table:
    columns = (
        Column("id", "Run", "number", ("jobs.run", {"run_id": "id"})),
        Column("kind", "Kind"),
        Column("state", "State", "state"),
        Column("best", "", "text"),
        Column("submitted_at", "Submitted", "time"),
        Column("wait_s", "Waited", "seconds"),
        Column("duration_s", "Time", "seconds"),
        Column("gib_s", "Memory x time", "gib_s"),
        Column("application_id", "Application", "code"),
        Column("failure", "Why it failed"),
    )
    rows = [run_row(run, best) for run in reversed(runs)]
    return Table("runs", "Runs, newest first", columns, rows, "This job has no runs yet.")


def _studies_table(studies: Sequence[Study]) -> Table:
    columns = (
        Column("id", "Study", "number", ("jobs.job", {"job_id": "job_id", "study": "id"})),
        Column("state", "State", "state"),
        Column("created_at", "Began", "time"),
        Column("trials_wanted", "Runs wanted", "number"),
        Column("slack", "Slack", "percent"),
        Column("best_run_id", "Best run", "number", ("jobs.run", {"run_id": "best_run_id"})),
    )
    rows = [
        {
            "id": each.id,
            "job_id": each.job_id,
            "state": each.state,
            "created_at": each.created_at,
            "trials_wanted": each.trials_wanted,
            "slack": each.slack,
            "best_run_id": each.best_run_id,
        }
        for each in studies
    ]
    return Table("studies", "Searches for a configuration", columns, rows, "Nobody has searched for one yet.")


def _history_chart(runs: Sequence[Run], saving: JobSaving | None, measure: str) -> charts.Chart:
    key, title = MEASURES[measure]
    traces = []
    for kind, colour in _KIND_COLOURS.items():
        mine = [row for run in runs if run.kind is kind and (row := run_row(run, set()))[key] is not None]
        if mine:
            traces.append(
                charts.points(
                    kind.value,
                    [int(row["submitted_at"] * 1000) for row in mine],
                    [row[key] for row in mine],
                    colour=colour,
                    labels=[_label(row) for row in mine],
                )
            )
    summary = "No run has been measured yet."
    if saving is not None and runs:
        row = saving_row(saving, None)
        before, after = (
            (row["baseline_gib_s"], row["best_gib_s"]) if measure == "cost" else (row["baseline_s"], row["best_s"])
        )
        ends = [int(runs[0].submitted_at * 1000), int(runs[-1].submitted_at * 1000)]
        if before is not None and after is not None:
            traces.append(charts.line("default (baseline)", ends, [before, before], colour="@warn", dash="dash"))
            traces.append(charts.line("best", ends, [after, after], colour="@good", dash="dot"))
            write = seconds if measure == "time" else (lambda value: f"{number(value)} GiB·s")
            summary = f"The default takes {write(before)}, the best configuration {write(after)}."
    layout = {"xaxis": {"type": "date"}, "yaxis": charts.axis(title, rangemode="tozero")}
    return charts.Chart("history-chart", "Runs over time", summary, traces, "runs", layout)


def _label(row: dict[str, Any]) -> str:
    return f"run {row['id']}, {row['kind']}: {seconds(row['duration_s'])}, {number(row['gib_s'])} GiB·s"


def _measured(runs: Sequence[Run]) -> list[tuple[Run, float, float]]:
    return [
        (run, run.duration_s, gib)
        for run in runs
        if run.state is RunState.SUCCEEDED and run.duration_s is not None and (gib := cost(run)) is not None
    ]


def _pareto_table(runs: Sequence[Run], best: Run | None, study: Study | None) -> Table:
    measured = _measured(runs)
    front = {measured[i][0].id for i in charts.pareto_front([(t, c) for _, t, c in measured])}
    fastest_s = min((t for _, t, _ in measured), default=0.0)
    limit_s = fastest_s * (1 + (study.slack if study is not None else 0.0))
    columns = (
        Column("id", "Run", "number", ("jobs.run", {"run_id": "id"})),
        Column("kind", "Kind"),
        Column("duration_s", "Time", "seconds"),
        Column("gib_s", "Memory x time", "gib_s"),
        Column("on_front", "Not beaten in both"),
        Column("fast_enough", "Fast enough"),
        Column("best", ""),
    )
    rows = [
        {
            "id": run.id,
            "kind": run.kind,
            "duration_s": duration_s,
            "gib_s": gib,
            "on_front": "yes" if run.id in front else "",
            "fast_enough": "yes" if duration_s <= limit_s else "",
            "best": "best" if best is not None and run.id == best.id else "",
        }
        for run, duration_s, gib in sorted(measured, key=lambda each: each[1])
    ]
    return Table("pareto", "Time against memory x time", columns, rows, "No run of this search has succeeded yet.")


def _pareto_chart(runs: Sequence[Run], best: Run | None, default: Run | None, study: Study | None) -> charts.Chart:
    measured = _measured(runs)
    items = [(t, c) for _, t, c in measured]
    front = charts.pareto_front(items)
    marked = {each.id: name for each, name in ((default, "default"), (best, "best")) if each is not None}
    traces: list[dict[str, Any]] = []
    if items:
        traces.append(
            charts.line(
                "not beaten in both", [items[i][0] for i in front], [items[i][1] for i in front],
                colour="@muted", dash="dot", shape="hv",
            )
        )  # fmt: skip
        others = [each for each in measured if each[0].id not in marked]
        traces.append(_pareto_points("runs", others, "@accent", "circle", 8))
        for run_id, name in marked.items():
            colour, symbol = ("@good", "star") if name == "best" else ("@warn", "diamond")
            traces.append(_pareto_points(name, [m for m in measured if m[0].id == run_id], colour, symbol, 14))
    layout: dict[str, Any] = {
        "xaxis": charts.axis("Time, s", rangemode="tozero"),
        "yaxis": charts.axis("Memory x time, GiB·s", rangemode="tozero"),
    }
    summary = "No run of this search has succeeded yet."
    if items:
        limit_s = min(t for t, _ in items) * (1 + (study.slack if study is not None else 0.0))
        layout["shapes"] = [
            {"type": "line", "x0": limit_s, "x1": limit_s, "y0": 0, "y1": 1, "yref": "paper",
             "line": {"color": "@muted", "width": 1, "dash": "dash"}}
        ]  # fmt: skip
        layout["annotations"] = [
            {"x": limit_s, "y": 1, "yref": "paper", "text": "slowest that is fast enough", "showarrow": False,
             "xanchor": "left", "yanchor": "top", "font": {"size": 11}}
        ]  # fmt: skip
        summary = f"{len(front)} of {len(items)} runs are not beaten in both time and memory."
    return charts.Chart("pareto-chart", "Time against memory", summary, traces, "pareto", layout)


def _pareto_points(
    name: str, each: Sequence[tuple[Run, float, float]], colour: str, symbol: str, size: int
) -> dict[str, Any]:
    return charts.points(
        name,
        [t for _, t, _ in each],
        [c for _, _, c in each],
        colour=colour,
        symbol=symbol,
        size=size,
        labels=[_label(run_row(run, set())) for run, _, _ in each],
    )
