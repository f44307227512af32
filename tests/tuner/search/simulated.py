"""A made-up application whose time and cost are known, to see what the search makes of it."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from tuner.model.limits import ClusterLimits
from tuner.search.objective import Observation, TrialState
from tuner.search.reserve import ReservationModel
from tuner.search.space import Dimension, SearchSpace
from tuner.spark.params import NEWEST, core_params

LIMITS = ClusterLimits(
    max_container_memory_mib=8192,
    min_allocation_mib=1024,
    increment_mib=1024,
    max_container_vcores=8,
    total_memory_mib=16384,
    total_vcores=16,
    nodes=2,
    counts_vcores=True,
)
MEMORY = ReservationModel(limits=LIMITS, base={}, pinned=frozenset(), python=False, cluster_mode=False, version=NEWEST)


def space(*names: str) -> SearchSpace:
    """The core properties on LIMITS, or the named ones."""
    specs = [spec for spec in core_params() if not names or spec.name in names]
    defaults = {spec.name: spec.default_value() for spec in specs} | {"spark.executor.memoryOverhead": 384}
    return SearchSpace(tuple(Dimension.on(spec, LIMITS, defaults[spec.name] or 0) for spec in specs))


class SimulatedJob:
    """Time: start-up, executors' JVMs, work over at most four useful slots, and a penalty for too little heap.

    Args:
        heap_per_task_mib: below it a task spills and takes longer.
        failing_heap_mib: below it the job fails.
    """

    def __init__(self, *, noise: float, seed: int, heap_per_task_mib: int = 300, failing_heap_mib: int = 0) -> None:
        self._rng = np.random.default_rng(seed)
        self._noise = noise
        self._heap_per_task_mib = heap_per_task_mib
        self._failing_heap_mib = failing_heap_mib

    def time_s(self, configuration: Mapping[str, str]) -> float:
        """Without noise."""
        executors = int(configuration["spark.executor.instances"])
        cores = int(configuration["spark.executor.cores"])
        heap_mib = int(configuration["spark.executor.memory"].removesuffix("m"))
        spill = 1.5 if heap_mib / cores < self._heap_per_task_mib else 1.0
        partitions = int(configuration.get("spark.sql.shuffle.partitions", "200"))
        return 8 + 1.5 * executors + 40 * spill / min(executors * cores, 4) + 0.01 * partitions

    def cost(self, configuration: Mapping[str, str]) -> float:
        """GiB·s without noise."""
        reserved = MEMORY.reserved_mib(configuration)
        assert reserved is not None, configuration
        return reserved / 1024 * self.time_s(configuration)

    def run(self, configuration: Mapping[str, str]) -> Observation:
        """One run, with noise."""
        factor = math.exp(self._rng.normal(0.0, self._noise))
        time_s = self.time_s(configuration) * factor
        if int(configuration["spark.executor.memory"].removesuffix("m")) < self._failing_heap_mib:
            return Observation(dict(configuration), TrialState.FAILED, time_s / 2, 1.0, self.cost(configuration) / 2)
        return Observation(dict(configuration), TrialState.SUCCEEDED, time_s, 1.0, self.cost(configuration) * factor)
