"""A ResourceManager with two queues and a mutable store, which fails at a write as it is told to."""

from __future__ import annotations

import json
import threading
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import Any

from rules.backends.capacity_file import CapacityFile
from rules.backends.capacity_rest import CapacityRest
from rules.configuration import capacity_configuration
from rules.lifecycle.context import Context
from rules.plan import Cluster
from tests.fakes.resource_manager import Answer, FakeResourceManager
from tuner.settings import Settings
from tuner.store import Store, open_store
from tuner.yarn.auth import SimpleAuth
from tuner.yarn.client import ResourceManagerClient
from tuner.yarn.model import Applied

P = "yarn.scheduler.capacity."
BEFORE = {
    f"{P}root.queues": "prod,dev",
    f"{P}root.prod.capacity": "30",
    f"{P}root.dev.capacity": "70",
    f"{P}root.prod.maximum-capacity": "60",
}
SUCCESS = "Configuration change successfully applied."
CLUSTER = Cluster("rm1:8088", "3.5.0", 1_700_000_000.0)


class Fault(Enum):
    """What goes wrong at the next write."""

    NONE = "none"
    LOST_BEFORE = "the connection ends, nothing is written"
    LOST_AFTER = "it is written, and the answer never comes"
    LATE = "the answer never comes, and it is written a moment later"
    NO_EFFECT = "200, and nothing changes"
    REFUSED = "400"
    HALF = "200, and only the first property changes"
    OTHER_ADMIN = "another admin changes the same property right after it"
    OTHER_PROPERTY = "another admin changes another property right after it"
    OTHER_BEFORE = "another admin's change of the same property is taken just before it"
    FORGOTTEN = "it is written; then the ResourceManager starts anew with what it had"


class FakeScheduler(FakeResourceManager):
    """Two leaves, ``root.prod`` and ``root.dev``; ``conf`` and ``version`` are its store."""

    def __init__(self) -> None:
        super().__init__()
        self.conf = dict(BEFORE)
        self.version = 1
        self.started_ms = 1_700_000_000_000
        self.fault = Fault.NONE
        self.invalid = ""
        self.state_of: dict[str, str] = {}
        self.stuck: set[str] = set()
        self.working: set[str] = set()
        self.queues_file: Path | None = None
        self._turn = threading.Lock()

    def _next(self, method: str, path: str) -> Answer:
        with self._turn:
            place = (method, path.removeprefix("/ws/v1/cluster"))
            if place in self.answers:
                return super()._next(method, path)
            if place == ("PUT", "/scheduler-conf"):
                return self._write(json.loads(self.requests[-1].body))
            if place == ("POST", "/refresh"):
                # Stands for `rmadmin -refreshQueues`, which is no REST call.
                assert self.queues_file is not None
                self.conf = dict(capacity_configuration(self.queues_file.read_bytes(), "the file").properties)
                return Answer("refreshed")
            if place == ("POST", "/scheduler-conf/validate"):
                return Answer(self.invalid, 400) if self.invalid else _json(self._conf())
            documents = {
                "/info": lambda: {
                    "clusterInfo": {
                        "id": self.started_ms,
                        "startedOn": self.started_ms,
                        "state": "STARTED",
                        "haState": "ACTIVE",
                        "resourceManagerVersion": "3.5.0",
                        "hadoopVersion": "3.5.0",
                    }
                },
                "/metrics": lambda: {"clusterMetrics": _METRICS},
                "/scheduler": self._scheduler,
                "/scheduler-conf": self._conf,
                "/scheduler-conf/version": lambda: {"configversion": {"versionID": self.version}},
            }
            make = documents.get(place[1])
            return _json(make()) if method == "GET" and make is not None else super()._next(method, path)

    def _write(self, body: dict[str, Any]) -> Answer:
        changed = {
            f"{P}{queue['queue-name']}.{entry['key']}": entry["value"]
            for queue in body.get("update-queue", [])
            for entry in queue["params"]["entry"]
        }
        fault, self.fault = self.fault, Fault.NONE
        if fault is Fault.LOST_BEFORE:
            return Answer(silent=True)
        if fault is Fault.REFUSED:
            return Answer("Failed to re-init queues : Illegal capacity sum of 1.1", 400)
        if fault is Fault.LATE:
            threading.Timer(0.6, self._store, [changed]).start()
            return Answer(silent=True)
        if fault is Fault.FORGOTTEN:
            self.started_ms += 5000
            return Answer(silent=True)
        if fault is Fault.OTHER_BEFORE:
            self._store({f"{P}root.prod.capacity": "41", f"{P}root.dev.capacity": "59"})
        if fault is not Fault.NO_EFFECT:
            self._store(dict(list(changed.items())[:1]) if fault is Fault.HALF else changed)
        else:
            self.version += 1
        if fault is Fault.OTHER_ADMIN:
            self._store({f"{P}root.prod.capacity": "41", f"{P}root.dev.capacity": "59"})
        if fault is Fault.OTHER_PROPERTY:
            self._store({f"{P}root.dev.user-limit-factor": "3"})
        return Answer(silent=True) if fault is Fault.LOST_AFTER else Answer(SUCCESS)

    def _store(self, changed: dict[str, str]) -> None:
        for name, value in changed.items():
            if value:
                self.conf[name] = value
            else:
                self.conf.pop(name, None)
        self.version += 1

    def _conf(self) -> dict[str, Any]:
        return {"property": [{"name": name, "value": value} for name, value in self.conf.items()]}

    def _scheduler(self) -> dict[str, Any]:
        leaves = [self._leaf(name) for name in self.conf[f"{P}root.queues"].split(",")]
        root = {
            "type": "capacityScheduler",
            "queueName": "root",
            "queuePath": "root",
            "capacity": 100.0,
            "maxCapacity": 100.0,
            "queues": {"queue": leaves},
        }
        return {"scheduler": {"schedulerInfo": root}}

    def _leaf(self, name: str) -> dict[str, Any]:
        path = f"root.{name}"

        def value(suffix: str, default: str) -> float:
            return float(self.conf.get(f"{P}{path}.{suffix}", default))

        used = 1024 if path in self.working else 0
        return {
            "type": "capacitySchedulerLeafQueueInfo",
            "queueName": name,
            "queuePath": path,
            "state": self.state_of.get(path, "RUNNING"),
            "capacity": value("capacity", "0") + 0.000002,
            "maxCapacity": value("maximum-capacity", "100"),
            "userLimitFactor": value("user-limit-factor", "1"),
            "userLimit": value("minimum-user-limit-percent", "100"),
            "configuredMaxAMResourceLimit": value("maximum-am-resource-percent", "0.1"),
            "orderingPolicyInfo": self.conf.get(f"{P}{path}.ordering-policy", "fifo"),
            "resourcesUsed": {"memory": used, "vCores": int(bool(used))},
            "numPendingApplications": 2 if path in self.stuck else 0,
            "numActiveApplications": int(bool(used)),
        }


