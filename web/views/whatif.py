"""What-ifs on cases and on the live cluster."""

from __future__ import annotations

import time

from flask import Blueprint, Response, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from tuner.store import Role
from web.auth import requires, takes_uploads
from web.cases import LARGEST_BYTES, properties_of, question, with_changes
from web.changes import audited
from web.errors import Refused
from web.parameters import words
from web.queries.whatif import form, result
from web.respond import respond
from web.state import web
from workloads.trace import Case

pages = Blueprint("whatif", __name__)
LIVE = "live"
"""The name under which the live cluster is a case; no file can have it."""
_LIVE_SPAN_S = 1800.0
_LONGEST_ALLOCATIONS = 20_000
"""What goes into an address with all its characters spelt out."""


@pages.get("/what-if")
def index() -> Response:
    """The form; with ``case`` and changed values in the address, so that it can be shared."""
    name = words("case")
    case = get_case(name) if name else None
    properties = {} if case is None else properties_of(case)
    allocations = None if case is None else allocations_of(case)
    return respond(form(case_names(), name, case, properties, changes_of(properties), allocations))


@pages.get("/what-if/result")
def answer() -> ResponseReturnValue:
    """What the estimator says; it may take some seconds."""
    name = words("case")
    if not name:
        raise Refused(400, "choose a case first")
    case = get_case(name)
    changes = changes_of(properties_of(case))
    found = web().estimator.ask(question(case, with_changes(case, changes, allocations_of(case))))
    shown = changes if allocations_of(case) is None else {**changes, "allocations": "as in the form"}
    if found.result is None:
        raise Refused(422, found.problem, found.hint)
    view = result(name, shown, found.result)
    if request.headers.get("HX-Request"):
        tables, charts = ({each.name: each for each in view.tables}, {each.id: each for each in view.charts})
        return render_template("whatif_fragment.html", view=view, tables=tables, charts=charts, **view.values)
    return respond(view)


@pages.post("/what-if/cases")
@requires(Role.OPERATOR)
@takes_uploads
def upload() -> ResponseReturnValue:
    """Keeps a case file."""
    file = request.files.get("case")
    if file is None or not file.filename:
        raise Refused(400, "no file was sent", "choose a case file")
    name = words("name", source=request.form) or file.filename.rpartition(".")[0]
    data = file.stream.read(LARGEST_BYTES + 1)
    if len(data) > LARGEST_BYTES:
        raise Refused(413, f"the case is larger than {LARGEST_BYTES // 1024**2} MiB")
    if name == LIVE:
        raise Refused(400, f"{LIVE!r} is the live cluster's name", "choose another name")
    with audited("add-case", f"case {name}", words("why", source=request.form) or "uploaded"):
        web().cases.add(name, data)
    flash(f"The case {name} is kept.")
    return redirect(url_for("whatif.index", case=name), 303)


def case_names() -> list[str]:
    """The cases there are; the live cluster first, where it was seen."""
    seen = web().cluster.state(now=time.time()).reading is not None
    return [*([LIVE] if seen else []), *web().cases.names()]


def get_case(name: str) -> Case:
    """One case, by name."""
    return live_case() if name == LIVE else web().cases.get(name)


def live_case() -> Case:
    """What runs and waits on the live cluster, and arrivals of the next half hour as those of late; the rest is drawn.

    Raises:
        Refused: 409 where the cluster was not seen yet.
        YarnError: its configuration cannot be seen.
    """
    from rules.daemon.observe import observe_live
    from rules.forecast.draw import draw_cases

    reading = web().cluster.state(now=time.time()).reading
    if reading is None:
        raise Refused(409, "the cluster was not seen yet", "look at the page of the queues, which says why")
    seen, facts = observe_live(reading.cluster)
    return draw_cases(seen, facts, draws=1, seed=0, span_s=_LIVE_SPAN_S)[0]


def allocations_of(case: Case) -> str | None:
    """The text of the allocation file that the address gives; None where it gives none, or the case's own.

    Raises:
        Refused: 400 where it is too long for an address.
    """
    text = request.args.get("allocations", "").replace("\r\n", "\n").strip()
    if len(text) > _LONGEST_ALLOCATIONS:
        raise Refused(400, f"the allocations are longer than {_LONGEST_ALLOCATIONS} characters", "ask the API instead")
    return text if text and text != case.allocations.strip() else None


def changes_of(properties: dict[str, str]) -> dict[str, str]:
    """What the address changes: ``p.NAME=VALUE`` where it differs, ``more`` as lines of NAME=VALUE.

    Raises:
        Refused: 400 for a line that is none.
    """
    given = {name[2:]: value.strip() for name, value in request.args.items() if name.startswith("p.")}
    for line in words("more").splitlines():
        if line.strip():
            name, sign, value = line.strip().partition("=")
            if not sign:
                raise Refused(400, f"{line.strip()!r} is not of the form NAME=VALUE")
            given[name.strip()] = value.strip()
    return {name: value for name, value in given.items() if properties.get(name, "") != value}
