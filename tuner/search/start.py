"""Configurations that are worth a look on every cluster, before any model knows better."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

from tuner.model.limits import ClusterLimits
from tuner.model.memory import largest_heap_mib
from tuner.search.prior import TimePrior
from tuner.search.proposal import Proposal
from tuner.search.space import Point, SearchSpace

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


def what_if_proposal(
    space: SearchSpace, default: Mapping[str, str], prior: TimePrior, *, slack: float
) -> Proposal | None:
    """The configuration that the first run's event log speaks for.

    Of all numbers of executors, cores and container sizes that the cluster can grant, the one that is expected to
    reserve least GiB·s among those that are expected to be about as fast as the fastest.

    Args:
        space: what may be changed; properties that it lacks are left alone.
        default: the configuration of the first run, complete over the space.
        prior: what is expected of times, and the container model that it rests on.
        slack: tolerated slowdown against the fastest, as a fraction.

    Returns:
        None where nothing but the default can be granted.
    """
    memory = prior.memory
    expected: list[tuple[float, float, Point]] = []
    for point in _grid(space, default, memory.limits):
        configuration = memory.filled(space.render(point))
        held_mib = memory.reserved_mib(configuration)
        if held_mib is not None:
            time_s = prior.time_s(configuration)
            expected.append((time_s, time_s * held_mib / 1024.0, space.point_of(configuration)))
    if not expected:
        return None
    fastest_s = min(time_s for time_s, _, _ in expected)
    time_s, cost, point = min(
        (each for each in expected if each[0] <= (1.0 + slack) * fastest_s), key=lambda each: each[1]
    )
    return Proposal(point, f"what-if from the first run: expects {time_s:.0f} s and {cost:.0f} GiB·s")


def _grid(space: SearchSpace, default: Mapping[str, str], limits: ClusterLimits) -> Iterator[Point]:
    base = space.point_of(default)
    dimensions = {dimension.name: dimension for dimension in space.dimensions}
    containers = _doublings(limits.rounded_memory_mib(1), limits.max_container_memory_mib)
    choices = {
        _INSTANCES: _doublings(1, int(dimensions[_INSTANCES].high)) if _INSTANCES in dimensions else [None],
        _CORES: _doublings(1, int(dimensions[_CORES].high)) if _CORES in dimensions else [None],
    }
    for executors, cores, container_mib in itertools.product(choices[_INSTANCES], choices[_CORES], containers):
        point = dict(base)
        for name, value in {_INSTANCES: executors, _CORES: cores, **_sized(container_mib)}.items():
            if value is not None and name in dimensions:
                point[name] = dimensions[name].clamp(value)
        yield point


def _doublings(low: int, high: int) -> list[int]:
    """low, 2 low, 4 low, ..., and high."""
    found = list(itertools.takewhile(lambda n: n < high, (low * 2**i for i in range(32))))
    return [*found, high]
