"""Where the configuration is found, and what is said where it is not; on a ResourceManager that answers as told."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rules.live.case import to_case
from rules.live.model import Configuration, Source, Unreadable
from rules.live.read import read_cluster
from rules.model import Resources
from tests.fakes.resource_manager import Answer, FakeResourceManager
from tuner.errors import YarnError
from tuner.yarn.auth import SimpleAuth
from tuner.yarn.client import ResourceManagerClient
from tuner.yarn.locate import Target

PREFIX = "yarn.scheduler.capacity."
STORED = {f"{PREFIX}root.queues": "default", f"{PREFIX}root.default.capacity": "100"}
NOT_MUTABLE = "Configuration change only supported by mutable configuration store."
APP = "application_1_0001"


def properties(values: dict[str, str], key: str = "name") -> str:
    return json.dumps({"properties" if key == "key" else "property": [{key: n, "value": v} for n, v in values.items()]})


def leaf(name: str, capacity: float) -> dict[str, Any]:
    return {
        "type": "capacitySchedulerLeafQueueInfo",
        "queueName": name,
        "queuePath": f"root.{name}",
        "capacity": capacity,
        "numActiveApplications": 1,
        "numPendingApplications": 2,
    }


def scheduler(*leaves: dict[str, Any]) -> str:
    root = {"type": "capacityScheduler", "queueName": "root", "queuePath": "root", "queues": {"queue": list(leaves)}}
    return json.dumps({"scheduler": {"schedulerInfo": root}})


FAIR_SCHEDULER = json.dumps(
    {
        "scheduler": {
            "schedulerInfo": {
                "type": "fairScheduler",
                "rootQueue": {
                    "queueName": "root",
                    "childQueues": {"queue": [{"type": "fairSchedulerLeafQueueInfo", "queueName": "root.dynamic"}]},
                },
            }
        }
    }
)


def node(number: int, state: str = "RUNNING") -> dict[str, Any]:
    return {
        "id": f"node{number}:1",
        "state": state,
        "usedMemoryMB": 1024,
        "usedVirtualCores": 1,
        "availMemoryMB": 7168,
        "availableVirtualCores": 7,
    }


@pytest.fixture
def fake() -> Iterator[FakeResourceManager]:
    """A cluster of one node that runs and one that is lost, under the Capacity Scheduler with a mutable store."""
    with FakeResourceManager() as server:
        info = {"clusterInfo": {"state": "STARTED", "haState": "ACTIVE", "hadoopVersion": "3.3.6", "startedOn": 1}}
        server.answers["GET", "/info"] = Answer(json.dumps(info))
        server.answers["GET", "/scheduler"] = Answer(scheduler(leaf("default", 100.0)))
        server.answers["GET", "/nodes"] = Answer(json.dumps({"nodes": {"node": [node(1), node(2, "LOST")]}}))
        server.answers["GET", "/apps"] = Answer('{"apps": {}}')
        server.answers["GET", "/scheduler-conf"] = Answer(properties(STORED))
        server.answers["GET", "/scheduler-conf/version"] = Answer('{"versionID": "7"}')
        yield server


def read(fake: FakeResourceManager, folder: Path | None = None, most_detailed: int = 10) -> Any:
    target = Target((fake.url,), folder, None, None, "the test")
    with ResourceManagerClient(fake.url, SimpleAuth("alice"), timeout_s=2.0) as client:
        return read_cluster(client, target, 1000.0, environ={}, most_detailed=most_detailed)


def test_the_store_is_what_runs(fake: FakeResourceManager) -> None:
    live = read(fake)
    found = live.require_configuration()
    assert (found.source, found.version, dict(found.scheduler)) == (Source.STORE, 7, STORED)
    assert (live.version, live.absent) == ((3, 3), {"node2:1": "LOST"})
    assert live.snapshot.total == Resources(8192, 8)
    assert live.free == {"node1:1": Resources(7168, 7)}
    assert live.snapshot.use["root"].pending_applications == 2


def test_a_file_store_is_read_from_the_folder_and_held_against_what_runs(
    fake: FakeResourceManager, tmp_path: Path
) -> None:
    refused = Answer(json.dumps({"RemoteException": {"exception": "BadRequest", "message": NOT_MUTABLE}}), 400)
    fake.answers["GET", "/scheduler-conf"] = fake.answers["GET", "/scheduler-conf/version"] = refused
    without_folder = read(fake).configuration
    assert isinstance(without_folder, Unreadable)
    assert "HADOOP_CONF_DIR" in without_folder.hint

    missing = read(fake, tmp_path).configuration
    assert isinstance(missing, Unreadable)
    assert "capacity-scheduler.xml cannot be read" in missing.reason
    written = "".join(f"<property><name>{n}</name><value>{v}</value></property>" for n, v in STORED.items())
    (tmp_path / "capacity-scheduler.xml").write_text(f"<configuration>{written}</configuration>", encoding="utf-8")
    (tmp_path / "yarn-site.xml").write_text(
        "<configuration><property><name>yarn.scheduler.minimum-allocation-mb</name><value>512</value></property>"
        "</configuration>",
        encoding="utf-8",
    )
    found = read(fake, tmp_path).require_configuration()
    assert (found.source, found.path) == (Source.FILE, tmp_path / "capacity-scheduler.xml")
    # The ResourceManager of this test does not show /conf, so yarn-site is the folder's, which is said.
    assert found.properties["yarn.scheduler.minimum-allocation-mb"] == "512"
    [note] = found.notes
    assert "yarn-site is that of" in note

    fake.answers["GET", "/scheduler"] = Answer(scheduler(leaf("default", 60.0), leaf("new", 40.0)))
    notes = read(fake, tmp_path).require_configuration().notes
    assert any("does not: it was not refreshed" in each and "root.new" in each for each in notes)
    assert any("a capacity of 100, the ResourceManager goes by 60" in each for each in notes)


def test_who_may_not_see_the_configuration_is_told_whom_to_ask_as(fake: FakeResourceManager) -> None:
    body = {"RemoteException": {"exception": "ForbiddenException", "message": "Only admins can carry this out"}}
    fake.answers["GET", "/scheduler-conf"] = Answer(json.dumps(body), 403)
    live = read(fake)
    assert isinstance(live.configuration, Unreadable)
    assert "Only admins" in live.configuration.reason
    assert live.configuration.hint
    with pytest.raises(YarnError, match="Only admins"):
        live.require_configuration()


def test_the_allocation_file_of_the_fair_scheduler_and_queues_that_applications_made(
    fake: FakeResourceManager, tmp_path: Path
) -> None:
    fake.answers["GET", "/scheduler"] = Answer(FAIR_SCHEDULER)
    assert isinstance(read(fake).configuration, Unreadable)
    missing = read(fake, tmp_path).configuration
    assert isinstance(missing, Unreadable)
    assert "fair-scheduler.xml is not on this machine" in missing.reason
    text = (
        "<allocations><queue name='a'/><queuePlacementPolicy><rule name='reject'/></queuePlacementPolicy></allocations>"
    )
    (tmp_path / "fair-scheduler.xml").write_text(text, encoding="utf-8")
    live = read(fake, tmp_path)
    found = live.require_configuration()
    assert isinstance(found, Configuration)
    assert (found.allocations, found.path) == (text, tmp_path / "fair-scheduler.xml")
    assert found.tree.root.children == ("root.a", "root.dynamic")
    assert "root.a, which the ResourceManager does not have" in found.notes[-1]
    case = to_case(live, (), 10.0)
    assert case.allocations == "<allocations><queue name='a'/></allocations>"


def test_a_broken_configuration_is_unreadable_with_the_place(fake: FakeResourceManager) -> None:
    fake.answers["GET", "/scheduler-conf"] = Answer(properties({**STORED, f"{PREFIX}root.default.capacity": "much"}))
    found = read(fake).configuration
    assert isinstance(found, Unreadable)
    assert f"{PREFIX}root.default.capacity" in found.reason


def test_applications_hold_real_containers_or_an_even_part(fake: FakeResourceManager) -> None:
    item = {"id": APP, "state": "RUNNING", "queue": "default", "startedTime": 5000, "user": "bob"}
    item |= {"runningContainers": 3, "allocatedMB": 4096, "allocatedVCores": 3}
    fake.answers["GET", "/apps"] = Answer(json.dumps({"apps": {"app": [item]}}))
    attempt = "appattempt_1_0001_000001"
    fake.answers["GET", f"/apps/{APP}/appattempts"] = Answer(json.dumps({"appAttempts": {"appAttempt": [{"id": 1}]}}))
    held = [
        {"containerId": f"container_1_0001_01_00000{i}", "allocatedMB": 1024 * i, "allocatedVCores": 1} for i in (2, 1)
    ]
    fake.answers["GET", f"/apps/{APP}/appattempts/{attempt}/containers"] = Answer(json.dumps({"container": held}))
    [found] = read(fake).applications
    assert (found.queue, found.submitted_s, found.am_started, found.containers_known) == (
        "root.default",
        5.0,
        True,
        True,
    )
    assert [(each.is_am, each.resources.memory_mib) for each in found.containers] == [(True, 1024), (False, 2048)]
    [divided] = read(fake, most_detailed=0).applications
    assert (divided.held, divided.containers_known) == (Resources(4096, 3), False)
    assert [each.resources.memory_mib for each in divided.containers] == [1366, 1365, 1365]
    assert "resourceRequests" not in json.dumps([dict(request.query) for request in fake.requests])


def test_a_case_has_the_nodes_and_the_defaults_of_the_version(fake: FakeResourceManager) -> None:
    live = read(fake)
    case = to_case(live, (), 10.0)
    assert [(each.memory_mib, each.vcores) for each in case.nodes] == [(8192, 8)]
    assert case.conf[f"{PREFIX}schedule-asynchronously.enable"] == "false"


def test_the_fifo_scheduler_is_refused_with_what_to_do(fake: FakeResourceManager) -> None:
    fake.answers["GET", "/scheduler"] = Answer('{"scheduler": {"schedulerInfo": {"type": "fifoScheduler"}}}')
    with pytest.raises(YarnError, match="FIFO"):
        read(fake)
