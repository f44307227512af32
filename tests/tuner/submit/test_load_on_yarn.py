"""The same job on an idle and on a busy cluster, tuned and submitted as a user would: real Spark on a real YARN."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.tuner.submit.live import called, end, ended_runs, environ_of, submitted
from tuner.store import RunKind, RunState
from tuner.yarn.auth import SimpleAuth
from tuner.yarn.client import ResourceManagerClient
from tuner.yarn.model import ACTIVE_STATES
from workloads.cluster.spec import RunningCluster

pytestmark = [pytest.mark.cluster, pytest.mark.slow]

WAITING_TASKS = """
import time
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
# As tasks that read from elsewhere: more of them at a time is faster, on however few processors.
print("checksum=", spark.sparkContext.parallelize(range(24), 24).map(lambda i: time.sleep(1.0) or i).sum(), sep="")
spark.stop()
"""
IDLE_APPLICATION = """
import time
from pyspark.sql import SparkSession
SparkSession.builder.getOrCreate()
time.sleep(1800)
"""
MEMORY, INSTANCES = "spark.executor.memory", "spark.executor.instances"


@contextmanager
def holding(cluster: RunningCluster, environ: dict[str, str], program: Path, executors: int) -> Iterator[int]:
    """An application that holds executors of 3 GiB, and its AM of 1 GiB; gives what is left on the cluster, in MiB."""
    program.write_text(IDLE_APPLICATION)
    command = [
        f"{environ['SPARK_HOME']}/bin/spark-submit", "--master", "yarn", "--num-executors", str(executors),
        "--executor-memory", "2600m", "--conf", "spark.yarn.tags=holds-memory", str(program),
    ]  # fmt: skip
    process = subprocess.Popen(command, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with ResourceManagerClient(cluster.rm_url, SimpleAuth("tester"), 10) as client:
        try:
            deadline = time.monotonic() + 600
            while client.metrics().containers_allocated != 1 + executors:
                assert process.poll() is None, "it ended"
                assert time.monotonic() < deadline, "it did not get its executors"
                time.sleep(0.5)
            yield client.metrics().available.memory_mib
        finally:
            for application in client.applications(states=ACTIVE_STATES, tags=["holds-memory"]):
                client.kill(application.id, 60)
            end(process)


def test_a_job_that_was_tuned_on_an_idle_cluster_asks_for_what_a_busy_one_has(
    yarn_cluster: RunningCluster, tmp_path: Path
) -> None:
    job = tmp_path / "job.py"
    job.write_text(WAITING_TASKS)
    environ = environ_of(yarn_cluster, tmp_path)
    sizes = ("--pin", f"{MEMORY}=2600m", "--pin", "spark.executor.cores=1")
    tuned = json.loads(called(environ, "tune", "--trials", "2", *sizes, "--json", "--name", "reader", str(job)))
    best = int(tuned["conf"].get(INSTANCES, "2"))
    assert best > 1, "on an idle cluster more executors are faster"
    pinned = ("--conf", f"{MEMORY}=2600m", "--executor-cores", "1", str(job))

    idle = submitted(environ, *pinned)
    assert idle.returncode == 0, idle.stderr
    ended_runs(environ, 3)
    with holding(yarn_cluster, environ, tmp_path / "holds.py", 3) as left_mib:
        assert left_mib == 6144
        now = recommended(environ)
        busy = submitted(environ, *pinned)
        assert busy.returncode == 0, busy.stderr
    runs = ended_runs(environ, 4)

    assert [run.kind for run in runs] == [RunKind.DEFAULT, RunKind.TRIAL, RunKind.PRODUCTION, RunKind.PRODUCTION]
    assert {run.state for run in runs} == {RunState.SUCCEEDED}
    alone, beside = runs[2:]
    assert alone.load is not None
    assert beside.load is not None
    assert (alone.load["available_memory_mib"], alone.load["applications_running"]) == (16384, 0)
    assert (beside.load["available_memory_mib"], beside.load["applications_running"]) == (left_mib, 1)
    assert [int(run.configuration.get(INSTANCES, "2")) for run in (alone, beside)] == [best, 1]
    assert [run.metrics["peak_executors"] for run in (alone, beside)] == [best, 1]
    assert {run.configuration[MEMORY] for run in (alone, beside)} == {"2600m"}, "pinned"
    assert "with 6.0 GiB free it gets 1 executors" in busy.stderr
    assert "for a busy cluster" in busy.stderr
    assert f"{INSTANCES}: default -> 1" in busy.stderr

    assert now["conf"][INSTANCES] == "1", "recommend says before what the submission does"
    (listed,) = json.loads(called(environ, "jobs", "--json"))["jobs"]
    assert (listed["name"], listed["runs"], listed["succeeded"]) == ("reader", 4, 4)
    told = json.loads(called(environ, "history", "reader", "--json"))["runs"]
    assert [run["load"]["available_memory_mib"] for run in told[:2]] == [left_mib, 16384]
    after = recommended(environ, "0.625")
    (chosen,) = [each for each in after["candidates"] if each["chosen"]]
    assert (chosen["conf"][INSTANCES], chosen["runs"]) == ("1", 1), "it is proven from now on"
    idle_again = recommended(environ, "0")
    assert int(idle_again["conf"].get(INSTANCES, "2")) == best


def recommended(environ: dict[str, str], load: str = "now") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(called(environ, "recommend", "reader", "--load", load, "--json"))
    return found
