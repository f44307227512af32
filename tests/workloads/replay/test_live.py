"""Live replays on a real YARN: they end, are measured, rank configurations, and leave nothing behind."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from rules.cli.replay import live_summaries
from tests.fidelity.configurations import alternatives
from tests.oracle.runner import build_or_skip, replay
from tuner.errors import ClusterError, InputError
from tuner.settings import Settings
from tuner.yarn.auth import SimpleAuth
from tuner.yarn.client import ResourceManagerClient
from tuner.yarn.model import FINAL_STATES, Application
from workloads.blocks.calibration import calibrate
from workloads.cluster.spec import RunningCluster
from workloads.importers.options import ImportOptions
from workloads.importers.registry import import_workload
from workloads.reduce import reduce_case
from workloads.replay.embedded import case_cluster, target_of
from workloads.replay.live import LiveReplay, replay_live
from workloads.to_case import CasePlan, Queues, make_case
from workloads.trace import Case, Executors, Job, Node, Task, case_to_json, parse_case

pytestmark = [pytest.mark.cluster, pytest.mark.slow]
ONE = "factor 10"
BETTER = "factor 10, fair, AM share 0.5"


def eventually(condition: Callable[[], object], timeout_s: float = 120.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.2)


def runners_left(settings: Settings) -> list[psutil.Process]:
    """Processes that still run blocks, of whatever replay."""
    folder = str(calibrate(settings.cache_dir).folder)
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            found += [process] if folder in process.cmdline() else []
    return found


def applications(cluster: RunningCluster, settings: Settings) -> tuple[Application, ...]:
    with ResourceManagerClient(cluster.rm_url, SimpleAuth(settings.user), 10) as rm:
        return (*rm.applications(types=("YARNTUNE",)), *rm.applications(states=FINAL_STATES, limit=100))


def small_case(task_s: float) -> Case:
    """Three jobs of two users with tasks of two sizes, for the shared cluster's only queue."""
    jobs = tuple(
        Job(
            f"job{n}",
            "default",
            0.3 * n,
            user=f"user{n % 2}",
            am_memory_mib=1024,
            tasks=tuple(Task(task_s, 1024 + 1024 * (k % 2), 1) for k in range(3)),
        )
        for n in range(3)
    )
    return Case((Node(8192, 8),) * 2, jobs, node_heartbeat_s=0.1, am_heartbeat_s=0.1, horizon_s=120.0)


def test_every_job_is_an_application_of_its_own_user_and_is_measured(
    yarn_cluster: RunningCluster, cluster_settings: Settings
) -> None:
    result = replay_live(small_case(1.0), target_of(yarn_cluster), cluster_settings)
    assert [(job.state, job.words) for job in result.jobs] == [("finished", "")] * 3
    known = {each.id: each for each in applications(yarn_cluster, cluster_settings)}
    for number, job in enumerate(result.jobs):
        application = known[job.application]
        assert (application.state, application.final_status) == ("FINISHED", "SUCCEEDED")
        assert (application.user, application.name) == (f"user{number % 2}", f"job{number}")
        assert job.latency_s == pytest.approx(application.finished_at_s - application.started_at_s)  # type: ignore[operator]
        assert 0 <= job.submit_s <= job.am_start_s <= job.first_s < job.finish_s
        # Two tasks of 1024 MiB, one of 2048 and the AM, for as long as the tasks run at least.
        assert job.memory_mib_seconds >= 4 * 1024 * 1.0
        assert job.vcore_seconds >= 3
    assert max(each.allocated_mib for each in result.usage) > 3 * 1024
    assert result.problems == ()
    eventually(lambda: not runners_left(cluster_settings))


