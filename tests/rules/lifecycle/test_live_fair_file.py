"""The whole way on a real YARN: Fair Scheduler, its allocation file replaced, the reload seen in the queues."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rules.lifecycle.apply import apply_plan
from rules.lifecycle.context import open_context
from rules.lifecycle.propose import make_plan, record_plan
from rules.lifecycle.result import Outcome
from rules.lifecycle.states import PlanState
from tests.rules.lifecycle.live import FAIR_QUEUES, WAITING, Live, live_cluster, submit_sleepers, wait_for, waiting
from tuner.settings import Settings
from workloads.cluster.spec import ClusterSpec

pytestmark = pytest.mark.cluster

BETTER = (
    "--no-estimate",
    *("--set", "root.etl.weight=3.0", "--set", "root.etl.maxRunningApps=8", "--set", "root.adhoc.weight=1.0"),
)
BEFORE = FAIR_QUEUES.encode()


@pytest.fixture(scope="module")
def live(cluster_settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    spec = ClusterSpec(
        name="plan-fair", nodes=1, node_memory_mib=16384, node_vcores=16, scheduler="fair", queues=FAIR_QUEUES
    )
    with live_cluster(spec, cluster_settings, tmp_path_factory.mktemp("plan-fair")) as found:
        yield found


def steady_mib(live: Live) -> dict[str, int]:
    with live.rm() as rm:
        queues = {queue.path: queue for queue in rm.scheduler().root.walk()}
    found = {}
    for path in ("root.etl", "root.adhoc"):
        fair = queues[path].fair
        assert fair is not None
        found[path] = fair.steady_fair_share.memory_mib
    return found


def test_applications_that_wait_are_freed_and_the_file_is_put_back_byte_for_byte(live: Live) -> None:
    with live.rm() as rm:
        apps = submit_sleepers(rm)
        wait_for(lambda: waiting(rm, apps) == WAITING - 1, "one runs and the others wait")
        status, plan = live.yarntune("plan", *BETTER)
        assert (status, plan["applicable"], plan["back_end"]) == (3, True, "fair-file"), plan["findings"]
        assert {change["property"]: change["after"] for change in plan["changes"]} == {
            "root.etl.weight": "3.0",
            "root.etl.maxRunningApps": "8",
            "root.adhoc.weight": "1.0",
        }
        before = steady_mib(live)
        assert before["root.adhoc"] > before["root.etl"]

        status, result = live.yarntune("apply", str(plan["id"]), "--yes", "--wait", "2")
        assert (status, result["outcome"]) == (0, "applied"), result["message"]
        expected = (
            BEFORE.replace(b"<weight>1.0", b"<weight>X").replace(b"<weight>3.0", b"<weight>1.0")
            .replace(b"<weight>X", b"<weight>3.0").replace(b"Apps>1<", b"Apps>8<")
        )  # fmt: skip
        assert live.queues_file.read_bytes() == expected, "only the values differ"
        after = steady_mib(live)
        assert (after["root.etl"], after["root.adhoc"]) == (before["root.adhoc"], before["root.etl"])
        wait_for(lambda: waiting(rm, apps) == 0, "all run")

        status, result = live.yarntune("rollback", "--yes")
        assert (status, result["outcome"]) == (0, "rolled-back"), result["message"]
        assert live.queues_file.read_bytes() == BEFORE
        assert steady_mib(live) == before
        for app in apps:
            rm.kill(app, timeout_s=60.0)


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        (
            '<queue name="adhoc">',
            '<queue name="adhoc"><queue name="a"/><maxAMShare>0.5</maxAMShare>',
            "fair-leaf-only",
        ),
        ("<weight>3.0", "<weight>0.0", "fair-weight"),
    ],
)
def test_g2_18_a_file_that_would_stop_the_resourcemanager_is_not_written(
    live: Live, old: str, new: str, rule: str
) -> None:
    with open_context(Settings.from_environment()) as context:
        plan = make_plan(context, allocations=FAIR_QUEUES.replace(old, new))
        assert rule in {finding.rule_id for finding in plan.errors}
        result = apply_plan(context, record_plan(context, plan))
    assert (result.outcome, result.state) == (Outcome.REJECTED, PlanState.REJECTED)
    assert live.queues_file.read_bytes() == BEFORE
