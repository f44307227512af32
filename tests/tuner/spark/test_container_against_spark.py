"""The container model, held against the classes of Spark that ask YARN for containers."""

from __future__ import annotations

import pytest

from tests.tuner.spark.sparkjvm import SparkJvm
from tuner.model.container import am_request, executor_request, initial_executors
from tuner.model.memory import MIN_HEAP_MIB

EXECUTORS = [
    {},
    {"spark.executor.memory": "10g"},
    {"spark.executor.memory": "4567m", "spark.executor.cores": "3"},
    {"spark.executor.memory": "10g", "spark.executor.memoryOverhead": "777"},
    {"spark.executor.memory": "2g", "spark.yarn.executor.memoryOverhead": "777"},
    {"spark.executor.memory": "2g", "spark.yarn.executor.memoryOverhead": "777", "spark.executor.memoryOverhead": "1g"},
    {"spark.executor.memory": "9999m", "spark.executor.memoryOverheadFactor": "0.33"},
    {"spark.executor.memory": "1g", "spark.executor.minMemoryOverhead": "500m"},
    {"spark.memory.offHeap.size": "2g"},
    {"spark.memory.offHeap.enabled": "true", "spark.memory.offHeap.size": str(3 * 1024**3 + 7)},
    {
        "spark.executor.memory": "10g",
        "spark.memory.offHeap.enabled": "true",
        "spark.memory.offHeap.size": "2g",
        "spark.executor.pyspark.memory": "1g",
    },
]


@pytest.mark.parametrize("python", [True, False])
@pytest.mark.parametrize("settings", EXECUTORS)
def test_executor_request_is_sparks(spark_jvm: SparkJvm, settings: dict[str, str], python: bool) -> None:
    conf = spark_jvm.conf(settings)
    profiles = spark_jvm.scala_object("org.apache.spark.resource.ResourceProfile")
    nothing = spark_jvm.scala_object("scala.collection.immutable.Map").empty()
    spark_jvm.call(profiles, "clearDefaultProfile")
    minimum = conf.get(spark_jvm.entry("spark.executor.minMemoryOverhead"))
    factor = conf.get(spark_jvm.entry("spark.executor.memoryOverheadFactor"))
    lang = spark_jvm.jvm.java.lang
    real = spark_jvm.call(
        profiles,
        "getResourcesForClusterManager",
        0,
        nothing,
        lang.Long(minimum),
        lang.Double(factor),
        conf,
        python,
        nothing,
    )

    ours = executor_request(settings, python=python)

    assert ours.memory_mib == real.totalMemMiB()
    assert ours.heap_mib == real.executorMemoryMiB()
    assert ours.overhead_mib == real.memoryOverheadMiB()
    assert ours.off_heap_mib == real.memoryOffHeapMiB()
    assert ours.pyspark_mib == real.pysparkMemoryMiB()
    assert ours.vcores == real.cores().get()


@pytest.mark.parametrize("mode", ["client", "cluster"])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"spark.driver.memory": "6000m", "spark.driver.cores": "2", "spark.yarn.am.memory": "777m"},
        {"spark.driver.memoryOverheadFactor": "0.5", "spark.driver.memory": "5g", "spark.yarn.am.memory": "5g"},
        {"spark.driver.minMemoryOverhead": "600m"},
        {"spark.yarn.driver.memoryOverhead": "333", "spark.yarn.am.memoryOverhead": "222", "spark.yarn.am.cores": "3"},
    ],
)
def test_am_request_is_sparks(spark_jvm: SparkJvm, settings: dict[str, str], mode: str) -> None:
    yarn = spark_jvm.jvm.org.apache.spark.deploy.yarn
    arguments = yarn.ClientArguments(spark_jvm.gateway.new_array(spark_jvm.jvm.java.lang.String, 0))
    client = yarn.Client(arguments, spark_jvm.conf({**settings, "spark.submit.deployMode": mode}), None)

    ours = am_request(settings, cluster_mode=mode == "cluster")

    assert ours.heap_mib == spark_jvm.field(client, "amMemory")
    assert ours.overhead_mib == spark_jvm.field(client, "amMemoryOverhead")
    assert ours.vcores == spark_jvm.field(client, "amCores")


DYNAMIC = {"spark.dynamicAllocation.enabled": "true"}


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, 2),
        ({"spark.executor.instances": "7"}, 7),
        (DYNAMIC, 0),
        (
            {
                **DYNAMIC,
                "spark.dynamicAllocation.minExecutors": "3",
                "spark.dynamicAllocation.initialExecutors": "5",
                "spark.executor.instances": "10",
            },
            10,
        ),
        (
            {**DYNAMIC, "spark.dynamicAllocation.minExecutors": "3", "spark.dynamicAllocation.initialExecutors": "2"},
            3,
        ),
        ({**DYNAMIC, "spark.dynamicAllocation.minExecutors": "4"}, 4),
    ],
)
def test_initial_executors_are_sparks(spark_jvm: SparkJvm, settings: dict[str, str], expected: int) -> None:
    """G1-09: with dynamic allocation spark.executor.instances is one of three numbers, and the largest counts."""
    backend = spark_jvm.scala_object("org.apache.spark.scheduler.cluster.SchedulerBackendUtils")
    real = backend.getInitialTargetExecutorNumber(spark_jvm.conf({"spark.master": "yarn", **settings}), 2)
    assert initial_executors(settings) == real == expected


def test_smallest_heap_is_sparks(spark_jvm: SparkJvm) -> None:
    """G1-20: 471859200 bytes."""
    assert MIN_HEAP_MIB * 1024**2 == 471859200
    manager = spark_jvm.scala_object("org.apache.spark.memory.UnifiedMemoryManager")
    reserved = spark_jvm.field(manager, "RESERVED_SYSTEM_MEMORY_BYTES")
    assert int(reserved * 1.5) == MIN_HEAP_MIB * 1024**2
