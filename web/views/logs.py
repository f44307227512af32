"""Uploading event logs, and what they say."""

from __future__ import annotations

import time

from flask import Blueprint, Response, redirect, request, url_for
from flask.typing import ResponseReturnValue

from tuner.store import Role
from web.auth import identity, requires, takes_uploads
from web.errors import Refused, not_found
from web.parameters import whole
from web.queries.logs import log as log_view
from web.queries.logs import logs
from web.respond import respond
from web.state import web

pages = Blueprint("logs", __name__)


@pages.get("/logs")
def index() -> Response:
    """The form, and what was analysed before."""
    state = web()
    return respond(logs(state.reports.all(), upload_limit_mib=state.config.upload_limit_mib))


@pages.post("/logs")
@requires(Role.VIEWER)
@takes_uploads
def upload() -> ResponseReturnValue:
    """Analyses a log; the log itself is not kept."""
    file = request.files.get("log")
    if file is None or not file.filename:
        raise Refused(400, "no file was sent", "choose an event log")
    increment = whole("increment_mib", 1024, most=1024**2, source=request.form)
    number = web().reports.analyze(file, increment_mib=increment, who=identity().name, now=time.time())
    return redirect(url_for("logs.log", number=number), 303)


@pages.get("/logs/<number>")
def log(number: str) -> Response:
    """One analysis."""
    record = web().reports.get(number)
    if record is None:
        raise not_found("such analysis", "only the newest are kept")
    return respond(log_view(number, record))
