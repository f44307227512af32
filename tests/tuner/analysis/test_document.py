"""docs/analyze.md has every finding, every threshold and every class of failure."""

from __future__ import annotations

import ast
from pathlib import Path

import tuner.analysis
from tests.tuner.analysis.made import Log
from tuner.analysis import HEURISTICS, THRESHOLDS, report_json
from tuner.model.failures import FailureKind

TEXT = (Path(__file__).parents[3] / "docs" / "analyze.md").read_text()


def test_findings() -> None:
    for heuristic in HEURISTICS:
        assert f"| `{heuristic.id}` |" in TEXT, heuristic.id


def test_thresholds() -> None:
    for name, threshold in THRESHOLDS.items():
        assert f"| `{name}` | {threshold.value:g} | {threshold.unit} | {threshold.reason} |" in TEXT, name


def test_classes_of_failures() -> None:
    for kind in FailureKind:
        assert f"`{kind.value}`" in TEXT, kind


def test_json_keys(tmp_path: Path) -> None:
    value = report_json(Log({}).executors(1).task(0, 6_000, 100).stage(0, 1).job().end().analyze(tmp_path))
    for key in [*value, *value["application"], *value["memory"]]:
        assert f'"{key}"' in TEXT, key


def test_every_threshold_is_used() -> None:
    folder = Path(tuner.analysis.__file__).parent
    asked = {
        node.args[0].value
        for path in folder.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and getattr(node.func, "id", "") == "limit"
        and isinstance(node.args[0], ast.Constant)
    }
    of_policy = {"memory-margin", "gc-low", "raise-after-gc", "raise-after-failure", "near-limit", "skew-min-tasks"}
    assert asked | of_policy == set(THRESHOLDS)
