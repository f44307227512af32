"""Bounds that depend on the cluster, shared by rows of the table."""

from __future__ import annotations

from tuner.model.limits import ClusterLimits
from tuner.model.memory import MIN_HEAP_MIB, MIN_OVERHEAD_MIB, largest_heap_mib
from tuner.spark.params.spec import Bound

MOST_CORES = 16
"""More cores than this in one JVM only add to its garbage collection and to the fight over its locks."""

MOST_TASKS_PER_CORE = 32


def _executors(limits: ClusterLimits) -> int:
    smallest = limits.rounded_memory_mib(MIN_HEAP_MIB + MIN_OVERHEAD_MIB)
    by_memory = limits.usable_memory_mib // smallest
    return max(1, min(by_memory, limits.usable_vcores) if limits.counts_vcores else by_memory)


def _heap(limits: ClusterLimits) -> int:
    return max(MIN_HEAP_MIB, largest_heap_mib(limits.max_container_memory_mib))


def _partitions(limits: ClusterLimits) -> int:
    return min(20_000, max(400, MOST_TASKS_PER_CORE * limits.usable_vcores))


EXECUTORS = Bound("as many of the smallest executors as the queue can hold", _executors)
CORES = Bound(
    f"vcores of the largest container, at most {MOST_CORES}",
    lambda limits: min(limits.max_container_vcores, MOST_CORES),
)
HEAP = Bound("the largest heap that fits into the largest container with its overhead", _heap)
HALF_CONTAINER = Bound("half the largest container", lambda limits: max(512, limits.max_container_memory_mib // 2))
PARTITIONS = Bound(f"{MOST_TASKS_PER_CORE} tasks for each vcore of the queue, 400 to 20000", _partitions)
