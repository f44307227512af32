"""``yarntune scheduler freeze`` and ``unfreeze``: the switch that keeps every command from changing the queues."""

from __future__ import annotations

import time

import click

from tuner.cli.output import json_option, print_json

__all__ = ["freeze_command", "unfreeze_command"]


@click.command("freeze")
@click.option("--reason", default="no reason given", help="Told to whoever is kept from a change by it.")
@json_option
def freeze_command(reason: str, as_json: bool) -> None:
    """Keep everything from changing the queues of the cluster, until `unfreeze`.

    It holds for `apply`, `rollback`, `run-once` and the daemon, on all machines that share the store. A change that is
    being watched at this moment is still taken back if it goes wrong.
    """
    from rules.lifecycle.context import cluster_id
    from rules.lifecycle.freeze import freeze
    from tuner.settings import Settings
    from tuner.store import open_store
    from tuner.yarn.locate import locate

    settings = Settings.from_environment()
    cluster = cluster_id(locate(settings))
    with open_store(settings) as store:
        made = freeze(store, cluster, who=settings.user, now=time.time(), reason=reason)
        switch = store.clusters.frozen(cluster)
    if as_json:
        print_json({"cluster": cluster, "frozen": True, "changed": made, "reason": switch.reason if switch else reason})
    elif made or switch is None:
        click.echo(f"The queues of {cluster} are frozen.")
    else:
        click.echo(f"The queues of {cluster} were frozen already, by {switch.who}: {switch.reason}")


@click.command("unfreeze")
@json_option
def unfreeze_command(as_json: bool) -> None:
    """Let the queues of the cluster be changed again."""
    from rules.lifecycle.context import cluster_id
    from rules.lifecycle.freeze import unfreeze
    from tuner.settings import Settings
    from tuner.store import open_store
    from tuner.yarn.locate import locate

    settings = Settings.from_environment()
    cluster = cluster_id(locate(settings))
    with open_store(settings) as store:
        made = unfreeze(store, cluster, who=settings.user, now=time.time())
    if as_json:
        print_json({"cluster": cluster, "frozen": False, "changed": made})
    else:
        click.echo(f"The queues of {cluster} {'can be changed again' if made else 'were not frozen'}.")
