from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from rules.cli import scheduler
from rules.estimator import Estimate, alone_latencies, compare, estimate
from tuner.errors import InputError
from workloads.trace import Case, Executors, Job, Node, Task, Update, parse_case

PREFIX = "yarn.scheduler.capacity."
ONE_QUEUE = {f"{PREFIX}root.queues": "a", f"{PREFIX}root.a.capacity": "100"}


def job(name: str, submit_s: float = 0.0, tasks: int = 1, duration_s: float = 10.0, **other: Any) -> Job:
    return Job(name, "a", submit_s, am_memory_mib=1024, tasks=(Task(duration_s),) * tasks, **other)


def case(
    *jobs: Job, conf: dict[str, str] | None = None, nodes: int = 1, horizon_s: float = 1000.0, **other: Any
) -> Case:
    return Case((Node(8192, 8),) * nodes, jobs, conf=ONE_QUEUE | (conf or {}), horizon_s=horizon_s, **other)


def finishes(found: Estimate) -> list[float]:
    return [job.finish_s for job in found.jobs]


def test_one_job_on_one_node() -> None:
    """The AM at the beat of 0 s asks, the beat of 1 s places the container, the AM's of 2 s starts it."""
    [found] = estimate(case(job("j"))).jobs
    assert (found.am_start_s, found.first_s, found.finish_s) == (0.0, 2.0, 12.0)


def test_a_container_for_each_beat_of_the_node() -> None:
    [found] = estimate(case(job("j", tasks=3))).jobs
    assert found.finish_s == 14.0
    assert [(binding.rule, binding.seconds) for binding in found.binding] == [("assignments-per-heartbeat", 3.0)]


def test_stages_run_one_after_the_other_on_executors() -> None:
    spark = Job("s", "a", 0.0, executors=Executors(1, 2048, 2), stages=((4.0, 6.0, 3.0), (5.0,)))
    [found] = estimate(case(spark)).jobs
    assert (found.first_s, found.finish_s) == (2.0, 2.0 + 7.0 + 5.0)


def test_the_am_limit_keeps_a_second_job_waiting() -> None:
    """0.1 of 8192 MiB, rounded up to 1024: one AM."""
    found = estimate(case(job("first"), job("second", 1.0)))
    second = found.jobs[1]
    assert second.am_start_s == found.jobs[0].finish_s
    assert second.binding[0].rule == "am-limit"
    assert second.binding[0].seconds == found.jobs[0].finish_s - 1.0


def test_one_user_gets_the_queue_s_share_and_one_container_more() -> None:
    """Factor 1 of 4096 MiB: blocked when over it, not when at it, so that the AM and 4 containers of 1024 fit."""
    conf = {f"{PREFIX}root.queues": "a,b", f"{PREFIX}root.a.capacity": "50", f"{PREFIX}root.b.capacity": "50"}
    found = estimate(case(job("j", tasks=7, duration_s=100.0), conf=conf))
    starts_later = found.jobs[0].finish_s > 200.0
    assert starts_later
    assert found.jobs[0].binding[0].rule in ("user-limit-factor", "user-limit")


def test_a_job_that_can_never_run_is_a_result() -> None:
    large = Job("large", "a", 0.0, tasks=(Task(1.0, memory_mib=9000),))
    lost = Job("lost", "nowhere", 0.0, tasks=(Task(1.0),))
    found = estimate(case(large, lost, job("good")))
    assert "greater than maximum allowed allocation" in (found.jobs[0].rejected or "")
    assert "unknown queue: nowhere" in (found.jobs[1].rejected or "")
    assert found.summary.unfinished == 2
    assert found.jobs[2].finish_s > 0


def test_summary_counts_what_has_not_ended_to_the_horizon() -> None:
    found = estimate(case(job("short"), job("long", duration_s=5000.0), horizon_s=100.0))
    latencies = np.array([found.jobs[0].finish_s, 100.0])
    assert found.summary.unfinished == 1
    assert found.summary.mean_latency_s == pytest.approx(latencies.mean())
    assert found.summary.p95_latency_s == pytest.approx(np.percentile(latencies, 95))
    assert found.by_queue["root.a"] == found.summary


def test_alone_is_what_a_job_of_its_own_takes() -> None:
    jobs = [job(f"j{i}", 7.5 * i, tasks=1 + i, duration_s=3.0 + i) for i in range(6)]
    together = case(*jobs, nodes=2)
    each = [estimate(replace(together, jobs=(one,))).jobs[0] for one in jobs]
    assert alone_latencies(together) == pytest.approx([one.finish_s - one.submit_s for one in each], abs=1e-6)


def test_alone_goes_on_after_a_job_that_never_ends() -> None:
    endless = Job("endless", "a", 0.0, tasks=(Task(10.0, memory_mib=8192),))
    found = alone_latencies(case(job("before"), endless, job("after", 5.0)))
    assert np.isinf(found[1])
    assert found[0] == found[2] == 12.0


def test_an_update_takes_effect_when_it_says() -> None:
    more = {f"{PREFIX}root.a.maximum-am-resource-percent": "1"}
    before = case(job("first", duration_s=300.0), job("second", 1.0))
    after = replace(before, updates=(Update(50.0, more),))
    assert estimate(before).jobs[1].am_start_s > 300.0
    assert estimate(after).jobs[1].am_start_s == 50.0


