"""What the cluster allows: the sizes between which a container may be, and how YARN rounds what is asked for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ClusterLimits:
    """The cluster, as far as it bounds one application.

    Args:
        max_container_memory_mib: the largest container in MiB: ``yarn.scheduler.maximum-allocation-mb``, or less
            where no node is that large.
        min_allocation_mib: ``yarn.scheduler.minimum-allocation-mb``.
        increment_mib: what sizes are rounded up to a multiple of. The Capacity Scheduler has no property of its own
            for it and takes the minimum allocation; the Fair Scheduler's is
            ``yarn.resource-types.memory-mb.increment-allocation`` (before: ``yarn.scheduler.increment-allocation-mb``),
            1024 by default.
        max_container_vcores: ``yarn.scheduler.maximum-allocation-vcores``, or less where no node has as many.
        total_memory_mib: memory of all nodes together, in MiB.
        total_vcores: vcores of all nodes together.
        nodes: number of nodes.
        queue_max_memory_mib: the most that the application's queue may hold, in MiB; None where unknown or unbounded.
        queue_max_vcores: the same for vcores.
        counts_vcores: whether the scheduler counts vcores (DominantResourceCalculator, DRF). Where it does not, a
            container is granted 1 vcore whatever it asked for, and cores bound nothing.
    """

    max_container_memory_mib: int
    min_allocation_mib: int
    increment_mib: int
    max_container_vcores: int
    total_memory_mib: int
    total_vcores: int
    nodes: int
    queue_max_memory_mib: int | None = None
    queue_max_vcores: int | None = None
    counts_vcores: bool = False

    def __post_init__(self) -> None:
        for name in ("max_container_memory_mib", "increment_mib", "max_container_vcores", "nodes"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be positive, got {getattr(self, name)}")

    @property
    def usable_memory_mib(self) -> int:
        """The most memory that the application can ever hold, in MiB."""
        return min(self.total_memory_mib, self.queue_max_memory_mib or self.total_memory_mib)

    @property
    def usable_vcores(self) -> int:
        """The most vcores that the application can ever hold."""
        return min(self.total_vcores, self.queue_max_vcores or self.total_vcores)

    def rounded_memory_mib(self, asked_mib: int) -> int:
        """The size of the container that YARN gives for a size that it accepts, in MiB.

        Source: ``ResourceCalculator.normalize``, ``min(roundUp(max(asked, minimum), increment), maximum)``.
        """
        at_least = max(asked_mib, self.min_allocation_mib)
        rounded = -(-at_least // self.increment_mib) * self.increment_mib
        return min(rounded, self.max_container_memory_mib)
