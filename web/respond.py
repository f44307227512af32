"""One view, three forms: a page, JSON and CSV, by ``?format=``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from flask import Response, jsonify, make_response, render_template, request

from web.charts import Chart
from web.errors import Refused
from web.tables import Table, plain


@dataclass(frozen=True)
class View:
    """What a page shows, free of HTML.

    Attributes:
        name: of the template, ``NAME.html``, and of the view in JSON.
        title: of the page.
        values: single values, by name; in JSON as they are.
        tables: in the order of the page; the first is what CSV gives unless it is asked for another.
        charts: each with its table among ``tables``.
        extra: what only the template needs.
    """

    name: str
    title: str
    values: Mapping[str, Any] = field(default_factory=dict)
    tables: tuple[Table, ...] = ()
    charts: tuple[Chart, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)

    def table(self, name: str) -> Table:
        """The table of that name."""
        return next(table for table in self.tables if table.name == name)

    def to_json(self) -> dict[str, Any]:
        """All of it for programs."""
        return {
            "view": self.name,
            **{name: plain(value) for name, value in self.values.items()},
            **{table.name: table.to_json() for table in self.tables},
        }


def respond(view: View, status: int = 200) -> Response:
    """The view in the form that is asked for.

    Raises:
        Refused: 400 for a form or a table that is not there.
    """
    form = request.args.get("format", "html")
    if form == "json":
        response = jsonify(view.to_json())
        response.status_code = status
        return response
    if form == "csv":
        return _csv(view)
    if form != "html":
        raise Refused(400, f"there is no format {form!r}", "json and csv are there")
    tables = {table.name: table for table in view.tables}
    charts = {chart.id: chart for chart in view.charts}
    text = render_template(
        f"{view.name}.html", view=view, tables=tables, charts=charts, **{**view.values, **view.extra}
    )
    return make_response(text, status)


def _csv(view: View) -> Response:
    names = [table.name for table in view.tables]
    if not names:
        raise Refused(400, "this page has no table", "json is there")
    name = request.args.get("table", names[0])
    if name not in names:
        raise Refused(400, f"this page has no table {name!r}", f"it has {', '.join(names)}")
    response = make_response(view.table(name).to_csv())
    response.mimetype = "text/csv"
    response.headers["Content-Disposition"] = f'attachment; filename="yarntune-{name}.csv"'
    return response


def same_page(**changes: str | None) -> str:
    """The address of this page with some of its query changed; None takes a part away."""
    query = {**request.args.to_dict(), **changes}
    kept = {name: value for name, value in query.items() if value not in (None, "")}
    path = request.script_root + request.path
    return f"{path}?{urlencode(kept)}" if kept else path
