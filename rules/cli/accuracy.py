"""``yarntune scheduler accuracy``: what was predicted for each plan against what happened."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from tuner.cli.output import json_option, print_json, render_table

if TYPE_CHECKING:
    from rules.daemon.accuracy import Accuracy, PlanOutcome

__all__ = ["accuracy_command"]


@click.command("accuracy")
@click.option("--limit", type=click.IntRange(min=1), default=100, show_default=True, help="Of the newest plans.")
@json_option
def accuracy_command(limit: int, as_json: bool) -> None:
    """Hold what was predicted for each plan, applied or not, against what happened.

    Weeks in mode `recommend` show here whether the predictions can be trusted to apply.
    """
    import time

    from rules.daemon.accuracy import summarize
    from rules.daemon.judged import judge_plans
    from rules.lifecycle.context import cluster_id
    from tuner.settings import Settings
    from tuner.store import open_store
    from tuner.yarn.locate import locate

    settings = Settings.from_environment()
    with open_store(settings) as store:
        outcomes = judge_plans(store, cluster_id(locate(settings)), now_s=time.time(), limit=limit)
    total = summarize(outcomes)
    if as_json:
        print_json(_as_json(outcomes, total))
    else:
        click.echo(_as_text(outcomes, total))


def _as_json(outcomes: tuple[PlanOutcome, ...], total: Accuracy) -> dict[str, Any]:
    return {
        "plans": [
            {
                "id": outcome.plan_id,
                "created_at": outcome.created_at,
                "state": outcome.state,
                "applied": outcome.applied,
                "queues": [
                    {
                        "queue": each.queue,
                        "jobs": each.jobs,
                        "predicted": each.predicted_s,
                        "measured": each.measured_s,
                        "error": each.error,
                    }
                    for each in outcome.queues
                ],
                "note": outcome.why,
            }
            for outcome in outcomes
        ],
        "measured_plans": total.plans,
        "median_error": total.median_error,
        "bias": total.bias,
    }


def _as_text(outcomes: tuple[PlanOutcome, ...], total: Accuracy) -> str:
    if not outcomes:
        return "There is no plan of this cluster yet; `yarntune scheduler run-once` makes them."
    header = ("PLAN", "MADE", "STATE", "JOBS", "PREDICTED", "MEASURED", "ERROR", "NOTE")
    lines = [render_table(header, [_row(outcome) for outcome in outcomes]), ""]
    if total.median_error is None or total.bias is None:
        lines.append("No plan can be measured yet.")
    else:
        lines.append(f"{total.plans} plans measured: median error {total.median_error:.0%}, bias {total.bias:+.0%}")
    return "\n".join(lines)


def _row(outcome: PlanOutcome) -> tuple[str, ...]:
    made = f"{datetime.fromtimestamp(outcome.created_at):%Y-%m-%d %H:%M}"
    first = (str(outcome.plan_id), made, outcome.state)
    if not outcome.queues:
        return (*first, "-", "-", "-", "-", outcome.why)
    total = outcome.queues[0]
    figures = (str(total.jobs), f"{total.predicted_s:.1f}", f"{total.measured_s:.1f}", f"{total.error:+.0%}")
    return (*first, *figures, outcome.why)
