"""The Capacity Scheduler model against Hadoop's own CapacityScheduler, job for job."""

from __future__ import annotations

from typing import Any

import pytest

from rules.estimator import Estimate, estimate
from rules.rulesets.capacity import RULES
from rules.rulesets.capacity_facts import CapacityRules
from rules.rulesets.capacity_preemption import PREEMPTION_RULES
from tests.fidelity.capacity_cases import (
    MECHANISM_CASES,
    PARALLEL_CASES,
    RANDOM_CASES,
    UPDATE_CASES,
)
from tests.fidelity.capacity_modes import (
    ASYNCHRONOUS_CASES,
    LABEL_CASES,
    LONG_CASES,
    USER_WEIGHT_CASES,
    VECTOR_CASES,
)
from tests.oracle.runner import build_or_skip, replay
from workloads.trace import parse_case

CASES = {
    **MECHANISM_CASES,
    **RANDOM_CASES,
    **LONG_CASES,
    **UPDATE_CASES,
    **PARALLEL_CASES,
    **USER_WEIGHT_CASES,
    **VECTOR_CASES,
    **ASYNCHRONOUS_CASES,
    **LABEL_CASES,
}

Truth = dict[str, list[dict[str, Any]]]


@pytest.fixture(scope="module")
def truth() -> Truth:
    """Hadoop's answers, all in one JVM."""
    build_or_skip()
    results = replay(list(CASES.values()))
    assert not [result["error"] for result in results if "error" in result]
    return {name: result["jobs"] for name, result in zip(CASES, results, strict=True)}


@pytest.mark.cluster
@pytest.mark.parametrize("name", CASES)
def test_every_job_starts_and_ends_when_hadoop_says(name: str, truth: Truth) -> None:
    found = estimate(parse_case(CASES[name]))
    for job, true in zip(found.jobs, truth[name], strict=True):
        times = [job.am_start_s, job.first_s, job.finish_s]
        assert times == pytest.approx([true["am_start"], true["first"], true["finish"]], abs=1e-6), job.id
        assert (job.rejected is not None) == ("rejected" in true), (job.id, true.get("rejected"))


def times(found: Estimate) -> list[tuple[Any, ...]]:
    return [(job.am_start_s, job.first_s, job.finish_s, job.rejected) for job in found.jobs]


@pytest.fixture(scope="module")
def whole() -> dict[str, list[tuple[Any, ...]]]:
    """The model's answers with all rules."""
    return {name: times(estimate(parse_case(case))) for name, case in CASES.items()}


@pytest.mark.parametrize("rule", [rule.id for rule in RULES if rule not in PREEMPTION_RULES])
def test_taking_a_rule_out_changes_the_estimate(rule: str, whole: dict[str, list[tuple[Any, ...]]]) -> None:
    rules = CapacityRules([other for other in RULES if other.id != rule])
    assert any(times(estimate(parse_case(case), rules=rules)) != whole[name] for name, case in CASES.items())


def test_waiting_times_add_up() -> None:
    """What is put down to rules is never more than the time that a job was there."""
    for case_file in RANDOM_CASES.values():
        case = parse_case(case_file)
        for job in estimate(case).jobs:
            there_s = (job.finish_s if job.finish_s >= 0 else case.horizon_s) - job.submit_s
            assert sum(binding.seconds for binding in job.binding) <= there_s + 1e-6
            assert all(binding.seconds > 0 for binding in job.binding)
