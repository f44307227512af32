"""Applying and taking back, against a ResourceManager that goes wrong in every known way."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from rules.backends.capacity_rest import CapacityRest
from rules.lifecycle.apply import apply_plan
from rules.lifecycle.context import Context
from rules.lifecycle.drift import find_drift
from rules.lifecycle.freeze import freeze, unfreeze
from rules.lifecycle.propose import make_plan, record_plan
from rules.lifecycle.reconcile import reconcile
from rules.lifecycle.result import Outcome
from rules.lifecycle.rollback import rollback_plan
from rules.lifecycle.states import PlanState
from rules.model import PropertyChange, Severity
from tests.fakes.resource_manager import Answer, FakeResourceManager
from tests.rules.lifecycle.fake import BEFORE, FakeScheduler, Fault, P, faked
from tuner.errors import YarnError
from tuner.yarn.auth import SimpleAuth
from tuner.yarn.client import ResourceManagerClient

PROD, DEV = f"{P}root.prod.capacity", f"{P}root.dev.capacity"
CHANGES = {PROD: "60", DEV: "40", f"{P}root.prod.maximum-capacity": "100"}
AFTER = {**BEFORE, **CHANGES}


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[tuple[FakeScheduler, Context]]:
    with faked(tmp_path) as both:
        yield both


@pytest.fixture
def fake(cluster: tuple[FakeScheduler, Context]) -> FakeScheduler:
    return cluster[0]


@pytest.fixture
def context(cluster: tuple[FakeScheduler, Context]) -> Context:
    return cluster[1]


def propose(context: Context, changes: dict[str, str | None] | None = None) -> int:
    return record_plan(context, make_plan(context, changes=changes or dict(CHANGES)))


def states(context: Context, plan_id: int) -> list[str]:
    return [step.to_state for step in context.store.plans.transitions(plan_id)]


def state(context: Context, plan_id: int) -> str:
    row = context.store.plans.get(plan_id)
    assert row is not None
    return row.state


APPLIED_WAY = ["PROPOSED", "CHECKING", "WRITING", "VERIFYING", "WATCHING", "APPLIED"]


def test_a_plan_is_applied_with_a_row_for_each_step_and_one_write(fake: FakeScheduler, context: Context) -> None:
    plan_id = propose(context)
    result = apply_plan(context, plan_id, watch_s=0.0)
    assert (result.outcome, result.done, result.state) == (Outcome.APPLIED, True, PlanState.APPLIED)
    assert fake.conf == AFTER
    assert states(context, plan_id) == APPLIED_WAY
    assert len(fake.sent("PUT")) == 1
    (audit, *_) = context.store.audit.list(subject=f"plan {plan_id}")
    assert (audit.action, audit.outcome, audit.who) == ("apply-plan", "applied", "alice")


def test_g2_09_siblings_change_in_one_request_after_a_validation(fake: FakeScheduler, context: Context) -> None:
    apply_plan(context, propose(context), watch_s=0.0)
    (put,) = fake.sent("PUT")
    assert '"root.prod"' in put.body
    assert '"root.dev"' in put.body
    assert fake.sent("POST")[-1].path == "/scheduler-conf/validate"
    assert fake.requests.index(fake.sent("POST")[-1]) < fake.requests.index(put)


def test_the_way_back_is_stored_before_the_write(fake: FakeScheduler, context: Context) -> None:
    plan_id = propose(context)
    stored_at_write = []
    write = context.back_end.write

    def spy(current: object, proposed: object) -> object:
        row = context.store.plans.get(plan_id)
        assert row is not None
        stored_at_write.append((row.state, row.undo))
        return write(current, proposed)  # type: ignore[arg-type]

    context.back_end.write = spy  # type: ignore[method-assign, assignment]
    apply_plan(context, plan_id, watch_s=0.0)
    ((at_write, undo),) = stored_at_write
    assert at_write == "WRITING"
    assert undo is not None
    assert undo["configuration"]["properties"] == BEFORE


def test_rollback_puts_every_property_back_and_takes_new_ones_out(fake: FakeScheduler, context: Context) -> None:
    plan_id = propose(context, {**CHANGES, f"{P}root.dev.user-limit-factor": "2"})
    assert apply_plan(context, plan_id, watch_s=0.0).done
    result = rollback_plan(context)
    assert (result.outcome, result.done, result.plan_id) == (Outcome.ROLLED_BACK, True, plan_id)
    assert fake.conf == BEFORE
    assert states(context, plan_id) == [*APPLIED_WAY, "ROLLING_BACK", "ROLLED_BACK"]
    assert rollback_plan(context).outcome is Outcome.NOTHING_TO_DO
    assert rollback_plan(context, plan_id).outcome is Outcome.NOTHING_TO_DO


def test_rollback_leaves_what_others_have_changed_beside_it(fake: FakeScheduler, context: Context) -> None:
    apply_plan(context, propose(context), watch_s=0.0)
    fake.conf[f"{P}root.dev.user-limit-factor"] = "4"
    assert rollback_plan(context).done
    assert fake.conf == {**BEFORE, f"{P}root.dev.user-limit-factor": "4"}


def test_rollback_of_what_somebody_has_changed_again_is_refused(fake: FakeScheduler, context: Context) -> None:
    plan_id = propose(context)
    apply_plan(context, plan_id, watch_s=0.0)
    fake.conf.update({PROD: "55", DEV: "45"})
    result = rollback_plan(context, plan_id)
    assert (result.outcome, result.state) == (Outcome.STALE, PlanState.APPLIED)
    assert PropertyChange(PROD, "60", "55") in result.differences
    assert fake.conf[PROD] == "55"


def test_a_stale_plan_is_a_value_that_says_what_differs(fake: FakeScheduler, context: Context) -> None:
    plan_id = propose(context)
    fake.conf.update({PROD: "35", DEV: "65"})
    result = apply_plan(context, plan_id, watch_s=0.0)
    assert (result.outcome, state(context, plan_id)) == (Outcome.STALE, "STALE")
    assert result.differences == (PropertyChange(PROD, "30", "35"), PropertyChange(DEV, "70", "65"))
    assert "root.prod.capacity was '30' and is '35'" in result.message
    assert fake.sent("PUT") == []


def test_an_expired_plan_is_not_applied(fake: FakeScheduler, context: Context) -> None:
    plan_id = record_plan(context, make_plan(context, changes=dict(CHANGES), valid_s=0.0))
    assert apply_plan(context, plan_id).outcome is Outcome.EXPIRED
    assert state(context, plan_id) == "EXPIRED"
    assert fake.sent("PUT") == []


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({PROD: "80"}, "sibling-sum"),
        ({f"{P}root.prod.user-limit-factor": "0"}, "user-limit-factor"),
        ({f"{P}root.nope.capacity": "10"}, "unknown-queue"),
        ({f"{P}root.prod.state": "STOPPED"}, "changes-state"),
        ({f"{P}root.queues": "prod", PROD: "100", DEV: None}, "removes-queue"),
        ({f"{P}root.queues": "prod,dev,new", f"{P}root.new.capacity": "0"}, "adds-queue"),
        (
            {f"{P}resource-calculator": "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator"},
            "needs-restart",
        ),
        ({f"{P}root.prod.maximum-allocation-mb": "16384"}, "no-way-back"),
    ],
)
def test_what_cannot_be_applied_is_found_when_it_is_planned_and_refused(
    fake: FakeScheduler, context: Context, changes: dict[str, str | None], rule: str
) -> None:
    if rule == "no-way-back":
        fake.conf[f"{P}root.prod.maximum-allocation-mb"] = "8192"
        fake.conf["yarn.scheduler.maximum-allocation-mb"] = "16384"
    plan = make_plan(context, changes=changes)
    assert rule in {finding.rule_id for finding in plan.errors}
    plan_id = record_plan(context, plan)
    result = apply_plan(context, plan_id)
    assert (result.outcome, state(context, plan_id)) == (Outcome.REJECTED, "REJECTED")
    assert fake.sent("PUT") == []


def test_what_only_the_resourcemanager_refuses_at_validation_is_not_written(
    fake: FakeScheduler, context: Context
) -> None:
    plan_id = propose(context)
    fake.invalid = "CapacityScheduler configuration validation failed:java.io.IOException: no"
    result = apply_plan(context, plan_id)
    assert result.outcome is Outcome.REJECTED
    assert "java.io.IOException: no" in result.message
    assert fake.sent("PUT") == []


def test_a_version_without_validation_is_told_and_goes_on(fake: FakeScheduler, context: Context) -> None:
    fake.answers["POST", "/scheduler-conf/validate"] = Answer("<html></html>", 404, {}, "text/html")
    plan = make_plan(context, changes=dict(CHANGES))
    assert ("rm-not-asked", Severity.WARNING) in {(found.rule_id, found.severity) for found in plan.findings}
    assert apply_plan(context, record_plan(context, plan), watch_s=0.0).done


# ----------------------------------------------------------------------- faults


def test_the_resourcemanager_refuses_the_write(fake: FakeScheduler, context: Context) -> None:
    plan_id = propose(context)
    fake.fault = Fault.REFUSED
    result = apply_plan(context, plan_id)
    assert (result.outcome, state(context, plan_id)) == (Outcome.REJECTED, "REJECTED")
    assert "Illegal capacity sum" in result.message
    assert fake.conf == BEFORE
    assert reconcile(context) == ()


@pytest.mark.parametrize("fault", [Fault.LOST_AFTER, Fault.LATE])
def test_an_answer_that_is_lost_after_the_write_was_taken_is_read_not_repeated(
    fake: FakeScheduler, context: Context, fault: Fault
) -> None:
    plan_id = propose(context)
    fake.fault = fault
    result = apply_plan(context, plan_id, watch_s=0.0)
    assert (result.outcome, fake.conf) == (Outcome.APPLIED, AFTER)
    assert states(context, plan_id) == APPLIED_WAY
    assert len(fake.sent("PUT")) == 1


def test_an_answer_that_is_lost_and_nothing_written(fake: FakeScheduler, context: Context) -> None:
    plan_id = propose(context)
    fake.fault = Fault.LOST_BEFORE
    result = apply_plan(replace(context, settle_s=1.0), plan_id)
    assert (result.outcome, state(context, plan_id)) == (Outcome.FAILED, "FAILED")
    assert "answer was lost" in result.message
    assert len(fake.sent("PUT")) == 1
    assert fake.conf == BEFORE


def test_a_write_that_arrives_after_it_was_given_up_is_found_by_the_next_command(
    fake: FakeScheduler, context: Context
) -> None:
    plan_id = propose(context)
    fake.fault = Fault.LOST_BEFORE
    apply_plan(replace(context, settle_s=0.5), plan_id)
    assert reconcile(context) == ()
    fake.conf.update(CHANGES)
    (late,) = reconcile(context)
    assert (late.plan_id, late.outcome, state(context, plan_id)) == (plan_id, Outcome.APPLIED, "APPLIED")
    assert rollback_plan(context).done
    assert fake.conf == BEFORE


def test_200_without_an_effect_is_seen_through(fake: FakeScheduler, context: Context) -> None:
    plan_id = propose(context)
    fake.fault = Fault.NO_EFFECT
    result = apply_plan(context, plan_id)
    assert (result.outcome, state(context, plan_id)) == (Outcome.FAILED, "FAILED")
    assert "changed nothing" in result.message
    assert fake.conf == BEFORE


def test_a_change_that_is_made_in_part_is_taken_back(fake: FakeScheduler, context: Context) -> None:
    plan_id = propose(context)
    fake.fault = Fault.HALF
    result = apply_plan(context, plan_id)
    assert (result.outcome, state(context, plan_id)) == (Outcome.FAILED, "FAILED")
    assert fake.conf == BEFORE
    assert states(context, plan_id)[-2:] == ["ROLLING_BACK", "FAILED"]


def test_another_admins_change_of_the_same_is_left_alone_and_told(fake: FakeScheduler, context: Context) -> None:
    plan_id = propose(context)
    fake.fault = Fault.OTHER_ADMIN
    result = apply_plan(context, plan_id)
    assert (result.outcome, state(context, plan_id)) == (Outcome.DIVERGED, "DIVERGED")
    assert PropertyChange(PROD, "60", "41") in result.differences
    assert fake.conf[PROD] == "41"


def test_another_admins_change_of_something_else_is_told_and_does_not_hinder(
    fake: FakeScheduler, context: Context
) -> None:
    plan_id = propose(context)
    fake.fault = Fault.OTHER_PROPERTY
    result = apply_plan(context, plan_id, watch_s=0.0)
    assert result.outcome is Outcome.APPLIED
    assert result.differences == (PropertyChange(f"{P}root.dev.user-limit-factor", None, "3"),)
    drift = find_drift(context)
    assert drift is not None
    assert drift.differences == result.differences


def test_another_admins_change_just_before_ours_is_seen_by_the_version(fake: FakeScheduler, context: Context) -> None:
    plan_id = propose(context)
    fake.fault = Fault.OTHER_BEFORE
    result = apply_plan(context, plan_id, watch_s=0.0)
    assert result.outcome is Outcome.APPLIED
    assert "somebody else has written meanwhile too (version 1 to 3)" in result.message


def test_a_restart_that_forgets_the_change_is_told_as_such(fake: FakeScheduler, context: Context) -> None:
    plan_id = propose(context)
    fake.fault = Fault.FORGOTTEN
    result = apply_plan(replace(context, settle_s=1.0), plan_id)
    assert (result.outcome, state(context, plan_id)) == (Outcome.FAILED, "FAILED")
    assert "started anew" in result.message


def test_no_connection_at_the_write_means_nothing_was_written(fake: FakeScheduler, context: Context) -> None:
    plan_id = propose(context)

    def refuse(current: object, proposed: object) -> object:
        raise YarnError("connection refused")

    context.back_end.write = refuse  # type: ignore[method-assign, assignment]
    result = apply_plan(context, plan_id)
    assert (result.outcome, state(context, plan_id)) == (Outcome.FAILED, "FAILED")


def test_a_cluster_that_is_away_before_the_write_leaves_the_plan_proposed(
    fake: FakeScheduler, context: Context
) -> None:
    plan_id = propose(context)
    fake.answers["GET", "/scheduler-conf/version"] = Answer("<html>gone</html>", 503, {}, "text/html")
    with pytest.raises(YarnError):
        apply_plan(context, plan_id)
    assert state(context, plan_id) == "PROPOSED"
    del fake.answers["GET", "/scheduler-conf/version"]
    assert apply_plan(context, plan_id, watch_s=0.0).done


def test_a_configuration_that_cannot_be_read_after_the_write_is_settled_by_the_next_command(
    fake: FakeScheduler, context: Context
) -> None:
    plan_id = propose(context)
    gone = Answer("<html>gone</html>", 503, {}, "text/html")
    write = context.back_end.write

    def write_then_lose(current: object, proposed: object) -> object:
        answer = write(current, proposed)  # type: ignore[arg-type]
        fake.answers["GET", "/scheduler-conf"] = gone
        return answer

    context.back_end.write = write_then_lose  # type: ignore[method-assign, assignment]
    result = apply_plan(replace(context, settle_s=0.5), plan_id)
    assert (result.outcome, result.state) == (Outcome.UNKNOWN, PlanState.VERIFYING)
    with pytest.raises(YarnError):
        reconcile(context)
    del fake.answers["GET", "/scheduler-conf"]
    (settled,) = reconcile(context)
    assert (settled.outcome, state(context, plan_id)) == (Outcome.APPLIED, "APPLIED")
    assert len(fake.sent("PUT")) == 1


# ------------------------------------------------------------------------ watch


def test_a_queue_that_stops_running_takes_the_change_back(fake: FakeScheduler, context: Context) -> None:
    plan_id = propose(context)
    write = context.back_end.write

    def write_and_break(current: object, proposed: object) -> object:
        fake.state_of["root.dev"] = "DRAINING"
        return write(current, proposed)  # type: ignore[arg-type]

    context.back_end.write = write_and_break  # type: ignore[method-assign, assignment]
    result = apply_plan(context, plan_id, watch_s=2.0)
    assert (result.outcome, result.done) == (Outcome.ROLLED_BACK, True)
    assert "root.dev is not RUNNING" in result.message
    assert fake.conf == BEFORE


def test_a_queue_in_which_nothing_runs_any_more_takes_the_change_back(fake: FakeScheduler, context: Context) -> None:
    fake.working = {"root.dev"}
    plan_id = propose(context)
    write = context.back_end.write

    def write_and_starve(current: object, proposed: object) -> object:
        fake.working, fake.stuck = set(), {"root.dev"}
        return write(current, proposed)  # type: ignore[arg-type]

    context.back_end.write = write_and_starve  # type: ignore[method-assign, assignment]
    result = apply_plan(context, plan_id, watch_s=5.0)
    assert result.outcome is Outcome.ROLLED_BACK
    assert "applications wait in root.dev" in result.message
    assert fake.conf == BEFORE


def test_a_queue_that_waited_before_is_no_reason(fake: FakeScheduler, context: Context) -> None:
    fake.stuck = {"root.prod"}
    assert apply_plan(context, propose(context), watch_s=2.0).outcome is Outcome.APPLIED


# ----------------------------------------------------------------- drift, freeze


def test_g2_11_a_change_that_is_gone_is_reported_as_drift(fake: FakeScheduler, context: Context) -> None:
    assert find_drift(context) is None
    plan_id = propose(context)
    apply_plan(context, plan_id, watch_s=0.0)
    assert find_drift(context) is None
    fake.conf = dict(BEFORE)  # a restart with the store `memory`
    drift = find_drift(context)
    assert drift is not None
    assert drift.plan_id == plan_id
    assert PropertyChange(PROD, "60", "30") in drift.differences
    plan = make_plan(context, changes=dict(CHANGES))
    assert "drift" in {found.rule_id for found in plan.findings}
    assert plan.errors == (), "over REST it is told, and does not hinder"


def test_g2_06_noise_of_the_scheduler_page_is_neither_drift_nor_written_back(
    fake: FakeScheduler, context: Context
) -> None:
    """The page shows 30.000002; what is planned and written comes from scheduler-conf."""
    plan_id = propose(context)
    apply_plan(context, plan_id, watch_s=0.0)
    assert find_drift(context) is None
    assert "000002" not in fake.sent("PUT")[0].body


def test_frozen_queues_are_not_changed(fake: FakeScheduler, context: Context) -> None:
    plan_id = propose(context)
    assert freeze(context.store, context.cluster.id, who="ann", now=1.0, reason="end of the quarter")
    result = apply_plan(context, plan_id)
    assert result.outcome is Outcome.FROZEN
    assert "end of the quarter" in result.message
    assert state(context, plan_id) == "PROPOSED"
    assert unfreeze(context.store, context.cluster.id, who="ann", now=2.0)
    assert apply_plan(context, plan_id, watch_s=0.0).done
    freeze(context.store, context.cluster.id, who="ann", now=3.0, reason="again")
    assert rollback_plan(context).outcome is Outcome.FROZEN


def test_a_plan_is_applied_once(fake: FakeScheduler, context: Context) -> None:
    plan_id = propose(context)
    apply_plan(context, plan_id, watch_s=0.0)
    again = apply_plan(context, plan_id, watch_s=0.0)
    assert (again.outcome, again.state) == (Outcome.NOT_POSSIBLE, PlanState.APPLIED)
    assert len(fake.sent("PUT")) == 1


def test_a_plan_file_is_recorded_once(context: Context) -> None:
    plan = make_plan(context, changes=dict(CHANGES))
    assert record_plan(context, plan) == record_plan(context, plan)


# ------------------------------------------------------------------- user cases


def test_g2_20_a_standby_answers_with_words_and_the_active_one_gets_the_one_write(
    fake: FakeScheduler, context: Context
) -> None:
    words = Answer(f"This is standby RM. The redirect url is: {fake.url}/ws/v1/cluster", 307, {"Refresh": "3; url=/"})
    standby_info = {"clusterInfo": {"id": 1, "startedOn": 1, "state": "STARTED", "haState": "STANDBY",
                                    "hadoopVersion": "3.5.0", "resourceManagerVersion": "3.5.0"}}  # fmt: skip
    with FakeResourceManager() as standby:
        for place in (("GET", "/scheduler-conf"), ("GET", "/scheduler-conf/version"), ("PUT", "/scheduler-conf"),
                      ("POST", "/scheduler-conf/validate"), ("GET", "/scheduler"), ("GET", "/metrics")):  # fmt: skip
            standby.answers[place] = words
        standby.answers["GET", "/info"] = Answer(json.dumps(standby_info))
        with ResourceManagerClient([standby.url, fake.url], SimpleAuth("alice"), timeout_s=5.0) as rm:
            both = replace(context, rm=rm, back_end=CapacityRest(rm, {}, (3, 5)))
            assert apply_plan(both, propose(both), watch_s=0.0).outcome is Outcome.APPLIED
        assert standby.sent("PUT") == []
    assert (fake.conf, len(fake.sent("PUT"))) == (AFTER, 1)


def test_g2_21_reads_work_and_the_write_wants_a_ticket(fake: FakeScheduler, context: Context) -> None:
    plan_id = propose(context)
    fake.answers["PUT", "/scheduler-conf"] = Answer(
        "<html>Authentication required</html>", 401, {"WWW-Authenticate": "Negotiate"}, "text/html"
    )
    result = apply_plan(context, plan_id)
    assert (result.outcome, state(context, plan_id)) == (Outcome.REJECTED, "REJECTED")
    assert fake.conf == BEFORE


@pytest.mark.parametrize(
    ("present", "changes", "rule", "severity"),
    [
        pytest.param(
            {f"{P}resource-calculator": "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator"},
            {PROD: "1", DEV: "99"},
            "rounds-to-no-core",
            Severity.WARNING,
            id="g2_14",
        ),
        pytest.param(
            {
                f"{P}root.accessible-node-labels": "gpu",
                f"{P}root.accessible-node-labels.gpu.capacity": "100",
                **{f"{P}root.{leaf}.accessible-node-labels": "gpu" for leaf in ("prod", "dev")},
                **{f"{P}root.{leaf}.accessible-node-labels.gpu.capacity": "50" for leaf in ("prod", "dev")},
            },
            {f"{P}root.prod.accessible-node-labels.gpu.capacity": "60"},
            "sibling-sum",
            Severity.ERROR,
            id="g2_16",
        ),
        pytest.param({}, {f"{P}root.prod.minimum-user-limit-percent": "0"}, "minimum-user-limit-percent",
                     Severity.ERROR, id="g2_03"),
        pytest.param({}, {PROD: "33.33", DEV: "66.6"}, "sibling-sum", Severity.ERROR, id="g2_05"),
    ],
)  # fmt: skip
def test_a_plan_says_what_the_checks_say(
    fake: FakeScheduler,
    context: Context,
    present: dict[str, str],
    changes: dict[str, str | None],
    rule: str,
    severity: Severity,
) -> None:
    fake.conf.update(present)
    plan = make_plan(context, changes=changes)
    assert (rule, severity) in {(finding.rule_id, finding.severity) for finding in plan.findings}
