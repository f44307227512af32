"""The same window as the scheduler oracle's own maker of cases makes of it, compared by its properties."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from workloads.importers.options import ImportOptions
from workloads.importers.registry import import_workload
from workloads.to_case import CasePlan, Queues, make_case
from workloads.trace import Case, parse_case

TRACE = "FB-2009_samples_24_times_1hr_0.tsv"


@pytest.fixture(scope="module")
def maker(shared_data: Path) -> Path:
    path = shared_data.parent / "oracle" / "make_case.py"
    if not path.is_file():
        pytest.skip(f"the scheduler oracle's make_case.py is not at {path}")
    return path


def theirs(maker: Path, shared_data: Path, folder: Path, nodes: str, *options: str) -> Case:
    out = folder / "case.json"
    command = [sys.executable, str(maker), str(shared_data / "swim" / TRACE), "7", "8", nodes, str(out), *options]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    return parse_case(json.loads(out.read_text()))


def durations(case: Case) -> list[float]:
    of_tasks = [task.duration_s for job in case.jobs for task in job.tasks]
    return of_tasks + [duration_s for job in case.jobs for stage in job.stages for duration_s in stage]


@pytest.mark.parametrize(
    ("nodes", "options", "plan"),
    [
        ("5", (), CasePlan(nodes=5)),
        ("load:0.8", (), CasePlan(load=0.8)),
        ("5", ("--spark",), CasePlan(nodes=5, spark=True)),
        ("5", ("--fair",), CasePlan(nodes=5, scheduler="fair")),
    ],
)
def test_jobs_and_cluster_agree(
    nodes: str, options: tuple[str, ...], plan: CasePlan, maker: Path, shared_data: Path, tmp_path: Path
) -> None:
    expected = theirs(maker, shared_data, tmp_path, nodes, *options)
    workload = import_workload([shared_data / "swim" / TRACE], ImportOptions("fb"))
    case, _ = make_case(workload, 7 * 3600.0, 8 * 3600.0, plan)

    def facts(each: Case) -> list[tuple[Any, ...]]:
        return [
            (
                job.id,
                job.submit_s,
                job.queue,
                job.user,
                job.am_memory_mib,
                job.executors,
                len(job.tasks),
                *map(len, job.stages),
            )
            for job in each.jobs
        ]

    assert facts(case) == facts(expected)
    assert (case.nodes, case.horizon_s, case.scheduler) == (expected.nodes, expected.horizon_s, expected.scheduler)
    assert (case.conf, case.allocations) == (expected.conf, expected.allocations)
    ours, others = (
        np.array(
            [task.duration_s for job in each.jobs for task in job.tasks]
            or [s for job in each.jobs for stage in job.stages for s in stage]
        )
        for each in (case, expected)
    )
    # Different draws of one distribution: 7,481 of them.
    assert np.quantile(ours, [0.1, 0.5, 0.9]) == pytest.approx(np.quantile(others, [0.1, 0.5, 0.9]), rel=0.03)
    assert ours.sum() == pytest.approx(others.sum(), rel=0.02)


def test_teams_agree_in_their_shares(maker: Path, shared_data: Path, tmp_path: Path) -> None:
    expected = theirs(maker, shared_data, tmp_path, "5", "--teams", "3")
    workload = import_workload([shared_data / "swim" / TRACE], ImportOptions("fb"))
    case, _ = make_case(workload, 7 * 3600.0, 8 * 3600.0, CasePlan(nodes=5, queues=Queues("by-team", 3)))

    def shares(each: Case, names: tuple[str, str, str]) -> list[float]:
        first = [job.queue for job in each.jobs if job.submit_s < 1800]
        second = [job.queue for job in each.jobs if job.submit_s >= 1800]
        return [half.count(name) / len(half) for half in (first, second) for name in names]

    # Both are draws; three standard deviations of a share of about 200 jobs, twice, is 0.15.
    assert shares(case, ("team1", "team2", "team3")) == pytest.approx(
        shares(expected, ("etl", "adhoc", "bi")), abs=0.15
    )
