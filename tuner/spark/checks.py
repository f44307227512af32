"""What would make Spark refuse a configuration, or fail at its start, found before anything is submitted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from tuner.errors import InputError
from tuner.model.container import initial_executors
from tuner.model.memory import MIN_HEAP_MIB
from tuner.spark.names import lookup
from tuner.spark.params import NEWEST, PARAMS, SparkVersion, read_bool, read_number

_HEAPS = ("spark.executor.memory", "spark.driver.memory")
_SHUFFLE_IO = "spark.shuffle.sort.io.plugin.class"
_LOCAL_SHUFFLE_IO = "org.apache.spark.shuffle.sort.io.LocalDiskShuffleDataIO"
_KRYO_LIMIT_MIB = 2048


@dataclass(frozen=True)
class Problem:
    """One reason why a configuration does not work: the property to change, why, and what to do."""

    name: str
    message: str
    hint: str = ""


def find_problems(conf: Mapping[str, str], version: SparkVersion = NEWEST) -> tuple[Problem, ...]:
    """Everything wrong with a configuration, as far as Spark itself would object to it.

    Whether the cluster can hold its containers is :func:`tuner.model.container.reservation`'s to say.

    Args:
        conf: the effective configuration as text; old names are understood.
        version: the version of Spark.

    Returns:
        Empty where nothing is known against it. Values that cannot be read come alone: the other checks need them.
    """
    unreadable = tuple(_unreadable(conf, version))
    if unreadable:
        return unreadable
    return tuple(problem for check in _CHECKS for problem in check(conf, version))


def most_tasks(max_result_size_mib: int, result_mib: float) -> int | None:
    """How many tasks one action may have before ``spark.driver.maxResultSize`` ends it; None for no limit.

    Every task sends a result, if only its status and metrics, and all are added up
    (``TaskSetManager.canFetchMoreResults``): an action can fail for its number of tasks alone.

    Args:
        max_result_size_mib: the limit; 0 for none.
        result_mib: what one task sends, for example the mean ``Result Size`` of a stage in the event log.
    """
    return None if max_result_size_mib == 0 else int(max_result_size_mib / result_mib)


def _unreadable(conf: Mapping[str, str], version: SparkVersion) -> Iterator[Problem]:
    for name, spec in PARAMS.items():
        text = lookup(conf, name)
        if text is None or not spec.exists_in(version):
            continue
        try:
            spec.parse(text)
        except InputError as error:
            yield Problem(name, error.message, error.hint)


def _heaps(conf: Mapping[str, str], version: SparkVersion) -> Iterator[Problem]:
    for name in _HEAPS:
        text = (lookup(conf, name) or "").strip()
        if text.isdecimal():
            # The entry is in MiB, but UnifiedMemoryManager reads the same text as bytes (SPARK-32293).
            yield Problem(
                name,
                f"{name}={text} has no unit: Spark reads it as MiB in one place, as bytes in another",
                f"write {text}m",
            )
        elif read_number(conf, name, version) < MIN_HEAP_MIB:
            yield Problem(name, f"{name}={text} is too small: Spark does not start below {MIN_HEAP_MIB}m", "raise it")


def _dynamic_allocation(conf: Mapping[str, str], version: SparkVersion) -> Iterator[Problem]:
    """``ExecutorAllocationManager.validateSettings``, ``SchedulerBackendUtils.getInitialTargetExecutorNumber``."""
    if not read_bool(conf, "spark.dynamicAllocation.enabled", version):
        return
    moves_blocks = read_bool(conf, "spark.decommission.enabled", version) and read_bool(
        conf, "spark.storage.decommission.shuffleBlocks.enabled", version
    )
    own_storage = (lookup(conf, _SHUFFLE_IO) or _LOCAL_SHUFFLE_IO) != _LOCAL_SHUFFLE_IO
    tracked = read_bool(conf, "spark.dynamicAllocation.shuffleTracking.enabled", version)
    if not (read_bool(conf, "spark.shuffle.service.enabled", version) or tracked or moves_blocks or own_storage):
        yield Problem(
            "spark.dynamicAllocation.enabled",
            "dynamic allocation would lose shuffle files: neither a shuffle service nor shuffle tracking nor"
            " decommissioning is enabled",
            "set spark.dynamicAllocation.shuffleTracking.enabled=true, or spark.shuffle.service.enabled=true where the"
            " NodeManagers run the service",
        )
    most = read_number(conf, "spark.dynamicAllocation.maxExecutors", version)
    least = read_number(conf, "spark.dynamicAllocation.minExecutors", version)
    first = initial_executors(conf, version)
    if least > most:
        yield Problem("spark.dynamicAllocation.minExecutors", f"minExecutors {least:g} is above maxExecutors {most:g}")
    elif first > most:
        yield Problem(
            "spark.dynamicAllocation.maxExecutors",
            f"the application would start with {first} executors, above maxExecutors {most:g}",
            "the largest of minExecutors, initialExecutors and spark.executor.instances counts; lower it",
        )


def _executors(conf: Mapping[str, str], version: SparkVersion) -> Iterator[Problem]:
    cores = read_number(conf, "spark.executor.cores", version)
    needed = read_number(conf, "spark.task.cpus", version)
    if cores < needed:
        yield Problem("spark.executor.cores", f"an executor's {cores:g} cores cannot run a task that takes {needed:g}")
    static = not read_bool(conf, "spark.dynamicAllocation.enabled", version)
    if static and read_number(conf, "spark.executor.instances", version) < 1:
        yield Problem("spark.executor.instances", "without dynamic allocation at least one executor is needed")


def _memory(conf: Mapping[str, str], version: SparkVersion) -> Iterator[Problem]:
    off_heap = read_number(conf, "spark.memory.offHeap.size", version)
    if read_bool(conf, "spark.memory.offHeap.enabled", version) and off_heap <= 0:
        yield Problem("spark.memory.offHeap.size", "off-heap memory is enabled, but its size is 0", "give it a size")
    if read_number(conf, "spark.kryoserializer.buffer.max", version) >= _KRYO_LIMIT_MIB:
        yield Problem("spark.kryoserializer.buffer.max", f"must be below {_KRYO_LIMIT_MIB}m")
    for name in ("spark.memory.fraction", "spark.memory.storageFraction"):
        if not 0 < read_number(conf, name, version) < 1:
            yield Problem(name, f"{name}={lookup(conf, name)} is not between 0 and 1")


_CHECKS: tuple[Callable[[Mapping[str, str], SparkVersion], Iterator[Problem]], ...] = (
    _heaps,
    _dynamic_allocation,
    _executors,
    _memory,
)
