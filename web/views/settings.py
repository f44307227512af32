"""Settings, health, and tokens."""

from __future__ import annotations

import time
from typing import Any

from flask import Blueprint, Response, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from tuner.store import Role, Token
from web.auth import identity, requires
from web.changes import reason
from web.errors import Refused
from web.parameters import words
from web.queries.health import settings
from web.respond import View, respond
from web.state import web
from web.tables import Column, Table
from web.tokens import create_token, revoke_token

pages = Blueprint("settings", __name__)


@pages.get("/settings")
def index() -> Response:
    """What this server uses, and whether it is there."""
    state = web()
    return respond(settings(state.store, state.config, state.cluster.state(now=time.time())))


@pages.get("/tokens")
@requires(Role.ADMIN)
def tokens() -> Response:
    """Who may use the dashboard."""
    return respond(tokens_view())


@pages.post("/tokens")
@requires(Role.ADMIN)
def create() -> ResponseReturnValue:
    """Makes a token, which is shown this once."""
    name, role = words("name", source=request.form), words("role", source=request.form)
    if not name or role not in list(Role):
        raise Refused(400, "a token needs a name and a role", f"roles: {', '.join(Role)}")
    why, who = reason(), identity().name
    token, record = create_token(web().store, name=name, role=Role(role), by=who, reason=why, now=time.time())
    view = tokens_view()
    return render_template("tokens.html", view=view, tables={"tokens": view.tables[0]}, made=token, record=record)


@pages.post("/tokens/<int:token_id>/revoke")
@requires(Role.ADMIN)
def revoke(token_id: int) -> ResponseReturnValue:
    """Revokes a token."""
    revoke_token(web().store, token_id, by=identity().name, reason=reason(), now=time.time())
    flash(f"Token {token_id} is revoked; its sessions have ended.")
    return redirect(url_for("settings.tokens"))


def tokens_view() -> View:
    """The tokens; never what they are."""
    now = time.time()
    columns = (
        Column("id", "Token", "number"),
        Column("name", "Name"),
        Column("role", "Role"),
        Column("state", "State", "state"),
        Column("created_at", "Made", "time"),
        Column("created_by", "By"),
        Column("last_used_at", "Last used", "time"),
        Column("expires_at", "Expires", "time"),
    )
    rows = [_row(each, now) for each in web().store.tokens.list()]
    return View("tokens", "Tokens", {}, (Table("tokens", "Tokens", columns, rows, "No token was made yet."),))


def _row(token: Token, now: float) -> dict[str, Any]:
    state = "valid" if token.valid(now) else ("revoked" if token.revoked_at is not None else "expired")
    return {
        "id": token.id,
        "name": token.name,
        "role": token.role,
        "state": state,
        "created_at": token.created_at,
        "created_by": token.created_by,
        "last_used_at": token.last_used_at,
        "expires_at": token.expires_at,
    }
