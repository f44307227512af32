"""What is written for Hadoop and Spark, and what is refused before anything is started."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path

import pytest

from tuner.errors import InputError
from tuner.settings import Settings
from workloads.cluster import config
from workloads.cluster.layout import Layout, write_text
from workloads.cluster.spec import ClusterSpec, ProcessRecord, RunningCluster

PORTS = config.Ports(1, 2, 3, 4, 5, (6, 7))


def properties(text: str) -> dict[str, str]:
    root = ElementTree.fromstring(text)
    return {row.findtext("name", ""): row.findtext("value", "") for row in root.iter("property")}


def test_values_survive_the_xml() -> None:
    value = "a < b & \"c\" > 'd' é"
    assert properties(config.hadoop_xml({"name": value})) == {"name": value}


def test_the_largest_container_is_a_whole_node() -> None:
    site = config.yarn_site(ClusterSpec(node_memory_mib=3000, node_vcores=3), Layout(Path("/s")), PORTS)
    assert site["yarn.scheduler.maximum-allocation-mb"] == "3000"
    assert site["yarn.scheduler.maximum-allocation-vcores"] == "3"


def test_a_node_smaller_than_the_usual_minimum_allocation_can_still_give_a_container() -> None:
    site = config.yarn_site(ClusterSpec(node_memory_mib=600), Layout(Path("/s")), PORTS)
    assert site["yarn.scheduler.minimum-allocation-mb"] == "600"


def test_nodes_share_no_folder_and_no_port() -> None:
    first, second = (config.node_site(ClusterSpec(), Layout(Path("/s")), PORTS, number) for number in (1, 2))
    for name in ("yarn.nodemanager.local-dirs", "yarn.nodemanager.log-dirs", "yarn.nodemanager.address"):
        assert first[name] != second[name]


def test_the_operators_queues_are_taken_as_they_are() -> None:
    assert config.queues_file(ClusterSpec(queues="<mine/>")) == ("capacity-scheduler.xml", "<mine/>")
    assert config.queues_file(ClusterSpec(scheduler="fair", queues="<mine/>"))[0] == "fair-scheduler.xml"


def test_spark_in_a_folder_with_blanks_is_named_as_a_uri() -> None:
    found = config.spark_properties(Layout(Path("/s")), Path("/my code/ü"), Path("/python"))
    assert found["spark.yarn.jars"] == "local:/my%20code/%C3%BC/jars/*"


def test_spark_defaults_are_a_java_properties_file() -> None:
    assert config.spark_defaults({"a": "C:\\x y\nz"}) == "a C:\\\\x y\\nz\n"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"name": "../x"}, "not a cluster's name"),
        ({"name": ""}, "not a cluster's name"),
        ({"nodes": 0}, "at least one node"),
        ({"node_memory_mib": 100}, "too small"),
        ({"node_vcores": 0}, "at least one vcore"),
        ({"scheduler": "fifo"}, "not a scheduler"),
        ({"store": "zk"}, "not a configuration store"),
        ({"scheduler": "fair", "store": "memory"}, "no memory store"),
    ],
)
def test_what_no_cluster_can_be_is_refused(wrong: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        replace(ClusterSpec(), **wrong)  # type: ignore[arg-type]


def test_the_store_follows_the_scheduler() -> None:
    assert ClusterSpec().store == "memory"
    assert ClusterSpec(scheduler="fair").store == "file"


def test_a_state_folder_that_hadoop_would_misread_is_refused(tmp_path: Path) -> None:
    settings = replace(Settings.from_environment(), state_dir=tmp_path / "a:b")
    with pytest.raises(InputError, match="class paths"):
        Layout.of(settings, "default")


def test_containers_live_where_spark_can_handle_the_path(tmp_path: Path) -> None:
    assert Layout(Path("/state/clusters/x")).scratch == Path("/state/clusters/x/tmp")
    odd = Layout(tmp_path / "mit Lücke")
    assert " " not in str(odd.scratch)
    assert odd.scratch != Layout(tmp_path / "mit Lücken").scratch


def test_a_record_reads_back_as_it_was_written(tmp_path: Path) -> None:
    cluster = RunningCluster(
        spec=ClusterSpec(name="a", nodes=1, queues="<x/>"),
        rm_url="http://127.0.0.1:1",
        hadoop_conf_dir=tmp_path / "é",
        spark_conf_dir=tmp_path,
        event_log_dir=tmp_path,
        java_home=tmp_path,
        nodes=("localhost:6",),
        processes=(ProcessRecord("resourcemanager", 1, 2.5, "log"),),
    )
    layout = Layout(tmp_path)
    assert layout.read() is None
    layout.write(cluster)
    assert layout.read() == cluster


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"nodes": 1}'])
def test_a_damaged_record_is_no_record(tmp_path: Path, text: str) -> None:
    write_text(tmp_path / "cluster.json", text)
    assert Layout(tmp_path).read() is None
