"""Reduced workloads keep their shape; in time exactly, in tasks nearly."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tuner.errors import InputError
from workloads.importers.options import ImportOptions
from workloads.importers.registry import import_workload
from workloads.reduce import reduce_case, reduce_workload, replication_error
from workloads.samples import SAMPLES, generate
from workloads.to_case import CasePlan, make_case
from workloads.trace import Case, Executors, Job, Node, Task, Update

WORKLOAD = generate("bursty-hour", SAMPLES["bursty-hour"])
CASE = make_case(WORKLOAD, 0, 3600, CasePlan(nodes=10))[0]


@settings(max_examples=20, deadline=None)
@given(factor=st.floats(1, 500))
def test_in_time_nothing_but_the_clock_changes(factor: float) -> None:
    reduced = reduce_workload(WORKLOAD, factor)
    error = replication_error(WORKLOAD, reduced, factor, "time")
    assert error.mean < 1e-6
    assert (len(reduced.jobs), reduced.tasks.total) == (len(WORKLOAD.jobs), WORKLOAD.tasks.total)
    assert reduced.tasks.core_seconds * factor == pytest.approx(WORKLOAD.tasks.core_seconds)
    assert f"by {factor:g} in time" in reduced.provenance.notes[-1]


@settings(max_examples=30, deadline=None)
@given(factor=st.floats(1, 60), seed=st.integers(0, 50))
def test_in_tasks_a_share_of_them_is_kept(factor: float, seed: int) -> None:
    reduced = reduce_workload(WORKLOAD, factor, by="tasks", seed=seed)
    assert abs(reduced.tasks.total - WORKLOAD.tasks.total / factor) <= 1
    ids = {job.id for job in WORKLOAD.jobs}
    assert {job.id for job in reduced.jobs} <= ids
    assert sum(job.task_rows for job in reduced.jobs) == len(reduced.tasks)
    for job in reduced.jobs:
        assert (reduced.tasks_of(job).submit_s >= job.submit_s).all()
    assert reduce_workload(WORKLOAD, factor, by="tasks", seed=seed) == reduced


def test_the_error_says_what_sampling_costs() -> None:
    errors = [
        replication_error(WORKLOAD, reduce_workload(WORKLOAD, factor, by="tasks"), factor, "tasks").mean
        for factor in (1, 4, 40)
    ]
    assert errors[0] == pytest.approx(0.0, abs=1e-9)
    assert errors[0] < errors[1] < errors[2]
    # Half of it in the wrong place is no good replication, and must not look like one.
    shuffled = replace(WORKLOAD.tasks, submit_s=np.roll(WORKLOAD.tasks.submit_s, len(WORKLOAD.tasks) // 2))
    assert replication_error(WORKLOAD, replace(WORKLOAD, tasks=shuffled), 1, "tasks").arrivals < 1e-9
    later = replace(WORKLOAD.tasks, submit_s=WORKLOAD.tasks.submit_s * 0.5)
    assert replication_error(WORKLOAD, replace(WORKLOAD, tasks=later), 1, "tasks").mean > 0.5


def test_fixed_delays_shrink_with_the_time() -> None:
    conf = {
        "yarn.resourcemanager.scheduler.monitor.enable": "true",
        "yarn.resourcemanager.monitor.capacity.preemption.monitoring_interval": "1000",
        "yarn.scheduler.capacity.root.queues": "a",
    }
    case = Case(
        nodes=(Node(8192, 8),),
        jobs=(Job("j", "a", 50.0, tasks=(Task(20.0),)), Job("s", "a", 60.0, executors=Executors(2), stages=((10.0,),))),
        conf=conf,
        updates=(Update(40.0, {"yarn.scheduler.capacity.root.a.user-limit-factor": "2"}),),
        horizon_s=1000.0,
    )
    small = reduce_case(case, 10)
    assert (small.node_heartbeat_s, small.am_heartbeat_s, small.horizon_s) == (0.1, 0.1, 100.0)
    assert (small.jobs[0].submit_s, small.jobs[0].tasks[0].duration_s, small.jobs[1].stages) == (5.0, 2.0, ((1.0,),))
    prefix = "yarn.resourcemanager.monitor.capacity.preemption."
    # One that is set, and one that is in force by its default.
    assert (small.conf[f"{prefix}monitoring_interval"], small.conf[f"{prefix}max_wait_before_kill"]) == ("100", "1500")
    assert "yarn.scheduler.fair.waitTimeBeforeKill" not in small.conf
    assert small.updates == (replace(case.updates[0], time_s=4.0),)
    assert small.nodes == case.nodes


def test_a_case_reduced_in_tasks_has_fewer_nodes() -> None:
    small = reduce_case(CASE, 5, by="tasks", seed=3)
    total = sum(len(job.tasks) for job in CASE.jobs)
    assert len(small.nodes) == 2
    assert abs(sum(len(job.tasks) for job in small.jobs) - total / 5) <= 1
    assert small.node_heartbeat_s == CASE.node_heartbeat_s
    error = replication_error(CASE, small, 5, "tasks")
    assert error.cores < 0.25


def test_of_executors_the_stages_stay() -> None:
    job = Job("s", "a", 0.0, executors=Executors(10, 2048, 2), stages=(tuple(map(float, range(1, 41))), (5.0,)))
    case = Case(nodes=(Node(8192, 8),) * 10, jobs=(job,))
    (small,) = reduce_case(case, 10, by="tasks").jobs
    assert small.executors == Executors(1, 2048, 2)
    assert [len(stage) for stage in small.stages] == [4, 1]
    assert replication_error(case, reduce_case(case, 10, by="tasks"), 10, "tasks").mean > 0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: reduce_workload(WORKLOAD, 0.5), "by 0.5"),
        (lambda: reduce_workload(WORKLOAD, 1e9, by="tasks"), "none is left"),
        (lambda: reduce_case(CASE, 11, by="tasks"), "10 nodes"),
        (lambda: reduce_case(CASE, float("nan")), "nan"),
    ],
)
def test_what_cannot_be_reduced_is_said(call: object, words: str) -> None:
    with pytest.raises(InputError, match=words):
        call()  # type: ignore[operator]


def test_real_task_events_by_a_hundred(shared_data: Path) -> None:
    folder = shared_data / "google"
    names = ("task_events-part-00000-of-00500.csv.gz", "machine_events-part-00000-of-00001.csv.gz")
    workload = import_workload([folder / name for name in names], ImportOptions("events"))
    reduced = reduce_workload(workload, 100, by="tasks")
    assert workload.machines is not None
    assert reduced.machines is not None
    there = len(workload.machines.at(700))
    assert len(reduced.machines.at(700)) == pytest.approx(there / 100, rel=0.1)
    error = replication_error(workload, reduced, 100, "tasks")
    assert error.concurrency < 0.05
    assert error.memory_mib < 0.15
