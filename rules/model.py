"""What the parts of ``rules`` say to each other: resources, queues, what the cluster holds now, and findings.

Values only: frozen, compared by content, no I/O. Queues are always named by their full path (``root.prod.etl``),
because a short name is ambiguous and the ResourceManager accepts a wrong one in silence.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType

ROOT = "root"
DEFAULT_LABEL = ""
"""YARN's name of the partition of all nodes that carry no label."""

MEMORY = "memory-mb"
VCORES = "vcores"


@dataclass(frozen=True, slots=True)
class Resources:
    """An amount of each resource, as Hadoop's ``Resource``.

    Args:
        memory_mib: memory in MiB.
        vcores: virtual cores.
        others: further resource types by name (``yarn.io/gpu``), sorted by name, zeros left out.
    """

    memory_mib: int = 0
    vcores: int = 0
    others: tuple[tuple[str, int], ...] = ()

    @classmethod
    def of(cls, amounts: Mapping[str, int]) -> Resources:
        """Makes resources from Hadoop's names: ``memory-mb`` (or ``memory``), ``vcores`` and any other type."""
        rest = {name: amount for name, amount in amounts.items() if name not in (MEMORY, "memory", VCORES) and amount}
        memory_mib = amounts.get(MEMORY, amounts.get("memory", 0))
        return cls(memory_mib, amounts.get(VCORES, 0), tuple(sorted(rest.items())))

    def items(self) -> tuple[tuple[str, int], ...]:
        """Every resource with its amount, memory and vcores first, as YARN orders them."""
        return ((MEMORY, self.memory_mib), (VCORES, self.vcores), *self.others)

    def amount(self, name: str) -> int:
        """The amount of one resource; 0 for one that is not there."""
        return dict(self.items()).get(MEMORY if name == "memory" else name, 0)

    def __add__(self, other: Resources) -> Resources:
        return self._pairwise(other, operator.add)

    def __sub__(self, other: Resources) -> Resources:
        """The difference, which may be negative in single components."""
        return self._pairwise(other, operator.sub)

    def fits_in(self, other: Resources) -> bool:
        """Whether no component is larger than the other's (``Resources.fitsIn`` with a dominant calculator)."""
        return all(amount <= other.amount(name) for name, amount in self.items())

    def component_min(self, other: Resources) -> Resources:
        """The smaller of the two, component by component."""
        return self._pairwise(other, min)

    def component_max(self, other: Resources) -> Resources:
        """The larger of the two, component by component."""
        return self._pairwise(other, max)

    def is_zero(self) -> bool:
        """Whether there is none of any resource."""
        return not any(amount for _, amount in self.items())

    def __str__(self) -> str:
        rest = "".join(f", {name}: {amount}" for name, amount in self.others)
        return f"{self.memory_mib} MiB, {self.vcores} vcores{rest}"

    def _pairwise(self, other: Resources, combine: Callable[[int, int], int]) -> Resources:
        names = dict.fromkeys([name for name, _ in self.items()] + [name for name, _ in other.items()])
        return Resources.of({name: combine(self.amount(name), other.amount(name)) for name in names})


class CapacityMode(Enum):
    """How a queue's capacity is written in the Capacity Scheduler."""

    UNSET = "unset"
    PERCENT = "percent"
    WEIGHT = "weight"
    ABSOLUTE = "absolute"
    VECTOR = "vector"


@dataclass(frozen=True, slots=True)
class ResourceShare:
    """One resource of an absolute capacity or of a capacity vector.

    Args:
        resource: Hadoop's name of it (``memory-mb``, ``vcores``, ``yarn.io/gpu``).
        mode: PERCENT of the parent, WEIGHT among siblings, or ABSOLUTE amount.
        value: percent, weight, or amount (memory in MiB).
    """

    resource: str
    mode: CapacityMode
    value: float


@dataclass(frozen=True, slots=True)
class Capacity:
    """A configured capacity or maximum capacity.

    Args:
        mode: how it is written.
        value: the percentage (0 to 100) or the weight; 0 in the other modes.
        shares: by resource, in the configured order, for ABSOLUTE and VECTOR; empty in the other modes.
    """

    mode: CapacityMode = CapacityMode.UNSET
    value: float = 0.0
    shares: tuple[ResourceShare, ...] = ()

    @property
    def resources(self) -> Resources:
        """The amounts of an ABSOLUTE capacity; nothing in the other modes."""
        if self.mode is not CapacityMode.ABSOLUTE:
            return Resources()
        return Resources.of({share.resource: int(share.value) for share in self.shares})


@dataclass(frozen=True, slots=True)
class QueueCapacity:
    """What a queue has of one node label: its capacity, and its maximum (UNSET: up to all of its parent's)."""

    capacity: Capacity = field(default_factory=Capacity)
    maximum: Capacity = field(default_factory=Capacity)


