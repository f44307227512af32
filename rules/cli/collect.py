"""``yarntune scheduler collect``: reads a cluster's applications and queues into the store, and does nothing else."""

from __future__ import annotations

from typing import Any

import click

from tuner.cli.output import json_option, note, print_json
from tuner.store.history_records import Collection

__all__ = ["collect_command", "collection_json"]


@click.command("collect")
@json_option
def collect_command(as_json: bool) -> None:
    """Read into the store which applications have ended and how the queues are used.

    `run-once` and `daemon` do it by themselves; this is for a cluster that is to be known before it is tuned.
    """
    from rules.daemon.run import collect_now
    from rules.history import start_up
    from rules.lifecycle.context import open_context
    from rules.live.read import read_cluster
    from tuner.settings import Settings
    from tuner.yarn.locate import locate

    settings = Settings.from_environment()
    with open_context(settings) as context:
        live = read_cluster(context.rm, locate(settings), context.clock())
        made = collect_now(context, live)
        started = start_up(context.store.history.applications(context.cluster.id))
    if made.gap_reason:
        note(f"the record of applications has a gap: {made.gap_reason}")
    if as_json:
        calibrated = None if started is None else {"am_seconds": started.am_s, "applications": started.applications}
        print_json({**collection_json(made), "start_up": calibrated})
        return
    click.echo(
        f"{made.new_applications} applications have ended since the last time, {made.open_applications} have not"
    )
    if started is not None:
        click.echo(
            f"an application master takes {started.am_s:.1f} s to its first container ({started.applications} seen)"
        )


def collection_json(made: Collection) -> dict[str, Any]:
    """A collection as every command writes it."""
    gap = None
    if made.gap_from is not None:
        gap = {"from": made.gap_from, "until": made.gap_until, "reason": made.gap_reason}
    return {
        "cluster": made.cluster,
        "at": made.at,
        "new_applications": made.new_applications,
        "open_applications": made.open_applications,
        "gap": gap,
    }
