"""``yarntune scheduler estimate``: how the jobs of a case file would go under its configuration."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tuner.cli.output import json_option, note, print_json, render_table

if TYPE_CHECKING:
    from rules.estimator import Estimate, JobEstimate, Summary

__all__ = ["estimate_command", "summary_json"]

_MOST_ROWS = 40


@click.command("estimate")
@click.argument("case", type=click.Path(dir_okay=False, path_type=Path))
@json_option
def estimate_command(case: Path, as_json: bool) -> None:
    """Predict when the jobs of CASE start and end, and which rule each waits for.

    CASE is a case file: nodes, the scheduler's configuration, jobs (see docs/scheduler-model.md).
    """
    from workloads.trace import read_case

    parsed = read_case(case)
    if not as_json:
        note("simulating; the first run after an installation compiles for some seconds")
    from rules.estimator import estimate, warm_up
    from rules.rulesets.capacity_case import check_capacity

    if parsed.scheduler == "capacity":
        check_capacity(parsed)
    warm_up(parsed)
    begin_s = time.perf_counter()
    found = estimate(parsed)
    elapsed_s = time.perf_counter() - begin_s
    for words in found.notes:
        note(f"not modelled: {words}")
    if as_json:
        print_json(_as_json(found, elapsed_s))
    else:
        click.echo(_as_text(found))


def summary_json(summary: Summary) -> dict[str, Any]:
    """A summary as every command writes it."""
    return {
        "jobs": summary.jobs,
        "unfinished": summary.unfinished,
        "mean_latency": summary.mean_latency_s,
        "median_latency": summary.median_latency_s,
        "p95_latency": summary.p95_latency_s,
        "mean_slowdown": summary.mean_slowdown,
    }


def _as_json(found: Estimate, elapsed_s: float) -> dict[str, Any]:
    by_queue = {path: summary_json(summary) for path, summary in found.by_queue.items()}
    return {
        "jobs": [_job_json(job) for job in found.jobs],
        "summary": {**summary_json(found.summary), "by_queue": by_queue},
        "utilisation": dict(found.utilisation),
        "notes": list(found.notes),
        "elapsed_seconds": elapsed_s,
    }


def _job_json(job: JobEstimate) -> dict[str, Any]:
    value: dict[str, Any] = {
        "id": job.id,
        "queue": job.queue,
        "submit": job.submit_s,
        "am_start": job.am_start_s,
        "first": job.first_s,
        "finish": job.finish_s,
        "binding": [{"rule": binding.rule, "seconds": binding.seconds} for binding in job.binding],
    }
    if job.rejected is not None:
        value["rejected"] = job.rejected
    return value


def _as_text(found: Estimate) -> str:
    header = ("QUEUE", "JOBS", "UNFINISHED", "MEAN", "MEDIAN", "P95", "SLOWDOWN", "MEMORY HELD")
    rows = [_queue_row(path, summary, found) for path, summary in found.by_queue.items()]
    rows.append(_queue_row("all", found.summary, found))
    waits: dict[str, float] = {}
    for job in found.jobs:
        for binding in job.binding:
            waits[binding.rule] = waits.get(binding.rule, 0.0) + binding.seconds
    longest = sorted(waits.items(), key=lambda item: -item[1])
    reasons = render_table(("WAITED FOR", "SECONDS"), [(rule, f"{seconds:.1f}") for rule, seconds in longest])
    lines = [render_table(header, rows), "", reasons]
    stuck = [job for job in found.jobs if job.finish_s < 0]
    if stuck:
        lines += ["", "Do not finish:", *(f"  {_stuck_line(job)}" for job in stuck[:_MOST_ROWS])]
    if len(stuck) > _MOST_ROWS:
        lines.append(f"  ... and {len(stuck) - _MOST_ROWS} more")
    return "\n".join(lines)


def _queue_row(path: str, summary: Summary, found: Estimate) -> tuple[str, ...]:
    held = found.utilisation.get("root" if path == "all" else path)
    return (
        path,
        str(summary.jobs),
        str(summary.unfinished),
        f"{summary.mean_latency_s:.1f}",
        f"{summary.median_latency_s:.1f}",
        f"{summary.p95_latency_s:.1f}",
        f"{summary.mean_slowdown:.2f}",
        "-" if held is None else f"{held:.0%}",
    )


def _stuck_line(job: JobEstimate) -> str:
    if job.rejected is not None:
        return f"{job.id} in {job.path}: refused, {job.rejected}"
    if not job.binding:
        return f"{job.id} in {job.path}: still running at the horizon"
    return f"{job.id} in {job.path}: waited longest for {job.binding[0].rule} ({job.binding[0].seconds:.1f} s)"
