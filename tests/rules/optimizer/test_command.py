from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from rules.cli.optimize import optimize_command, optimum_text
from rules.estimator import Comparison, Summary
from rules.model import PropertyChange
from rules.optimizer import Optimum, Outcome
from tests.rules.optimizer.cases import CONFIGURATIONS, case_of, contended
from workloads.trace import Case, case_to_json

SUMMARY = {"jobs", "unfinished", "mean_latency", "median_latency", "p95_latency", "mean_slowdown", "by_queue"}
CHANGED = """\
~ yarn.scheduler.capacity.root.a.capacity: 33.33 -> 50
+ yarn.scheduler.capacity.root.a.ordering-policy: not set -> fair
- yarn.scheduler.capacity.root.b.maximum-capacity: 60 -> not set

QUEUE   JOBS   MEAN    ->  CHANGE    P95    ->  UNFINISHED  ->
------  ----  -----  ----  ------  -----  ----  ----------  --
root.a    10  100.0  40.0    -60%  300.0  90.0           1   0
all       10  100.0  40.0    -60%  300.0  90.0           1   0

A job ends 60.0 s sooner on average (standard error 5.0).
480 simulations of the cluster, 200 of single queues, 3.2 s."""


def write(folder: Path, case: Case) -> Path:
    path = folder / "case.json"
    path.write_text(json.dumps(case_to_json(case)))
    return path


@pytest.mark.parametrize("kind", ["percent", "fair"])
def test_json_has_the_fixed_fields(kind: str, tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("queues: {root.b: {locked: true}, root.b.*: {locked: true}}")
    arguments = [str(write(tmp_path, case_of(kind))), "--json", "--guard", "none", "--policy", str(policy)]
    result = CliRunner().invoke(optimize_command, [*arguments, "--time-limit", "5"])
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert set(found) >= {"conf", "allocations", "baseline", "predicted", "evaluations", "elapsed_seconds"}
    assert set(found["baseline"]) == set(found["predicted"]) == SUMMARY
    assert found["predicted"]["mean_latency"] < found["baseline"]["mean_latency"]
    assert (found["allocations"] is None) == (kind == "percent")
    assert not any(".root.b." in name for name in found["conf"])


def test_where_nothing_is_better_that_is_said_and_no_error(tmp_path: Path) -> None:
    path = write(tmp_path, contended(CONFIGURATIONS["percent"], ["root.a"], jobs=1))
    result = CliRunner().invoke(optimize_command, [str(path)])
    assert result.exit_code == 0
    assert result.stdout.startswith("Nothing better found.")


def test_the_text_is_a_diff_and_what_it_does_to_each_queue() -> None:
    before = Summary(10, 1, 100.0, 80.0, 300.0, 4.0)
    after = Summary(10, 0, 40.0, 30.0, 90.0, 2.0)
    name = "yarn.scheduler.capacity.root"
    found = Optimum(
        changes=(
            PropertyChange(f"{name}.a.capacity", "33.33", "50"),
            PropertyChange(f"{name}.a.ordering-policy", None, "fair"),
            PropertyChange(f"{name}.b.maximum-capacity", "60", None),
        ),
        allocations=None,
        baseline=Outcome(before, {"root.a": before}, 100.0),
        predicted=Outcome(after, {"root.a": after}, 40.0),
        comparison=Comparison(before, after, -60.0, 5.0, by_rules=False),
        evaluations=480,
        leaf_evaluations=200,
        elapsed_s=3.21,
    )
    assert optimum_text(found) == CHANGED
