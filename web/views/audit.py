"""The audit."""

from __future__ import annotations

from flask import Blueprint, Response

from web.parameters import optional_whole, words
from web.queries.audit import audit
from web.respond import respond
from web.state import web

pages = Blueprint("audit", __name__)


@pages.get("/audit")
def index() -> Response:
    """Who changed what."""
    return respond(audit(web().store, subject=words("subject"), before_id=optional_whole("before")))
