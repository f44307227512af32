"""The queues."""

from __future__ import annotations

import time

from flask import Blueprint, Response

from web.queries.queues import queues
from web.respond import respond
from web.state import web

pages = Blueprint("queues", __name__)


@pages.get("/queues")
def index() -> Response:
    """The tree of queues, and who waits."""
    return respond(queues(web().cluster.state(now=time.time())))
