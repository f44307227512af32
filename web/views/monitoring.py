"""For machines that watch this one: health, readiness and metrics."""

from __future__ import annotations

from flask import Blueprint, Response, jsonify
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from tuner.errors import StoreError
from tuner.store import SchemaState, schema_status
from web.auth import public
from web.errors import Refused
from web.state import web

pages = Blueprint("monitoring", __name__)


@pages.get("/health")
@public
def health() -> Response:
    """Whether the process is alive; it looks at nothing else, so that a store's outage does not restart it."""
    return jsonify({"ok": True})


@pages.get("/ready")
@public
def ready() -> Response:
    """Whether it can serve: the store answers, and its schema is this yarntune's.

    What it says tells nothing of where the store is, since everybody may ask.
    """
    try:
        state = schema_status(web().config.settings).state
    except StoreError:
        raise Refused(503, "the store does not answer", "the page of the settings says why") from None
    if state is not SchemaState.CURRENT:
        raise Refused(503, f"the store's schema is {state.value.lower()}", "`yarntune db upgrade`")
    return jsonify({"ok": True})


@pages.get("/metrics")
def metrics() -> Response:
    """For Prometheus; open to whoever may look."""
    return Response(generate_latest(web().metrics), content_type=CONTENT_TYPE_LATEST)
