"""What the page of the job tuner's benchmark makes of the command's results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks.tuner_report import goals, row_of, write_report


def result(default_s: float, fastest_s: float, ours_s: float, spared: float, **other: Any) -> dict[str, Any]:
    def summary(duration_s: float, gib_seconds: float) -> dict[str, float]:
        return {"duration_s": duration_s, "gib_seconds": gib_seconds}

    fastest = summary(fastest_s, 100.0)
    return {
        "arguments": ["p.py", "--size", "small"], "runs": 8, "failed": 0, "conf": {"spark.executor.cores": "2"},
        "default": summary(default_s, 200.0), "fastest": fastest, "best": summary(ours_s, 100.0 * (1 - spared)),
        **other,
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
    write_report(page, {"join": result(60.0, 20.0, 20.0, 0.45)}, ["join", "k-means"])
    text = page.read_text()
    assert "Not run: k-means." in text
    assert "| join | 8 | 0 | 60.0 / 200 | 20.0 / 100 | 20.0 / 55 | 3.00 | -72% | -45% | +0.0% |" in text
    assert "executor.cores=2" in text
