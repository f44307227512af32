"""Bodies of many versions come out in one shape, or are refused with a sentence."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import ROOT
from tuner.yarn import normalize, queues
from tuner.yarn.errors import YarnProtocolError
from tuner.yarn.fields import parse
from tuner.yarn.model import Resource

READERS: dict[str, Callable[[dict[str, Any]], object]] = {
    "clusterInfo": normalize.cluster_info,
    "clusterMetrics": normalize.cluster_metrics,
    "nodes": normalize.nodes,
    "node": normalize.node,
    "apps": normalize.applications,
    "app": normalize.application,
    "scheduler": queues.scheduler,
    "property": normalize.scheduler_conf,
    "versionID": normalize.scheduler_conf_version,
    "application-id,maximum-resource-capability": normalize.new_application,
    "properties": normalize.configuration,
}
RM_FOLDER = Path(os.environ.get("YARNTUNE_TEST_DATA") or ROOT.parent / "shared" / "data") / "rm"


def manifest() -> list[dict[str, str]]:
    if not RM_FOLDER.is_dir():
        return [{"file": "", "root": "", "parse": ""}]
    entries: list[dict[str, str]] = json.loads((RM_FOLDER / "MANIFEST.json").read_text())
    return entries


@pytest.mark.parametrize("entry", manifest(), ids=lambda entry: entry["file"])
def test_every_real_body_is_normalised_or_refused_with_a_sentence(entry: dict[str, str], shared_data: Path) -> None:
    text = (shared_data / "rm" / entry["file"]).read_text(encoding="utf-8")
    fits = READERS.get(entry["root"]) if entry["file"].endswith(".json") else None
    for reader in READERS.values():
        if reader is fits:
            reader(parse(text))
            continue
        with pytest.raises(YarnProtocolError, match=r"\w+ \w+ \w+") as raised:
            reader(parse(text))
        assert len(raised.value.message) < 250


def real(shared_data: Path, name: str) -> dict[str, Any]:
    return parse((shared_data / "rm" / name).read_text(encoding="utf-8"))


def recorded(name: str) -> dict[str, Any]:
    return parse((Path(__file__).parent / "bodies" / f"hadoop-3.5.0-{name}.json").read_text(encoding="utf-8"))


SCHEDULERS = [
    "brumi1024-yarn-scheduler-ui/scheduler.json",
    "docs-2.x/05_cluster-scheduler-api.json",
    "docs-3.4.0/09_cluster-scheduler-api.json",
    "hadoop-3.4-webapp/scheduler-response-AbsoluteModeLegacyAutoCreation.json",
    "hadoop-3.4-webapp/scheduler-response-PerUserResources.json",
    "hadoop-3.4-webapp/scheduler-response-PercentageModeLegacyAutoCreation.json",
    "hadoop-3.4-webapp/scheduler-response-WeightModeWithAutoCreatedQueues-After.json",
    "hadoop-3.4-webapp/scheduler-response-WeightModeWithAutoCreatedQueues-Before.json",
]


@pytest.mark.parametrize("name", SCHEDULERS)
def test_no_queue_of_a_real_tree_is_lost(name: str, shared_data: Path) -> None:
    text = (shared_data / "rm" / name).read_text(encoding="utf-8")
    info = queues.scheduler(parse(text))
    all_queues = list(info.root.walk())
    kind = "fairSchedulerLeafQueueInfo" if info.kind == "fair" else "capacitySchedulerLeafQueueInfo"
    assert [queue.leaf for queue in all_queues].count(True) == text.count(f'"{kind}"')
    paths = [queue.path for queue in all_queues]
    assert len(set(paths)) == len(paths)
    assert paths[0] == "root"
    for queue in all_queues:
        assert all(child.path.startswith(f"{queue.path}.") for child in queue.children)
        assert (queue.capacity is None) == (info.kind == "fair")


def test_paths_are_made_of_names_where_hadoop_2_has_no_path(shared_data: Path) -> None:
    info = queues.scheduler(real(shared_data, "docs-2.x/05_cluster-scheduler-api.json"))
    leaf = info.queue("root.a.a1.a1a")
    assert leaf is not None
    assert leaf.capacity is not None
    assert (leaf.capacity.capacity_percent, leaf.capacity.absolute_capacity_percent) == (85.0, 2.6775)
    assert leaf.capacity.users == ()
    assert leaf.pending is None
    assert info.queue("a1a") == leaf


def test_users_and_modes_of_hadoop_3_4(shared_data: Path) -> None:
    info = queues.scheduler(real(shared_data, "hadoop-3.4-webapp/scheduler-response-PerUserResources.json"))
    leaf = info.queue("root.b.b1")
    assert leaf is not None
    assert leaf.capacity is not None
    assert [user.name for user in leaf.capacity.users] == ["user1", "user2"]
    assert leaf.capacity.users[0].pending_applications == 1
    assert (leaf.pending_applications, leaf.pending) == (2, Resource(2048, 2))
    assert leaf.capacity.max_am_share == 0.1
    absolute = info.queue("root.c")
    assert absolute is not None
    assert absolute.capacity is not None
    assert (absolute.capacity.mode, absolute.guaranteed) == ("absolute", Resource(1024, 0))
    assert absolute.capacity.weight is None


def test_weights_and_auto_created_queues(shared_data: Path) -> None:
    name = "hadoop-3.4-webapp/scheduler-response-WeightModeWithAutoCreatedQueues-{}.json"
    before = queues.scheduler(real(shared_data, name.format("Before")))
    after = queues.scheduler(real(shared_data, name.format("After")))
    created = {queue.path for queue in after.root.walk()} - {queue.path for queue in before.root.walk()}
    assert created
    for queue in after.root.walk():
        assert queue.capacity is not None
        assert queue.capacity.auto_created == (queue.path in created)
        assert queue.capacity.weight is not None


def test_labelled_partitions_of_cloudera(shared_data: Path) -> None:
    info = queues.scheduler(real(shared_data, "brumi1024-yarn-scheduler-ui/scheduler.json"))
    assert info.root.capacity is not None
    by_label = {each.label: each for each in info.root.capacity.partitions}
    assert set(by_label) == {"", "fpga", "gpu"}
    assert by_label["gpu"].effective_minimum == Resource(49152, 16)
    assert info.root.maximum_allocation == Resource(32768, 88)
    nodes = normalize.nodes(real(shared_data, "brumi1024-yarn-scheduler-ui/nodes.json"))
    assert (nodes[0].labels, nodes[0].total) == (("gpu",), Resource(32768, 8))


def test_the_fair_scheduler_has_the_same_shape(shared_data: Path) -> None:
    info = queues.scheduler(real(shared_data, "docs-3.4.0/09_cluster-scheduler-api.json"))
    queue = info.queue("root.sample_queue.sample_sub_queue")
    assert info.kind == "fair"
    assert queue is not None
    assert queue.fair is not None
    assert (queue.guaranteed, queue.fair.fair_share) == (Resource(5000, 0), Resource(10000, 0))


def test_a_fifo_scheduler_whose_capacity_is_not_a_number(shared_data: Path) -> None:
    info = queues.scheduler(real(shared_data, "docs-3.4.0/07_cluster-scheduler-api.json"))
    assert (info.kind, [queue.path for queue in info.root.walk()]) == ("fifo", ["default"])


def test_an_unknown_scheduler_is_refused_by_name() -> None:
    with pytest.raises(YarnProtocolError, match="slsScheduler"):
        queues.scheduler({"scheduler": {"schedulerInfo": {"type": "slsScheduler"}}})


def test_metrics_of_hadoop_2_are_added_up(shared_data: Path) -> None:
    metrics = normalize.cluster_metrics(real(shared_data, "knox/cluster-metrics.json"))
    assert metrics.total.memory_mib == metrics.available.memory_mib + metrics.allocated.memory_mib
    assert metrics.pending is None


def test_ended_applications_hold_nothing(shared_data: Path) -> None:
    ended = normalize.application(recorded("app_failed"))
    assert (ended.allocated, ended.allocated_mib, ended.running_containers, ended.priority) == (None, None, None, None)
    assert (ended.state, ended.ended, ended.memory_seconds) == ("FAILED", True, 385)
    assert ended.finished_at_s == pytest.approx(1796058184.337)
    for name in ("eagle/sparkcompleteapp.json", "docs-3.4.0/11_cluster-applications-api.json"):
        for each in normalize.applications(real(shared_data, name)):
            assert (each.state, each.allocated, each.running_containers) == ("FINISHED", None, None)
    running = normalize.application(real(shared_data, "knox/app_running.json"))
    assert (running.allocated, running.finished_at_s, running.memory_seconds) == (Resource(4608, 2), None, None)


def test_bodies_recorded_from_hadoop_3_5() -> None:
    assert normalize.cluster_info(recorded("info")).hadoop_version == "3.5.0"
    metrics = normalize.cluster_metrics(recorded("metrics"))
    assert (metrics.total, metrics.allocated, metrics.available, metrics.pending) == (
        Resource(8192, 8),
        Resource(3072, 3),
        Resource(5120, 5),
        Resource(0, 0),
    )
    applications = normalize.applications(recorded("apps"))
    active = [each for each in applications if not each.ended]
    assert [(each.state, each.queue, each.tags, each.allocated) for each in active] == [
        ("ACCEPTED", "root.prod", ("a", "b"), Resource(1024, 1))
    ] * 3
    assert [node.total for node in normalize.nodes(recorded("nodes")) if node.state == "RUNNING"] == [Resource(8192, 8)]
    prod = queues.scheduler(recorded("scheduler_capacity")).queue("prod")
    assert prod is not None
    assert (prod.used, prod.am_used, prod.active_applications) == (Resource(3072, 3), Resource(3072, 3), 3)
    fair = queues.scheduler(recorded("scheduler_fair"))
    assert [queue.path for queue in fair.root.walk()] == ["root", "root.prod", "root.prod.etl", "root.dev"]
    assert fair.root.maximum_allocation == Resource(8192, 4)
    assert normalize.scheduler_conf_version(recorded("scheduler_conf_version")) > 1
    assert normalize.new_application(recorded("new_application")).maximum_allocation == Resource(8192, 4)


@pytest.mark.parametrize(
    "body",
    ['{"apps": {}}', '{"apps": null}', '{"apps": ""}', '{"apps": {"app": null}}', '{"apps": {"app": [null]}}'],
)
def test_no_application_is_written_in_many_ways(body: str) -> None:
    assert normalize.applications(parse(body)) == ()


def test_a_single_application_may_stand_without_a_list() -> None:
    (only,) = normalize.applications(parse('{"apps": {"app": {"id": "application_1_1", "state": "RUNNING"}}}'))
    assert only.id == "application_1_1"


def test_children_of_a_fair_queue_may_stand_without_their_inner_name() -> None:
    root = {"queueName": "root", "childQueues": [{"queueName": "root.a", "type": "fairSchedulerLeafQueueInfo"}]}
    info = queues.scheduler({"scheduler": {"schedulerInfo": {"type": "fairScheduler", "rootQueue": root}}})
    assert [queue.path for queue in info.root.walk()] == ["root", "root.a"]


def test_repeated_keys_are_all_kept() -> None:
    assert parse('{"m": {"entry": 1, "entry": [2], "entry": 3, "other": 4}}') == {
        "m": {"entry": [1, [2], 3], "other": 4}
    }


def test_a_byte_order_mark_is_no_fault() -> None:
    assert parse('\ufeff{"a": 1}') == {"a": 1}


@pytest.mark.parametrize(
    ("body", "version"),
    [('{"versionID": "7"}', 7), ('{"configversion": {"versionID": 7}}', 7), ('{"versionID": 7}', 7)],
)
def test_the_version_of_the_configuration(body: str, version: int) -> None:
    assert normalize.scheduler_conf_version(parse(body)) == version


def test_a_property_without_a_value_is_not_set() -> None:
    body = '{"property": [{"name": "a", "value": "1"}, {"name": "b"}, {"name": "c", "value": ""}]}'
    assert normalize.scheduler_conf(parse(body)).properties == {"a": "1", "c": ""}


def test_a_whole_number_stays_exact() -> None:
    body = {"node": {"id": "n", "state": "RUNNING", "totalResource": {"memory": 9223372036854775807, "vCores": "3"}}}
    assert normalize.node(body).total == Resource(9223372036854775807, 3)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "empty"),
        ("  <!DOCTYPE html><p>Log in", "a web page"),
        ("<?xml version='1.0'?><apps/>", "XML"),
        ("This is it", "plain text"),
        ("[1]", "not a JSON object"),
        ("[" * 100_000, "plain text"),
    ],
)
def test_what_is_not_json_is_named(text: str, what: str) -> None:
    with pytest.raises(YarnProtocolError, match=what):
        parse(text)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    *("clusterInfo", "clusterMetrics", "nodes", "node", "apps", "app", "scheduler", "schedulerInfo"),
                    *("property", "versionID", "configversion", "application-id", "maximum-resource-capability"),
                    *("id", "state", "type", "name", "value", "memory", "vCores", "availableMB", "queues", "queue"),
                    *("queueName", "rootQueue", "childQueues", "users", "user", "username", "capacities", "capacity"),
                    *("nodeLabels", "totalResource", "startedTime", "hadoopVersion", "resourcesUsed", "properties"),
                ]
            ),
            inner,
            max_size=6,
        )
    ),
    max_leaves=25,
)


@given(value=json_values, kind=st.sampled_from(["capacityScheduler", "fairScheduler", "fifoScheduler"]))
def test_any_json_is_read_or_refused_and_nothing_else(value: Any, kind: str) -> None:
    documents = [value, *({root: value} for root in READERS)]
    if isinstance(value, dict):
        documents.append({"scheduler": {"schedulerInfo": {**value, "type": kind}}})
    for document in documents:
        for reader in READERS.values():
            try:
                reader(parse(json.dumps(document)))
            except YarnProtocolError:
                continue


@given(st.floats())
def test_a_number_is_finite_or_unknown(value: float) -> None:
    node = normalize.cluster_info(
        parse(json.dumps({"clusterInfo": {"state": "STARTED", "hadoopVersion": "3", "startedOn": value}}))
    )
    assert math.isfinite(node.started_at_s)
