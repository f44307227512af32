"""Node labels and preemption in the oracle: what Hadoop's documentation promises of them happens."""

from __future__ import annotations

from typing import Any

import pytest

from tests.oracle.cases import PREFIX
from tests.oracle.runner import build_or_skip, replay

pytestmark = pytest.mark.cluster


def job(name: str, queue: str, count: int, duration: float = 50.0, **fields: Any) -> dict[str, Any]:
    tasks = [{"duration": duration} for _ in range(count)]
    return {"id": name, "user": name, "queue": queue, "submit": 0, "tasks": tasks} | fields


def labelled(*jobs: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """One node of the default partition, one with the label gpu, on which only queue a may run."""
    conf = {
        PREFIX + "root.queues": "a,b",
        PREFIX + "root.a.capacity": "50",
        PREFIX + "root.b.capacity": "50",
        PREFIX + "root.accessible-node-labels.gpu.capacity": "100",
        PREFIX + "root.a.accessible-node-labels": "gpu",
        PREFIX + "root.b.accessible-node-labels": " ",
        PREFIX + "root.a.accessible-node-labels.gpu.capacity": "100",
        PREFIX + "maximum-am-resource-percent": "1",
        PREFIX + "user-limit-factor": "10",
    }
    nodes = [{"memory": 8192, "vcores": 8}, {"memory": 4096, "vcores": 4, "labels": ["gpu"]}]
    return {"nodes": nodes, "conf": conf, "jobs": list(jobs), "horizon": 200} | fields


def at_once(job: dict[str, Any]) -> int:
    """Most tasks of a job that ran at one time."""
    spans = [(s, e) for s, e in zip(job["start"], job["end"], strict=True) if s >= 0]
    return max((sum(s <= start < (e if e >= 0 else 1e9) for s, e in spans) for start, _ in spans), default=0)


@pytest.fixture(scope="module")
def results() -> dict[str, list[dict[str, Any]]]:
    build_or_skip()
    fair = '<queue name="a"/><queue name="b"/>'
    fair += "<defaultFairSharePreemptionTimeout>5</defaultFairSharePreemptionTimeout>"
    conf = {"yarn.scheduler.fair.preemption": "true", "yarn.scheduler.fair.waitTimeBeforeKill": "2000"}
    rivals = job("first", "a", 15, 300.0), job("second", "b", 7, 20.0, submit=30)
    spark = {"executors": {"count": 15, "memory": 1024, "vcores": 1}, "stages": [[100.0] * 20, [10.0] * 5]}
    executors = {"id": "first", "user": "first", "queue": "a", "submit": 0} | spark
    base: dict[str, Any] = {"scheduler": "fair", "allocations": f"<allocations>{fair}</allocations>", "conf": conf}
    base |= {"nodes": [{"memory": 8192, "vcores": 8}] * 2, "horizon": 2000}
    cases = {
        "labels": labelled(job("on-gpu", "a", 6, label="gpu"), job("plain", "a", 6), job("other", "b", 6)),
        "no access": labelled(job("on-gpu", "b", 2, label="gpu")),
        "exclusive": labelled(job("plain", "a", 11)),
        "shared": labelled(job("plain", "a", 11), shared_labels=["gpu"]),
        "fair preempts": base | {"jobs": rivals},
        "fair waits": base | {"jobs": rivals, "conf": {}},
        "executors": base | {"jobs": [executors, rivals[1]]},
    }
    replayed = replay(list(cases.values()), tasks=True)
    return {name: result["jobs"] for name, result in zip(cases, replayed, strict=True)}


def test_a_label_keeps_jobs_on_its_nodes_and_others_off_them(results: dict[str, list[dict[str, Any]]]) -> None:
    on_gpu, plain, other = results["labels"]
    assert at_once(on_gpu) == 3  # 4 GiB, less the AM
    assert at_once(plain) + at_once(other) <= 6  # 8 GiB, less two AMs
    assert all(job["finish"] > 0 for job in (on_gpu, plain, other))


def test_a_queue_without_access_to_a_label_refuses_jobs_for_it(results: dict[str, list[dict[str, Any]]]) -> None:
    (on_gpu,) = results["no access"]
    assert "gpu" in on_gpu["rejected"]


def test_only_a_shared_label_lends_its_nodes(results: dict[str, list[dict[str, Any]]]) -> None:
    assert at_once(results["exclusive"][0]) == 7
    assert at_once(results["shared"][0]) > 7


def test_fair_preemption_gives_half_of_the_fair_share(results: dict[str, list[dict[str, Any]]]) -> None:
    first, second = results["fair preempts"]
    # 5 s starved, then 2 s before the kill; the AM first, then its tasks.
    assert 30 + 5 + 2 <= second["am_start"] <= 30 + 10
    # An application with half of its fair share (fairSharePreemptionThreshold), 4 of 8 GiB here, is not starved.
    assert first["preempted"] == 4
    assert at_once(second) == 3
    assert results["fair waits"][1]["am_start"] >= 300
    assert "preempted" not in results["fair waits"][0]


def test_tasks_that_were_killed_run_again_in_full(results: dict[str, list[dict[str, Any]]]) -> None:
    for name, durations in (("fair preempts", [300.0] * 15), ("executors", [100.0] * 20 + [10.0] * 5)):
        first = results[name][0]
        assert first["preempted"] > 0
        assert [e - s for s, e in zip(first["start"], first["end"], strict=True)] == pytest.approx(durations)
    assert results["fair preempts"][0]["finish"] >= 30 + 20 + 300


def test_a_stage_waits_for_the_tasks_that_were_killed(results: dict[str, list[dict[str, Any]]]) -> None:
    first = results["executors"][0]
    assert min(first["start"][20:]) >= max(first["end"][:20])
