"""What the page of the job tuner's benchmark makes of the command's results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks.tuner import candidates
from benchmarks.tuner_report import goals, row_of, write_report


def result(default_s: float, fastest_s: float, ours_s: float, spared: float, **other: Any) -> dict[str, Any]:
    def summary(duration_s: float, gib_seconds: float, cores: str) -> dict[str, Any]:
        configuration = {"spark.executor.cores": cores}
        return {
            "duration_s": duration_s, "gib_seconds": gib_seconds, "configuration": configuration, "failed": 0
        }  # fmt: skip

    finals = {
        "default": summary(default_s, 200.0, "1"),
        "fastest": summary(fastest_s, 100.0, "4"),
        "ours": summary(ours_s, 100.0 * (1 - spared), "2"),
    }
    return {
        "arguments": ["p.py", "--size", "small"], "runs": 8, "failed": 0, "conf": {"spark.executor.cores": "2"},
        "finals": finals, "version": "abc", "load_average": 2.0, **other,
    }  # fmt: skip


def test_figures_of_a_row() -> None:
    row = row_of("join", result(60.0, 19.0, 20.0, 0.3))
    assert row.speedup == pytest.approx(3.0)
    assert row.spared == pytest.approx(0.3)
    assert row.slower == pytest.approx(1 / 19)


def test_goals_are_met_or_missed_by_their_figures() -> None:
    good = goals([row_of("a", result(60.0, 20.0, 20.0, 0.45)), row_of("b", result(13.0, 10.0, 10.0, 0.1))])
    assert all(met for _, _, met in good)
    bad = goals([row_of("a", result(10.0, 9.0, 10.0, 0.05, runs=11, failed=1))])
    assert not any(met for _, _, met in bad)
    assert [figure for _, figure, _ in bad] == ["11", "1.00", "1.00", "5%", "5%", "+11.1%", "1 of 11"]


def test_the_page_names_what_was_not_run(tmp_path: Path) -> None:
    page = tmp_path / "tuner.md"
    write_report(page, {"join": result(60.0, 20.0, 20.0, 0.45)}, ["join", "k-means"], "abc")
    text = page.read_text()
    assert "Not run: k-means." in text
    assert "| join | 8 | 0 | 60.0 / 200 | 20.0 / 100 | 20.0 / 55 | 3.00 | -72% | -45% | +0.0% | 2.0 |" in text
    assert "executor.cores=2" in text


def test_a_row_of_other_code_is_marked(tmp_path: Path) -> None:
    page = tmp_path / "tuner.md"
    write_report(page, {"join": result(60.0, 20.0, 20.0, 0.45)}, ["join"], "def", "Missed: nothing.")
    assert "| join (by earlier code) |" in page.read_text()
    assert "Missed: nothing." in page.read_text()


def test_runs_that_failed_at_the_end_count_once_for_each_configuration() -> None:
    found = result(60.0, 20.0, 20.0, 0.0, failed=1)
    found["finals"]["fastest"] = found["finals"]["ours"] = {**found["finals"]["ours"], "failed": 1}
    row = row_of("join", found)
    assert row.failed == 2
    assert row.fastest_is_ours


def test_the_fastest_is_looked_for_in_the_table_too(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [
        {"program": "join", "state": "SUCCEEDED", "duration_s": "9.5", "spark.executor.cores": "4"},
        {"program": "join", "state": "FAILED", "duration_s": "1.0", "spark.executor.cores": "3"},
        {"program": "other", "state": "SUCCEEDED", "duration_s": "1.0", "spark.executor.cores": "3"},
    ]
    monkeypatch.setattr("benchmarks.tuner.recorded", lambda: rows)
    one, two = ({"spark.executor.cores": n, "spark.executor.instances": "1"} for n in "12")
    trials = [
        {"state": "SUCCEEDED", "kind": "default", "duration_s": 12.0, "configuration": one},
        {"state": "SUCCEEDED", "kind": "trial", "duration_s": 10.0, "configuration": two},
    ]
    found = {"trials": trials, "best": {"configuration": two}, "conf": {"spark.executor.cores": "2"}}
    assert candidates("join", found) == {
        "default": {},
        "fastest": {"spark.executor.cores": "4"},
        "ours": {"spark.executor.cores": "2"},
    }
    rows[0]["duration_s"] = "10.5"
    assert candidates("join", found)["fastest"] == {"spark.executor.cores": "2"}
