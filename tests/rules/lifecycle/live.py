"""An embedded cluster with two queues, of which one is far too small for what waits in it."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest
from click.testing import CliRunner

from tuner.cli import cli
from tuner.settings import Settings
from tuner.yarn.auth import SimpleAuth
from tuner.yarn.client import ResourceManagerClient
from tuner.yarn.errors import YarnError
from tuner.yarn.model import ApplicationSubmission
from workloads.cluster import processes
from workloads.cluster.lifecycle import start, stop
from workloads.cluster.spec import ClusterSpec, RunningCluster

DEADLINE_S = 120.0
WAITING = 4
"""Applications that are submitted to ``root.etl``; its share has room for one."""

CAPACITY_QUEUES = """\
<?xml version="1.0" encoding="UTF-8"?>
<!-- Queues of the data team; écrit à la main. -->
<configuration>
  <property>
    <name>yarn.scheduler.capacity.root.queues</name>
    <value>etl, adhoc</value>
  </property>
  <property>
    <name>yarn.scheduler.capacity.maximum-am-resource-percent</name>
    <value>0.5</value>
  </property>
  <property><name>yarn.scheduler.capacity.root.etl.capacity</name><value>10</value></property>
\t<property><name>yarn.scheduler.capacity.root.etl.maximum-capacity</name><value>10</value><!-- too small --></property>
  <property><name>yarn.scheduler.capacity.root.adhoc.capacity</name>
            <value>90</value></property>
</configuration>
"""

FAIR_QUEUES = """\
<?xml version="1.0"?>
<allocations>
  <!-- Queues of the data team -->
  <queue name="etl">
    <weight>1.0</weight>
    <maxRunningApps>1</maxRunningApps> <!-- too few -->
    <maxAMShare>-1.0</maxAMShare>
  </queue>
  <queue name="adhoc"><weight>3.0</weight></queue>
</allocations>
"""


@dataclass(frozen=True)
class Live:
    """A cluster, and the environment in which ``yarntune`` finds it."""

    cluster: RunningCluster
    environment: dict[str, str]

    @property
    def queues_file(self) -> Path:
        name = "fair-scheduler.xml" if self.cluster.spec.scheduler == "fair" else "capacity-scheduler.xml"
        return self.cluster.hadoop_conf_dir / name

    def yarntune(self, *arguments: str) -> tuple[int, Any]:
        """Runs ``yarntune scheduler ARGUMENTS --json``; the exit status and the document."""
        result = CliRunner().invoke(cli, ["scheduler", *arguments, "--json"], env=self.environment)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result.exit_code, json.loads(result.stdout)

    def rm(self) -> ResourceManagerClient:
        return ResourceManagerClient(self.cluster.rm_url, SimpleAuth("alice"), timeout_s=30.0)


@contextmanager
def live_cluster(spec: ClusterSpec, settings: Settings, folder: Path) -> Iterator[Live]:
    """The cluster for the length of a ``with``, with a store of its own."""
    cluster = start(spec, settings)
    environment = {
        "YARNTUNE_STATE_DIR": str(settings.state_dir),
        "YARNTUNE_DATA_DIR": str(folder),
        "YARNTUNE_DATABASE_URL": f"sqlite:///{folder / 'store.db'}",
        "HADOOP_CONF_DIR": str(cluster.hadoop_conf_dir),
        "YARNTUNE_USER": "alice",
    }
    try:
        with pytest.MonkeyPatch.context() as patch:
            for name, value in environment.items():
                patch.setenv(name, value)
            patch.delenv("YARNTUNE_RM_URL", raising=False)
            patch.delenv("YARN_CONF_DIR", raising=False)
            yield Live(cluster, environment)
    finally:
        stop(spec.name, settings, purge=True)


def wait_for(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline, f"{what}: not within {DEADLINE_S:g} s"
        time.sleep(0.3)


def submit_sleepers(rm: ResourceManagerClient) -> list[str]:
    """Applications of one container each, which sleep until they are killed."""
    found = []
    for number in range(WAITING):
        new = rm.new_application()
        rm.submit(
            ApplicationSubmission(
                new.id, f"sleeper-{number}", "sleep 900", memory_mib=1024, queue="root.etl", type="TEST"
            )
        )
        found.append(new.id)
    return found


def waiting(rm: ResourceManagerClient, apps: list[str]) -> int:
    """How many of them wait for their first container."""
    found = [rm.application(app) for app in apps]
    return sum(each is not None and not each.allocated_mib for each in found)


def restart_resource_manager(live: Live) -> None:
    """kill -9, and the same command again; returns when it answers."""
    (record,) = [each for each in live.cluster.processes if each.role == "resourcemanager"]
    process = psutil.Process(record.pid)
    command, environment, folder = process.cmdline(), process.environ(), process.cwd()
    os.kill(record.pid, signal.SIGKILL)
    psutil.wait_procs([process], timeout=30)
    processes.spawn(command, environment, Path(folder), Path(record.log).with_suffix(".out"))

    def answers() -> bool:
        with _impatient(live) as rm:
            try:
                return rm.metrics().nodes_active >= live.cluster.spec.nodes
            except YarnError:
                return False

    wait_for(answers, "the ResourceManager is back")


def _impatient(live: Live) -> ResourceManagerClient:
    return ResourceManagerClient(live.cluster.rm_url, SimpleAuth("alice"), timeout_s=2.0)