def test_comparison_by_rules_alone_where_the_limits_are_the_same() -> None:
    jobs = [job(f"j{i}", float(i), tasks=4) for i in range(5)]
    first = case(*jobs)
    assert compare(first, case(*jobs, conf={f"{PREFIX}root.a.maximum-am-resource-percent": "0.10"})).by_rules
    second = compare(first, case(*jobs, conf={f"{PREFIX}root.a.maximum-am-resource-percent": "1"}))
    assert not second.by_rules
    assert second.better
    assert second.mean_change_s == pytest.approx(second.after.mean_latency_s - second.before.mean_latency_s)
    assert second.spread_s > 0


def test_a_value_that_is_no_number_is_told_with_its_property() -> None:
    with pytest.raises(InputError, match="user-limit-factor"):
        estimate(case(job("j"), conf={f"{PREFIX}root.a.user-limit-factor": "much"}))


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_nothing_starts_before_it_can_and_the_same_case_gives_the_same_answer(data: st.DataObject) -> None:
    draw = data.draw
    jobs = [
        job(
            f"j{i}",
            draw(st.floats(0, 60)),
            draw(st.integers(1, 6)),
            draw(st.floats(0.5, 30)),
            user=draw(st.sampled_from("uv")),
        )
        for i in range(draw(st.integers(1, 8)))
    ]
    conf = {f"{PREFIX}root.a.ordering-policy": draw(st.sampled_from(["fifo", "fair"]))}
    drawn = case(*jobs, conf=conf, nodes=draw(st.integers(1, 3)), horizon_s=500.0)
    found = estimate(drawn)
    for one, source in zip(found.jobs, jobs, strict=True):
        if one.finish_s >= 0:
            assert source.submit_s <= one.am_start_s < one.first_s < one.finish_s <= 500.0
            assert one.finish_s >= one.first_s + max(task.duration_s for task in source.tasks) - 1e-9
    assert finishes(estimate(drawn)) == finishes(found)


def case_file(tmp_path: Path, **changes: Any) -> Path:
    value = {
        "conf": ONE_QUEUE,
        "nodes": [{"memory": 8192, "vcores": 8}],
        "jobs": [{"id": "j", "queue": "a", "submit": 0, "tasks": [{"duration": 10}]}],
        "horizon": 100,
    }
    path = tmp_path / "case.json"
    path.write_text(json.dumps(value | changes))
    return path


def test_the_command_prints_the_fixed_form(tmp_path: Path) -> None:
    result = CliRunner().invoke(scheduler, ["estimate", str(case_file(tmp_path)), "--json"], catch_exceptions=False)
    value = json.loads(result.stdout)
    assert value["jobs"] == [
        {
            "id": "j", "queue": "a", "submit": 0.0, "am_start": 0.0, "first": 2.0, "finish": 12.0,
            "binding": [{"rule": "assignments-per-heartbeat", "seconds": 1.0}],
        }
    ]  # fmt: skip
    names = ["jobs", "unfinished", "mean_latency", "median_latency", "p95_latency", "mean_slowdown"]
    assert list(value["summary"]) == [*names, "by_queue"]
    assert list(value["summary"]["by_queue"]) == ["root.a"]
    assert list(value["summary"]["by_queue"]["root.a"]) == names
    assert value["elapsed_seconds"] > 0


def test_the_command_s_table_names_queues_and_reasons(tmp_path: Path) -> None:
    result = CliRunner().invoke(scheduler, ["estimate", str(case_file(tmp_path))], catch_exceptions=False)
    assert "root.a" in result.stdout
    assert "assignments-per-heartbeat" in result.stdout


@pytest.mark.parametrize(
    ("share", "update"), [("90", {}), ("100", {"time": 5, "conf": {f"{PREFIX}root.a.capacity": "90"}})]
)
def test_a_configuration_that_the_rm_refuses_is_an_error(share: str, update: dict[str, Any], tmp_path: Path) -> None:
    conf = ONE_QUEUE | {f"{PREFIX}root.a.capacity": share}
    path = case_file(tmp_path, conf=conf, updates=[update] if update else [])
    with pytest.raises(InputError, match=r"updates\[0\]" if update else "conf: the ResourceManager refuses"):
        CliRunner().invoke(scheduler, ["estimate", str(path)], catch_exceptions=False)


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"jobs": [{"id": "j", "queue": "a", "submit": -1, "tasks": []}]}, r"jobs\[0\].submit"),
        ({"jobs": [{"id": "j", "queue": "a", "submit": 0}]}, r"jobs\[0\].tasks is missing"),
        ({"jobs": [{"id": "j", "queue": "a", "submit": 0, "executors": {"count": 0}, "stages": [[1]]}]}, "count"),
        ({"jobs": [{"id": "j", "queue": "a", "submit": 0, "executors": {"count": 1}, "stages": [[]]}]}, "stages"),
        ({"nodes": []}, "nodes"),
        ({"scheduler": "fifo"}, "scheduler"),
        ({"node_heartbeat": 0}, "node_heartbeat"),
        ({"conf": {"x": []}}, r"conf\['x'\]"),
        ({"updates": [{"conf": {}}]}, r"updates\[0\].time"),
    ],
)
def test_a_wrong_case_file_is_told_with_the_place(change: dict[str, Any], place: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=place):
        parse_case(json.loads(case_file(tmp_path, **change).read_text()))
