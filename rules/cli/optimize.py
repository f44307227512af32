"""``yarntune scheduler optimize``: the configuration under which the jobs of a case file go best."""

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
    from rules.optimizer import Guard, Optimum, Outcome
    from rules.policy import Policy

__all__ = ["load_policy_option", "optimize_command", "optimum_text", "search_options"]


def search_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of every command that searches: seed, policy, objective, guard, time limit."""
    for option in (
        click.option("--time-limit", type=click.FloatRange(min=0, min_open=True), default=40.0, show_default=True,
                     metavar="S", help="End the search after so many seconds with the best so far."),
        click.option("--guard", type=click.Choice(["default", "none"]), default="default", show_default=True,
                     help="default: no queue's mean latency may get worse by more than the policy says (25 %) and no "
                     "more jobs be unfinished; none: whatever helps all together."),
        click.option("--objective", type=click.Choice(["mean", "slowdown", "target-miss"]),
                     help="What is to become small; the policy's where not given."),
        click.option("--policy", "policy_file", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
                     help="What may be changed (docs/policy.md); everything without a file."),
        click.option("--seed", type=int, default=0, show_default=True, help="Of the search; the same gives the same."),
    ):  # fmt: skip
        command = option(command)
    return command


def load_policy_option(path: Path | None) -> Policy:
    """The policy that a command goes by: the file's, or the default one."""
    from rules.policy import Policy, load_policy

    return Policy() if path is None else load_policy(path)


@click.command("optimize")
@click.argument("case", type=click.Path(dir_okay=False, path_type=Path))
@search_options
@json_option
def optimize_command(
    case: Path,
    seed: int,
    policy_file: Path | None,
    objective: str | None,
    guard: Guard,
    time_limit: float,
    as_json: bool,
) -> None:
    """Find the queue configuration under which the jobs of CASE go best.

    CASE is a case file (see docs/scheduler-model.md). The whole workload is known to the search, so this is what could
    be reached at best, not what will be; `backtest` sees only the past. Exit status 0 also where nothing better is
    found.
    """
    from workloads.trace import read_case

    parsed, policy = read_case(case), load_policy_option(policy_file)
    from rules.estimator import warm_up
    from rules.optimizer import optimize
    from rules.policy import Objective
    from rules.rulesets.capacity_case import check_capacity

    if parsed.scheduler == "capacity":
        check_capacity(parsed)
    if not as_json:
        note("searching; the first run after an installation compiles for some seconds")
    warm_up(parsed)
    with _progress(not as_json) as tell:
        found = optimize(
            parsed,
            policy,
            objective=Objective(objective) if objective else None,
            guard=guard,
            seed=seed,
            time_limit_s=time_limit,
            clock=time.perf_counter,
            progress=tell,
        )
    for words in found.notes:
        note(words)
    if as_json:
        print_json(_as_json(found))
    else:
        click.echo(optimum_text(found))


@contextmanager
def _progress(wanted: bool) -> Iterator[Callable[[float], None]]:
    """A bar on a terminal, nothing elsewhere."""
    if not (wanted and sys.stderr.isatty()):
        yield lambda _: None
        return
    with click.progressbar(length=1000, label="searching", file=sys.stderr) as bar:
        yield lambda part: bar.update(max(int(part * 1000) - bar.pos, 0))


def _as_json(found: Optimum) -> dict[str, Any]:
    return {
        "conf": found.conf,
        "allocations": found.allocations,
        "baseline": _outcome_json(found.baseline),
        "predicted": _outcome_json(found.predicted),
        "comparison": {
            "mean_change": found.comparison.mean_change_s,
            "spread": found.comparison.spread_s,
        },
        "evaluations": found.evaluations,
        "leaf_evaluations": found.leaf_evaluations,
        "elapsed_seconds": found.elapsed_s,
        "notes": list(found.notes),
    }


def _outcome_json(outcome: Outcome) -> dict[str, Any]:
    by_queue = {path: summary_json(summary) for path, summary in outcome.by_queue.items()}
    return {**summary_json(outcome.summary), "by_queue": by_queue}


def optimum_text(found: Optimum) -> str:
    """The change as a diff, and what it does to each queue."""
    effort = f"{found.evaluations} simulations of the cluster, {found.leaf_evaluations} of single queues"
    if not found.found:
        return f"Nothing better found. The configuration stays as it is.\n\n{effort}, {found.elapsed_s:.1f} s."
    lines = []
    for change in found.changes:
        sign = "+" if change.before is None else "-" if change.after is None else "~"
        lines.append(f"{sign} {change.property}: {_value(change.before)} -> {_value(change.after)}")
    rows = [_row(path, summary, found.predicted.by_queue[path]) for path, summary in found.baseline.by_queue.items()]
    rows.append(_row("all", found.baseline.summary, found.predicted.summary))
    header = ("QUEUE", "JOBS", "MEAN", "->", "CHANGE", "P95", "->", "UNFINISHED", "->")
    compared = found.comparison
    return "\n".join(
        [
            *lines,
            "",
            render_table(header, rows),
            "",
            f"A job ends {-compared.mean_change_s:.1f} s sooner on average (standard error {compared.spread_s:.1f}).",
            f"{effort}, {found.elapsed_s:.1f} s.",
        ]
    )


def _value(text: str | None) -> str:
    return "not set" if text is None else text


def _row(path: str, before: Any, after: Any) -> tuple[str, ...]:
    change = after.mean_latency_s / before.mean_latency_s - 1.0 if before.mean_latency_s > 0 else 0.0
    return (
        path,
        str(before.jobs),
        f"{before.mean_latency_s:.1f}",
        f"{after.mean_latency_s:.1f}",
        f"{100 * change:+.0f}%",
        f"{before.p95_latency_s:.1f}",
        f"{after.p95_latency_s:.1f}",
        str(before.unfinished),
        str(after.unfinished),
    )
