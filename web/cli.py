"""``yarntune web``: the dashboard, and who may use it."""

from __future__ import annotations

import dataclasses
import sys
import time
from typing import Any

import click

from tuner.cli.output import json_option, note, print_json, render_table
from tuner.settings import Settings

ROLES = ("viewer", "operator", "admin")


@click.group(invoke_without_command=True)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8765, show_default=True, help="Port; 0 for a free one.")
@click.option("--url-prefix", default="", help="Path below which it is seen, for example /yarntune.")
@click.option(
    "--allow-host", "allowed_hosts", multiple=True, metavar="NAME", help="A further host name to answer to. Repeatable."
)
@click.option(
    "--trust-proxy",
    type=click.IntRange(0, 10),
    default=0,
    metavar="N",
    help="Believe X-Forwarded-* of so many proxies in front.  [default: 0, none]",
)
@click.option(
    "--require-login", is_flag=True, help="Show nothing without a token; always so where --host is no loopback address."
)
@click.option(
    "--secure-cookie", is_flag=True, help="Send the session cookie over HTTPS only: for behind a proxy with TLS."
)
@click.option("--upload-limit", default="512m", show_default=True, help="Largest event log or case that is taken.")
@click.pass_context
def web(context: click.Context, /, **options: Any) -> None:
    """Serve the dashboard, the API and the metrics.

    It listens on this machine alone and shows everything to whoever reaches it; changes need a token.
    """
    if context.invoked_subcommand is None:
        _serve(options)


def _serve(options: dict[str, Any]) -> None:
    from tuner.units import parse_memory_mib
    from web.config import WebConfig, checked_prefix, is_loopback, read_secret_key
    from web.server import serve

    settings = Settings.from_environment()
    config = WebConfig(
        settings=settings,
        secret_key=read_secret_key(settings),
        host=options["host"],
        port=options["port"],
        url_prefix=checked_prefix(options["url_prefix"]),
        trusted_proxies=options["trust_proxy"],
        allowed_hosts=tuple(options["allowed_hosts"]),
        anonymous_reads=is_loopback(options["host"]) and not options["require_login"],
        upload_limit_mib=max(1, parse_memory_mib(options["upload_limit"])),
        secure_cookie=options["secure_cookie"],
    )
    serve(config, lambda address: note(f"yarntune is at {address} (Ctrl-C ends it)"))


_why = click.option("--why", metavar="REASON", help="Kept in the audit; asked for where it is not given.")


def _reason(given: str | None) -> str:
    """Why, as the option says or as the terminal answers.

    Raises:
        click.UsageError: it is not given, and nobody is there to ask.
    """
    reason = (given or "").strip()
    if not reason and sys.stdin.isatty():
        reason = str(click.prompt("Why (kept in the audit)", err=True)).strip()
    if not reason:
        raise click.UsageError("say why: --why REASON is kept in the audit")
    return reason


@web.group()
def token() -> None:
    """Who may use the dashboard and the API."""


@token.command("create")
@click.option("--name", required=True, help="Whose it is, or what for; the audit names it.")
@click.option("--role", type=click.Choice(ROLES), default="viewer", show_default=True, help="What its holder may do.")
@click.option("--days", type=click.FloatRange(min=0, min_open=True), help="Expires after so many days.")
@_why
@json_option
def create(name: str, role: str, days: float | None, why: str | None, as_json: bool) -> None:
    """Make a token and print it; it is shown this once."""
    from tuner.store import Role, open_store
    from web.tokens import create_token

    reason = _reason(why)
    settings, now = Settings.from_environment(), time.time()
    expires_at = None if days is None else now + days * 86400
    with open_store(settings) as store:
        text, record = create_token(
            store, name=name, role=Role(role), by=settings.user, now=now, reason=reason, expires_at=expires_at
        )
    if as_json:
        print_json({"token": text, "id": record.id, "name": name, "role": role, "expires_at": expires_at})
        return
    note(f"token {record.id} for {name} ({role}); it is not shown again:")
    click.echo(text)


@token.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List the tokens; never the tokens themselves, which nobody has any more."""
    from tuner.store import open_store

    with open_store(Settings.from_environment()) as store:
        found = store.tokens.list()
    if as_json:
        shown = [{key: value for key, value in dataclasses.asdict(each).items() if key != "digest"} for each in found]
        print_json({"tokens": shown})
    elif not found:
        click.echo("There are no tokens yet: `yarntune web token create --name NAME` makes one.")
    else:
        now = time.time()
        rows = [(str(each.id), each.name, each.role.value, "valid" if each.valid(now) else "ended") for each in found]
        click.echo(render_table(("ID", "NAME", "ROLE", "STATE"), rows))


@token.command("revoke")
@click.argument("token_id", metavar="ID", type=int)
@_why
@json_option
def revoke(token_id: int, why: str | None, as_json: bool) -> None:
    """Revoke a token; its sessions end with it."""
    from tuner.store import open_store
    from web.tokens import revoke_token

    reason = _reason(why)
    settings = Settings.from_environment()
    with open_store(settings) as store:
        record = revoke_token(store, token_id, by=settings.user, reason=reason, now=time.time())
    if as_json:
        print_json({"id": record.id, "name": record.name, "revoked_at": record.revoked_at})
    else:
        click.echo(f"token {record.id} of {record.name} is revoked")
