"""``yarntune scheduler backtest``: the closed loop over a case file, in virtual time."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rules.cli.estimate import summary_json
from tuner.cli.output import json_option, note, print_json, render_table

if TYPE_CHECKING:
    from rules.backtest.loop import Backtest
    from rules.estimator import Estimate, Summary
    from workloads.trace import Update

__all__ = ["backtest_command"]

_MOST_S = 15.0
"""The most that one decision's search may take; it ends by itself long before on all but the largest clusters."""


@click.command("backtest")
@click.argument("case", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--every", "every_s", type=click.FloatRange(min=0, min_open=True), required=True, metavar="S",
              help="Seconds between decisions; the first is after so many.")  # fmt: skip
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of all that is drawn.")
@click.option("--policy", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
              help="What may be changed; without it everything, and as often as it pays.")  # fmt: skip
@click.option("--objective", type=click.Choice(["mean", "slowdown", "target-miss"]),
              help="What is to become small; the policy's, or mean latency.")  # fmt: skip
@click.option("--guard", type=click.Choice(["default", "none"]), default="default", show_default=True,
              help="Whether a queue may lose more than the policy allows (25 %).")  # fmt: skip
@click.option("--time-limit", "time_limit_s", type=click.FloatRange(min=0, min_open=True), metavar="S",
              help="Seconds for all decisions together; the result may then differ from run to run.")  # fmt: skip
@json_option
def backtest_command(
    case: Path,
    every_s: float,
    seed: int,
    policy: Path | None,
    objective: str | None,
    guard: str,
    time_limit_s: float | None,
    as_json: bool,
) -> None:
    """What the queue tuner would have done to CASE, deciding every S seconds on what it had seen by then.

    The updates it prints come on top of the case's own: put into the case file, they replay to the same times.
    """
    import msgspec

    from rules.policy import NO_LIMITS, Objective, load_policy
    from workloads.trace import read_case

    parsed = read_case(case)
    chosen = msgspec.structs.replace(NO_LIMITS, cool_down_s=0.0) if policy is None else load_policy(policy)
    if not as_json:
        note("simulating; the first run after an installation compiles for some seconds")
    from rules.backtest.loop import backtest
    from rules.estimator import warm_up
    from rules.forecast.decision import ForecastPlan
    from rules.forecast.search import optimizer_search
    from rules.rulesets.capacity_case import check_capacity

    if parsed.scheduler == "capacity":
        check_capacity(parsed)
    warm_up(parsed)
    wanted = chosen.objective if objective is None else Objective(objective)
    plan = ForecastPlan(seed=seed, objective=wanted, guarded=guard == "default")
    begin_s = time.perf_counter()
    search = optimizer_search(plan, clock=time.perf_counter, decision_limit_s=_MOST_S, total_limit_s=time_limit_s)
    last_s = max((job.submit_s for job in parsed.jobs), default=0.0)
    with _progress(last_s) as told:
        found = backtest(parsed, every_s, chosen, plan, search, progress=told)
    elapsed_s = time.perf_counter() - begin_s
    if as_json:
        print_json(_as_json(found, elapsed_s))
    else:
        click.echo(_as_text(found, elapsed_s))


@contextmanager
def _progress(last_s: float) -> Iterator[Callable[[float], None]]:
    """A bar of virtual time up to the last submission; what the jobs take beyond it counts as the end."""
    length = max(int(last_s), 1)
    with click.progressbar(length=length, label="deciding", file=sys.stderr, hidden=not sys.stderr.isatty()) as bar:
        yield lambda time_s: bar.update(min(int(time_s), length) - bar.pos)


def _as_json(found: Backtest, elapsed_s: float) -> dict[str, Any]:
    return {
        "updates": [_update_json(update) for update in found.updates],
        "static": _estimate_json(found.static),
        "adaptive": _estimate_json(found.adaptive),
        "decisions": [
            {"time": moment.time_s, "changed": moment.decision.change is not None, "reason": moment.decision.reason}
            for moment in found.moments
        ],
        "evaluations": found.evaluations,
        "elapsed_seconds": elapsed_s,
    }


def _update_json(update: Update) -> dict[str, Any]:
    if update.allocations is not None:
        return {"time": update.time_s, "allocations": update.allocations}
    return {"time": update.time_s, "conf": dict(update.conf)}


def _estimate_json(found: Estimate) -> dict[str, Any]:
    by_queue = {path: summary_json(summary) for path, summary in found.by_queue.items()}
    return {**summary_json(found.summary), "by_queue": by_queue}


def _as_text(found: Backtest, elapsed_s: float) -> str:
    rows = [_row("all", found.static.summary, found.adaptive.summary)]
    rows += [_row(path, summary, found.adaptive.by_queue[path]) for path, summary in found.static.by_queue.items()]
    header = ("QUEUE", "JOBS", "STATIC MEAN", "ADAPTIVE MEAN", "STATIC P95", "ADAPTIVE P95", "UNFINISHED")
    lines = [render_table(header, rows), ""]
    for moment in found.moments:
        change = moment.decision.change
        what = "as it was"
        if change is not None:
            what = "a new allocation file" if change.allocations is not None else f"{len(change.conf)} properties"
        lines.append(f"{moment.time_s:>8g} s  {what}: {moment.decision.reason}")
    lines += ["", f"{len(found.updates)} updates, {found.evaluations} simulations, {elapsed_s:.1f} s"]
    return "\n".join(lines)


def _row(path: str, static: Summary, adaptive: Summary) -> tuple[str, ...]:
    return (
        path,
        str(static.jobs),
        f"{static.mean_latency_s:.1f}",
        f"{adaptive.mean_latency_s:.1f}",
        f"{static.p95_latency_s:.1f}",
        f"{adaptive.p95_latency_s:.1f}",
        f"{static.unfinished} / {adaptive.unfinished}",
    )
