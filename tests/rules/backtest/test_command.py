"""``yarntune scheduler backtest`` with the real optimizer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from rules.cli.estimate import summary_json
from rules.estimator import estimate
from tests.rules.backtest.cases import busy_case
from tuner.cli import cli
from workloads.trace import Case, case_to_json, parse_case

ALL = "jobs unfinished mean_latency median_latency p95_latency mean_slowdown by_queue"


def run(path: Path, *arguments: str) -> Result:
    return CliRunner().invoke(cli, ["scheduler", "backtest", str(path), *arguments])


@pytest.fixture
def busy(tmp_path: Path) -> tuple[Path, Case]:
    case = busy_case(jobs=70, span_s=450.0)
    path = tmp_path / "case.json"
    path.write_text(json.dumps(case_to_json(case)))
    return path, case


def test_the_updates_put_into_the_file_come_to_the_adaptive_summary(busy: tuple[Path, Case]) -> None:
    path, case = busy
    result = run(path, "--every", "150", "--seed", "1", "--json")
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    assert list(found["static"]) == list(found["adaptive"]) == ALL.split()
    assert {key: found["static"][key] for key in ALL.split()[:-1]} == summary_json(estimate(case).summary)
    assert found["adaptive"]["mean_latency"] <= found["static"]["mean_latency"]
    again = parse_case({**case_to_json(case), "updates": found["updates"]})
    assert found["adaptive"]["mean_latency"] == estimate(again).summary.mean_latency_s
    assert [each["time"] % 150 for each in found["updates"]] == [0] * len(found["updates"])
    assert found["elapsed_seconds"] > 0


def test_for_people_it_says_what_was_decided_when_and_why(busy: tuple[Path, Case]) -> None:
    path, _ = busy
    result = run(path, "--every", "200", "--time-limit", "2")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0].split()[:4] == ["QUEUE", "JOBS", "STATIC", "MEAN"]
    assert sum(line.startswith("     200 s  ") for line in lines) == 1
    assert "updates," in lines[-1]


def test_what_is_not_usable_is_said(tmp_path: Path, busy: tuple[Path, Case]) -> None:
    path, _ = busy
    assert run(path).exit_code == 2
    assert run(path, "--every", "0").exit_code == 2
    missing = run(tmp_path / "none.json", "--every", "300")
    assert missing.exit_code == 1
