"""Cells of tables: what comes from outside is escaped in each kind of cell, and links lead where they should."""

from __future__ import annotations

import pytest
from flask import Flask

from web.cells import cell_html, rows_html
from web.tables import Column, Table

EVIL = "<script>alert('x')</script>\"&"


@pytest.mark.parametrize("kind", ["text", "state", "code"])
@pytest.mark.parametrize("key", ["why", "name"])
def test_what_comes_from_outside_is_escaped(app: Flask, kind: str, key: str) -> None:
    column = Column(key, "Name", kind, ("workloads.workload", {"name": "page"}))  # type: ignore[arg-type]
    table = Table("t", "T", (column,), [{key: EVIL, "page": 'a"b<c'}])
    with app.test_request_context():
        text = str(rows_html(table))
    assert "<script" not in text
    assert "&lt;script&gt;" in text
    assert 'a"b' not in text
    assert text.count("<tr>") == text.count("</tr>") == 1


def test_a_cell_leads_somewhere_where_there_is_something(app: Flask) -> None:
    column = Column("id", "Run", "number", ("jobs.run", {"run_id": "id"}))
    with app.test_request_context():
        assert cell_html({"id": 12}, column) == '<a href="/runs/12">12</a>'
        assert cell_html({"id": None}, column) == '<span class="nothing">–</span>'  # noqa: RUF001
        other = Column("name", "Job", link=("jobs.job", {"job_id": "job_id"}))
        assert cell_html({"name": "gone", "job_id": None}, other) == "gone"


def test_numbers_times_and_reasons_are_set_as_such(app: Flask) -> None:
    columns = (Column("n", "N", "number"), Column("at", "At", "time"), Column("why", "Why"), Column("x", "X"))
    with app.test_request_context():
        rows = [{"n": 1234, "at": 0.0, "why": "because", "x": ""}, {"why": ""}]
        text = str(rows_html(Table("t", "T", columns, rows)))
    first, second = text.splitlines()
    assert '<td class="num">1,234</td>' in first
    assert '<td class="tight"><time datetime="1970-01-01T00:00:00Z"' in first
    assert '<td class="prose">because</td>' in first
    assert second.count("nothing") == 4
