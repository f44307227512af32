"""How busy a cluster is when an application is submitted."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self


@dataclass(frozen=True)
class Load:
    """What is free and who waits, as the ResourceManager says at one moment.

    Attributes:
        available_memory_mib: free in the whole cluster; ``total`` is what its nodes have.
        pending_containers: containers that applications wait for, in the whole cluster.
        applications_running: in the whole cluster; ``pending``: accepted, but not started.
        queue_available_memory_mib: what the queue may still take, by its maximum; None where it is not known.
        nodes: (MiB, vcores) that are free on each node, since a container has to fit on one; None where it is not
            known. It is not kept with a run: nobody asks for it afterwards.
    """

    available_memory_mib: int
    total_memory_mib: int
    available_vcores: int
    total_vcores: int
    pending_containers: int
    applications_running: int
    applications_pending: int
    queue_available_memory_mib: int | None = None
    queue_available_vcores: int | None = None
    nodes: tuple[tuple[int, int], ...] | None = None

    @property
    def head_room_memory_mib(self) -> int:
        """What an application in the queue could be given at once, in MiB."""
        return _least(self.available_memory_mib, self.queue_available_memory_mib)

    @property
    def head_room_vcores(self) -> int:
        """What an application in the queue could be given at once."""
        return _least(self.available_vcores, self.queue_available_vcores)

    @property
    def used_fraction(self) -> float:
        """The part of the cluster's memory that is taken, 0 to 1."""
        if self.total_memory_mib <= 0:
            return 0.0
        return min(1.0, max(0.0, 1.0 - self.available_memory_mib / self.total_memory_mib))

    def to_json(self) -> dict[str, Any]:
        """As it is stored with a run."""
        return {name: value for name, value in dataclasses.asdict(self).items() if name != "nodes"}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """Reads :meth:`to_json`; fields that a newer version has are left out."""
        names = {field.name for field in dataclasses.fields(cls)}
        return cls(**{name: amount for name, amount in value.items() if name in names})


def _least(cluster: int, queue: int | None) -> int:
    return max(0, cluster if queue is None else min(cluster, queue))
