"""Real daemons are started, used, killed and ended."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from tuner.errors import ClusterError
from tuner.settings import Settings
from workloads.cluster import lifecycle, processes, shell
from workloads.cluster.admin import rmadmin
from workloads.cluster.config import hadoop_xml
from workloads.cluster.jars import JARS, jar_folder, pyspark_home
from workloads.cluster.layout import Layout
from workloads.cluster.lifecycle import start, stop
from workloads.cluster.spec import ClusterSpec, RunningCluster
from workloads.cluster.status import status

pytestmark = pytest.mark.cluster
SMALL = ClusterSpec(name="small", nodes=1, node_memory_mib=4096, node_vcores=4)
NOBODY = 65534


def call(url: str, body: dict[str, Any] | None = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as response:
        text = response.read()
    return json.loads(text) if text else None


def eventually(condition: Callable[[], object], timeout_s: float = 120.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.1)


def run_cli(state_dir: Path, *arguments: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "YARNTUNE_STATE_DIR": str(state_dir)}
    command = [sys.executable, "-m", "tuner.cli", "cluster", *arguments]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def submit_sleeping_application(rm_url: str, seconds: int) -> None:
    """An application whose only container, that of its ApplicationMaster, is a `sleep`."""
    application = call(f"{rm_url}/ws/v1/cluster/apps/new-application", {})["application-id"]
    body = {
        "application-id": application,
        "application-name": "sleeper",
        "application-type": "YARN",
        "am-container-spec": {"commands": {"command": f"sleep {seconds}"}},
        "resource": {"memory": 1024, "vCores": 1},
    }
    call(f"{rm_url}/ws/v1/cluster/apps", body)


def sleepers(folder: Path) -> list[psutil.Process]:
    """The containers' programs: what is marked and is no JVM."""
    found = []
    for process in processes.marked(folder):
        with contextlib.suppress(psutil.NoSuchProcess):
            found += [process] if process.name() == "sleep" else []
    return found


@pytest.fixture
def settings(cluster_settings: Settings, tmp_path: Path) -> Iterator[Settings]:
    """A state folder of the test's own, in a path that Hadoop's scripts could not handle; nothing may be left in it."""
    own = replace(cluster_settings, state_dir=tmp_path / "mit Lücke")
    yield own
    layout = Layout.of(own, SMALL.name)
    stop(SMALL.name, own, purge=True)
    assert processes.marked(layout.root) == []
    assert not layout.scratch.exists()


def test_starting_a_cluster_that_is_up_returns_the_same_one(
    yarn_cluster: RunningCluster, cluster_settings: Settings
) -> None:
    assert start(yarn_cluster.spec, cluster_settings) == yarn_cluster
    shown = status("shared", cluster_settings)
    assert (shown.state, shown.active_nodes, shown.problems) == ("up", 2, ())
    metrics = call(f"{yarn_cluster.rm_url}/ws/v1/cluster/metrics")["clusterMetrics"]
    assert (metrics["totalMB"], metrics["totalVirtualCores"]) == (2 * 8192, 2 * 8)


def test_another_shape_under_the_same_name_is_refused(yarn_cluster: RunningCluster, cluster_settings: Settings) -> None:
    with pytest.raises(ClusterError, match="2 nodes of 8192 MiB") as caught:
        start(replace(yarn_cluster.spec, nodes=3), cluster_settings)
    assert "--name shared" in caught.value.hint


