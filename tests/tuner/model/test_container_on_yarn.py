"""The container model against the ResourceManager's own figures of running applications."""

from __future__ import annotations

import os
import subprocess
import time
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.tuner.submit.live import end
from tuner.model.container import Refusal, Reservation, reservation
from tuner.services.limits import read_limits
from tuner.spark.argv import parse
from tuner.spark.conf import resolve
from tuner.yarn.auth import SimpleAuth
from tuner.yarn.client import ResourceManagerClient
from tuner.yarn.model import ACTIVE_STATES, Container
from workloads.cluster.shell import environment
from workloads.cluster.spec import RunningCluster

pytestmark = [pytest.mark.cluster, pytest.mark.slow]

PYTHON_PROGRAM = """
import time
from pyspark.sql import SparkSession
SparkSession.builder.getOrCreate()
time.sleep(600)
"""
JAVA_PROGRAM = """
public class Idle {
  public static void main(String[] arguments) throws Exception {
    new org.apache.spark.SparkContext(new org.apache.spark.SparkConf());
    Thread.sleep(600_000);
  }
}
"""
AT_ONCE = 3
"""Each is three JVMs, and what they reserve together has to fit on the cluster."""


@dataclass(frozen=True)
class Case:
    """One application: who it is for, and where its driver runs."""

    name: str
    python: bool
    cluster_mode: bool
    conf: tuple[str, ...]


CASES = (
    Case("python-client-as-it-comes", True, False, ()),
    Case(
        "python-client-everything-explicit",
        True,
        False,
        (
            "spark.executor.memoryOverhead=500m",
            "spark.executor.pyspark.memory=300m",
            "spark.memory.offHeap.enabled=true",
            "spark.memory.offHeap.size=256m",
            "spark.yarn.am.memory=600m",
            "spark.yarn.am.memoryOverhead=500m",
            "spark.executor.cores=2",
            # Of the driver, which has no container here.
            "spark.driver.memory=3g",
            "spark.driver.memoryOverhead=2g",
        ),
    ),
    Case(
        "python-cluster-by-factors",
        True,
        True,
        (
            "spark.driver.memory=1500m",
            "spark.driver.memoryOverheadFactor=0.5",
            "spark.driver.cores=2",
            "spark.executor.memory=1200m",
            "spark.executor.memoryOverheadFactor=0.5",
            "spark.executor.pyspark.memory=300m",
            # Of an AM without a driver.
            "spark.yarn.am.memory=4g",
        ),
    ),
    Case(
        "jvm-client-no-python-memory",
        False,
        False,
        (
            "spark.executor.memory=1300m",
            "spark.executor.pyspark.memory=1g",
            # Has a size, but is not switched on.
            "spark.memory.offHeap.size=2g",
        ),
    ),
    Case(
        "jvm-cluster-off-heap",
        False,
        True,
        (
            "spark.driver.memoryOverhead=900m",
            "spark.driver.memory=1660m",
            "spark.memory.offHeap.enabled=true",
            "spark.memory.offHeap.size=520m",
            "spark.executor.minMemoryOverhead=700m",
            "spark.executor.pyspark.memory=1g",
        ),
    ),
    Case("jvm-cluster-as-it-comes", False, True, ()),
)


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory, yarn_cluster: RunningCluster) -> dict[bool, tuple[str, ...]]:
    """The tokens that name the application, by whether it is Python."""
    folder = tmp_path_factory.mktemp("programs")
    (folder / "idle.py").write_text(PYTHON_PROGRAM)
    (folder / "Idle.java").write_text(JAVA_PROGRAM)
    jars = Path(environment(yarn_cluster)["SPARK_HOME"]) / "jars"
    subprocess.run(
        ["javac", "--release", "17", "-cp", f"{jars}/*", "-d", str(folder), str(folder / "Idle.java")],
        check=True, capture_output=True, timeout=120,
    )  # fmt: skip
    with zipfile.ZipFile(folder / "idle.jar", "w") as jar:
        jar.write(folder / "Idle.class", "Idle.class")
    return {True: (str(folder / "idle.py"),), False: ("--class", "Idle", str(folder / "idle.jar"))}


