"""Logging in with a token, and out."""

from __future__ import annotations

import time
from urllib.parse import urlsplit

from flask import Blueprint, flash, make_response, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from web import auth
from web.auth import identity, public
from web.changes import LOG_IN, write_audit
from web.parameters import words
from web.state import web

pages = Blueprint("session", __name__)


@pages.get("/login")
@public
def login() -> ResponseReturnValue:
    """The form."""
    if identity().role is not None:
        return redirect(url_for("overview.index"))
    return render_template("login.html", next=words("next"), problem="")


@pages.post("/login")
@public
def log_in() -> ResponseReturnValue:
    """Begins a session."""
    token = auth.log_in(words("token", source=request.form), now=time.time())
    if token is None:
        write_audit(LOG_IN, "dashboard", "refused", {"from": request.remote_addr})
        problem = "That token is unknown, revoked or expired."
        return make_response(
            render_template("login.html", next=words("next", source=request.form), problem=problem), 401
        )
    # Who asks was settled before the session began.
    detail = {"from": request.remote_addr, "token": token.id, "role": token.role.value}
    write_audit(LOG_IN, "dashboard", "done", detail, who=token.name)
    flash(f"Logged in as {token.name} ({token.role.value}).")
    return redirect(_inside(words("next", source=request.form)))


@pages.post("/logout")
@public
def logout() -> ResponseReturnValue:
    """Ends the session."""
    auth.log_out()
    flash("Logged out.")
    target = "overview.index" if web().config.anonymous_reads else "session.login"
    return redirect(url_for(target))


def _inside(target: str) -> str:
    """Where to go after the login: a path of this server, nowhere else."""
    parts = urlsplit(target)
    if parts.scheme or parts.netloc or not target.startswith("/") or target.startswith(("//", "/\\")):
        return url_for("overview.index")
    return f"{request.script_root}{target}"
