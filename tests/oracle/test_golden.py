"""The oracle's results do not change: cases with the results of the program that it grew from, on Hadoop 3.4.2."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.oracle.cases import random_capacity_case, random_fair_case
from tests.oracle.runner import HADOOP_VERSIONS, build_or_skip, replay

GOLDEN = sorted((Path(__file__).parent / "golden").glob("*.json"))

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def replayed() -> dict[str, dict[str, Any]]:
    build_or_skip()
    cases = [json.loads(path.read_text())["case"] for path in GOLDEN]
    return dict(zip([path.name for path in GOLDEN], replay(cases, tasks=True), strict=True))


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_every_time_is_the_known_one(path: Path, replayed: dict[str, dict[str, Any]]) -> None:
    expected = json.loads(path.read_text())["result"]
    assert {key: replayed[path.name][key] for key in expected} == expected


def preempting_cases() -> list[dict[str, Any]]:
    """Both schedulers with preemption: what is chosen to be killed goes through hashed collections of Hadoop's."""
    capacity, fair = random_capacity_case(40, 25), random_fair_case(40, 25)
    monitoring = "yarn.resourcemanager.monitor.capacity.preemption."
    capacity["conf"] |= {
        "yarn.resourcemanager.scheduler.monitor.enable": "true",
        monitoring + "max_wait_before_kill": "2000",
        monitoring + "natural_termination_factor": "1",
        monitoring + "total_preemption_per_round": "0.5",
    }
    fair["conf"] |= {"yarn.scheduler.fair.preemption": "true", "yarn.scheduler.fair.waitTimeBeforeKill": "2000"}
    timeout = "<defaultFairSharePreemptionTimeout>4</defaultFairSharePreemptionTimeout>"
    fair["allocations"] = fair["allocations"].replace("</allocations>", f"{timeout}</allocations>")
    return [capacity, fair]


def test_two_replays_are_the_same_even_with_preemption() -> None:
    build_or_skip()
    # The first may be of an earlier day.
    one, other = (replay(preempting_cases(), tasks=True, cached=cached) for cached in (True, False))
    assert [result["jobs"] for result in one] == [result["jobs"] for result in other]
    for result in one:
        assert sum(job.get("preempted", 0) for job in result["jobs"]) > 0


@pytest.mark.parametrize("hadoop", HADOOP_VERSIONS)
def test_a_case_that_cannot_be_replayed_leaves_the_others(hadoop: str) -> None:
    build_or_skip(hadoop)
    good = random_capacity_case(41, 5)
    bad = good | {"conf": good["conf"] | {"yarn.scheduler.capacity.root.a.capacity": "90"}}
    results = replay([bad, good], hadoop=hadoop)
    assert "Illegal capacity sum" in results[0]["error"]
    assert len(results[1]["jobs"]) == len(good["jobs"])


def test_the_command_writes_results_and_says_what_went_wrong(tmp_path: Path) -> None:
    build_or_skip()
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    good.write_text(json.dumps(random_capacity_case(41, 5)))
    bad.write_text(json.dumps(random_fair_case(41, 5) | {"allocations": "<allocations><queue/></allocations>"}))
    results = tmp_path / "good.result", tmp_path / "bad.result"
    command = [sys.executable, "-m", "tests.oracle", str(good), str(results[0]), str(bad), str(results[1])]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 1
    assert done.stderr.startswith(f"{bad}: ")
    assert len(json.loads(results[0].read_text())["jobs"]) == 7
    assert not results[1].exists()
