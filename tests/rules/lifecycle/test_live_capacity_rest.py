"""The whole way on a real YARN: Capacity Scheduler, store ``memory``, over REST."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rules.lifecycle.apply import apply_plan
from rules.lifecycle.context import open_context
from rules.lifecycle.propose import make_plan, record_plan
from rules.lifecycle.result import Outcome
from rules.lifecycle.states import PlanState
from tests.rules.lifecycle.live import (
    CAPACITY_QUEUES,
    WAITING,
    Live,
    live_cluster,
    restart_resource_manager,
    submit_sleepers,
    wait_for,
    waiting,
)
from tuner.settings import Settings
from tuner.yarn.model import Applied, SchedulerConf
from tuner.yarn.schedulerconf import SchedulerConfUpdate
from workloads.cluster.spec import ClusterSpec

pytestmark = pytest.mark.cluster

P = "yarn.scheduler.capacity."
BETTER = ("--set", "root.etl.capacity=60", "--set", "root.adhoc.capacity=40", "--set", "root.etl.maximum-capacity=100")


@pytest.fixture(scope="module")
def live(cluster_settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    spec = ClusterSpec(name="plan-rest", nodes=1, node_memory_mib=16384, node_vcores=16, queues=CAPACITY_QUEUES)
    with live_cluster(spec, cluster_settings, tmp_path_factory.mktemp("plan-rest")) as found:
        yield found


def stored(live: Live) -> dict[str, str]:
    with live.rm() as rm:
        conf = rm.scheduler_conf()
    assert isinstance(conf, SchedulerConf)
    return dict(conf.properties)


def test_applications_that_wait_are_freed_by_a_plan_and_the_plan_is_taken_back(live: Live, tmp_path: Path) -> None:
    before = stored(live)
    with live.rm() as rm:
        apps = submit_sleepers(rm)
        wait_for(lambda: waiting(rm, apps) == WAITING - 1, "one runs and the others wait")

        file = tmp_path / "plan.json"
        status, plan = live.yarntune("plan", "-o", str(file), *BETTER)
        assert (status, plan["applicable"], plan["back_end"]) == (3, True, "capacity-rest")
        assert {change["property"]: (change["before"], change["after"]) for change in plan["changes"]} == {
            f"{P}root.etl.capacity": ("10", "60"),
            f"{P}root.adhoc.capacity": ("90", "40"),
            f"{P}root.etl.maximum-capacity": ("10", "100"),
        }
        (everything, *_) = plan["effects"]
        assert (everything["queue"], everything["jobs"]) == ("all", WAITING)
        assert everything["after"] < everything["before"], "more of the waiting ones run at once"
        assert stored(live) == before, "planning changes nothing"
        assert waiting(rm, apps) == WAITING - 1

        status, result = live.yarntune("apply", str(file), "--yes", "--wait", "5")
        assert (status, result["outcome"], result["plan"]) == (0, "applied", plan["id"])
        etl = rm.scheduler().queue("root.etl")
        assert etl is not None
        assert etl.capacity is not None
        assert etl.capacity.capacity_percent == pytest.approx(60, abs=1e-3)
        assert etl.guaranteed is not None
        assert etl.guaranteed.memory_mib == int(0.6 * 16384)
        wait_for(lambda: waiting(rm, apps) == 0, "all run")

        status, result = live.yarntune("rollback", "--yes")
        assert (status, result["outcome"], result["plan"]) == (0, "rolled-back", plan["id"])
        assert stored(live) == before
        etl = rm.scheduler().queue("root.etl")
        assert etl is not None
        assert etl.capacity is not None
        assert etl.capacity.capacity_percent == pytest.approx(10, abs=1e-3)
        for app in apps:
            rm.kill(app, timeout_s=60.0)
    _, history = live.yarntune("history", str(plan["id"]))
    assert [step["to"] for step in history["steps"]] == [
        "PROPOSED", "CHECKING", "WRITING", "VERIFYING", "WATCHING", "APPLIED", "ROLLING_BACK", "ROLLED_BACK",
    ]  # fmt: skip


def test_g2_08_g2_09_what_yarn_would_refuse_is_not_even_planned(live: Live) -> None:
    """A lone sibling, and a queue that would go while it is RUNNING."""
    before = stored(live)
    status, plan = live.yarntune("plan", "--set", "root.etl.capacity=60")
    assert (status, plan["applicable"]) == (1, False)
    assert "sibling-sum" in {found["rule"] for found in plan["findings"]}
    status, result = live.yarntune("apply", str(plan["id"]), "--yes")
    assert (status, result["outcome"]) == (1, "rejected")
    changes = ("--set", "root.queues=adhoc", "--set", "root.adhoc.capacity=100", "--unset", "root.etl.capacity")
    status, plan = live.yarntune("plan", *changes)
    assert status == 1
    assert {"removes-queue", "deleted-while-running"} <= {found["rule"] for found in plan["findings"]}
    assert stored(live) == before


def test_another_admin_was_there_since_the_plan(live: Live) -> None:
    _, plan = live.yarntune("plan", "--no-estimate", *BETTER)
    theirs = SchedulerConfUpdate(update={"root.etl": {"capacity": "20", "maximum-capacity": "20"},
                                         "root.adhoc": {"capacity": "80"}})  # fmt: skip
    with live.rm() as rm:
        assert rm.update_scheduler_conf(theirs) == Applied()
        status, result = live.yarntune("apply", str(plan["id"]), "--yes")
        assert (status, result["outcome"]) == (1, "stale")
        assert {"property": f"{P}root.etl.capacity", "expected": "10", "found": "20"} in result["differences"]
        assert stored(live)[f"{P}root.etl.capacity"] == "20"
        back = SchedulerConfUpdate(update={"root.etl": {"capacity": "10", "maximum-capacity": "10"},
                                           "root.adhoc": {"capacity": "90"}})  # fmt: skip
        assert rm.update_scheduler_conf(back) == Applied()


def test_the_optimizer_finds_by_itself_what_frees_the_waiting(live: Live) -> None:
    before = stored(live)
    with live.rm() as rm:
        apps = submit_sleepers(rm)
        wait_for(lambda: waiting(rm, apps) == WAITING - 1, "one runs and the others wait")
        status, plan = live.yarntune("plan", "--seed", "1", "--time-limit", "20")
        assert status == 3, plan
        assert (plan["applicable"], plan["origin"]) == (True, "optimizer")
        (everything, *_) = plan["effects"]
        assert everything["after"] < everything["before"]

        status, result = live.yarntune("apply", str(plan["id"]), "--yes", "--wait", "2")
        assert (status, result["outcome"]) == (0, "applied"), result["message"]
        wait_for(lambda: waiting(rm, apps) < WAITING - 1, "more run than before")
        assert live.yarntune("rollback", "--yes")[1]["outcome"] == "rolled-back"
        assert stored(live) == before
        for app in apps:
            rm.kill(app, timeout_s=60.0)


def test_g2_11_the_resourcemanager_is_killed_between_the_write_and_the_reading(live: Live) -> None:
    """The store `memory` has forgotten the change when it is back, which is said as it is."""
    before = stored(live)
    with open_context(Settings.from_environment()) as context:
        changes = {f"{P}root.etl.capacity": "60", f"{P}root.adhoc.capacity": "40",
                   f"{P}root.etl.maximum-capacity": "100"}  # fmt: skip
        plan_id = record_plan(context, make_plan(context, changes=changes))
        write, written = context.back_end.write, []

        def write_and_kill(current: object, proposed: object) -> object:
            answer = write(current, proposed)  # type: ignore[arg-type]
            written.append(stored(live)[f"{P}root.etl.capacity"])
            restart_resource_manager(live)
            return answer

        context.back_end.write = write_and_kill  # type: ignore[method-assign, assignment]
        result = apply_plan(context, plan_id, watch_s=2.0)
        assert written == ["60"]
        assert (result.outcome, result.state) == (Outcome.FAILED, PlanState.FAILED)
        assert "started anew" in result.message
        assert stored(live) == before
