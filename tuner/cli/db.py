"""``yarntune db``: the store's schema."""

from __future__ import annotations

import click

from tuner.cli.output import json_option, print_json
from tuner.errors import StoreError
from tuner.settings import Settings


@click.group()
def db() -> None:
    """The store's schema: look at it, or bring it up to date."""


@db.command()
@json_option
def upgrade(as_json: bool) -> None:
    """Bring the store's schema up to date; does nothing when it is.

    One transaction: whatever happens, the store is as before or up to date.
    """
    from tuner.store import schema_status, upgrade_schema

    settings = Settings.from_environment()
    before = upgrade_schema(settings)
    after = schema_status(settings)
    if as_json:
        print_json({"url": after.url, "from": before.revision, "to": after.revision})
    elif before.revision == after.revision:
        click.echo(f"{after.url} is up to date: {after.revision}")
    else:
        click.echo(f"{after.url} went from {before.revision or 'nothing'} to {after.revision}")


@db.command()
@json_option
def status(as_json: bool) -> None:
    """Say where the store is and whether its schema is up to date; change nothing."""
    from tuner.store import SchemaState, schema_status

    found = schema_status(Settings.from_environment())
    advice = {
        SchemaState.ABSENT: "not made yet: the first command that needs it makes it",
        SchemaState.CURRENT: f"up to date: {found.revision}",
        SchemaState.OLDER: f"{found.revision}, older than {found.head}: run `yarntune db upgrade`",
        SchemaState.NEWER: f"{found.revision}, newer than {found.head}: install the yarntune that made it",
    }
    if as_json:
        names = {"url": found.url, "revision": found.revision, "head": found.head, "state": found.state.value}
        print_json({**names, "damage": found.damage or None})
    else:
        click.echo(f"{found.url}\n{advice[found.state]}")
    if found.damage:
        raise StoreError(
            f"the store is damaged: {found.damage}", "restore it from a backup, or move it away to begin anew"
        )
