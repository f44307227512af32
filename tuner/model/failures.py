"""Why an executor, a task or an application master died, from the words that Spark and YARN left.

The words are those of ``YarnAllocator.processCompletedContainers``, ``ContainersMonitorImpl`` of the NodeManager,
``ContainerExitStatus``, ``ExecutorExitCode``, ``TaskSetManager`` and ``BasePythonRunner``, Spark 1.6 to 4.3. Two traps:
Spark 2 says "exceeding memory limits" for physical and for virtual memory alike and advises overhead for both; and a
NodeManager's message always has both sizes in it, whichever of them was the cause.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

VMEM_PMEM_RATIO: Final = 2.1
"""Default of ``yarn.nodemanager.vmem-pmem-ratio``: virtual memory that a container may have for its physical."""


class FailureKind(StrEnum):
    """What went wrong, by what can be done about it."""

    PHYSICAL_MEMORY = "physical-memory"
    """The process tree outgrew its container: more overhead."""
    VIRTUAL_MEMORY = "virtual-memory"
    """The NodeManager's check of virtual memory: no size of Spark's is wrong."""
    HEAP = "heap"
    """The JVM's heap, or Spark's share of it for a task: more heap, or fewer tasks at a time."""
    NATIVE_MEMORY = "native-memory"
    """Memory of the JVM outside its heap: metaspace, direct buffers, threads."""
    PYTHON_MEMORY = "python-memory"
    """Python could not allocate."""
    PYTHON_CRASH = "python-crash"
    """A Python worker went away without a word; the kernel's killer of processes is the usual cause."""
    GPU_MEMORY = "gpu-memory"
    """Memory of a GPU; no host memory is short."""
    KILLED = "killed"
    """SIGKILL (137) by somebody who left no reason."""
    TERMINATED = "terminated"
    """SIGTERM (143) by somebody who left no reason."""
    PREEMPTED = "preempted"
    NODE_LOST = "node-lost"
    DECOMMISSIONED = "decommissioned"
    HEARTBEAT = "heartbeat"
    """The driver did not hear of the executor in time: a long pause, or a network that is down."""
    FETCH = "fetch"
    """Shuffle files could not be read, mostly since the executor that had them is gone."""
    RESULT_SIZE = "result-size"
    """An action's results were larger than ``spark.driver.maxResultSize``."""
    DISK_FULL = "disk-full"
    LOST = "lost"
    """An executor went away and nothing says why."""
    APPLICATION = "application"
    """The application's own exception."""
    RELEASED = "released"
    """Given back on purpose; no failure."""


@dataclass(frozen=True)
class Failure:
    """One classified reason.

    Args:
        kind: the class.
        used_mib: what the process tree had, of the kind of memory that the class names; None where not told.
        limit_mib: what it was allowed of it.
        container_mib: the container's size; derived from the limit of virtual memory where only that is told.
        exit_code: the exit status of the process or container.
        results: tasks whose results were added up, for :attr:`FailureKind.RESULT_SIZE`.
    """

    kind: FailureKind
    used_mib: float | None = None
    limit_mib: float | None = None
    container_mib: float | None = None
    exit_code: int | None = None
    results: int | None = None


def classify(text: str, reason: str = "") -> Failure:
    """The class of one failure.

    Args:
        text: why an executor was removed, a task failed or an application ended, as Spark or YARN wrote it.
        reason: the class of ``TaskEndReason`` where the text is a task's, for example ``FetchFailed``.

    Returns:
        The most certain class: a text that names a limit of memory counts before the exit status beside it.
    """
    exit_code = _exit_code(text)
    memory = _container_memory(text, exit_code)
    if memory is not None:
        return memory
    results = _RESULTS.search(text)
    if results is not None:
        return Failure(
            FailureKind.RESULT_SIZE, _mib(results["used"]), _mib(results["limit"]), results=int(results["tasks"])
        )
    if reason == "FetchFailed":
        return Failure(FailureKind.FETCH)
    for kind, pattern in _PHRASES:
        if pattern.search(text):
            return Failure(kind, exit_code=exit_code)
    by_code = _BY_EXIT_CODE.get(exit_code) if exit_code is not None else None
    if by_code is not None:
        return Failure(by_code, exit_code=exit_code)
    is_own = reason == "ExceptionFailure" or (not reason and _EXCEPTION.search(text) is not None)
    return Failure(FailureKind.APPLICATION if is_own else FailureKind.LOST, exit_code=exit_code)


