"""``yarntune jobs`` and ``yarntune history``: what the store knows of jobs and their runs."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeVar

import click

from tuner.cli.output import json_option, note, print_json, render_table
from tuner.settings import Settings
from tuner.store import Job, JobSummary, Run, Study
from tuner.units import gib_seconds

F = TypeVar("F", bound=Callable[..., Any])

_WIDEST_ARGUMENTS = 40

EMPTY = "There are no jobs in the store yet: `yarntune tune APP` tunes one, `yarntune submit` records its runs."


def _limit_option(default: int) -> Callable[[F], F]:
    return click.option(
        "--limit",
        type=click.IntRange(min=1),
        default=default,
        show_default=True,
        help="How many to show, newest first.",
    )


@click.command()
@_limit_option(100)
@json_option
def jobs(limit: int, as_json: bool) -> None:
    """List the jobs that the store knows."""
    from tuner.store import open_store

    with open_store(Settings.from_environment()) as store:
        summaries = store.jobs.summaries(limit=limit)
        total = store.jobs.count()
    if as_json:
        print_json({"jobs": [_summary_json(each) for each in summaries], "total": total})
    elif not summaries:
        click.echo(EMPTY)
    else:
        click.echo(
            render_table(
                ("ID", "NAME", "PROGRAM", "ARGUMENTS", "QUEUE", "RUNS", "OK", "LAST RUN"), _job_rows(summaries)
            )
        )
    _note_rest(len(summaries), total, "jobs")


@click.command()
@click.argument("job", metavar="JOB")
@_limit_option(50)
@json_option
def history(job: str, limit: int, as_json: bool) -> None:
    """List the runs of JOB, which is an id, a key or a name."""
    from tuner.store import open_store

    with open_store(Settings.from_environment()) as store:
        if not store.read_only:
            # A run whose process was killed would else be shown as running for ever.
            store.sweep(now=time.time())
        found = store.jobs.resolve(job)
        runs = store.runs.list(job_id=found.id, limit=limit)
        total = store.runs.count(found.id)
        studies = store.studies.list(job_id=found.id)
    if as_json:
        print_json(
            {
                "job": dataclasses.asdict(found),
                "studies": [dataclasses.asdict(each) for each in studies],
                "runs": [dataclasses.asdict(each) for each in runs],
                "total": total,
            }
        )
    else:
        click.echo(_history_text(found, studies, runs))
    _note_rest(len(runs), total, "runs")


def _summary_json(summary: JobSummary) -> dict[str, Any]:
    values = dataclasses.asdict(summary)
    return {**values.pop("job"), **values}


def _job_rows(summaries: list[JobSummary]) -> list[tuple[str, ...]]:
    return [
        (
            str(each.job.id),
            each.job.name,
            each.job.program,
            _shortened(each.job.arguments_shape),
            each.job.queue or "",
            str(each.runs),
            str(each.succeeded),
            _local_time(each.last_submitted_at),
        )
        for each in summaries
    ]


def _history_text(job: Job, studies: list[Study], runs: list[Run]) -> str:
    title = f"{job.name} (job {job.id}): {job.program}"
    if not runs:
        return f"{title}\nIt has no runs yet."
    best = {study.best_run_id for study in studies}
    header = ("RUN", "KIND", "STATE", "SUBMITTED", "WAIT S", "RUN S", "TOTAL S", "GIB S", "APPLICATION", "NOTE")
    failures = [f"run {run.id}: {run.failure}" for run in runs if run.failure]
    return "\n".join([title, render_table(header, [_run_row(run, run.id in best) for run in runs]), *failures])


def _run_row(run: Run, is_best: bool) -> tuple[str, ...]:
    return (
        str(run.id),
        run.kind.value if run.trial_number is None else f"{run.kind.value} {run.trial_number + 1}",
        run.state.value,
        _local_time(run.submitted_at),
        _seconds(run.wait_s),
        _seconds(run.run_s),
        _seconds(run.duration_s),
        "" if run.memory_seconds is None else f"{gib_seconds(run.memory_seconds):.0f}",
        run.application_id or "",
        "best" if is_best else "",
    )


def _shortened(text: str) -> str:
    return text if len(text) <= _WIDEST_ARGUMENTS else f"{text[: _WIDEST_ARGUMENTS - 3]}..."


def _seconds(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"


def _local_time(at: float | None) -> str:
    return "" if at is None else datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M")


def _note_rest(shown: int, total: int, what: str) -> None:
    if shown < total:
        note(f"{shown} of {total} {what}; --limit {total} shows all")
