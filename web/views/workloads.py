"""The workloads."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from flask import Blueprint, Response

from tuner.errors import InputError
from tuner.settings import Settings
from web.errors import not_found
from web.queries.workloads import workload as workload_view
from web.queries.workloads import workloads
from web.respond import View, respond
from web.state import web
from workloads.catalogue import imported_path, open_workload
from workloads.samples import SAMPLES

pages = Blueprint("workloads", __name__)


@pages.get("/workloads")
def index() -> Response:
    """What there is."""
    return respond(workloads(web().config.settings))


@pages.get("/workloads/<name>")
def workload(name: str) -> Response:
    """One workload."""
    return respond(find_workload(name))


def find_workload(name: str) -> View:
    """One workload's view.

    Raises:
        Refused: 404 where there is none.
    """
    settings = web().config.settings
    try:
        path = Path(name) if name in SAMPLES else imported_path(settings, name)
    except InputError:
        raise not_found(f"workload {name!r}") from None
    if name not in SAMPLES and not path.is_file():
        raise not_found(f"workload {name!r}", "`yarntune workload list` shows what there is")
    modified = 0.0 if name in SAMPLES else path.stat().st_mtime
    return _read(settings, name, modified)


@lru_cache(maxsize=16)
def _read(settings: Settings, name: str, _modified: float) -> View:
    return workload_view(open_workload(name, settings))
