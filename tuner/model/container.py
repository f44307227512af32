"""What an application reserves: the containers that Spark asks for and YARN grants.

Sources: ``ResourceProfile.getResourcesForClusterManager`` (executors), ``yarn.Client`` (AM), ``SchedulerUtils``
(refusal), ``ResourceCalculator.normalize`` (rounding). Refusals are values: a size that cannot be had is something
to decide on, not a fault.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from tuner.model.limits import ClusterLimits
from tuner.model.memory import MIN_OVERHEAD_MIB, OVERHEAD_FACTOR, overhead_mib
from tuner.spark.names import lookup
from tuner.spark.params import NEWEST, SparkVersion, read_bool, read_number, read_value

__all__ = [
    "ClusterLimits",
    "ContainerGrant",
    "ContainerRequest",
    "Refusal",
    "Reservation",
    "am_request",
    "executor_request",
    "executors_that_fit",
    "grant",
    "initial_executors",
    "reservation",
    "without_waste",
]


@dataclass(frozen=True)
class ContainerRequest:
    """One container as Spark asks for it; sizes in MiB."""

    heap_mib: int
    overhead_mib: int
    off_heap_mib: int = 0
    pyspark_mib: int = 0
    vcores: int = 1

    @property
    def memory_mib(self) -> int:
        """What YARN is asked for, in MiB."""
        return self.heap_mib + self.overhead_mib + self.off_heap_mib + self.pyspark_mib


@dataclass(frozen=True)
class ContainerGrant:
    """The container that YARN gives for a request; this is what the application holds and the queue pays."""

    request: ContainerRequest
    memory_mib: int
    vcores: int

    @property
    def waste_mib(self) -> int:
        """MiB that are reserved by rounding alone and that no part of the process is allowed to use."""
        return self.memory_mib - self.request.memory_mib


@dataclass(frozen=True)
class Refusal:
    """A request that YARN never grants: larger than the largest container."""

    request: ContainerRequest
    resource: Literal["memory", "vcores"]
    asked: int
    largest: int

    @property
    def reason(self) -> str:
        """One sentence for people, with the property that would have to change."""
        if self.resource == "vcores":
            return (
                f"the container needs {self.asked} vcores, the largest has {self.largest}"
                " (yarn.scheduler.maximum-allocation-vcores, or the largest node)"
            )
        parts = (
            ("heap", self.request.heap_mib),
            ("overhead", self.request.overhead_mib),
            ("off-heap", self.request.off_heap_mib),
            ("PySpark", self.request.pyspark_mib),
        )
        sizes = " + ".join(f"{size} {name}" for name, size in parts if size)
        return (
            f"the container needs {self.asked} MiB ({sizes}), the largest has {self.largest} MiB"
            " (yarn.scheduler.maximum-allocation-mb, or the largest node)"
        )


@dataclass(frozen=True)
class Reservation:
    """What the application holds while all its executors are there."""

    am: ContainerGrant
    executor: ContainerGrant
    executors: int

    @property
    def memory_mib(self) -> int:
        """All containers together, in MiB."""
        return self.am.memory_mib + self.executors * self.executor.memory_mib

    @property
    def vcores(self) -> int:
        """All containers together, as YARN counts them."""
        return self.am.vcores + self.executors * self.executor.vcores

    @property
    def waste_mib(self) -> int:
        """What rounding alone costs, in MiB."""
        return self.am.waste_mib + self.executors * self.executor.waste_mib


def executor_request(conf: Mapping[str, str], *, python: bool, version: SparkVersion = NEWEST) -> ContainerRequest:
    """The container that Spark asks for one executor.

    Args:
        conf: the effective configuration as text, as in an event log; old names are understood.
        python: whether it is a Python application. Only those get ``spark.executor.pyspark.memory``.
        version: the version of Spark.

    Raises:
        InputError: for a value that Spark would refuse.
    """
    heap = _whole(conf, "spark.executor.memory", version)
    explicit = read_value(conf, "spark.executor.memoryOverhead", version)
    overhead = (
        overhead_mib(
            heap,
            read_number(conf, "spark.executor.memoryOverheadFactor", version),
            _whole(conf, "spark.executor.minMemoryOverhead", version),
        )
        if explicit is None
        else int(explicit)
    )
    off_heap = read_bool(conf, "spark.memory.offHeap.enabled", version)
    return ContainerRequest(
        heap_mib=heap,
        overhead_mib=overhead,
        off_heap_mib=_whole(conf, "spark.memory.offHeap.size", version) if off_heap else 0,
        pyspark_mib=int(read_value(conf, "spark.executor.pyspark.memory", version) or 0) if python else 0,
        vcores=_whole(conf, "spark.executor.cores", version),
    )


def am_request(conf: Mapping[str, str], *, cluster_mode: bool, version: SparkVersion = NEWEST) -> ContainerRequest:
    """The container that Spark asks for its application master.

    Args:
        conf: as in :func:`executor_request`.
        cluster_mode: whether the driver runs in it. In client mode it has sizes of its own (``spark.yarn.am.*``),
            and neither ``spark.driver.memoryOverheadFactor`` nor ``spark.driver.minMemoryOverhead`` counts.
        version: the version of Spark.

    Raises:
        InputError: for a value that Spark would refuse.
    """
    prefix = "spark.driver" if cluster_mode else "spark.yarn.am"
    heap = _whole(conf, f"{prefix}.memory", version)
    explicit = read_value(conf, f"{prefix}.memoryOverhead", version)
    factor, minimum = OVERHEAD_FACTOR, MIN_OVERHEAD_MIB
    if cluster_mode:
        factor = read_number(conf, "spark.driver.memoryOverheadFactor", version)
        minimum = _whole(conf, "spark.driver.minMemoryOverhead", version)
    return ContainerRequest(
        heap_mib=heap,
        overhead_mib=overhead_mib(heap, factor, minimum) if explicit is None else int(explicit),
        vcores=_whole(conf, f"{prefix}.cores", version),
    )


def grant(request: ContainerRequest, limits: ClusterLimits) -> ContainerGrant | Refusal:
    """What YARN makes of a request: the rounded container, or none at all.

    Vcores above the maximum are refused under every calculator; where vcores are not counted, a granted container
    has one.
    """
    if request.memory_mib > limits.max_container_memory_mib:
        return Refusal(request, "memory", request.memory_mib, limits.max_container_memory_mib)
    if request.vcores > limits.max_container_vcores:
        return Refusal(request, "vcores", request.vcores, limits.max_container_vcores)
    vcores = request.vcores if limits.counts_vcores else 1
    return ContainerGrant(request, limits.rounded_memory_mib(request.memory_mib), vcores)


def initial_executors(conf: Mapping[str, str], version: SparkVersion = NEWEST) -> int:
    """How many executors the application asks for at its start.

    With dynamic allocation the largest of ``minExecutors``, ``initialExecutors`` and ``spark.executor.instances``
    (``Utils.getDynamicAllocationInitialExecutors``, SPARK-13723), else ``spark.executor.instances``, 2 by default.
    """
    if not read_bool(conf, "spark.dynamicAllocation.enabled", version):
        return _whole(conf, "spark.executor.instances", version)
    least = _whole(conf, "spark.dynamicAllocation.minExecutors", version)
    initial = read_value(conf, "spark.dynamicAllocation.initialExecutors", version)
    instances = lookup(conf, "spark.executor.instances")
    return max(
        least,
        least if initial is None else int(initial),
        0 if instances is None else _whole(conf, "spark.executor.instances", version),
    )


def reservation(
    conf: Mapping[str, str],
    limits: ClusterLimits,
    *,
    python: bool,
    cluster_mode: bool,
    executors: int | None = None,
    version: SparkVersion = NEWEST,
) -> Reservation | Refusal:
    """What an application with this configuration holds, or the first of its containers that YARN refuses.

    Args:
        conf: as in :func:`executor_request`.
        limits: of the cluster and queue.
        python: whether it is a Python application.
        cluster_mode: whether the driver runs on the cluster.
        executors: how many executors to count; those that it starts with where not given.
        version: the version of Spark.

    Raises:
        InputError: for a value that Spark would refuse.
    """
    am = grant(am_request(conf, cluster_mode=cluster_mode, version=version), limits)
    if isinstance(am, Refusal):
        return am
    executor = grant(executor_request(conf, python=python, version=version), limits)
    if isinstance(executor, Refusal):
        return executor
    return Reservation(am, executor, initial_executors(conf, version) if executors is None else executors)


def executors_that_fit(am: ContainerGrant, executor: ContainerGrant, limits: ClusterLimits) -> int:
    """How many such executors an otherwise idle cluster can hold at once, the AM on one of its (equal) nodes."""
    node_memory_mib = limits.total_memory_mib // limits.nodes
    node_vcores = limits.total_vcores // limits.nodes
    with_am = _on_node(node_memory_mib - am.memory_mib, node_vcores - am.vcores, executor, limits)
    without = _on_node(node_memory_mib, node_vcores, executor, limits)
    in_queue = _on_node(limits.usable_memory_mib - am.memory_mib, limits.usable_vcores - am.vcores, executor, limits)
    return max(0, min(with_am + (limits.nodes - 1) * without, in_queue))


def without_waste(
    request: ContainerRequest, limits: ClusterLimits, *, to: Literal["heap", "overhead"] = "heap"
) -> ContainerRequest | Refusal:
    """The request that fills its container to the last MiB, so that nothing is reserved by rounding alone.

    Args:
        request: what is needed.
        limits: of the cluster.
        to: which part gets the rest. Both sizes have to be set explicitly then, as Spark's own overhead would move
            with the heap.

    Returns:
        A request of exactly the size that YARN grants, no part smaller than needed; a refusal as from :func:`grant`.
    """
    granted = grant(request, limits)
    if isinstance(granted, Refusal):
        return granted
    if to == "heap":
        return replace(request, heap_mib=request.heap_mib + granted.waste_mib)
    return replace(request, overhead_mib=request.overhead_mib + granted.waste_mib)


def _on_node(memory_mib: int, vcores: int, executor: ContainerGrant, limits: ClusterLimits) -> int:
    by_memory = memory_mib // executor.memory_mib
    return max(0, min(by_memory, vcores // executor.vcores) if limits.counts_vcores else by_memory)


def _whole(conf: Mapping[str, str], name: str, version: SparkVersion) -> int:
    return int(read_number(conf, name, version))