_SIZE: Final = r"\d+(?:\.\d+)? ?(?:B|[KMGT]i?B)"
_USED: Final = re.compile(rf"(?P<used>{_SIZE}) of (?P<limit>{_SIZE}) (?P<what>physical|virtual) memory used")
_BEYOND: Final = re.compile(
    r"(?:running (?:\d+B )?beyond (?:the )?'?(?P<nm>physical|virtual)'? memory limit"
    r"|exceeding (?P<spark>physical|virtual) memory limit)",
    re.IGNORECASE,
)
_RESULTS: Final = re.compile(
    rf"serialized results of (?P<tasks>\d+) tasks \((?P<used>{_SIZE})\) is bigger than \S*maxResultSize\S* "
    rf"\((?P<limit>{_SIZE})\)"
)
_EXIT: Final = re.compile(
    r"(?:exit status: ?|exit ?code ?[:=] ?|exit code (?:is )?|exited with code )"
    r"(-?\d+)",
    re.IGNORECASE,
)
_EXCEPTION: Final = re.compile(r"\b[\w.$]+(?:Exception|Error)\b")
_UNIT_MIB: Final = {"B": 1 / 1024**2, "K": 1 / 1024, "M": 1.0, "G": 1024.0, "T": 1024.0**2}

_PHRASES: Final[tuple[tuple[FailureKind, re.Pattern[str]], ...]] = tuple(
    (kind, re.compile(pattern))
    for kind, pattern in (
        (FailureKind.RELEASED, r"exited from explicit termination request|killed by driver|after Application shutdown"),
        (FailureKind.GPU_MEMORY, r"Gpu\w*OOM|GPU OutOfMemory|CUDA (?:error: )?out of memory|CudaException.*memory"),
        (
            FailureKind.NATIVE_MEMORY,
            r"OutOfMemoryError: (?:Metaspace|Compressed class space|Direct buffer memory|Cannot reserve \d+ bytes of "
            r"direct|unable to create (?:new )?native thread)|OutOfDirectMemoryError|Native memory allocation \(",
        ),
        (
            FailureKind.PYTHON_MEMORY,
            r"(?m)(?:^|\s|\.)_?(?:Array|Arrow)?MemoryError\b|Cannot allocate memory.*[Pp]ython|bad_alloc.*[Pp]ython",
        ),
        (
            FailureKind.HEAP,
            r"java\.lang\.OutOfMemoryError|SparkOutOfMemoryError|Java heap space|GC overhead limit exceeded"
            r"|Unable to acquire \d+ bytes of memory",
        ),
        (FailureKind.PHYSICAL_MEMORY, r"OOMKilled|killed by elastic cgroups OOM handler|oom-kill"),
        (FailureKind.PYTHON_CRASH, r"Python worker exited unexpectedly|Python worker failed to connect back"),
        (FailureKind.DISK_FULL, r"No space left on device|Disk quota exceeded"),
        (FailureKind.PREEMPTED, r"was preempted|\(e\.g\., preemption\)|Container preempted by scheduler"),
        (FailureKind.DECOMMISSIONED, r"[Dd]ecommission"),
        (FailureKind.NODE_LOST, r"released on a \*?lost\*? node|worker lost|Slave lost|Executor host is lost"),
        (FailureKind.HEARTBEAT, r"heartbeat timed out|Unable to send heartbeats|no recent heartbeats"),
        (FailureKind.FETCH, r"FetchFailedException|MetadataFetchFailed"),
    )
)
"""Phrases in the order in which they are looked for: the more certain first."""

_BY_EXIT_CODE: Final = {
    52: FailureKind.HEAP,  # SparkExitCode.OOM
    -100: FailureKind.NODE_LOST,  # ContainerExitStatus.ABORTED
    -101: FailureKind.DISK_FULL,  # DISKS_FAILED
    -102: FailureKind.PREEMPTED,
    137: FailureKind.KILLED,
    -9: FailureKind.KILLED,
    143: FailureKind.TERMINATED,
    -15: FailureKind.TERMINATED,
    56: FailureKind.HEARTBEAT,  # ExecutorExitCode.HEARTBEAT_FAILURE
}
_VMEM_EXIT: Final = -103
_PMEM_EXIT: Final = -104


