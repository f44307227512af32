"""Predictions against what happened."""

from __future__ import annotations

import pytest

from rules.daemon.accuracy import PlanOutcome, assess, summarize
from rules.lifecycle.states import PlanState
from rules.plan import BackEndKind, Cluster, Configuration, Origin, Plan, QueueEffect
from tuner.store import ApplicationRecord, Collection

BEGIN_S = 1_000.0
SPAN_S = 600.0


def plan(*effects: QueueEffect) -> Plan:
    return Plan(
        cluster=Cluster("rm:8088", "3.4.1", 0.0), scheduler="capacity", back_end=BackEndKind.CAPACITY_REST,
        base=Configuration({}), proposed=Configuration({"a": "1"}), effects=effects, origin=Origin.OPTIMIZER,
        created_at=BEGIN_S, created_by="ann", expires_at=BEGIN_S + 3600,
    )  # fmt: skip


EFFECTS = (QueueEffect("all", 3, 100.0, 50.0, 1.0), QueueEffect("root.a", 2, 120.0, 40.0, 1.0))


def application(number: int, submitted_at: float, finished_at: float | None, **fields: object) -> ApplicationRecord:
    values: dict[str, object] = {
        "cluster": "rm:8088", "application_id": f"a{number}", "name": "etl", "user": "ann", "queue": "root.a",
        "type": "SPARK", "state": "FINISHED" if finished_at else "RUNNING", "seen_at": 9_999.0,
        "submitted_at": submitted_at, "finished_at": finished_at,
    }  # fmt: skip
    return ApplicationRecord(**(values | fields))  # type: ignore[arg-type]


APPLICATIONS = (
    application(1, 100.0, 900.0),  # had ended
    application(2, 500.0, 1_060.0),  # was open: from then on it took 60 s
    application(3, 1_200.0, 1_280.0),
    application(4, 1_300.0, 1_400.0, queue="root.b"),
    application(5, 1_600.0, 1_700.0),  # came later
)


def judge(state: PlanState = PlanState.PROPOSED, **fields: object) -> PlanOutcome:
    values: dict[str, object] = {
        "plan": plan(*EFFECTS), "span_s": SPAN_S, "applications": APPLICATIONS, "collections": (), "now_s": 5_000.0,
    }  # fmt: skip
    return assess(7, state=state, **(values | fields))  # type: ignore[arg-type]


def test_a_plan_that_was_not_applied_is_held_against_its_prediction_for_what_stayed() -> None:
    outcome = judge()
    assert [(each.queue, each.predicted_s, each.measured_s, each.jobs) for each in outcome.queues] == [
        ("all", 100.0, 80.0, 3), ("root.a", 120.0, 70.0, 2),
    ]  # fmt: skip
    assert outcome.queues[0].error == pytest.approx(0.25)
    assert not outcome.applied


def test_a_plan_that_was_applied_is_held_against_its_prediction_for_what_it_brought() -> None:
    outcome = judge(PlanState.APPLIED, start_up_s=4.0)
    assert [each.predicted_s for each in outcome.queues] == [54.0, 44.0]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"span_s": None}, "it was not forecast"),
        ({"plan": plan()}, "it was not forecast"),
        ({"now_s": BEGIN_S + 500}, "the time that it was made for lasts 100 s more"),
        ({"applications": ()}, "no job of that time has ended"),
    ],
)
def test_what_cannot_be_measured_says_why(fields: dict[str, object], words: str) -> None:
    outcome = judge(**fields)
    assert (outcome.queues, outcome.why) == ((), words)


def test_jobs_without_an_end_and_gaps_are_told() -> None:
    gap = Collection(
        cluster="rm:8088", at=1_500.0, rm_started_at=0.0, new_applications=0, open_applications=0, gap_from=1_400.0,
        gap_until=1_450.0,
    )  # fmt: skip
    outcome = judge(applications=(*APPLICATIONS, application(6, 1_100.0, None)), collections=(gap,))
    assert outcome.why == (
        "1 of 4 jobs have not ended, or were lost; jobs may be missing: the record has a gap in that time"
    )


def test_all_plans_together() -> None:
    nothing = summarize([judge(span_s=None)])
    assert (nothing.plans, nothing.median_error, nothing.bias) == (0, None, None)
    total = summarize([judge(), judge(PlanState.APPLIED), judge(span_s=None)])
    assert total.plans == 2
    assert total.median_error == pytest.approx((0.25 + 0.375) / 2)
    assert total.bias == pytest.approx((0.25 - 0.375) / 2)
