"""``yarntune scheduler apply``: carries a plan out."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tuner.cli.output import json_option, note, print_json

if TYPE_CHECKING:
    from rules.lifecycle.context import Context
    from rules.lifecycle.result import ApplyResult
    from rules.plan import Plan

__all__ = ["apply_command", "confirm", "report"]


@click.command("apply")
@click.argument("plan", metavar="PLAN|ID")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--wait", "watch_s", type=click.FloatRange(min=0), default=30.0, show_default=True, metavar="S",
              help="Seconds to watch the cluster afterwards; if it gets worse, the change is taken back.")  # fmt: skip
@json_option
@click.pass_context
def apply_command(ctx: click.Context, plan: str, yes: bool, watch_s: float, as_json: bool) -> None:
    """Apply PLAN: a file of `plan -o`, or the id of a plan in the store.

    The plan is applied only to the configuration that it was made against, and checked once more. It is written once,
    read back and watched; if it is not well, the configuration of before is put back. Exit status: 0 it is in force,
    1 it is not (the message says what is).
    """
    from rules.lifecycle.apply import apply_plan
    from rules.lifecycle.context import open_context
    from rules.plan_text import plan_text
    from tuner.settings import Settings

    with open_context(Settings.from_environment(), note=note) as context:
        plan_id, found = _find(context, plan)
        if not yes:
            confirm(plan_text(found, plan_id), "Apply it?", as_json)
        result = apply_plan(context, plan_id, watch_s=watch_s)
    report(result, as_json)
    ctx.exit(0 if result.done else 1)


def _find(context: Context, text: str) -> tuple[int, Plan]:
    """The plan that an argument names, recorded in the store where it comes from a file."""
    from rules.lifecycle.journal import load_plan
    from rules.lifecycle.propose import record_plan
    from rules.plan import plan_from_json
    from tuner.errors import InputError

    path = Path(text)
    if text.isdecimal() and not path.is_file():
        return int(text), load_plan(context, int(text))[1]
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(
            f"{text} cannot be read: {error.strerror or error}", "give a file of `plan -o`, or a plan's id"
        ) from None
    except ValueError as error:
        raise InputError(f"{text} is not a plan: {error}", "make one with `yarntune scheduler plan -o FILE`") from None
    found = plan_from_json(document, text)
    return record_plan(context, found), found


def confirm(text: str, question: str, as_json: bool) -> None:
    """Shows what is about to be done and asks; ends the command where the answer is no.

    Raises:
        click.UsageError: nobody can be asked.
    """
    if as_json or not sys.stdin.isatty():
        raise click.UsageError("--yes is needed where nobody can be asked")
    click.echo(text)
    click.confirm(question, abort=True)


def report(result: ApplyResult, as_json: bool) -> None:
    """Says what it came to."""
    if as_json:
        print_json(_document(result))
        return
    click.echo(f"{result.outcome.value}: {result.message}")
    for change in result.differences:
        expected = "not set" if change.before is None else change.before
        found = "not set" if change.after is None else change.after
        click.echo(f"  {change.property}: expected {expected}, is {found}")


def _document(result: ApplyResult) -> dict[str, Any]:
    return {
        "plan": result.plan_id,
        "outcome": result.outcome.value,
        "done": result.done,
        "state": None if result.state is None else result.state.value,
        "message": result.message,
        "differences": [
            {"property": change.property, "expected": change.before, "found": change.after}
            for change in result.differences
        ],
    }
