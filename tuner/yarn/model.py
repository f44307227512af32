"""What the ResourceManager says, in one shape for every version of Hadoop.

Memory is MiB, times are seconds since the epoch, shares of a queue are percents as YARN shows them. None means that
this version, or this state, does not say; it never stands for zero.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

FINAL_STATES = frozenset({"FINISHED", "FAILED", "KILLED"})
"""YarnApplicationState: states that an application never leaves."""

ACTIVE_STATES = ("NEW", "NEW_SAVING", "SUBMITTED", "ACCEPTED", "RUNNING")
"""YarnApplicationState: the others, in their order."""


@dataclass(frozen=True)
class Resource:
    """Memory and virtual cores, as in ``<memory:1024, vCores:1>``."""

    memory_mib: int
    vcores: int


@dataclass(frozen=True)
class ClusterInfo:
    """``GET /info``: answered by a standby too.

    Attributes:
        ha_state: ACTIVE, STANDBY or INITIALIZING; None on older versions. Without high availability some versions say
            ACTIVE and some INITIALIZING.
        hadoop_version: for example ``3.4.1`` or ``3.1.1.7.2.18.0-641``.
    """

    state: str
    ha_state: str | None
    hadoop_version: str
    started_at_s: float


@dataclass(frozen=True)
class ClusterMetrics:
    """``GET /metrics``: the load of the default partition of the cluster, now.

    Attributes:
        available: what is free; negative for a moment when a node has gone.
        pending: what waiting containers ask for; None where this version does not say.
    """

    total: Resource
    allocated: Resource
    available: Resource
    reserved: Resource
    pending: Resource | None
    containers_allocated: int
    containers_pending: int
    containers_reserved: int
    apps_submitted: int
    apps_pending: int
    apps_running: int
    apps_completed: int
    apps_failed: int
    apps_killed: int
    nodes_active: int
    nodes_lost: int
    nodes_unhealthy: int


@dataclass(frozen=True)
class Node:
    """One NodeManager; ``used.vcores`` and ``total.vcores`` are 0 on old versions, which do not count them."""

    id: str
    host: str
    rack: str
    state: str
    version: str
    health_report: str
    containers: int
    used: Resource
    total: Resource
    labels: tuple[str, ...]


@dataclass(frozen=True)
class ResourceRequest:
    """Containers of one size that an application still waits for, wherever they may run.

    Attributes:
        priority: of the request; the application master's own is 0.
        containers: how many.
        label: expression of the node label that they are asked on; empty for nodes without one.
    """

    priority: int
    resource: Resource
    containers: int
    label: str


@dataclass(frozen=True)
class Container:
    """A container that an application holds; number 1 of its attempt is the application master's."""

    id: str
    resource: Resource
    priority: int
    started_at_s: float
    node_id: str

    @property
    def is_am(self) -> bool:
        """Whether the application master runs in it."""
        return self.id.rpartition("_")[2].lstrip("0") == "1"


@dataclass(frozen=True)
class Application:
    """One application.

    Attributes:
        state: of YarnApplicationState; ``final_status`` is UNDEFINED until it has ended.
        queue: as this version names it: a full path, or the leaf's own name.
        started_at_s: when it was submitted; ``launched_at_s``: when its first attempt was (None on older versions).
        memory_seconds: MiB·s of memory reserved so far; None on older versions.
        vcore_seconds: likewise, of virtual cores.
        allocated: what it holds now; None once it has ended.
        preempted_memory_seconds: the part of ``memory_seconds`` that preemption took back.
        tracking_url: of the application's own page, or of its history.
        am_host: host and HTTP port of the node that runs, or ran, the application master.
        requests: what it still waits for; empty where it was not asked for.
        label: expression of the node label that its containers are asked on where they name none.
    """

    id: str
    name: str
    user: str
    queue: str
    type: str
    tags: tuple[str, ...]
    state: str
    final_status: str
    progress_percent: float
    priority: int | None
    started_at_s: float
    launched_at_s: float | None
    finished_at_s: float | None
    elapsed_s: float
    memory_seconds: int | None
    vcore_seconds: int | None
    allocated: Resource | None
    running_containers: int | None
    preempted: Resource
    preempted_containers: int
    preempted_memory_seconds: int
    diagnostics: str
    tracking_url: str
    am_host: str
    requests: tuple[ResourceRequest, ...] = ()
    label: str = ""

    @property
    def allocated_mib(self) -> int | None:
        """Memory that it holds now; None once it has ended."""
        return None if self.allocated is None else self.allocated.memory_mib

    @property
    def ended(self) -> bool:
        """Whether its state is one that it never leaves."""
        return self.state in FINAL_STATES


@dataclass(frozen=True)
class QueueUser:
    """What one user has and may have in a leaf of the Capacity Scheduler."""

    name: str
    used: Resource
    am_used: Resource
    limit: Resource
    active_applications: int
    pending_applications: int
    weight: float
    active: bool


@dataclass(frozen=True)
class PartitionCapacity:
    """A queue's share of the nodes with one label; the label of the default partition is empty."""

    label: str
    capacity_percent: float
    maximum_capacity_percent: float
    absolute_capacity_percent: float
    absolute_maximum_capacity_percent: float
    used_percent: float
    effective_minimum: Resource | None
    effective_maximum: Resource | None