_COUNTS = """
    appsSubmitted appsCompleted appsPending appsRunning appsFailed appsKilled reservedMB availableMB allocatedMB
    reservedVirtualCores availableVirtualCores allocatedVirtualCores containersAllocated containersReserved
    containersPending totalNodes lostNodes unhealthyNodes decommissioningNodes decommissionedNodes rebootedNodes
    activeNodes shutdownNodes
"""
_METRICS = {"totalMB": 16384, "totalVirtualCores": 16, **dict.fromkeys(_COUNTS.split(), 0)}


def _json(document: dict[str, Any]) -> Answer:
    return Answer(json.dumps(document))


def file_context_of(url: str, store: Store, folder: Path) -> Context:
    """A context that changes ``capacity-scheduler.xml`` in a folder, which the fake cluster reads at a refresh."""
    context = context_of(url, store, folder)

    def refresh() -> Applied:
        with urllib.request.urlopen(urllib.request.Request(f"{url}/ws/v1/cluster/refresh", method="POST"), timeout=30):
            return Applied()

    path = folder / "capacity-scheduler.xml"
    return replace(context, back_end=CapacityFile(context.rm, path, refresh, site={}, version=(3, 5)))


def file_of(conf: Mapping[str, str]) -> bytes:
    """A capacity-scheduler.xml."""
    rows = "".join(f"  <property><name>{name}</name><value>{conf[name]}</value></property>\n" for name in conf)
    return f"<configuration><!-- by hand -->\n{rows}</configuration>\n".encode()


def context_of(url: str, store: Store, folder: Path, *, settle_s: float = 3.0, timeout_s: float = 1.5) -> Context:
    """A context on a fake cluster; close its ``rm`` afterwards."""
    rm = ResourceManagerClient(url, SimpleAuth("alice"), timeout_s=timeout_s)
    return Context(
        store=store,
        rm=rm,
        back_end=CapacityRest(rm, {}, (3, 5)),
        cluster=CLUSTER,
        who="alice",
        lock_dir=folder / "locks",
        settle_s=settle_s,
    )


@contextmanager
def faked(folder: Path) -> Iterator[tuple[FakeScheduler, Context]]:
    """A fake cluster and a context on it, with a store of its own in a folder."""
    settings = replace(Settings.from_environment(), database_url=f"sqlite:///{folder / 'store.db'}")
    with FakeScheduler() as fake, open_store(settings) as store:
        context = context_of(fake.url, store, folder)
        with context.rm:
            yield fake, replace(context, sleep=_short)


def _short(seconds: float) -> None:
    """Polls of the life cycle, ten times as fast."""
    threading.Event().wait(seconds / 10)