@pytest.fixture(scope="module")
def seen(
    yarn_cluster: RunningCluster, programs: dict[bool, tuple[str, ...]]
) -> Iterator[dict[str, tuple[Reservation, tuple[Container, ...], int | None]]]:
    """What the model says, and what the ResourceManager reports, by the case's name."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = pool.map(lambda case: observed(case, yarn_cluster, programs[case.python]), CASES)
        yield dict(zip([case.name for case in CASES], found, strict=True))


def observed(
    case: Case, cluster: RunningCluster, program: tuple[str, ...]
) -> tuple[Reservation, tuple[Container, ...], int | None]:
    """Submits, waits until all containers are there, and ends it."""
    environ = {**os.environ, **environment(cluster)}
    tag = f"case-{case.name}"
    conf = ("spark.executor.instances=1", f"spark.yarn.tags={tag}", *case.conf)
    tokens = ["--master", "yarn", "--deploy-mode", "cluster" if case.cluster_mode else "client"]
    tokens += [token for setting in conf for token in ("--conf", setting)]
    tokens += list(program)
    effective = resolve(parse(tokens), environ).canonical()
    spark_submit = Path(environ["SPARK_HOME"]) / "bin" / "spark-submit"
    process = subprocess.Popen(
        [str(spark_submit), *tokens], env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        with ResourceManagerClient(cluster.rm_url, SimpleAuth("tester"), 10) as client:
            limits = read_limits(client, "default", Path(cluster.hadoop_conf_dir))
            model = reservation(effective, limits, python=case.python, cluster_mode=case.cluster_mode)
            assert not isinstance(model, Refusal)
            try:
                return model, *containers_of(client, tag, 1 + model.executors, process)
            finally:
                for application in client.applications(states=ACTIVE_STATES, tags=[tag]):
                    client.kill(application.id, 30)
    finally:
        end(process)


def containers_of(
    client: ResourceManagerClient, tag: str, number: int, process: subprocess.Popen[bytes]
) -> tuple[tuple[Container, ...], int | None]:
    deadline = time.monotonic() + 600
    while time.monotonic() < deadline:
        assert process.poll() is None, f"{tag} ended with {process.returncode}"
        for application in client.applications(states=("RUNNING",), tags=[tag]):
            held = client.containers(application.id)
            again = client.application(application.id)
            if len(held) == number and again is not None and again.running_containers == number:
                return held, again.allocated_mib
        time.sleep(0.3)
    pytest.fail(f"{tag} did not get its {number} containers")


@pytest.mark.parametrize("name", [case.name for case in CASES])
def test_containers_have_the_sizes_that_the_model_says(
    seen: dict[str, tuple[Reservation, tuple[Container, ...], int | None]], name: str
) -> None:
    model, held, allocated_mib = seen[name]
    (am,) = [each for each in held if each.is_am]
    (executor,) = [each for each in held if not each.is_am]
    assert (am.resource.memory_mib, am.resource.vcores) == (model.am.memory_mib, model.am.vcores)
    assert (executor.resource.memory_mib, executor.resource.vcores) == (
        model.executor.memory_mib,
        model.executor.vcores,
    )
    assert allocated_mib == model.memory_mib


def test_the_cases_tell_the_parts_of_the_model_apart(
    seen: dict[str, tuple[Reservation, tuple[Container, ...], int | None]],
) -> None:
    """Sizes are rounded to a GiB, so a case proves a part only where that part moves it to another size."""
    sizes = {name: (model.am.memory_mib, model.executor.memory_mib) for name, (model, _, _) in seen.items()}
    assert sizes == {
        "python-client-as-it-comes": (1024, 2048),
        "python-client-everything-explicit": (2048, 3072),
        "python-cluster-by-factors": (3072, 3072),
        "jvm-client-no-python-memory": (1024, 2048),
        "jvm-cluster-off-heap": (3072, 3072),
        "jvm-cluster-as-it-comes": (2048, 2048),
    }