@pytest.mark.slow
def test_a_spark_job_runs_and_leaves_its_event_log(yarn_cluster: RunningCluster) -> None:
    program = pyspark_home() / "examples" / "src" / "main" / "python" / "pi.py"
    result = subprocess.run(
        [pyspark_home() / "bin" / "spark-submit", "--num-executors", "1", "--executor-memory", "512m", program, "2"],
        env={**os.environ, **shell.environment(yarn_cluster)},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert result.returncode == 0, result.stderr[-2000:]
    assert "Pi is roughly 3." in result.stdout
    (application,) = [
        each for each in call(f"{yarn_cluster.rm_url}/ws/v1/cluster/apps")["apps"]["app"] if each["name"] == "PythonPi"
    ]
    assert application["finalStatus"] == "SUCCEEDED"
    logs = list(yarn_cluster.event_log_dir.glob(f"*{application['id']}*/events_1_*"))
    assert len(logs) == 1
    assert logs[0].stat().st_size > 0


def test_a_life_with_accidents(settings: Settings) -> None:
    """Two `up` at once, a refresh, killed daemons told in words, an orphaned container ended, a second start."""
    arguments = ["--name", "small", "--nodes", "1", "--node-memory", "4g", "--node-vcores", "4", "--store", "file"]
    racers = [run_cli(settings.state_dir, "up", "--json", *arguments) for _ in range(2)]
    outputs = [racer.communicate(timeout=300) for racer in racers]
    assert [racer.returncode for racer in racers] == [0, 0], outputs
    layout = Layout.of(settings, "small")
    running = layout.read()
    assert running is not None
    assert [json.loads(out) for out, _ in outputs] == [running.to_json(), running.to_json()]

    queues = layout.hadoop_conf / "capacity-scheduler.xml"
    queues.write_text(queues.read_text().replace(">0.5<", ">0.25<"))
    rmadmin(running, settings, ["-refreshQueues"])
    scheduler = call(f"{running.rm_url}/ws/v1/cluster/scheduler")["scheduler"]["schedulerInfo"]
    # A quarter of 4096 MiB, normalized to a whole minimum allocation.
    assert scheduler["queues"]["queue"][0]["AMResourceLimit"]["memory"] == 1024
    queues.write_text(queues.read_text().replace(">100<", ">90<"))
    with pytest.raises(ClusterError, match=r"Illegal capacity sum of 0\.9"):
        rmadmin(running, settings, ["-refreshQueues"])

    submit_sleeping_application(running.rm_url, 86400)
    eventually(lambda: sleepers(layout.root))
    sleeper = sleepers(layout.root)[0]
    resource_manager, node_manager = running.processes
    os.kill(node_manager.pid, signal.SIGKILL)
    eventually(lambda: processes.find(node_manager) is None)
    shown = status("small", settings)
    assert shown.state == "degraded"
    assert f"the nodemanager-1 (pid {node_manager.pid}) is dead" in shown.problems[0]
    os.kill(resource_manager.pid, signal.SIGKILL)
    eventually(lambda: processes.find(resource_manager) is None)
    told = run_cli(settings.state_dir, "status")
    out, notes = told.communicate(timeout=60)
    assert told.returncode == 1
    assert "dead" in out
    assert f"the resourcemanager (pid {resource_manager.pid}) is dead" in notes
    assert "yarntune cluster up --name small" in notes

    assert sleeper.is_running()
    again = start(replace(running.spec, queues=None), settings)
    assert not sleeper.is_running()
    assert status("small", settings).state == "up"
    assert again.processes != running.processes
    assert stop("small", settings).daemons == 2
    assert stop("small", settings).daemons == 0
    assert status("small", settings).state == "down"


def test_the_fair_scheduler_runs_beside_another_cluster(yarn_cluster: RunningCluster, settings: Settings) -> None:
    running = start(replace(SMALL, scheduler="fair", store=""), settings)
    info = call(f"{running.rm_url}/ws/v1/cluster/scheduler")["scheduler"]["schedulerInfo"]
    assert info["type"] == "fairScheduler"
    assert [queue["queueName"] for queue in info["rootQueue"]["childQueues"]["queue"]] == ["root.default"]
    submit_sleeping_application(running.rm_url, 86400)
    eventually(lambda: sleepers(Layout.of(settings, "small").root))
    stopped = stop("small", settings)
    assert (stopped.daemons, sleepers(Layout.of(settings, "small").root)) == (2, [])
    assert call(f"{yarn_cluster.rm_url}/ws/v1/cluster/info")["clusterInfo"]["state"] == "STARTED"


def test_a_leveldb_store_outlives_down_and_gives_way_to_new_queues(settings: Settings) -> None:
    name = "yarn.scheduler.capacity.root.default.maximum-capacity"

    def maximum(running: RunningCluster) -> str | None:
        rows = call(f"{running.rm_url}/ws/v1/cluster/scheduler-conf")["property"]
        return next((row["value"] for row in rows if row["name"] == name), None)

    spec = replace(SMALL, store="leveldb")
    running = start(spec, settings)
    change = {
        "update-queue": {
            "queue-name": "root.default",
            "params": {"entry": [{"key": "maximum-capacity", "value": "77"}]},
        }
    }
    url = f"{running.rm_url}/ws/v1/cluster/scheduler-conf?user.name=root"
    request = urllib.request.Request(
        url, json.dumps(change).encode(), {"Content-Type": "application/json"}, method="PUT"
    )
    with urllib.request.urlopen(request, timeout=30) as response:
        assert response.status == 200
    stop("small", settings)
    assert maximum(start(spec, settings)) == "77"
    stop("small", settings)
    prefix = "yarn.scheduler.capacity.root"
    queues = hadoop_xml({f"{prefix}.queues": "default", f"{prefix}.default.capacity": "100", name: "66"})
    assert maximum(start(replace(spec, queues=queues), settings)) == "66"


def test_a_start_that_fails_says_what_hadoop_said_and_leaves_nothing(settings: Settings) -> None:
    prefix = "yarn.scheduler.capacity.root"
    queues = hadoop_xml({f"{prefix}.queues": "default", f"{prefix}.default.capacity": "90"})
    with pytest.raises(ClusterError, match=r"Illegal capacity sum of 0\.9") as caught:
        start(replace(SMALL, queues=queues), settings)
    assert "resourcemanager.log" in caught.value.hint
    assert processes.marked(Layout.of(settings, "small").root) == []
    assert status("small", settings).state == "down"


def test_a_bad_queue_file_is_not_in_the_way_of_the_next_start(settings: Settings) -> None:
    """A leveldb store keeps what it was first given, from one start to the next."""
    spec = replace(SMALL, store="leveldb")
    prefix = "yarn.scheduler.capacity.root"
    queues = hadoop_xml({f"{prefix}.queues": "default", f"{prefix}.default.capacity": "90"})
    with pytest.raises(ClusterError, match=r"Illegal capacity sum of 0\.9"):
        start(replace(spec, queues=queues), settings)
    assert not Layout.of(settings, "small").store.exists()
    assert start(spec, settings).spec == spec


def test_an_interrupted_start_leaves_nothing(settings: Settings) -> None:
    layout = Layout.of(settings, "small")
    starting = run_cli(settings.state_dir, "up", "--name", "small", "--nodes", "1")
    eventually(lambda: len(processes.marked(layout.root)) == 2)
    starting.send_signal(signal.SIGTERM)
    assert starting.communicate(timeout=60)[1].endswith("interrupted\n")
    assert starting.returncode == 130
    assert processes.marked(layout.root) == []


def test_a_port_that_was_taken_meanwhile_is_replaced(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    choose = lifecycle._free_ports
    said: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ports = iter([replace(choose(1), tracker=taken.getsockname()[1])])
        monkeypatch.setattr(lifecycle, "_free_ports", lambda nodes: next(ports, None) or choose(nodes))
        start(SMALL, settings, note=said.append)
    assert any("port was taken" in text for text in said)
    assert status("small", settings).state == "up"


def test_a_foreign_process_with_a_recorded_pid_is_left_alone(yarn_cluster: RunningCluster, settings: Settings) -> None:
    layout = Layout.of(settings, "small")
    layout.root.mkdir(parents=True)
    with subprocess.Popen(["sleep", "600"]) as foreign:
        recycled = tuple(replace(record, pid=foreign.pid) for record in yarn_cluster.processes)
        layout.write(replace(yarn_cluster, processes=recycled))
        assert status("small", settings).state == "dead"
        assert stop("small", settings).daemons == 0
        assert foreign.poll() is None
        foreign.kill()


def test_a_full_disk_is_told_in_words(
    yarn_cluster: RunningCluster, cluster_settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = psutil.disk_usage("/")
    monkeypatch.setattr(psutil, "disk_usage", lambda path: usage._replace(free=3 * 1024**2))
    shown = status("shared", cluster_settings)
    assert shown.state == "degraded"
    assert "is full (3 MiB left): free some space" in shown.problems[0]


_AS_NOBODY = """
import encodings.idna, os, sys, multiprocessing
from dataclasses import replace
from pathlib import Path
from tuner.settings import Settings
from workloads.cluster import lifecycle, status
from workloads.cluster.spec import ClusterSpec
folder = Path(sys.argv[1])
settings = replace(Settings.from_environment(), state_dir=folder / "state", cache_dir=folder / "cache")
os.setgroups([])
os.setgid({uid})
os.setuid({uid})
spec = ClusterSpec(name="small", nodes=1)
lifecycle.start(spec, settings)
shown = status.status("small", settings)
print(shown.state, shown.active_nodes, lifecycle.stop("small", settings).daemons, os.getuid())
"""


def test_an_ordinary_user_can_have_a_cluster(cluster_settings: Settings) -> None:
    if os.getuid() != 0:
        pytest.skip("every other test of this module has just shown it: this run's user is not root")
    with tempfile.TemporaryDirectory(prefix="nobody-") as name:
        # Not in tmp_path, which only its owner may enter.
        folder = Path(name)
        jars = folder / "cache" / "jars"
        jars.mkdir(parents=True)
        for jar in JARS:
            shutil.copy2(jar_folder(cluster_settings) / jar.filename, jars)
        shutil.copy2(jar_folder(cluster_settings) / "verified.json", jars)
        for path in (folder, *folder.rglob("*")):
            os.chown(path, NOBODY, NOBODY)
        result = subprocess.run(
            [sys.executable, "-c", _AS_NOBODY.format(uid=NOBODY), name],
            env={**os.environ, "HOME": name, "USER": "nobody"},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert result.stdout.split() == ["up", "1", "2", str(NOBODY)], result.stderr
