"""The workload itself: windows, its file, and the cases made of it."""

from __future__ import annotations

import json
import math
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tuner.errors import InputError
from workloads.importers.builder import WorkloadBuilder
from workloads.importers.options import ImportOptions
from workloads.importers.registry import import_workload
from workloads.samples import SAMPLES, generate
from workloads.to_case import CasePlan, Queues, make_case
from workloads.trace import Executors, case_to_json, parse_case
from workloads.workload import Assumption, Ending, Machines, Provenance, SourceFile, Unsure, Workload, WorkloadJob
from workloads.workload_file import read_header, read_workload, write_workload

times = st.floats(0, 1e7, allow_nan=False)
known_or_not = st.one_of(st.just(math.nan), times)
text = st.text(max_size=12)


@st.composite
def workloads(draw: st.DrawFn) -> Workload:
    builder = WorkloadBuilder()
    for number in range(draw(st.integers(0, 6))):
        builder.add_job(
            WorkloadJob(
                f"job{number}",
                draw(times),
                name=draw(st.none() | text),
                user=draw(text),
                queue=draw(text),
                am_memory_mib=draw(st.integers(0, 2**31 - 1)),
                executors=draw(st.none() | st.builds(Executors, st.integers(1, 99), st.integers(1, 9999))),
                priority=draw(st.none() | st.integers(0, 12)),
            )
        )
    for _ in range(draw(st.integers(0, 12)) if builder.jobs else 0):
        builder.add_task(
            draw(st.integers(0, len(builder.jobs) - 1)),
            submit_s=draw(times),
            wait_s=draw(known_or_not),
            duration_s=draw(times),
            memory_mib=draw(st.integers(0, 2**31 - 1)),
            cores=draw(st.floats(0, 1e3)),
            count=draw(st.integers(1, 10**6)),
            stage=draw(st.integers(0, 50)),
            ending=draw(st.sampled_from(Ending)),
            unsure=Unsure(draw(st.integers(0, 31))),
            cpi=draw(known_or_not),
        )
    machines = Machines.of({"time_s": [0.0, 5.5], "machine": [2**62, 1], "memory_mib": [9, 0], "cores": [0.1, 0.0]})
    return builder.build(
        draw(text),
        Provenance(
            "swim",
            (SourceFile("f", 1, "00", 2, 1),),
            3,
            ("f:1: bad",),
            ("note",),
            draw(st.none() | st.just((1.0, 2.0))),
        ),
        [Assumption("a", 0.1, "why"), Assumption("b", "drawn", "why")],
        machines=draw(st.none() | st.just(machines)),
        epoch_s=draw(st.none() | times),
    )


@given(workloads())
@settings(max_examples=60, deadline=None)
def test_a_workload_comes_back_from_its_file_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, workload: Workload
) -> None:
    path = tmp_path_factory.mktemp("file") / "x.workload.zst"
    header = write_workload(workload, path)
    back = read_workload(path)
    assert (back.jobs, back.tasks, back.machines) == (workload.jobs, workload.tasks, workload.machines)
    assert (back.name, back.provenance, back.assumptions, back.epoch_s) == (
        *(workload.name, workload.provenance, workload.assumptions, workload.epoch_s),
    )
    assert read_header(path) == header
    assert (header.jobs, header.tasks) == (len(workload.jobs), workload.tasks.total)


@given(workloads(), st.lists(times, max_size=4))
@settings(deadline=None)
def test_windows_that_meet_lose_no_job_and_share_none(workload: Workload, cuts: list[float]) -> None:
    edges = [0.0, *sorted(cuts), 2e7]
    windows = [workload.window(start, end) for start, end in pairwise(edges)]
    assert [job.id for window in windows for job in window.jobs] == [job.id for job in workload.jobs]
    assert sum(window.tasks.total for window in windows) == workload.tasks.total
    assert sum(window.tasks.memory_mib_seconds for window in windows) == pytest.approx(
        workload.tasks.memory_mib_seconds
    )
    by_id = {job.id: job for job in workload.jobs}
    for start, window in zip(edges, windows, strict=False):
        for job in window.jobs:
            whole, part = workload.tasks_of(by_id[job.id]), window.tasks_of(job)
            assert job.submit_s == by_id[job.id].submit_s - start
            assert np.array_equal(whole.duration_s, part.duration_s)


