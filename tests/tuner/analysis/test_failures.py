"""Classes of failures, from words that real Spark and YARN wrote."""

from __future__ import annotations

import pytest

from tuner.model.failures import KINDS, FailureKind, classify

SAID = [
    # Spark 1.6 and 2.x: one text for both kinds of memory, advising overhead and the check of virtual memory alike.
    (
        "Container killed by YARN for exceeding memory limits. 9.1 GB of 9 GB physical memory used. Consider boosting"
        " spark.yarn.executor.memoryOverhead.",
        FailureKind.PHYSICAL_MEMORY,
    ),
    (
        "Container killed by YARN for exceeding memory limits.  11.1 GB of 11 GB physical memory used. Consider"
        " boosting spark.yarn.executor.memoryOverhead or disabling"
        " yarn.nodemanager.vmem-check-enabled because of YARN-4714.",
        FailureKind.PHYSICAL_MEMORY,
    ),
    (
        "Container killed by YARN for exceeding memory limits. 7.2 GB of 4.2 GB virtual memory used. Consider boosting"
        " spark.yarn.executor.memoryOverhead.",
        FailureKind.VIRTUAL_MEMORY,
    ),
    # Spark 3 and 4 name the kind.
    (
        "Container killed by YARN for exceeding physical memory limits. 5.5 GB of 5.5 GB physical memory used. Consider"
        " boosting spark.executor.memoryOverhead.",
        FailureKind.PHYSICAL_MEMORY,
    ),
    (
        "Container killed by YARN for exceeding virtual memory limits. 5.2 GB of 4.2 GB virtual memory used. Consider"
        " boosting spark.executor.memoryOverhead or boosting yarn.nodemanager.vmem-pmem-ratio or disabling"
        " yarn.nodemanager.vmem-check-enabled because of YARN-4714.",
        FailureKind.VIRTUAL_MEMORY,
    ),
    # NodeManagers have both sizes in one text.
    (
        "Container [pid=48338,containerID=container_1417574466181_3484_01_000043] is running beyond physical memory"
        " limits. Current usage: 1.0 GB of 1 GB physical memory used; 2.0 GB of 2.1 GB virtual memory used. Killing"
        " container.",
        FailureKind.PHYSICAL_MEMORY,
    ),
    (
        "Container [pid=3730,containerID=container_1725006692302_0009_01_000003] is running 1723304448B beyond the"
        " 'VIRTUAL' memory limit. Current usage: 348.4 MB of 1 GB physical memory used; 3.7 GB of 2.1 GB virtual memory"
        " used. Killing container.",
        FailureKind.VIRTUAL_MEMORY,
    ),
    (
        "AM Container for appattempt_1_0001_000002 exited with exitCode: -103 For more detailed output, check the"
        " application tracking page. Diagnostics: Current usage: 190.4 MB of 1 GB physical memory used; 2.1 GB of"
        " 2.1 GB virtual memory used. Killing container.",
        FailureKind.VIRTUAL_MEMORY,
    ),
    ("Exit status: -104. Diagnostics: killed", FailureKind.PHYSICAL_MEMORY),
    (
        "Container from a bad node: container_e02_1_0001_01_000002 on host: worker-0. Exit status: 137. Diagnostics:"
        " [2025-03-23 11:16:35.969]Container killed on request. Exit code is 137\n[2025-03-23 11:16:36.472]Container"
        " exited with a non-zero exit code 137.\nKilled by external signal\n.",
        FailureKind.KILLED,
    ),
    (
        "Container from a bad node: container_1_0001_01_000002 on host: h. Exit status: 143. Diagnostics: Container"
        " killed on request. Exit code is 143",
        FailureKind.TERMINATED,
    ),
    (
        "Container from a bad node: container_1_0001_01_000002 on host: h. Exit status: 52. Possible causes:"
        " OutOfMemory Diagnostics: .",
        FailureKind.HEAP,
    ),
    (
        "container container_e78_1742465778745_0034_02_000012 killed by elastic cgroups OOM handler. Exit status: 137",
        FailureKind.PHYSICAL_MEMORY,
    ),
    ("java.lang.OutOfMemoryError: Java heap space", FailureKind.HEAP),
    ("java.lang.OutOfMemoryError: GC overhead limit exceeded", FailureKind.HEAP),
    (
        "org.apache.spark.memory.SparkOutOfMemoryError: Unable to acquire 65536 bytes of memory, got 0",
        FailureKind.HEAP,
    ),
    ("java.lang.OutOfMemoryError: Metaspace", FailureKind.NATIVE_MEMORY),
    (
        "java.lang.OutOfMemoryError: Cannot reserve 4194304 bytes of direct buffer memory (allocated: 1, limit: 2)",
        FailureKind.NATIVE_MEMORY,
    ),
    ("java.lang.OutOfMemoryError: unable to create new native thread", FailureKind.NATIVE_MEMORY),
    (
        'org.apache.spark.api.python.PythonException: Traceback (most recent call last):\n  File "a.py", line 1, in f\n'
        "numpy.core._exceptions._ArrayMemoryError: Unable to allocate 14.9 GiB for an array",
        FailureKind.PYTHON_MEMORY,
    ),
    ("org.apache.spark.api.python.PythonException: Traceback ...\nMemoryError\n", FailureKind.PYTHON_MEMORY),
    ("org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)", FailureKind.PYTHON_CRASH),
    (
        "com.nvidia.spark.rapids.jni.GpuSplitAndRetryOOM: GPU OutOfMemory: could not split inputs and retry.",
        FailureKind.GPU_MEMORY,
    ),
    ("Container container_1_0001_01_000004 on host: h was preempted.", FailureKind.PREEMPTED),
    (
        "Executor for container container_1_0001_01_000004 exited because of a YARN event (e.g., preemption) and not"
        " because of an error in the running job.",
        FailureKind.PREEMPTED,
    ),
    (
        "Container marked as failed: container_1_0001_01_000002 on host: h. Exit status: -100. Diagnostics: Container"
        " released on a *lost* node.",
        FailureKind.NODE_LOST,
    ),
    ("Slave lost", FailureKind.NODE_LOST),
    ("worker lost: 10.59.176.34:35971 got disassociated", FailureKind.NODE_LOST),
    ("Executor decommission: worker decommissioned because of kill request", FailureKind.DECOMMISSIONED),
    ("Executor heartbeat timed out after 124021 ms", FailureKind.HEARTBEAT),
    ("java.io.IOException: No space left on device", FailureKind.DISK_FULL),
    ("Container container_1_0001_01_000004 exited from explicit termination request.", FailureKind.RELEASED),
    ("Executor killed by driver.", FailureKind.RELEASED),
    ("Executor Process Lost", FailureKind.LOST),
    (
        "Remote RPC client disassociated. Likely due to containers exceeding thresholds, or network issues. Check"
        " driver logs for WARN messages.",
        FailureKind.LOST,
    ),
]


