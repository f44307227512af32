"""The Fair Scheduler model against Hadoop's own FairScheduler, job for job."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rules.engine import RuleEngine
from rules.rulesets.fair import FAIR_RULES
from rules.rulesets.fair_case import prepare_fair
from rules.simulation.loop import run
from rules.simulation.tables import REJECTED
from tests.fidelity.fair_cases import FAIR_CASES, PREEMPTION_CASES
from tests.oracle.runner import build_or_skip, replay
from workloads.trace import parse_case

TIMES = ("am_start", "first", "finish")


def simulate(case_file: dict[str, Any], engine: RuleEngine | None = None) -> list[dict[str, Any]]:
    """The model's answer in the oracle's form: times and whether refused, for each job in the file's order."""
    case = parse_case(case_file)
    prepared = prepare_fair(case, engine)
    run(prepared.memory.record)
    jobs = prepared.memory["jobs"]
    answers: list[dict[str, Any]] = [{} for _ in case.jobs]
    for row, place in enumerate(prepared.order):
        answers[place] = {name: float(jobs[row][name]) for name in TIMES}
        answers[place]["refused"] = bool(jobs[row]["state"] == REJECTED)
    return answers


ALL_CASES = {**FAIR_CASES, **PREEMPTION_CASES}


@pytest.fixture(scope="module")
def truth() -> dict[str, list[dict[str, Any]]]:
    """Hadoop's answers, all in one JVM."""
    build_or_skip()
    results = replay([make() for make in ALL_CASES.values()])
    return {name: result["jobs"] for name, result in zip(ALL_CASES, results, strict=True)}


@pytest.mark.cluster
@pytest.mark.parametrize("name", ALL_CASES)
def test_every_job_starts_and_ends_when_hadoop_says(name: str, truth: dict[str, list[dict[str, Any]]]) -> None:
    answers = simulate(ALL_CASES[name]())
    for answer, job in zip(answers, truth[name], strict=True):
        assert [answer[time] for time in TIMES] == pytest.approx([job[time] for time in TIMES], abs=1e-6), job["id"]
        assert answer["refused"] == ("rejected" in job), job["id"]


@pytest.mark.cluster
@pytest.mark.parametrize("name", PREEMPTION_CASES)
def test_the_cases_preempt(name: str, truth: dict[str, list[dict[str, Any]]]) -> None:
    assert sum(job.get("preempted", 0) for job in truth[name]) > 0


@pytest.fixture(scope="module")
def whole() -> dict[str, list[dict[str, Any]]]:
    """The model's answers with all rules."""
    return {name: simulate(make()) for name, make in ALL_CASES.items()}


@pytest.mark.parametrize("rule", [rule.id for rule in FAIR_RULES])
def test_taking_a_rule_out_changes_the_estimate(rule: str, whole: dict[str, list[dict[str, Any]]]) -> None:
    engine = RuleEngine(f"fair-without-{rule}", [other for other in FAIR_RULES if other.id != rule])
    cases = {**PREEMPTION_CASES, **FAIR_CASES} if "preempt" in rule or "starv" in rule else FAIR_CASES
    assert any(simulate(make(), engine) != whole[name] for name, make in cases.items())


def test_the_same_case_gives_the_same_answer(whole: dict[str, list[dict[str, Any]]]) -> None:
    for name in ("mix", "drf-mix", "fair-share-preemption"):
        assert json.dumps(simulate(ALL_CASES[name]())) == json.dumps(whole[name])
