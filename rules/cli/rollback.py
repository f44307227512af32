"""``yarntune scheduler rollback``: takes an applied plan back."""

from __future__ import annotations

import click

from rules.cli.apply import confirm, report
from tuner.cli.output import json_option, note

__all__ = ["rollback_command"]


@click.command("rollback")
@click.argument("plan_id", metavar="[ID]", type=click.IntRange(min=1), required=False)
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
@click.pass_context
def rollback_command(ctx: click.Context, plan_id: int | None, yes: bool, as_json: bool) -> None:
    """Put the configuration of before plan ID back; of the last applied one where no ID is given.

    Over REST the plan's own properties get their old values. A file is put back byte for byte, if it is still the one
    that was written. What others have changed since is never overwritten.
    """
    from rules.lifecycle.context import open_context
    from rules.lifecycle.rollback import last_applied, preview_rollback, rollback_plan
    from rules.plan_text import changes_text
    from tuner.settings import Settings

    with open_context(Settings.from_environment(), note=note) as context:
        chosen = last_applied(context) if plan_id is None else plan_id
        if not yes and chosen is not None:
            changes = preview_rollback(context, chosen)
            text = f"Taking plan {chosen} back:\n\n{changes_text(changes, context.back_end.read())}\n"
            confirm(text, "Take it back?", as_json)
        result = rollback_plan(context, chosen)
    report(result, as_json)
    ctx.exit(0 if result.done else 1)
