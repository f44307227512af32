"""The what-if model on the runs that were recorded on a real cluster."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.record import TABLE, recorded
from benchmarks.search_tables import own_tables
from benchmarks.what_if import Asked, Errors, asked, errors


def model_of(name: str) -> Asked:
    program = next(table for table in own_tables() if table.name == name)
    found = asked(program, TABLE.parent / "event-logs")
    assert found is not None
    return found


def test_what_runs_show_of_the_cluster_halves_the_error_of_its_own_and_of_other_programs() -> None:
    found = errors({name: model_of(name) for name in ("word count", "SQL join")})["word count"]

    def median(each: Errors) -> float:
        return float(np.median(np.abs(each.relative)))

    assert [len(found[kind].relative) for kind in ("first", "known", "fitted")] == [39] * 3
    assert median(found["fitted"]) < 0.6 * median(found["first"])
    assert median(found["known"]) < 0.6 * median(found["first"])
    assert found["fitted"].order > found["first"].order + 0.3


def test_a_run_is_left_out_of_what_is_said_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    before = model_of("word count").left_out().relative
    rows = [dict(row) for row in recorded()]
    last = max(i for i, row in enumerate(rows) if row["program"] == "word count")
    rows[last]["duration_s"] = str(2 * float(rows[last]["duration_s"]))
    monkeypatch.setattr("benchmarks.what_if.recorded", lambda: rows)
    after = model_of("word count").left_out().relative
    assert after[-1] == pytest.approx((1 + before[-1]) / 2 - 1), "its own time tells nothing of it"
