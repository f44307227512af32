"""The whole way on a real YARN: Capacity Scheduler with its file, which is put back byte for byte."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from rules.lifecycle.apply import apply_plan
from rules.lifecycle.context import open_context
from rules.lifecycle.propose import make_plan, record_plan
from rules.lifecycle.reconcile import reconcile
from rules.lifecycle.result import Outcome
from rules.lifecycle.rollback import rollback_plan
from rules.lifecycle.states import PlanState
from rules.plan import BackEndKind
from tests.rules.lifecycle.live import (
    CAPACITY_QUEUES,
    WAITING,
    Live,
    live_cluster,
    submit_sleepers,
    wait_for,
    waiting,
)
from tuner.settings import Settings
from tuner.yarn.model import NotMutable, Rejected
from tuner.yarn.schedulerconf import SchedulerConfUpdate
from workloads.cluster.spec import ClusterSpec

pytestmark = pytest.mark.cluster

P = "yarn.scheduler.capacity."
BETTER = (
    "--no-estimate",
    *("--set", "root.etl.capacity=60", "--set", "root.adhoc.capacity=40", "--set", "root.etl.maximum-capacity=100"),
)
CHANGES: dict[str, str | None] = {
    f"{P}root.etl.capacity": "60",
    f"{P}root.adhoc.capacity": "40",
    f"{P}root.etl.maximum-capacity": "100",
}
BEFORE = CAPACITY_QUEUES.encode()


@pytest.fixture(scope="module")
def live(cluster_settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    spec = ClusterSpec(
        name="plan-file", nodes=1, node_memory_mib=16384, node_vcores=16, store="file", queues=CAPACITY_QUEUES
    )
    with live_cluster(spec, cluster_settings, tmp_path_factory.mktemp("plan-file")) as found:
        yield found


def percent(live: Live, path: str) -> float:
    with live.rm() as rm:
        queue = rm.scheduler().queue(path)
    assert queue is not None
    assert queue.capacity is not None
    return queue.capacity.capacity_percent


def test_applications_that_wait_are_freed_and_the_file_is_put_back_byte_for_byte(live: Live) -> None:
    assert live.queues_file.read_bytes() == BEFORE
    with live.rm() as rm:
        apps = submit_sleepers(rm)
        wait_for(lambda: waiting(rm, apps) == WAITING - 1, "one runs and the others wait")
        status, plan = live.yarntune("plan", *BETTER)
        assert (status, plan["applicable"], plan["back_end"]) == (3, True, "capacity-file")
        assert live.queues_file.read_bytes() == BEFORE

        status, result = live.yarntune("apply", str(plan["id"]), "--yes", "--wait", "4")
        assert (status, result["outcome"]) == (0, "applied"), result["message"]
        changed = live.queues_file.read_bytes()
        expected = (
            BEFORE.replace(b"etl.capacity</name><value>10", b"etl.capacity</name><value>60")
            .replace(b"etl.maximum-capacity</name><value>10", b"etl.maximum-capacity</name><value>100")
            .replace(b"<value>90</value>", b"<value>40</value>")
        )
        assert changed == expected, "only the values differ"
        assert percent(live, "root.etl") == pytest.approx(60, abs=1e-3)
        wait_for(lambda: waiting(rm, apps) == 0, "all run")

        status, result = live.yarntune("rollback", "--yes")
        assert (status, result["outcome"]) == (0, "rolled-back"), result["message"]
        assert live.queues_file.read_bytes() == BEFORE
        assert percent(live, "root.etl") == pytest.approx(10, abs=1e-3)
        for app in apps:
            rm.kill(app, timeout_s=60.0)


def test_g2_10_a_store_that_is_not_mutable_is_changed_by_its_file(live: Live) -> None:
    with live.rm() as rm:
        refused = rm.update_scheduler_conf(SchedulerConfUpdate(update={"root.etl": {"capacity": "10"}}))
        assert isinstance(refused, NotMutable)
    with open_context(Settings.from_environment()) as context:
        assert context.back_end.kind is BackEndKind.CAPACITY_FILE


def test_what_the_resourcemanager_refuses_at_the_refresh_puts_the_file_back(live: Live) -> None:
    with open_context(Settings.from_environment()) as context:
        plan_id = record_plan(context, make_plan(context, changes=dict(CHANGES)))
        refresh, refusals = context.back_end.activate, []

        def refresh_what_is_wrong() -> object:
            if refusals:
                return refresh()
            proposed = live.queues_file.read_bytes()
            live.queues_file.write_bytes(proposed.replace(b"<value>40</value>", b"<value>45</value>"))
            refusals.append(refresh())
            live.queues_file.write_bytes(proposed)
            return refusals[0]

        context.back_end.activate = refresh_what_is_wrong  # type: ignore[method-assign, assignment]
        result = apply_plan(context, plan_id)
    assert isinstance(refusals[0], Rejected), "the ResourceManager refuses shares of 105 %"
    assert (result.outcome, result.state) == (Outcome.REJECTED, PlanState.REJECTED), result.message
    assert "Illegal capacity" in result.message
    assert live.queues_file.read_bytes() == BEFORE
    assert percent(live, "root.etl") == pytest.approx(10, abs=1e-3)


def test_a_crash_between_the_file_and_the_refresh_is_reported_and_mended(live: Live) -> None:
    with open_context(Settings.from_environment()) as context:
        plan_id = record_plan(context, make_plan(context, changes=dict(CHANGES)))

        def crash() -> object:
            raise KeyboardInterrupt

        context.back_end.activate = crash  # type: ignore[method-assign, assignment]
        with pytest.raises(KeyboardInterrupt):
            apply_plan(context, plan_id)
    assert live.queues_file.read_bytes() != BEFORE
    assert percent(live, "root.etl") == pytest.approx(10, abs=1e-3), "it was not refreshed"
    with open_context(Settings.from_environment()) as context:
        (reported,) = reconcile(context)
        assert (reported.outcome, reported.state) == (Outcome.UNKNOWN, PlanState.WRITING)
        assert f"rollback {plan_id}" in reported.message
        assert live.queues_file.read_bytes() != BEFORE, "a command that only looks writes nothing"
        result = rollback_plan(context, plan_id)
    assert (result.outcome, result.state) == (Outcome.ROLLED_BACK, PlanState.ROLLED_BACK)
    assert live.queues_file.read_bytes() == BEFORE
    assert percent(live, "root.etl") == pytest.approx(10, abs=1e-3)


def test_a_file_that_somebody_else_has_changed_is_not_overwritten(live: Live) -> None:
    _, plan = live.yarntune("plan", *BETTER)
    theirs = BEFORE.replace(b"too small", b"ops: keep")
    live.queues_file.write_bytes(theirs)
    status, result = live.yarntune("apply", str(plan["id"]), "--yes")
    assert (status, result["outcome"]) == (1, "stale")
    assert live.queues_file.read_bytes() == theirs

    status, plan = live.yarntune("plan", *BETTER)
    assert (status, plan["applicable"]) == (1, False)
    assert [found["rule"] for found in plan["findings"] if found["severity"] == "ERROR"] == ["file-of-others"]
    status, result = live.yarntune("apply", str(plan["id"]), "--yes")
    assert (status, result["outcome"]) == (1, "rejected")
    assert live.queues_file.read_bytes() == theirs
    _, history = live.yarntune("history")
    assert "changed by somebody else" in history["drift"]

    assert live.yarntune("plan", "--adopt")[0] == 0
    status, plan = live.yarntune("plan", *BETTER)
    assert (status, plan["applicable"]) == (3, True)
    live.queues_file.write_bytes(BEFORE)
    assert live.yarntune("plan", "--adopt")[0] == 0


def test_a_file_that_was_edited_and_not_refreshed_is_not_planned_on(live: Live) -> None:
    edited = BEFORE.replace(b"etl.capacity</name><value>10", b"etl.capacity</name><value>20").replace(b">90<", b">80<")
    live.queues_file.write_bytes(edited.replace(b"<value>10</value><!--", b"<value>20</value><!--"))
    try:
        assert live.yarntune("plan", "--adopt")[0] == 0
        status, plan = live.yarntune("plan", *BETTER)
        assert status == 1
        assert "file-not-in-force" in {found["rule"] for found in plan["findings"]}
    finally:
        live.queues_file.write_bytes(BEFORE)
        assert live.yarntune("plan", "--adopt")[0] == 0


def test_mode_and_link_of_the_file_are_kept(live: Live, tmp_path: Path) -> None:
    real = tmp_path / "capacity-scheduler.xml"
    real.write_bytes(BEFORE)
    real.chmod(0o640)
    live.queues_file.unlink()
    live.queues_file.symlink_to(real)
    try:
        with open_context(Settings.from_environment()) as context:
            plan_id = record_plan(context, make_plan(context, changes=dict(CHANGES)))
            assert apply_plan(context, plan_id, watch_s=0.0).done
            assert live.queues_file.is_symlink()
            assert real.stat().st_mode & 0o777 == 0o640
            assert (real.stat().st_uid, real.stat().st_gid) == (os.getuid(), os.getgid())
            assert rollback_plan(context).done
        assert real.read_bytes() == BEFORE
    finally:
        live.queues_file.unlink()
        live.queues_file.write_bytes(BEFORE)
