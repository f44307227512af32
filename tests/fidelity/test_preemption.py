"""Preemption between queues of the Capacity Scheduler against Hadoop's own ProportionalCapacityPreemptionPolicy."""

from __future__ import annotations

from typing import Any

import pytest

from rules.estimator import Estimate, estimate
from rules.rulesets.capacity import RULES
from rules.rulesets.capacity_facts import CapacityRules
from rules.rulesets.capacity_preemption import PREEMPTION_RULES
from tests.fidelity.preemption_cases import PREEMPTION_CASES
from tests.oracle.runner import build_or_skip, replay
from workloads.trace import parse_case

Truth = dict[str, list[dict[str, Any]]]


@pytest.fixture(scope="module")
def truth() -> Truth:
    """Hadoop's answers, all in one JVM."""
    build_or_skip()
    results = replay(list(PREEMPTION_CASES.values()))
    assert not [result["error"] for result in results if "error" in result]
    return {name: result["jobs"] for name, result in zip(PREEMPTION_CASES, results, strict=True)}


@pytest.mark.cluster
@pytest.mark.parametrize("name", PREEMPTION_CASES)
def test_every_job_starts_and_ends_when_hadoop_says(name: str, truth: Truth) -> None:
    found = estimate(parse_case(PREEMPTION_CASES[name]))
    for job, true in zip(found.jobs, truth[name], strict=True):
        times = [job.am_start_s, job.first_s, job.finish_s]
        assert times == pytest.approx([true["am_start"], true["first"], true["finish"]], abs=1e-6), job.id
        assert (job.rejected is not None) == ("rejected" in true), (job.id, true.get("rejected"))


@pytest.mark.cluster
def test_the_cases_preempt(truth: Truth) -> None:
    quiet = {"observes only", "preemption disabled"}
    for name in PREEMPTION_CASES:
        preempted = sum(job.get("preempted", 0) for job in truth[name])
        assert name in quiet or preempted > 0, name


def times(found: Estimate) -> list[tuple[Any, ...]]:
    return [(job.am_start_s, job.first_s, job.finish_s, job.rejected) for job in found.jobs]


@pytest.fixture(scope="module")
def whole() -> dict[str, list[tuple[Any, ...]]]:
    """The model's answers with all rules."""
    return {name: times(estimate(parse_case(case))) for name, case in PREEMPTION_CASES.items()}


@pytest.mark.parametrize("rule", [rule.id for rule in PREEMPTION_RULES])
def test_taking_a_rule_out_changes_the_estimate(rule: str, whole: dict[str, list[tuple[Any, ...]]]) -> None:
    rules = CapacityRules([other for other in RULES if other.id != rule])
    cases = PREEMPTION_CASES.items()
    assert any(times(estimate(parse_case(case), rules=rules)) != whole[name] for name, case in cases)


def test_an_estimate_says_what_preemption_it_leaves_out() -> None:
    case = PREEMPTION_CASES["preempts at once"]
    prefix = "yarn.resourcemanager.monitor.capacity.preemption."
    asked = case | {"conf": case["conf"] | {f"{prefix}intra-queue-preemption.enabled": "true"}}
    assert estimate(parse_case(case)).notes == ()
    (note,) = estimate(parse_case(asked)).notes
    assert "preemption inside queues is not modelled" in note