def test_interrupting_kills_all_and_leaves_nothing(
    yarn_cluster: RunningCluster, cluster_settings: Settings, tmp_path: Path
) -> None:
    path = tmp_path / "case.json"
    path.write_text(json.dumps(case_to_json(small_case(600.0))))
    environment = {
        **os.environ,
        "YARNTUNE_RM_URL": yarn_cluster.rm_url,
        "HADOOP_CONF_DIR": str(yarn_cluster.hadoop_conf_dir),
    }
    command = [sys.executable, "-m", "tuner.cli", "workload", "replay", str(path), "--live"]
    before = {each.id for each in applications(yarn_cluster, cluster_settings)}
    running = subprocess.Popen(
        command,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A job of a shell in the background has SIGINT ignored, and would hand that on.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )

    def own() -> list[Application]:
        return [each for each in applications(yarn_cluster, cluster_settings) if each.id not in before]

    try:
        eventually(lambda: sum(each.state == "RUNNING" for each in own()) == 3 or running.poll() is not None)
        eventually(lambda: runners_left(cluster_settings) or running.poll() is not None)
        assert running.poll() is None, running.communicate()
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=90)
    finally:
        running.kill()
    assert running.returncode == 130, errors
    assert {each.state for each in own()} == {"KILLED"}
    eventually(lambda: not runners_left(cluster_settings))


def test_what_cannot_be_replayed_is_said_before_anything_is_submitted(
    yarn_cluster: RunningCluster, cluster_settings: Settings
) -> None:
    target = target_of(yarn_cluster)
    case = small_case(1.0)
    with pytest.raises(InputError, match="no queue nowhere"):
        replay_live(replace(case, jobs=(replace(case.jobs[0], queue="nowhere"),)), target, cluster_settings)
    executors = replace(case.jobs[0], tasks=(), executors=Executors(1), stages=((1.0,),))
    with pytest.raises(InputError, match="holds executors"):
        replay_live(replace(case, jobs=(executors,)), target, cluster_settings)
    with pytest.raises(ClusterError, match="only an address"):
        replay_live(case, replace(target, hadoop_conf_dir=None), cluster_settings)
    with pytest.raises(ClusterError, match="Kerberos"):
        replay_live(case, replace(target, kerberos=True), cluster_settings)


def test_a_job_that_the_resource_manager_refuses_is_a_result(
    yarn_cluster: RunningCluster, cluster_settings: Settings
) -> None:
    case = small_case(0.5)
    large = replace(case.jobs[0], id="large", tasks=(Task(1.0, 64 * 1024, 1),))
    result = replay_live(replace(case, jobs=(large, case.jobs[1])), target_of(yarn_cluster), cluster_settings)
    assert [job.state for job in result.jobs] == ["failed", "finished"]
    assert "maximum" in result.jobs[0].words.lower()
    assert result.jobs[0].latency_s == -1.0


def live(case: Case, settings: Settings, name: str) -> LiveReplay:
    with case_cluster(case, settings, name=name) as cluster:
        return replay_live(case, target_of(cluster), settings)


def test_latencies_of_a_facebook_window_rank_configurations_as_the_oracle_does(
    shared_data: Path, cluster_settings: Settings
) -> None:
    """Four minutes with a third of the tasks on a third of the nodes, twenty times as fast."""
    build_or_skip()
    trace = import_workload([shared_data / "swim" / "FB-2009_samples_24_times_1hr_0.tsv"], ImportOptions("facebook"))
    case, _ = make_case(trace, 7.25 * 3600, 7.25 * 3600 + 240, CasePlan(nodes=3, queues=Queues("by-team", 3)))
    small = replace(reduce_case(reduce_case(case, 3, by="tasks"), 20), horizon_s=300.0)
    cases = alternatives(case_to_json(small))
    oracle = [
        sum(job["finish"] - job["submit"] for job in result["jobs"]) / len(result["jobs"])
        for result in replay([cases[ONE], cases[BETTER]])
    ]
    # The oracle is sure of the order, so that the noise of this machine does not decide.
    assert oracle[0] > 2 * oracle[1]
    summaries = []
    for number, name in enumerate((ONE, BETTER)):
        found = live(parse_case(cases[name]), cluster_settings, f"replay{number}")
        assert [job.state for job in found.jobs] == ["finished"] * len(small.jobs), found.jobs
        summaries.append(live_summaries(small, found))
    assert summaries[0]["all"].mean_latency_s > summaries[1]["all"].mean_latency_s
    assert summaries[1]["all"].unfinished == 0
    assert {"team1", "team2", "team3", "all"} == set(summaries[1])
