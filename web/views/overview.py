"""The overview."""

from __future__ import annotations

import time

from flask import Blueprint, Response, render_template

from web.queries.overview import overview
from web.respond import respond
from web.state import web

pages = Blueprint("overview", __name__)


@pages.get("/")
def index() -> Response:
    """What there is to know at a glance."""
    state = web()
    cluster = state.cluster.state(now=time.time())
    return respond(overview(state.store, cluster, state.cluster.samples(), state.config.price))


@pages.get("/fragments/cluster")
def cluster() -> str:
    """The cluster's load now, for a page that is open."""
    return render_template("cluster_fragment.html", cluster=web().cluster.state(now=time.time()))
