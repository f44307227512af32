"""The workloads."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from flask import Blueprint, Response

from tuner.errors import InputError
from tuner.settings import Settings
from web.errors import not_found
from web.parameters import choice, number
from web.queries.reduction import with_reduction
from web.queries.workloads import workload as workload_view
from web.queries.workloads import workloads
from web.respond import View, respond
from web.state import web
from workloads.catalogue import imported_path, open_workload
from workloads.reduce import By
from workloads.samples import SAMPLES
from workloads.workload import Workload

pages = Blueprint("workloads", __name__)
_LARGEST_FACTOR = 10_000.0


@pages.get("/workloads")
def index() -> Response:
    """What there is."""
    return respond(workloads(web().config.settings))


@pages.get("/workloads/<name>")
def workload(name: str) -> Response:
    """One workload; with ``factor`` and ``by`` in the address, also against itself reduced."""
    factor = number("factor", least=1.0, most=_LARGEST_FACTOR)
    by: By = "tasks" if choice("by", ("time", "tasks"), "tasks") == "tasks" else "time"
    return respond(find_workload(name, factor, by))


def find_workload(name: str, factor: float | None = None, by: By = "tasks") -> View:
    """One workload's view.

    Args:
        name: of a sample or of what was imported.
        factor: what to reduce it by; None for not at all.
        by: whether in time or in tasks.

    Raises:
        Refused: 404 where there is none.
        InputError: so little of it would be left that it is none.
    """
    settings = web().config.settings
    try:
        path = Path(name) if name in SAMPLES else imported_path(settings, name)
    except InputError:
        raise not_found(f"workload {name!r}") from None
    if name not in SAMPLES and not path.is_file():
        raise not_found(f"workload {name!r}", "`yarntune workload list` shows what there is")
    modified = 0.0 if name in SAMPLES else path.stat().st_mtime
    return _read(settings, name, modified, factor, by)


@lru_cache(maxsize=32)
def _read(settings: Settings, name: str, modified: float, factor: float | None, by: By) -> View:
    found = _open(settings, name, modified)
    view = workload_view(found)
    return view if factor is None else with_reduction(view, found, factor, by)


@lru_cache(maxsize=1)
def _open(settings: Settings, name: str, _modified: float) -> Workload:
    """The one that is looked at, while other factors are tried."""
    return open_workload(name, settings)
