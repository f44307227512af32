"""A table's rows as HTML. In Python, since a page may have thousands of cells and a template's macros are slow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flask import url_for
from markupsafe import Markup, escape

from web.formats import NOTHING, cell, iso, moment, tone
from web.tables import Column, Kind, Table, plain

_NOTHING = f'<span class="nothing">{NOTHING}</span>'
_PROSE = frozenset({"why", "detail", "message", "failure", "frees", "evidence", "advice", "gain", "help", "hint"})


def rows_html(table: Table) -> Markup:
    """All rows of a table. Whatever is not written here, letter by letter, is escaped."""
    parts: list[str] = []
    for row in table.rows:
        parts.append("<tr>")
        for column in table.columns:
            kind = _class(row, column)
            parts.append(f'<td class="{kind}">' if kind else "<td>")
            parts.append(_cell(row, column))
            parts.append("</td>")
        parts.append("</tr>\n")
    return Markup("".join(parts))  # noqa: S704 - made of the parts of this module, which escape


def cell_html(row: Mapping[str, Any], column: Column) -> Markup:
    """What is in one cell, with its link."""
    return Markup(_cell(row, column))  # noqa: S704 - as above


def _cell(row: Mapping[str, Any], column: Column) -> str:
    raw = row.get(column.key)
    text = _value(raw, column.kind)
    if column.link is None or raw is None:
        return text
    endpoint, arguments = column.link
    values = {argument: row.get(key) for argument, key in arguments.items()}
    if None in values.values():
        return text
    return f'<a href="{escape(url_for(endpoint, **values))}">{text}</a>'


def _class(row: Mapping[str, Any], column: Column) -> str:
    if column.numeric:
        return "num"
    if column.kind in ("time", "state"):
        return "tight"
    return "prose" if column.key in _PROSE and row.get(column.key) else ""


def _value(raw: Any, kind: Kind) -> str:
    if raw is None or raw == "":
        return _NOTHING
    if kind == "state":
        return f'<span class="badge {tone(raw)}">{escape(plain(raw))}</span>'
    if kind == "time":
        at = moment(raw)
        return f'<time datetime="{iso(raw)}" title="{at} UTC">{at}</time>'
    if kind == "code":
        return f"<code>{escape(plain(raw))}</code>"
    return str(escape(cell(raw, kind)))
