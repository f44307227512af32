"""Configurations that are worth a look on every cluster, before any model knows better."""

from __future__ import annotations

from collections.abc import Mapping

from tuner.model.limits import ClusterLimits
from tuner.model.memory import largest_heap_mib
from tuner.search.proposal import Proposal
from tuner.search.space import SearchSpace

_INSTANCES = "spark.executor.instances"
_CORES = "spark.executor.cores"
_HEAP = "spark.executor.memory"
_OVERHEAD = "spark.executor.memoryOverhead"


def start_proposals(space: SearchSpace, limits: ClusterLimits, default: Mapping[str, str]) -> list[Proposal]:
    """Points around the default configuration that hold memory down or use the cores that are there.

    Args:
        space: what may be changed; properties that it lacks are left alone.
        limits: of the cluster.
        default: the configuration of the first run, complete over the space.

    Returns:
        Proposals, best first; some may not be grantable, which the caller sees when it asks the container model.
    """
    smallest_mib = limits.rounded_memory_mib(1)
    half = max(smallest_mib, _container_mib(default, limits) // 2)
    # Where vcores count, the application master needs one of them.
    am_cores = 1 if limits.counts_vcores else 0
    node_cores = max(1, min(limits.max_container_vcores, limits.usable_vcores // limits.nodes) - am_cores)
    wanted: list[tuple[dict[str, int], str]] = [
        (_sized(half), "same executors in containers of half the size"),
        (
            {_INSTANCES: limits.nodes, _CORES: node_cores, **_sized(max(half, smallest_mib * node_cores // 4))},
            "one executor on each node, with all of its cores",
        ),
        ({_INSTANCES: 1, _CORES: node_cores, **_sized(half)}, "a single executor with all cores of a node"),
    ]
    proposals = []
    for values, reason in wanted:
        point = space.point_of(default)
        for dimension in space.dimensions:
            if dimension.name in values:
                point[dimension.name] = dimension.clamp(values[dimension.name])
        proposals.append(Proposal(point, reason))
    return proposals


def _sized(container_mib: int) -> dict[str, int]:
    """Heap and overhead of a container of that size, split as Spark would."""
    heap_mib = largest_heap_mib(container_mib)
    return {_HEAP: heap_mib, _OVERHEAD: container_mib - heap_mib}


def _container_mib(conf: Mapping[str, str], limits: ClusterLimits) -> int:
    sizes = [int(conf[name].removesuffix("m")) for name in (_HEAP, _OVERHEAD) if name in conf]
    return limits.rounded_memory_mib(sum(sizes))
