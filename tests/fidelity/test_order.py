"""Which configuration is better: the estimator's answer is Hadoop's, on synthetic and on real workloads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rules.estimator import estimate
from tests.fidelity.configurations import alternatives, contended_case
from tests.fidelity.trace_cases import trace_cases
from tests.oracle.runner import build_or_skip, replay
from workloads.trace import parse_case

pytestmark = pytest.mark.cluster
TIMES = ("am_start", "first", "finish")


def latencies(case: dict[str, Any], jobs: list[dict[str, Any]]) -> list[float]:
    ends = [job["finish"] if job["finish"] >= 0 else case["horizon"] for job in jobs]
    return [end - job["submit"] for end, job in zip(ends, jobs, strict=True)]


def rank(case: dict[str, Any], jobs: list[dict[str, Any]]) -> tuple[int, float]:
    """What configurations are compared by, of the oracle's jobs: those without an end, then the mean latency."""
    found = latencies(case, jobs)
    return sum(job["finish"] < 0 for job in jobs), round(sum(found) / len(found), 6)


@pytest.mark.parametrize("scheduler", ["capacity", "fair"])
def test_the_order_of_a_dozen_configurations(scheduler: str) -> None:
    build_or_skip()
    cases = alternatives(contended_case(scheduler, 1))
    assert len(cases) >= 12
    true = {name: rank(cases[name], r["jobs"]) for name, r in zip(cases, replay(list(cases.values())), strict=True)}
    found = {}
    for name, case in cases.items():
        summary = estimate(parse_case(case)).summary
        found[name] = (summary.unfinished, round(summary.mean_latency_s, 6))
    assert len(set(true.values())) >= 10  # they are not all the same
    assert sorted(found, key=found.__getitem__) == sorted(true, key=true.__getitem__)
    assert found == true


@pytest.fixture(scope="module")
def traces(shared_data: Path) -> dict[str, Any]:
    return trace_cases(shared_data)


def test_real_windows_job_for_job(traces: dict[str, Any]) -> None:
    """A part of the windows, so that the tests stay quick; ``make bench-fidelity`` takes all."""
    build_or_skip()
    names = [name for name in traces if "light load" in name or "google" in name]
    assert len(names) == 8
    for name, result in zip(names, replay([traces[name] for name in names]), strict=True):
        estimated = estimate(parse_case(traces[name])).jobs
        for job, true in zip(estimated, result["jobs"], strict=True):
            times = [job.am_start_s, job.first_s, job.finish_s]
            assert times == pytest.approx([true[time] for time in TIMES], abs=1e-6), (name, job.id)
            assert (job.rejected is not None) == ("rejected" in true), (name, job.id)