class QueueState(Enum):
    """The configured state of a queue (``org.apache.hadoop.yarn.api.records.QueueState``)."""

    RUNNING = "RUNNING"
    STOPPED = "STOPPED"


@dataclass(frozen=True)
class Queue:
    """One queue as it is configured, before any default or inheritance.

    Args:
        path: full path from ``root``.
        children: full paths of its children, in the configured order.
        state: None where it is not configured, which means the parent's, and RUNNING for root.
        properties: its configured properties by suffix (``user-limit-factor``), values trimmed.
        capacities: by node label, :data:`DEFAULT_LABEL` always among them.
    """

    path: str
    children: tuple[str, ...] = ()
    state: QueueState | None = None
    properties: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    capacities: Mapping[str, QueueCapacity] = field(
        default_factory=lambda: MappingProxyType({DEFAULT_LABEL: QueueCapacity()})
    )

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition(".")[2]

    @property
    def parent(self) -> str | None:
        """The full path of the parent; None for root."""
        return self.path.rpartition(".")[0] or None

    @property
    def is_leaf(self) -> bool:
        """Whether it has no configured children (applications run in leaves only)."""
        return not self.children

    @property
    def capacity(self) -> Capacity:
        """The capacity on nodes without a label."""
        return self.capacities[DEFAULT_LABEL].capacity

    @property
    def maximum_capacity(self) -> Capacity:
        """The maximum capacity on nodes without a label."""
        return self.capacities[DEFAULT_LABEL].maximum


@dataclass(frozen=True)
class QueueTree:
    """The queues of a scheduler, parents before children, siblings in the configured order.

    Args:
        queues: by full path.
        settings: what is configured for the scheduler as a whole, by full property name.
    """

    queues: Mapping[str, Queue]
    settings: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def __iter__(self) -> Iterator[Queue]:
        return iter(self.queues.values())

    def __getitem__(self, path: str) -> Queue:
        return self.queues[path]

    def __contains__(self, path: object) -> bool:
        return path in self.queues

    @property
    def root(self) -> Queue:
        """The queue above all others."""
        return self.queues[ROOT]

    def leaves(self) -> tuple[Queue, ...]:
        """The queues that applications can run in."""
        return tuple(queue for queue in self if queue.is_leaf)

    def children(self, path: str) -> tuple[Queue, ...]:
        """A queue's children, in the configured order."""
        return tuple(self.queues[child] for child in self.queues[path].children)

    def ancestors(self, path: str) -> tuple[Queue, ...]:
        """The queues above a queue, the nearest first."""
        found = []
        parent = self.queues[path].parent
        while parent is not None:
            found.append(self.queues[parent])
            parent = self.queues[parent].parent
        return tuple(found)

    def resolve(self, name: str) -> str | None:
        """The full path that a full path or a unique leaf name stands for, as at a submission; None where none does."""
        if name in self.queues:
            return name
        matches = [queue.path for queue in self.leaves() if queue.name == name]
        return matches[0] if len(matches) == 1 else None


@dataclass(frozen=True, slots=True)
class Node:
    """One NodeManager: its name, what it has in all, and its label (partition)."""

    name: str
    total: Resources
    label: str = DEFAULT_LABEL


@dataclass(frozen=True, slots=True)
class QueueUse:
    """What a queue holds and waits for now, as the ResourceManager says."""

    used: Resources = field(default_factory=Resources)
    pending: Resources = field(default_factory=Resources)
    running_applications: int = 0
    pending_applications: int = 0


@dataclass(frozen=True)
class Snapshot:
    """The cluster at one moment.

    Args:
        time_s: when, in seconds since the epoch.
        nodes: the active nodes.
        use: by full path of the queue.
    """

    time_s: float
    nodes: tuple[Node, ...]
    use: Mapping[str, QueueUse] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def total(self) -> Resources:
        """The resources of all nodes together."""
        return sum((node.total for node in self.nodes), Resources())


class Severity(Enum):
    """An ERROR stops a change; a WARNING is told and does not."""

    ERROR = "ERROR"
    WARNING = "WARNING"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong or odd in a configuration.

    Args:
        queue: full path of the queue it is about; None where it is about the scheduler as a whole.
        property: full name of the property it is about; None where it is about none.
        rule_id: the check that found it, in kebab-case, as the documentation lists it.
        severity: whether it stops a change.
        message: what is wrong, with the value, and what to do about it.
    """

    queue: str | None
    property: str | None
    rule_id: str
    severity: Severity
    message: str

    def __str__(self) -> str:
        return f"{self.severity.value} {self.rule_id}: {self.message}"


@dataclass(frozen=True, slots=True)
class PropertyChange:
    """One configured property before and after; None where it is not set."""

    property: str
    before: str | None
    after: str | None