@pytest.mark.parametrize("damage", ["cut", "middle", "other", "newer", "none"])
def test_a_damaged_file_is_refused(damage: str, tmp_path: Path) -> None:
    import zstandard

    path = tmp_path / "x.workload.zst"
    write_workload(generate("s", SAMPLES["etl-night"]), path)
    good = path.read_bytes()
    path.write_bytes(
        {
            "cut": good[: len(good) // 2],
            "middle": good[:100] + bytes(20) + good[120:],
            "other": b"job0\t1\t1\n",
            "newer": zstandard.compress(b'{"yarntune_workload": {"version": 99}}\n'),
            "none": b"",
        }[damage]
    )
    with pytest.raises(InputError) as error:
        read_workload(path)
    assert str(path) in error.value.message
    assert error.value.hint


def test_a_failed_write_leaves_what_was_there(tmp_path: Path) -> None:
    workload = generate("s", SAMPLES["steady-hour"])
    with pytest.raises(InputError, match="cannot be written"):
        write_workload(workload, tmp_path / "no-folder" / "x")
    assert not list(tmp_path.iterdir())


def test_samples_follow_their_seed() -> None:
    for name, sample in SAMPLES.items():
        one, same, other = generate(name, sample), generate(name, sample), generate(name, sample, seed=1)
        assert (one.jobs, one.tasks) == (same.jobs, same.tasks)
        assert one.jobs != other.jobs
        assert 0.6 < len(one.jobs) / (sample.hours * sample.jobs_per_hour) < 1.4
        assert one.span_s[1] < sample.hours * 3600


# --- cases -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def facebook(shared_data: Path) -> Workload:
    return import_workload([shared_data / "swim" / "FB-2009_samples_24_times_1hr_0.tsv"], ImportOptions("fb"))


HOUR = (7 * 3600.0, 8 * 3600.0)


def test_the_hour_of_the_oracles_examples(facebook: Workload) -> None:
    """What the oracle's README says of this window: 427 jobs on 5 nodes."""
    case, summary = make_case(facebook, *HOUR, CasePlan(nodes=5))
    assert (summary.jobs, len(case.nodes), case.horizon_s) == (427, 5, 6 * 3600.0)
    assert summary.load == pytest.approx(0.77, abs=0.02)
    for job in case.jobs:
        most = {"small": 4, "medium": 40, "large": math.inf}[job.queue]
        assert len(job.tasks) <= most
        assert 0 <= job.submit_s < 3600


def test_the_number_of_nodes_follows_the_load(facebook: Workload) -> None:
    for load in (0.3, 0.75, 1.5):
        case, summary = make_case(facebook, *HOUR, CasePlan(load=load))
        one_more_or_less = summary.load / len(case.nodes)
        assert abs(summary.load - load) <= one_more_or_less
    work = sum(task.duration_s for job in case.jobs for task in job.tasks)
    assert summary.load == pytest.approx(work / (8 * 3600 * len(case.nodes)))


def test_the_busiest_team_changes_half_way(facebook: Workload) -> None:
    plan = CasePlan(nodes=5, queues=Queues("by-team", 3))
    case, _ = make_case(facebook, *HOUR, plan)
    halves = [Counter(job.queue for job in case.jobs if (job.submit_s < 1800) is first) for first in (True, False)]
    assert halves[0].most_common(1)[0][0] == "team1"
    assert halves[1].most_common(1)[0][0] == "team3"
    for half, busiest in zip(halves, ("team1", "team3"), strict=True):
        assert half[busiest] / half.total() == pytest.approx(0.6, abs=0.1)
    assert {job.user.rpartition("-")[0] == job.queue for job in case.jobs} == {True}
    assert make_case(facebook, *HOUR, plan)[0] == case
    assert make_case(facebook, *HOUR, CasePlan(nodes=5, queues=Queues("by-team", 3), seed=1))[0] != case


def test_both_kinds_of_jobs_do_the_same_work(facebook: Workload) -> None:
    plain, _ = make_case(facebook, *HOUR, CasePlan(nodes=5))
    spark, _ = make_case(facebook, *HOUR, CasePlan(nodes=5, spark=True))
    for task_job, spark_job in zip(plain.jobs, spark.jobs, strict=True):
        assert sorted(duration for stage in spark_job.stages for duration in stage) == sorted(
            task.duration_s for task in task_job.tasks
        )
        assert spark_job.executors is not None
        assert spark_job.executors.count == min(max(math.ceil(len(task_job.tasks) / 8), 1), 10)
        assert len(spark_job.stages) in (1, 2)


def test_a_job_is_the_same_in_every_window(facebook: Workload) -> None:
    long, _ = make_case(facebook, 6 * 3600.0, 8 * 3600.0, CasePlan(nodes=5))
    short, _ = make_case(facebook, *HOUR, CasePlan(nodes=5))
    tasks = {job.id: job.tasks for job in long.jobs}
    assert all(tasks[job.id] == job.tasks for job in short.jobs)


@pytest.mark.parametrize("scheduler", ["capacity", "fair"])
@pytest.mark.parametrize("spark", [False, True])
@pytest.mark.parametrize("queues", [Queues(), Queues("by-team", 7), Queues("recorded")])
def test_cases_are_valid_and_come_back_from_json(scheduler, spark, queues) -> None:
    plan = CasePlan(queues=queues, scheduler=scheduler, spark=spark)
    case, _ = make_case(generate("s", SAMPLES["bursty-hour"]), 0, 3600, plan)
    assert parse_case(json.loads(json.dumps(case_to_json(case)))) == case
    if scheduler == "capacity":
        shares = [float(value) for key, value in case.conf.items() if key.endswith(".capacity") and value]
        assert sum(round(share * 100) for share in shares) == 10_000
        assert {f"root.{job.queue}" for job in case.jobs} <= {
            key.removeprefix("yarn.scheduler.capacity.").removesuffix(".capacity") for key in case.conf
        }


def test_what_never_ran_is_not_in_a_case_and_requests_are_whole(facebook: Workload) -> None:
    builder = WorkloadBuilder()
    one, gone = builder.add_job(WorkloadJob("1", 0.0)), builder.add_job(WorkloadJob("2", 5.0))
    for ending, cores, memory in (
        (Ending.EVICTED, 1.0, 5),
        (Ending.FAILED, 0.3, 0),
        (Ending.FINISHED, 5.5, 20_000),
    ):
        builder.add_task(one, submit_s=0, duration_s=10, memory_mib=memory, cores=cores, count=2, ending=ending)
    builder.add_task(gone, submit_s=5, duration_s=0, memory_mib=5, cores=1, ending=Ending.WITHDRAWN)
    case, summary = make_case(builder.build("x", Provenance("swim")), 0, 10, CasePlan(nodes=1))
    assert [job.id for job in case.jobs] == ["1"]
    assert [(task.memory_mib, task.vcores) for task in case.jobs[0].tasks] == [(1, 1)] * 2 + [(8192, 6)] * 2
    assert (summary.empty_jobs, summary.too_large) == (1, 2)
    # Without it Hadoop would refuse the 6 vcores, whatever the node has.
    assert case.conf["yarn.scheduler.maximum-allocation-vcores"] == "8"


@pytest.mark.parametrize(("window", "words"), [((5.0, 5.0), "is empty"), ((9e6, 9e6 + 1), "no job that runs")])
def test_windows_without_jobs(facebook: Workload, window: tuple[float, float], words: str) -> None:
    with pytest.raises(InputError, match=words):
        make_case(facebook, *window, CasePlan())
