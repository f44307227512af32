"""What ``yarntune-submit`` never does, and how it gets out of a failure: with real Spark on a real YARN."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from tests.tuner.submit.live import ended_runs, environ_of, submitted
from tuner.model.advice import Advice, Candidate
from tuner.services.limits import read_limits
from tuner.settings import Settings
from tuner.spark.identity import named_job_key
from tuner.store import RunState, open_store
from tuner.yarn.auth import SimpleAuth
from tuner.yarn.client import ResourceManagerClient
from workloads.cluster.spec import RunningCluster

pytestmark = [pytest.mark.cluster, pytest.mark.slow]

KRYO, JAVA = "org.apache.spark.serializer.KryoSerializer", "org.apache.spark.serializer.JavaSerializer"
SUM = """
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
assert spark.sparkContext.parallelize(range(8), 2).sum() == 28
spark.stop()
"""
ADVISED = Candidate(
    conf={
        "spark.executor.cores": "2",
        "spark.executor.instances": "1",
        "spark.sql.shuffle.partitions": "7",
        "spark.memory.fraction": "0.7",
        "spark.serializer": JAVA,
        "spark.memory.storageFraction": "0.3",
    },
    am_mib=1024,
    executor_mib=2048,
    executor_vcores=2,
    executors=1,
    run_s={1: 20.0},
    runs=1,
    reason="best of 4 configurations",
)


def advise(environ: dict[str, str], advice: Advice) -> None:
    with open_store(Settings.from_environment(environ)) as store:
        store.advice.put(advice.job_key, advice.to_json(), now=0.0)


def event_log(cluster: RunningCluster, application_id: str | None) -> list[dict[str, Any]]:
    """The run's event log as Spark wrote it."""
    path = Path(cluster.event_log_dir) / str(application_id)
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_what_the_user_pinned_is_what_spark_runs_with(yarn_cluster: RunningCluster, tmp_path: Path) -> None:
    """By a flag, a --conf, a properties file, and a line of spark-defaults.conf that is named in YARNTUNE_PIN."""
    (tmp_path / "job.py").write_text(SUM)
    conf_dir = tmp_path / "conf"
    conf_dir.mkdir()
    site = (Path(yarn_cluster.spark_conf_dir) / "spark-defaults.conf").read_text(encoding="utf-8")
    own = f"spark.serializer {KRYO}\nspark.memory.storageFraction 0.4\n"
    plain = "spark.eventLog.rolling.enabled false\nspark.eventLog.compress false\n"
    (conf_dir / "spark-defaults.conf").write_text(site + plain + own, encoding="utf-8")
    (tmp_path / "mine.properties").write_text("spark.memory.fraction 0.55\n")
    environ = environ_of(
        yarn_cluster, tmp_path, SPARK_CONF_DIR=str(conf_dir), YARNTUNE_JOB="nightly", YARNTUNE_PIN="spark.serializer",
        YARNTUNE_EXPLORE_EVERY="1",
    )  # fmt: skip
    explored = replace(ADVISED, conf={**ADVISED.conf, "spark.executor.instances": "2"}, executors=2, run_s={2: 15.0})
    advice = Advice(named_job_key("nightly"), 0.0, 0.05, (ADVISED,), "from 4 runs", explore=explored)
    mine = (
        "--executor-cores", "1", "--conf", "spark.sql.shuffle.partitions=3",
        "--properties-file", str(tmp_path / "mine.properties"), "--load-spark-defaults", str(tmp_path / "job.py"),
    )  # fmt: skip

    for number, (mode, instances) in enumerate((("apply", "1"), ("explore", "2")), start=1):
        advise(environ, advice)
        done = submitted({**environ, "YARNTUNE_MODE": mode}, *mine)
        assert done.returncode == 0, done.stderr
        log = event_log(yarn_cluster, ended_runs(environ, number)[-1].application_id)
        (environment,) = [event for event in log if event["Event"] == "SparkListenerEnvironmentUpdate"]
        properties = environment["Spark Properties"]
        assert properties["spark.executor.cores"] == "1", "a flag"
        assert properties["spark.sql.shuffle.partitions"] == "3", "a --conf"
        assert properties["spark.memory.fraction"] == "0.55", "the properties file"
        assert properties["spark.serializer"] == KRYO, "spark-defaults.conf, and pinned"
        assert properties["spark.memory.storageFraction"] == "0.3", "spark-defaults.conf alone is the site's"
        assert properties["spark.executor.instances"] == instances, "what is left to us is set"
        executors = [event for event in log if event["Event"] == "SparkListenerExecutorAdded"]
        assert {event["Executor Info"]["Total Cores"] for event in executors} == {1}


HUNGRY = """
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
# Two arrays of 320 MB in one task: one as it is made, one as it is put into a row.
rows = spark.range(0, 1, 1, 1).selectExpr("size(sequence(id, id + 40000000)) AS n").collect()
print("checksum=", rows[0]["n"], sep="", flush=True)
spark.stop()
"""


def test_a_heap_that_was_too_small_is_raised_once_and_the_job_runs_again(
    yarn_cluster: RunningCluster, tmp_path: Path
) -> None:
    (tmp_path / "job.py").write_text(HUNGRY)
    environ = environ_of(yarn_cluster, tmp_path, YARNTUNE_JOB="hungry")
    key = named_job_key("hungry")
    with ResourceManagerClient(yarn_cluster.rm_url, SimpleAuth("tester"), 10) as client:
        limits = read_limits(client, "default", Path(yarn_cluster.hadoop_conf_dir))
    sizes = {"spark.executor.memory": "640m", "spark.executor.memoryOverhead": "384m", "spark.executor.instances": "1"}
    small = replace(ADVISED, conf=sizes, executor_mib=1024, executor_vcores=1)
    own = replace(ADVISED, conf={}, executors=2, run_s={2: 60.0}, reason="the configuration that it has")
    advise(environ, Advice(key, 0.0, 0.05, (small, own), "from 4 runs", asdict(limits)))

    # The first try of a task counts, or each of four would need a new executor.
    mine = ("--conf", "spark.task.maxFailures=1", str(tmp_path / "job.py"))
    done = []
    for turn in (1, 2, 3):
        done.append(submitted(environ, *mine))
        ended_runs(environ, turn)
    first = done[0]
    assert first.returncode != 0
    assert "checksum" not in first.stdout, "it is not run again by itself"
    for later in done[1:]:
        assert later.returncode == 0, later.stderr
        assert "checksum=40000001" in later.stdout
        assert "spark.executor.memory raised from 640m after a run that ran out of it" in later.stderr
        assert "yarntune:   spark.executor.memory: default -> 1664m" in later.stderr

    failed, again, last = ended_runs(environ, 3)
    assert [run.state for run in (failed, again, last)] == [RunState.FAILED, RunState.SUCCEEDED, RunState.SUCCEEDED]
    assert failed.configuration["spark.executor.memory"] == "640m"
    assert failed.failure
    assert failed.metrics["deaths"].keys() & {"heap", "terminated"}, "which of them is a race of the JVM with its end"
    assert [run.configuration["spark.executor.memory"] for run in (again, last)] == ["1664m", "1664m"]
    with open_store(Settings.from_environment(environ)) as store:
        advice = Advice.from_json(store.advice.get(key) or {})
    assert (advice.candidates[0].runs, advice.candidates[0].failures) == (2, 0)
    assert advice.candidates[0].executor_mib == 2048
