"""What is found out before the first run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tuner.errors import InputError, MissingToolError
from tuner.model.limits import ClusterLimits
from tuner.services.evidence import local_event_log_dir
from tuner.services.limits import read_limits
from tuner.services.prepare import Surroundings, event_log_settings, subject_of
from tuner.services.trial import Program, environment_for
from tuner.settings import Settings
from tuner.spark.identity import arguments_shape, job_key, program_name
from tuner.spark.launcher import SparkInstallation, find_spark, spark_version
from tuner.spark.params import NEWEST
from tuner.yarn.auth import SimpleAuth
from tuner.yarn.client import ResourceManagerClient
from tuner.yarn.locate import Target
from workloads.cluster.lifecycle import start, stop
from workloads.cluster.spec import ClusterSpec, RunningCluster

PROGRAM = Program("job.py", (), None, "client", "default")
BARE = SparkInstallation(Path("/opt/spark/bin/spark-submit"), None, None)


def surroundings(cluster: RunningCluster, client: ResourceManagerClient, defaults: dict[str, str]) -> Surroundings:
    target = Target((cluster.rm_url,), cluster.hadoop_conf_dir, None, None, "the test")
    return Surroundings(target, client, BARE, {}, defaults, NEWEST)


@pytest.fixture
def client(yarn_cluster: RunningCluster) -> ResourceManagerClient:
    return ResourceManagerClient(yarn_cluster.rm_url, SimpleAuth("tester"), 10)


@pytest.mark.cluster
def test_the_limits_of_a_capacity_queue(client: ResourceManagerClient) -> None:
    with client:
        assert read_limits(client, "default", None) == ClusterLimits(
            max_container_memory_mib=8192,
            min_allocation_mib=1024,
            increment_mib=1024,
            max_container_vcores=8,
            total_memory_mib=16384,
            total_vcores=16,
            nodes=2,
            queue_max_memory_mib=16384,
            queue_max_vcores=16,
            counts_vcores=True,
        )
        with pytest.raises(InputError, match="no queue 'etl'") as unknown:
            read_limits(client, "etl", None)
        assert "root.default" in unknown.value.hint
        with pytest.raises(InputError, match="'root' is a parent queue"):
            read_limits(client, "root", None)


@pytest.mark.cluster
@pytest.mark.slow
def test_the_limits_of_a_fair_queue(cluster_settings: Settings) -> None:
    spec = ClusterSpec(name="fair", nodes=1, node_memory_mib=3072, node_vcores=3, scheduler="fair", store="file")
    cluster = start(spec, cluster_settings)
    try:
        with ResourceManagerClient(cluster.rm_url, SimpleAuth("tester"), 10) as client:
            limits = read_limits(client, "root.default", cluster.hadoop_conf_dir)
    finally:
        stop(spec.name, cluster_settings, purge=True)
    assert (limits.max_container_memory_mib, limits.max_container_vcores) == (3072, 3)
    assert (limits.min_allocation_mib, limits.increment_mib) == (1024, 1024)
    assert limits.counts_vcores, "the queue's policy is drf"


@pytest.mark.cluster
def test_what_may_change_and_where_it_stands(yarn_cluster: RunningCluster, client: ResourceManagerClient) -> None:
    with client:
        around = surroundings(yarn_cluster, client, {"spark.executor.memory": "4g"})
        plain = subject_of(around, PROGRAM, {})
        pinned = subject_of(around, PROGRAM, {"spark.executor.cores": "2", "spark.speculation": "true"})
        with pytest.raises(InputError, match=r"spark\.executor\.memory: .*fraction"):
            subject_of(around, PROGRAM, {"spark.executor.memory": "1.5g"})
    assert plain.default["spark.executor.memory"] == "4096m"
    assert plain.default["spark.executor.memoryOverhead"] == "409m", "Spark's own: a tenth of the heap"
    assert plain.switched == {}
    names = [dimension.name for dimension in pinned.space.dimensions]
    assert "spark.executor.cores" not in names
    assert pinned.pinned == {"spark.executor.cores": "2", "spark.speculation": "true"}
    assert pinned.space.hash != plain.space.hash


@pytest.mark.cluster
def test_dynamic_allocation_is_switched_off_unless_it_is_pinned(
    yarn_cluster: RunningCluster, client: ResourceManagerClient
) -> None:
    dynamic = "spark.dynamicAllocation.enabled"
    with client:
        around = surroundings(yarn_cluster, client, {dynamic: "true", "spark.dynamicAllocation.minExecutors": "3"})
        off = subject_of(around, PROGRAM, {})
        kept = subject_of(around, PROGRAM, {dynamic: "true"})
    assert off.switched == {dynamic: "false"}
    assert off.default["spark.executor.instances"] == "3"
    assert kept.switched == {}
    assert "spark.executor.instances" not in kept.default


def test_event_logs_are_switched_on_where_they_can_be_read(tmp_path: Path) -> None:
    settings = Settings.from_environment({"YARNTUNE_STATE_DIR": str(tmp_path / "my state")})
    added = event_log_settings({}, PROGRAM, settings)
    assert added["spark.eventLog.enabled"] == "true"
    assert local_event_log_dir(added) == tmp_path / "my state" / "event-logs"
    assert event_log_settings({"spark.eventLog.enabled": "true"}, PROGRAM, settings) == {}
    assert event_log_settings({}, replace(PROGRAM, deploy_mode="cluster"), settings) == {}
    assert local_event_log_dir({"spark.eventLog.enabled": "true", "spark.eventLog.dir": "hdfs:///logs"}) is None


def executable(path: Path) -> Path:
    path.parent.mkdir(parents=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_spark_home_comes_before_path_and_both_before_pyspark(tmp_path: Path) -> None:
    home = executable(tmp_path / "spark" / "bin" / "spark-submit")
    vendor = executable(tmp_path / "vendor" / "spark-submit")
    both = {"SPARK_HOME": str(tmp_path / "spark"), "PATH": str(vendor.parent)}
    assert find_spark(both).spark_submit == home
    assert find_spark({"PATH": str(vendor.parent)}).spark_submit == vendor
    bundled = find_spark({"PATH": ""})
    assert bundled.home is not None
    assert bundled.spark_submit == bundled.home / "bin" / "spark-submit"
    assert spark_version(bundled) == (4, 3)
    with pytest.raises(MissingToolError, match="no bin/spark-submit"):
        find_spark({"SPARK_HOME": str(tmp_path)})


def test_the_environment_names_the_cluster_and_keeps_the_users_python() -> None:
    spark = SparkInstallation(Path("/s/bin/spark-submit"), Path("/s"), "/venv/python")
    made = environment_for({"PATH": "/bin"}, spark, Path("/conf"), None)
    assert made == {
        "PATH": "/bin", "HADOOP_CONF_DIR": "/conf", "YARN_CONF_DIR": "/conf", "SPARK_HOME": "/s",
        "PYSPARK_PYTHON": "/venv/python",
    }  # fmt: skip
    assert environment_for({"PYSPARK_PYTHON": "mine"}, spark, None, None)["PYSPARK_PYTHON"] == "mine"


def test_a_recurring_job_is_known_again() -> None:
    monday = job_key("/jobs/etl-1.4.2.jar", "com.acme.Etl", ["--day", "2026-03-02", "--parts", "200"], "etl")
    tuesday = job_key("/new/etl-1.5.0.jar", "com.acme.Etl", ["--day", "2026-03-03", "--parts", "210"], "etl")
    assert monday == tuesday
    others = [
        job_key("/jobs/etl-1.4.2.jar", "com.acme.Other", ["--day", "2026-03-02", "--parts", "200"], "etl"),
        job_key("/jobs/etl-1.4.2.jar", "com.acme.Etl", ["--day", "2026-03-02", "--full"], "etl"),
        job_key("/jobs/etl-1.4.2.jar", "com.acme.Etl", ["--day", "2026-03-02", "--parts", "200"], "adhoc"),
        job_key("/jobs/load-1.4.2.jar", "com.acme.Etl", ["--day", "2026-03-02", "--parts", "200"], "etl"),
    ]
    assert monday not in others
    assert arguments_shape(["--day", "2026-03-02 10:15", "x7"]) == "--day # x#"
    assert program_name("hdfs:///jobs/etl-1.4.2.jar#alias") == "etl.jar"
