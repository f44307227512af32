"""Segments add up to what the trace says; mixes are averages over instructions."""

from __future__ import annotations

from math import nan
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workloads.combine.segments import of_jobs, of_series
from workloads.importers.builder import WorkloadBuilder
from workloads.importers.options import ImportOptions
from workloads.importers.registry import import_workload
from workloads.workload import Ending, Provenance, Workload, WorkloadJob

TASK = st.tuples(st.floats(0, 2000), st.floats(0.5, 1500), st.integers(1, 4000), st.floats(0.1, 8), st.integers(1, 5))


def workload_of(rows: list[tuple[float, float, int, float, int]], **more: float) -> Workload:
    builder = WorkloadBuilder()
    job = builder.add_job(WorkloadJob("j", 0.0))
    for submit_s, duration_s, memory_mib, cores, count in rows:
        builder.add_task(
            job,
            submit_s=submit_s,
            duration_s=duration_s,
            memory_mib=memory_mib,
            cores=cores,
            count=count,
            **more,
        )
    return builder.build("w", Provenance("generated"))


@settings(max_examples=80, deadline=None)
@given(rows=st.lists(TASK, min_size=1, max_size=12))
def test_steps_add_up_to_core_seconds_and_memory_seconds(rows: list[tuple[float, float, int, float, int]]) -> None:
    workload = workload_of(rows)
    segments = of_jobs(workload)
    assert segments.cores.sum() * segments.step_s == pytest.approx(workload.tasks.core_seconds)
    assert segments.memory_mib.sum() * segments.step_s == pytest.approx(workload.tasks.memory_mib_seconds)
    assert (np.diff(segments.start_s) > 0).all()


def test_a_task_counts_by_the_share_of_a_step_that_it_ran() -> None:
    segments = of_jobs(workload_of([(150.0, 300.0, 1000, 2.0, 1)]))
    assert segments.start_s.tolist() == [0.0, 300.0]
    assert segments.cores.tolist() == [1.0, 1.0]
    assert segments.memory_mib.tolist() == [500.0, 500.0]


def test_use_stands_before_requests_and_a_mix_is_an_average_over_instructions() -> None:
    builder = WorkloadBuilder()
    job = builder.add_job(WorkloadJob("j", 0.0))
    sizes = {"submit_s": 0.0, "duration_s": 300.0, "memory_mib": 999, "cores": 9.0}
    builder.add_task(job, **sizes, used_cores=1.0, used_memory_mib=100.0, cpi=1.0, mai=0.0)
    builder.add_task(job, **sizes, used_cores=3.0, used_memory_mib=50.0, cpi=6.0, mai=0.03)
    builder.add_task(job, **sizes, used_cores=5.0, used_memory_mib=50.0, cpi=6.0, mai=0.03, ending=Ending.WITHDRAWN)
    segments = of_jobs(builder.build("w", Provenance("generated")))
    assert (segments.cores.tolist(), segments.memory_mib.tolist()) == ([4.0], [150.0])
    # 1 core at CPI 1 runs twice the instructions of 3 cores at CPI 6.
    assert segments.cpi[0] == pytest.approx(4 / 1.5)
    assert segments.mai[0] == pytest.approx(0.5 * 0.03 / 1.5)
    assert segments.assumptions == ()


def test_missing_cpi_is_drawn_from_the_jobs_own_seed() -> None:
    workload = workload_of([(0.0, 700.0, 10, 1.0, 1)])
    first, again, other = of_jobs(workload), of_jobs(workload), of_jobs(workload, seed=1)
    assert first.cpi.tolist() == again.cpi.tolist()
    assert first.cpi[0] != other.cpi[0]
    assert len(set(first.cpi.tolist())) == 1
    assert first.assumptions[0].name == "cpi"


def test_scaling_keeps_each_owners_course() -> None:
    segments = of_jobs(workload_of([(0.0, 300.0, 1000, 4.0, 3), (300.0, 300.0, 10, 1.0, 1)])).scaled(0.5, 64)
    assert segments.cores.tolist() == pytest.approx([0.5, 0.5 / 12])
    assert segments.memory_mib.tolist() == pytest.approx([64, 64 * 10 / 3000])


def test_the_real_series_has_possible_cpis(shared_data: Path) -> None:
    path = shared_data / "google" / "usage_5min_job_6176858948.csv"
    segments = of_series(import_workload([path], ImportOptions("series")))
    assert len(segments) == 8351
    assert segments.step_s == 300.0
    assert float(np.median(segments.cpi)) == pytest.approx(1.8)
    assert segments.cpi.min() > 0.5
    assert segments.cpi.max() < 20
    assert float(np.median(segments.cpi / segments.mai)) == pytest.approx(440, rel=0.01)


def test_of_real_task_events_every_second_is_there(shared_data: Path) -> None:
    folder = shared_data / "google"
    workload = import_workload([folder / "task_events-part-00000-of-00500.csv.gz"], ImportOptions("events"))
    tasks = workload.tasks.take(~np.isin(workload.tasks.ending, (Ending.WAITING, Ending.WITHDRAWN)))
    segments = of_jobs(workload)
    assert segments.cores.sum() * 300 == pytest.approx(tasks.core_seconds)
    assert not np.isnan(segments.cpi).any()
    assert nan not in segments.mai
