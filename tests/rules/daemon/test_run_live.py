"""The whole run on a real YARN: history, recommendation, two at once, application, accuracy."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

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
from tuner.yarn.model import SchedulerConf
from workloads.cluster.spec import ClusterSpec

pytestmark = [pytest.mark.cluster, pytest.mark.slow]


@pytest.fixture(scope="module")
def live(cluster_settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    spec = ClusterSpec(name="run-once", nodes=1, node_memory_mib=16384, node_vcores=16, queues=CAPACITY_QUEUES)
    with live_cluster(spec, cluster_settings, tmp_path_factory.mktemp("run-once")) as found:
        yield found


def both_at_once(live: Live) -> list[subprocess.Popen[str]]:
    command = [sys.executable, "-c", "from tuner.cli import main; main()", "scheduler", "run-once"]
    return [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)
    ]  # fmt: skip


def test_a_run_from_history_to_a_change_that_helps(live: Live) -> None:
    with live.rm() as rm:
        apps = submit_sleepers(rm)
        wait_for(lambda: waiting(rm, apps) == WAITING - 1, "one of the applications runs")

        # Collected: once each, however often.
        status, first = live.yarntune("collect")
        assert (status, first["open_applications"], first["gap"]) == (0, WAITING, None)
        rm.kill(apps[-1], 60.0)
        counts = [live.yarntune("collect")[1] for _ in range(2)]
        assert [made["new_applications"] for made in counts] == [1, 0]
        assert [made["open_applications"] for made in counts] == [WAITING - 1] * 2

        # Recommended: recorded, nothing changed. Said once.
        before = rm.scheduler_conf()
        status, told = live.yarntune("run-once")
        assert (status, told["action"]) == (3, "recommended"), told["message"]
        assert any(change["property"].endswith("root.etl.maximum-capacity") for change in told["plan"]["changes"])
        assert rm.scheduler_conf() == before
        status, listed = live.yarntune("accuracy")
        assert (status, listed["plans"][-1]["id"], listed["plans"][-1]["applied"]) == (0, told["plan_id"], False)

        # Two at once: one works, the other says so.
        ended = [(run.communicate(timeout=300), run.returncode) for run in both_at_once(live)]
        assert sorted(code for _, code in ended) == [3, 4], ended
        ((_, words),) = [output for output, code in ended if code == 4]
        assert "another process tunes this cluster's queues at this moment" in words

        # Applied: the waits fall.
        status, done = live.yarntune("run-once", "--mode", "apply", "--watch", "1")
        assert (status, done["action"]) == (0, "applied"), done["message"]
        after = rm.scheduler_conf()
        assert isinstance(after, SchedulerConf)
        assert after != before
        wait_for(lambda: waiting(rm, apps[:-1]) == 0, "all applications run")

    # Restarted without recovery: what may be missing is said.
    restart_resource_manager(live)
    status, made = live.yarntune("collect")
    assert status == 0
    assert made["gap"]["reason"].startswith("the ResourceManager was restarted and does not recover")


def test_with_mode_off_nothing_is_looked_at(live: Live) -> None:
    status, result = live.yarntune("run-once", "--mode", "off")
    assert (status, result["action"], result["collected"]) == (0, "off", None)
