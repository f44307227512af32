from __future__ import annotations

import pytest
from py4j.protocol import Py4JJavaError

from tests.tuner.spark.sparkjvm import SparkJvm
from tuner.spark.checks import find_problems, most_tasks
from tuner.spark.params import param

DYNAMIC = {"spark.dynamicAllocation.enabled": "true"}
NO_TRACKING = {**DYNAMIC, "spark.dynamicAllocation.shuffleTracking.enabled": "false"}


@pytest.mark.parametrize(
    ("conf", "name"),
    [
        ({"spark.executor.memory": "4096"}, "spark.executor.memory"),
        ({"spark.executor.memory": "449m"}, "spark.executor.memory"),
        ({"spark.driver.memory": "400m"}, "spark.driver.memory"),
        ({"spark.executor.memory": "63.75g"}, "spark.executor.memory"),
        ({"spark.yarn.executor.memoryOverhead": "8.38g"}, "spark.executor.memoryOverhead"),
        ({"spark.memory.offHeap.enabled": "true"}, "spark.memory.offHeap.size"),
        ({"spark.memory.fraction": "1.0"}, "spark.memory.fraction"),
        ({"spark.kryoserializer.buffer.max": "2g"}, "spark.kryoserializer.buffer.max"),
        ({"spark.executor.cores": "2", "spark.task.cpus": "3"}, "spark.executor.cores"),
        ({"spark.executor.instances": "0"}, "spark.executor.instances"),
        (NO_TRACKING, "spark.dynamicAllocation.enabled"),
        (
            {
                **NO_TRACKING,
                "spark.decommission.enabled": "true",
                "spark.storage.decommission.shuffleBlocks.enabled": "false",
            },
            "spark.dynamicAllocation.enabled",
        ),
        (
            {**DYNAMIC, "spark.dynamicAllocation.minExecutors": "5", "spark.dynamicAllocation.maxExecutors": "4"},
            "spark.dynamicAllocation.minExecutors",
        ),
        (
            {**DYNAMIC, "spark.executor.instances": "10", "spark.dynamicAllocation.maxExecutors": "4"},
            "spark.dynamicAllocation.maxExecutors",
        ),
    ],
)
def test_what_does_not_work(conf: dict[str, str], name: str) -> None:
    assert [problem.name for problem in find_problems(conf)] == [name]


FRACTIONS = [("63.75g", "write 65280m"), ("8.38g", "write 8581m"), ("0.5k", "whole number of a smaller unit")]


@pytest.mark.parametrize(("memory", "hint"), FRACTIONS)
def test_a_fraction_is_refused_with_the_size_to_write(memory: str, hint: str) -> None:
    """G1-02: rounded down."""
    (problem,) = find_problems({"spark.executor.memory": memory})
    assert "has a fraction, which Spark refuses" in problem.message
    assert hint in problem.hint


def test_spark_refuses_fractions_too(spark_jvm: SparkJvm) -> None:
    """G1-02."""
    for memory, _ in FRACTIONS:
        with pytest.raises(Py4JJavaError) as refused:
            spark_jvm.jvm.org.apache.spark.network.util.JavaUtils.byteStringAsMb(memory)
        assert "Fractional values are not supported" in str(refused.value.java_exception.toString())
        with pytest.raises(Py4JJavaError):
            spark_jvm.conf({"spark.executor.memory": memory}).get(spark_jvm.entry("spark.executor.memory"))


@pytest.mark.parametrize(
    ("text", "mib"), [("4096", 4096), ("4g", 4096), ("4G", 4096), ("4gb", 4096), (" 4g ", 4096), ("1t", 1048576)]
)
def test_sizes_are_read_as_spark_reads_them_and_written_with_a_unit(spark_jvm: SparkJvm, text: str, mib: int) -> None:
    """G1-01: the entry is declared in MiB, whatever other code makes of a bare number."""
    spec = param("spark.executor.memory")
    assert spec.parse(text) == spark_jvm.conf({spec.name: text}).get(spark_jvm.entry(spec.name)) == mib
    assert spec.format(spec.parse(text)) == f"{mib}m"


@pytest.mark.parametrize(
    ("text", "said"),
    [("4096", "has no unit"), ("8192", "has no unit"), ("4096k", "is too small"), ("4 g", "is not a size")],
)
def test_sizes_with_which_spark_does_not_start(text: str, said: str) -> None:
    """G1-01."""
    (problem,) = find_problems({"spark.executor.memory": text})
    assert said in problem.message
    assert problem.hint


def test_a_heap_below_the_smallest_names_it() -> None:
    """G1-20."""
    (problem,) = find_problems({"spark.driver.memory": "400m"})
    assert "Spark does not start below 450m" in problem.message


@pytest.mark.parametrize(
    "conf",
    [
        {},
        {"spark.executor.memory": "450m", "spark.driver.memory": "450m"},
        DYNAMIC,
        {**NO_TRACKING, "spark.shuffle.service.enabled": "true"},
        {**NO_TRACKING, "spark.decommission.enabled": "true"},
        {**NO_TRACKING, "spark.shuffle.sort.io.plugin.class": "org.example.Remote"},
        {**DYNAMIC, "spark.executor.instances": "0"},
        {"spark.kryoserializer.buffer.max": "2047m"},
    ],
)
def test_what_works(conf: dict[str, str]) -> None:
    """G1-08, among others: four ways to keep shuffle files for dynamic allocation."""
    assert find_problems(conf) == ()


def test_shuffle_tracking_was_off_before_3_4() -> None:
    """G1-08: with nothing but dynamic allocation an older Spark does not start."""
    assert find_problems(DYNAMIC, (3, 4)) == ()
    assert [p.name for p in find_problems(DYNAMIC, (3, 3))] == ["spark.dynamicAllocation.enabled"]


@pytest.mark.parametrize("memory", ["4096", "449m", "450m", "1g"])
def test_spark_refuses_the_same_heaps(spark_jvm: SparkJvm, memory: str) -> None:
    manager = spark_jvm.scala_object("org.apache.spark.memory.UnifiedMemoryManager")
    conf = spark_jvm.conf({"spark.executor.memory": memory, "spark.testing.memory": str(1024**3)})
    if find_problems({"spark.executor.memory": memory}):
        with pytest.raises(Py4JJavaError):
            manager.apply(conf, 1)
    else:
        assert manager.apply(conf, 1).maxHeapMemory() == int((1024 - 300) * 1024**2 * 0.6)


def test_spark_refuses_the_same_start(spark_jvm: SparkJvm) -> None:
    backend = spark_jvm.scala_object("org.apache.spark.scheduler.cluster.SchedulerBackendUtils")
    conf = {**DYNAMIC, "spark.executor.instances": "10", "spark.dynamicAllocation.maxExecutors": "4"}
    with pytest.raises(Py4JJavaError):
        backend.getInitialTargetExecutorNumber(spark_jvm.conf({"spark.master": "yarn", **conf}), 2)
    assert find_problems(conf)


def test_a_result_limit_bounds_the_number_of_tasks() -> None:
    # 22460 tasks with 2.0 GiB of results failed at a limit of 2g; 20 results of 1 MiB end after 4 at a limit of 4m.
    assert most_tasks(2048, 2048 / 22460) == 22460
    assert most_tasks(4, 1.0) == 4
    assert most_tasks(0, 1.0) is None