@pytest.mark.parametrize(("text", "kind"), SAID, ids=[f"{kind}-{number}" for number, (_, kind) in enumerate(SAID)])
def test_real_words(text: str, kind: FailureKind) -> None:
    assert classify(text).kind is kind


def test_tasks_reason_decides_where_the_text_does_not() -> None:
    assert classify("java.lang.IllegalStateException: no", "ExceptionFailure").kind is FailureKind.APPLICATION
    assert classify("org.apache.spark.shuffle.FetchFailedException: gone", "FetchFailed").kind is FailureKind.FETCH
    assert classify("no", "ExecutorLostFailure").kind is FailureKind.LOST


class TestVirtualMemory:
    """G1-06: the check of virtual memory is not a need of heap."""

    def test_spark_2_says_the_limit_alone_and_the_container_follows_from_the_ratio(self) -> None:
        failure = classify(
            "Container killed by YARN for exceeding memory limits. 7.2 GB of 4.2 GB virtual memory used. Consider"
            " boosting spark.yarn.executor.memoryOverhead."
        )
        assert failure.kind is FailureKind.VIRTUAL_MEMORY
        assert failure.limit_mib == pytest.approx(4.2 * 1024)
        assert failure.container_mib == pytest.approx(2048)

    def test_am_that_was_far_below_its_physical_limit(self) -> None:
        failure = classify(
            "exited with exitCode: -103 ... 190.4 MB of 1 GB physical memory used; 2.1 GB of 2.1 GB virtual memory used"
        )
        assert failure.kind is FailureKind.VIRTUAL_MEMORY
        assert (failure.exit_code, failure.container_mib) == (-103, 1024)

    def test_its_remedy_is_yarns(self) -> None:
        assert "vmem" in KINDS[FailureKind.VIRTUAL_MEMORY].remedy


def test_of_two_sizes_the_one_that_was_exceeded() -> None:
    usage = "Current usage: {} GB of 1 GB physical memory used; {} GB of 2.1 GB virtual memory used."
    assert classify(usage.format("1.2", "2.0")).kind is FailureKind.PHYSICAL_MEMORY
    assert classify(usage.format("0.4", "2.2")).kind is FailureKind.VIRTUAL_MEMORY
    assert classify(usage.format("0.4", "2.0")).kind is FailureKind.LOST


def test_physical_sizes() -> None:
    failure = classify(SAID[0][0])
    assert failure.used_mib == pytest.approx(9.1 * 1024)
    assert (failure.limit_mib, failure.container_mib) == (9216, 9216)


def test_results_are_counted() -> None:
    """G1-18, the words of Spark 2 to 4; MB and MiB are both 1024 KiB there."""
    for unit in ("GB", "GiB"):
        failure = classify(
            f"Job aborted due to stage failure: Total size of serialized results of 22460 tasks (2.0 {unit}) is bigger"
            f" than spark.driver.maxResultSize (2.0 {unit})"
        )
        assert failure.kind is FailureKind.RESULT_SIZE
        assert (failure.results, failure.used_mib, failure.limit_mib) == (22460, 2048, 2048)


def test_every_class_says_what_it_means() -> None:
    assert set(KINDS) == set(FailureKind)
    assert all(info.remedy for kind, info in KINDS.items() if kind is not FailureKind.RELEASED)
