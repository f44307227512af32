"""``yarntune scheduler run-once``: one run of the queue tuner, for cron."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rules.cli.run_options import run_options
from tuner.cli.output import json_option, note, print_json

if TYPE_CHECKING:
    from rules.daemon.result import RunResult

__all__ = ["run_once_command"]


@click.command("run-once")
@run_options
@json_option
@click.pass_context
def run_once_command(
    context: click.Context,
    policy: Path | None,
    mode: str | None,
    seed: int,
    watch_s: float,
    search_s: float,
    as_json: bool,
) -> None:
    """Look at the cluster once, and recommend or apply a better configuration of its queues.

    For cron: it prints nothing when there is nothing new. Exit status 0: nothing is to be changed, or it was; 3: a
    plan waits to be applied; 4: another run is at work; 1: an error, or a plan that was refused or taken back.
    """
    from rules.daemon.run import run_once
    from rules.daemon.setup import Wanted, open_run, read_policy
    from rules.policy import Mode
    from tuner.settings import Settings

    wanted = Wanted(policy, None if mode is None else Mode(mode), seed, watch_s, search_s)
    if read_policy(wanted).mode is Mode.OFF:
        from rules.daemon.result import Action, RunResult

        result = RunResult(Action.OFF, "the policy's mode is off", news=False)
    else:
        with open_run(Settings.from_environment(), wanted) as (opened, options):
            result = run_once(opened, options)
    if as_json:
        print_json(_as_json(result))
    elif result.news:
        _tell(result)
    context.exit(result.exit_code)


def _tell(result: RunResult) -> None:
    for sentence in result.settled:
        note(f"settled: {sentence}")
    gap = result.collected.gap_reason if result.collected is not None else ""
    if gap:
        note(f"the record of applications has a gap: {gap}")
    from rules.daemon.result import Action

    if result.action is Action.BUSY:
        note(result.message)
    else:
        click.echo(f"{result.action.value}: {result.message}")


def _as_json(result: RunResult) -> dict[str, Any]:
    from rules.cli.collect import collection_json
    from rules.plan import plan_to_json

    return {
        "action": result.action.value,
        "message": result.message,
        "plan_id": result.plan_id,
        "plan": None if result.plan is None else plan_to_json(result.plan),
        "settled": list(result.settled),
        "collected": None if result.collected is None else collection_json(result.collected),
    }
