"""``yarntune recommend``: what to submit a job with."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Any

import click

from tuner.cli.output import json_option, print_json, render_table
from tuner.settings import Settings

if TYPE_CHECKING:
    from tuner.services.recommend import Outlook, Recommendation


def _load(_context: click.Context, _parameter: click.Parameter, value: str) -> str | float:
    if value == "now":
        return value
    try:
        taken = float(value)
    except ValueError:
        taken = math.nan
    if not 0 <= taken <= 1:
        raise click.BadParameter(f"{value!r} is neither `now` nor a number from 0 (idle) to 1 (full)")
    return taken


@click.command()
@click.argument("job", metavar="JOB")
@click.option(
    "--load",
    metavar="now|FRACTION",
    default="now",
    show_default=True,
    callback=_load,
    help="The load to choose for: the cluster's of now, or the part of the queue's resources that is taken, 0 to 1.",
)
@json_option
def recommend(job: str, load: str | float, as_json: bool) -> None:
    """Say what to submit JOB with (an id, a key or a name) under a load, and what the alternatives would do."""
    from tuner.services.recommend import load_now
    from tuner.services.recommend import recommend as chosen
    from tuner.store import open_store

    settings = Settings.from_environment()
    with open_store(settings) as store:
        met = load_now(settings, os.environ, store.jobs.resolve(job).queue or "default") if load == "now" else load
        found = chosen(store, job, met)  # type: ignore[arg-type]
    if as_json:
        print_json(_json(found))
    else:
        click.echo(_text(found))


def _text(found: Recommendation) -> str:
    room = f"{found.load.head_room_memory_mib / 1024:.1f} GiB and {found.load.head_room_vcores} vcores free"
    lines = [f"{found.job.name} (job {found.job.id}), {room}; {found.advice.based_on}"]
    if found.advice.warning:
        lines.append(found.advice.warning)
    if found.choice is None:
        return "\n".join([*lines, "Nothing is advised: it runs best with its own configuration."])
    conf = found.choice.candidate.conf
    lines += ["", f"{found.choice.reason}:", ""]
    lines += [f"  --conf {name}={value}" for name, value in conf.items()] or ["  the configuration that it has"]
    rows = [_row(each, each.candidate is found.choice.candidate) for each in found.outlooks]
    head = ("", "EXECUTORS", "OF MIB", "GETS NOW", "RUN S", "GIB S", "RUNS", "WHY")
    return "\n".join([*lines, "", render_table(head, rows)])


def _row(outlook: Outlook, chosen: bool) -> tuple[str, ...]:
    candidate = outlook.candidate
    return (
        "*" if chosen else "",
        str(candidate.executors),
        str(candidate.executor_mib),
        str(outlook.executors),
        f"{outlook.run_s:.0f}" if outlook.executors else "waits",
        f"{outlook.gib_seconds:.0f}" if outlook.executors else "",
        str(candidate.runs),
        candidate.reason,
    )


def _json(found: Recommendation) -> dict[str, Any]:
    choice = found.choice
    return {
        "job": {"id": found.job.id, "key": found.job.key, "name": found.job.name},
        "load": found.load.to_json(),
        "conf": None if choice is None else dict(choice.candidate.conf),
        "reason": found.advice.warning if choice is None else choice.reason,
        "warning": found.advice.warning or None,
        "candidates": [
            {
                "conf": dict(each.candidate.conf),
                "chosen": choice is not None and each.candidate is choice.candidate,
                "executors": each.candidate.executors,
                "executor_mib": each.candidate.executor_mib,
                "executors_now": each.executors,
                "run_s": each.run_s if each.executors else None,
                "gib_seconds": each.gib_seconds if each.executors else None,
                "runs": each.candidate.runs,
                "reason": each.candidate.reason,
            }
            for each in found.outlooks
        ],
    }
