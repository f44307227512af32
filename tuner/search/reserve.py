"""What a configuration reserves, for the search: the container model, and what it makes of a candidate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from tuner.model.container import Refusal, executor_request, executors_that_fit, grant, reservation, without_waste
from tuner.model.limits import ClusterLimits
from tuner.spark.params import SparkVersion

_HEAP = "spark.executor.memory"
_OVERHEAD = "spark.executor.memoryOverhead"

SIZES = (_HEAP, _OVERHEAD)
"""What makes a container's size; set together, since Spark's own overhead moves with the heap."""


class Reservation(Protocol):
    """What the search asks about memory; where all configurations reserve the same, time alone counts."""

    def reserved_mib(self, configuration: Mapping[str, str]) -> float | None:
        """MiB that all containers take; None where the configuration cannot be granted."""

    def filled(self, configuration: Mapping[str, str]) -> dict[str, str]:
        """The configuration as it is run, without memory that would be reserved for nothing."""


@dataclass(frozen=True)
class ReservationModel:
    """Reserved memory of one application on one cluster.

    Attributes:
        limits: of the cluster and the queue.
        base: the properties that hold in every run: the user's defaults and the pinned ones.
        pinned: names that must not be changed.
        python: whether it is a Python application.
        cluster_mode: whether the driver runs on the cluster.
        version: the version of Spark.
    """

    limits: ClusterLimits
    base: Mapping[str, str]
    pinned: frozenset[str]
    python: bool
    cluster_mode: bool
    version: SparkVersion

    def reserved_mib(self, configuration: Mapping[str, str]) -> float | None:
        """MiB that all containers take; None where they can never run side by side on this cluster.

        A configuration with more executors than fit would run with fewer, and be taken for one that it is not.
        """
        conf = {**self.base, **configuration}
        held = reservation(conf, self.limits, python=self.python, cluster_mode=self.cluster_mode, version=self.version)
        if isinstance(held, Refusal) or held.executors < 1:
            return None
        slots = held.executors * held.executor.request.vcores
        if slots > self.limits.usable_vcores or held.executors > executors_that_fit(
            held.am, held.executor, self.limits
        ):
            return None
        return float(held.memory_mib)

    def filled(self, configuration: Mapping[str, str]) -> dict[str, str]:
        """The same configuration with its heap as large as the container that YARN grants anyway.

        Where the heap is pinned or not set, the overhead takes the rest; where both are, nothing is changed.
        """
        conf = {**self.base, **configuration}
        free = [name for name in SIZES if name in configuration and name not in self.pinned]
        request = executor_request(conf, python=self.python, version=self.version)
        if not free or isinstance(grant(request, self.limits), Refusal):
            return dict(configuration)
        full = without_waste(request, self.limits, to="heap" if free[0] == _HEAP else "overhead")
        assert not isinstance(full, Refusal)
        sizes = {_HEAP: full.heap_mib, _OVERHEAD: full.overhead_mib}
        return {**configuration, **{name: f"{sizes[name]}m" for name in SIZES if name not in self.pinned}}