def _container_memory(text: str, exit_code: int | None) -> Failure | None:
    """A kill by the NodeManager's monitor of memory."""
    sizes = {match["what"]: (_mib(match["used"]), _mib(match["limit"])) for match in _USED.finditer(text)}
    named = _BEYOND.search(text)
    what = (named["nm"] or named["spark"]).lower() if named else None
    if what is None and exit_code in (_VMEM_EXIT, _PMEM_EXIT):
        what = "virtual" if exit_code == _VMEM_EXIT else "physical"
    if what is None:
        # Spark 2: "exceeding memory limits" and the one size that was exceeded.
        over = [name for name, (used, limit) in sizes.items() if used >= limit]
        what = over[0] if len(over) == 1 else None
    if what is None:
        return None
    used, limit = sizes.get(what, (None, None))
    container = sizes["physical"][1] if "physical" in sizes else None
    if container is None and what == "virtual" and limit is not None:
        container = limit / VMEM_PMEM_RATIO
    kind = FailureKind.VIRTUAL_MEMORY if what == "virtual" else FailureKind.PHYSICAL_MEMORY
    return Failure(kind, used, limit, container, exit_code)


def _exit_code(text: str) -> int | None:
    match = _EXIT.search(text)
    return int(match[1]) if match else None


def _mib(text: str) -> float:
    number = re.match(r"[\d.]+", text)
    assert number is not None
    unit = text[number.end() :].strip()[0]
    return float(number[0]) * _UNIT_MIB[unit]


@dataclass(frozen=True)
class KindInfo:
    """What a class of failure means, and what to do about it.

    Args:
        title: for people.
        remedy: one sentence.
    """

    title: str
    remedy: str


KINDS: Final[dict[FailureKind, KindInfo]] = {
    FailureKind.PHYSICAL_MEMORY: KindInfo(
        "killed for physical memory",
        "the process tree, not the heap, outgrew the container: raise spark.executor.memoryOverhead",
    ),
    FailureKind.VIRTUAL_MEMORY: KindInfo(
        "killed for virtual memory",
        "no size of Spark's is wrong: switch yarn.nodemanager.vmem-check-enabled off, or raise"
        " yarn.nodemanager.vmem-pmem-ratio (YARN-4714)",
    ),
    FailureKind.HEAP: KindInfo(
        "out of heap", "raise spark.executor.memory, or run fewer tasks at a time (spark.executor.cores)"
    ),
    FailureKind.NATIVE_MEMORY: KindInfo(
        "out of memory outside the heap",
        "raise spark.executor.memoryOverhead; for metaspace or direct buffers also their own limit of the JVM",
    ),
    FailureKind.PYTHON_MEMORY: KindInfo(
        "Python out of memory",
        "raise spark.executor.pyspark.memory where it is set, else spark.executor.memoryOverhead",
    ),
    FailureKind.PYTHON_CRASH: KindInfo(
        "Python worker crashed",
        "mostly memory: raise spark.executor.memoryOverhead, or the workers' share spark.executor.pyspark.memory; else"
        " a native library (spark.python.worker.faulthandler.enabled shows where)",
    ),
    FailureKind.GPU_MEMORY: KindInfo("out of GPU memory", "smaller batches or fewer concurrent tasks on the GPU"),
    FailureKind.KILLED: KindInfo(
        "killed (SIGKILL, 137)",
        "mostly the kernel or a cgroup short of memory: raise spark.executor.memoryOverhead; where the JVM has"
        " -XX:OnOutOfMemoryError='kill -9 %p', the heap",
    ),
    FailureKind.TERMINATED: KindInfo(
        "terminated (SIGTERM, 143)",
        "preemption, a NodeManager that stopped, or Spark's own -XX:OnOutOfMemoryError='kill %p': the container's"
        " stderr says which",
    ),
    FailureKind.PREEMPTED: KindInfo(
        "preempted", "the queue is above its guaranteed capacity: fewer executors, or more capacity for the queue"
    ),
    FailureKind.NODE_LOST: KindInfo("lost with its node", "look at the NodeManager; no property of the job helps"),
    FailureKind.DECOMMISSIONED: KindInfo(
        "decommissioned", "spark.decommission.enabled=true moves the blocks before the node goes"
    ),
    FailureKind.HEARTBEAT: KindInfo(
        "heartbeat timed out", "long pauses for garbage collection or a network that is down: see GC first"
    ),
    FailureKind.FETCH: KindInfo(
        "shuffle files could not be fetched", "executors that had them were lost: mend that first"
    ),
    FailureKind.RESULT_SIZE: KindInfo("results above spark.driver.maxResultSize", "see the finding result-size"),
    FailureKind.DISK_FULL: KindInfo("no space on disk", "more or larger yarn.nodemanager.local-dirs, or less spill"),
    FailureKind.LOST: KindInfo("lost without a reason", "the container's log says more: yarn logs -applicationId ..."),
    FailureKind.APPLICATION: KindInfo(
        "failed by an exception of the application", "a fault of the program or its data"
    ),
    FailureKind.RELEASED: KindInfo("given back", ""),
}