@dataclass(frozen=True)
class CapacityQueueInfo:
    """What only the Capacity Scheduler has.

    The percents went through a float32 in the ResourceManager (30.000002): good for people to read, never to be
    written back. What is configured is in :class:`SchedulerConf`.

    Attributes:
        mode: percentage, weight or absolute; None before Hadoop 3.4.
        user_limit_percent, user_limit_factor, max_applications and the like: None on a parent.
        max_am_share: maximum-am-resource-percent in force, as a fraction.
    """

    capacity_percent: float
    maximum_capacity_percent: float
    used_percent: float
    absolute_capacity_percent: float
    absolute_maximum_capacity_percent: float
    absolute_used_percent: float
    weight: float | None
    mode: str | None
    ordering_policy: str | None
    user_limit_percent: float | None
    user_limit_factor: float | None
    max_applications: int | None
    max_applications_per_user: int | None
    max_parallel_applications: int | None
    max_am_share: float | None
    user_am_limit: Resource | None
    preemption_disabled: bool | None
    auto_created: bool
    users: tuple[QueueUser, ...]
    partitions: tuple[PartitionCapacity, ...]


@dataclass(frozen=True)
class FairQueueInfo:
    """What only the Fair Scheduler has; ``fair_share`` is the instantaneous one, among active queues."""

    fair_share: Resource
    steady_fair_share: Resource
    demand: Resource
    scheduling_policy: str
    max_running_applications: int
    preemptible: bool


@dataclass(frozen=True)
class QueueInfo:
    """One queue, of whichever scheduler, and its children.

    Attributes:
        path: from ``root``, with dots.
        state: RUNNING, STOPPED or DRAINING; the Fair Scheduler has no states, and says RUNNING.
        guaranteed: what it has a right to: the effective minimum (Capacity) or the minimum share (Fair).
        maximum: what it can reach: the effective maximum (Capacity) or the maximum share (Fair).
        pending: what waiting containers ask for; None where the scheduler does not say.
        am_limit: what application masters may have together; None on a parent of the Capacity Scheduler.
        maximum_allocation: the largest container that may be asked for in it.
        capacity: of the Capacity Scheduler only; ``fair``: of the Fair Scheduler only.
    """

    path: str
    state: str
    leaf: bool
    used: Resource
    guaranteed: Resource | None
    maximum: Resource | None
    pending: Resource | None
    am_limit: Resource | None
    am_used: Resource | None
    active_applications: int | None
    pending_applications: int | None
    allocated_containers: int | None
    pending_containers: int | None
    reserved_containers: int | None
    maximum_allocation: Resource | None
    labels: tuple[str, ...]
    capacity: CapacityQueueInfo | None
    fair: FairQueueInfo | None
    children: tuple[QueueInfo, ...]

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition(".")[2]

    def walk(self) -> Iterator[QueueInfo]:
        """This queue and all below it, parents first, in the order the ResourceManager gives."""
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass(frozen=True)
class SchedulerInfo:
    """``GET /scheduler``: the kind of scheduler and the tree of queues."""

    kind: Literal["capacity", "fair", "fifo"]
    root: QueueInfo

    def queue(self, name: str) -> QueueInfo | None:
        """The queue of that full path, or the only leaf of that name; None where there is none, or several leaves."""
        queues = list(self.root.walk())
        exact = [queue for queue in queues if queue.path == name]
        leaves = [queue for queue in queues if queue.leaf and queue.name == name]
        found = exact or leaves
        return found[0] if len(found) == 1 else None


@dataclass(frozen=True)
class NewApplication:
    """``POST /apps/new-application``: an id to submit under, and the largest container that a node now can hold."""

    id: str
    maximum_allocation: Resource


@dataclass(frozen=True)
class ApplicationSubmission:
    """An application to submit by REST: one command in the application master's container, and no more.

    Attributes:
        id: from :class:`NewApplication`.
        memory_mib, vcores: of the application master.
    """

    id: str
    name: str
    command: str
    memory_mib: int
    vcores: int = 1
    queue: str = "default"
    type: str = "YARN"
    tags: tuple[str, ...] = ()
    max_attempts: int = 1


@dataclass(frozen=True)
class SchedulerConf:
    """``GET /scheduler-conf``: the properties that are set, by full name, as the ResourceManager's store has them."""

    properties: Mapping[str, str]


@dataclass(frozen=True)
class NotMutable:
    """The ResourceManager does not change, or show, its scheduler's configuration by REST.

    The words of Hadoop mislead ("only supported by MutableConfScheduler", YARN-11278): the Capacity Scheduler is
    fine, but ``yarn.scheduler.configuration.store.class`` is ``file``, the default, or the scheduler is another one,
    or the version is too old. The configuration is then changed in its file, with ``yarn rmadmin -refreshQueues``.
    """

    reason: str


@dataclass(frozen=True)
class Applied:
    """The ResourceManager says that it has applied the change.

    It says so for queues that do not exist and keys that mean nothing, too: read back and compare
    (:meth:`~tuner.yarn.schedulerconf.SchedulerConfUpdate.missing_from`).
    """


@dataclass(frozen=True)
class Valid:
    """The change would be accepted.

    Attributes:
        conf: the configuration as it would be; None where the answer does not say.
    """

    conf: SchedulerConf | None


@dataclass(frozen=True)
class Rejected:
    """Nothing was changed.

    Attributes:
        reason: the ResourceManager's own words.
        hint: what to do about it; empty where the reason says all.
        status: the HTTP status.
    """

    reason: str
    hint: str
    status: int


@dataclass(frozen=True)
class Unknown:
    """Nobody knows whether the change was made: read the configuration, do not write again.

    Attributes:
        why: what happened to the answer.
    """

    why: str


@dataclass(frozen=True)
class Unsupported:
    """This version of Hadoop does not validate, so nothing was said about the change."""

    reason: str


WriteOutcome = Applied | Rejected | NotMutable | Unknown
ValidationOutcome = Valid | Rejected | NotMutable | Unsupported
