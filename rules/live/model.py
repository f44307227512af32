"""The values that a live cluster is read into: frozen, compared by content, no I/O.

Memory is MiB, times are seconds since the epoch, queues are named by their full path.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from rules.dialects.capacity_properties import HadoopVersion
from rules.model import QueueTree, Resources, Snapshot
from tuner.errors import YarnError
from tuner.yarn.ha import Probe
from tuner.yarn.model import SchedulerInfo

__all__ = [
    "Ask",
    "Configuration",
    "LiveApplication",
    "LiveCluster",
    "LiveContainer",
    "Source",
    "Unreadable",
]


class Source(Enum):
    """Where the scheduler's own configuration comes from, which is also where it has to be changed."""

    STORE = "scheduler-conf"
    """The ResourceManager's mutable store: changed over REST, and exactly what runs."""
    FILE = "file"
    """A file on this machine: what runs if it has been refreshed since it was edited."""


@dataclass(frozen=True)
class Configuration:
    """What the scheduler goes by.

    Attributes:
        source: where ``scheduler`` and ``allocations`` come from.
        where: the same in words, for people: an address or a path.
        scheduler: the Capacity Scheduler's own properties, by full name; empty with the Fair Scheduler.
        site: the properties of yarn-site that schedulers look at (``yarn.scheduler.*`` and the like), by full name.
        allocations: text of the Fair Scheduler's allocation file; None with the Capacity Scheduler.
        tree: the queues, as configured.
        version: of the mutable store, which grows with every change; None with files.
        path: the file; None with a store.
        notes: what is doubtful about it, each a sentence: a file that differs from what runs, a yarn-site not seen.
    """

    source: Source
    where: str
    scheduler: Mapping[str, str]
    site: Mapping[str, str]
    allocations: str | None
    tree: QueueTree
    version: int | None = None
    path: Path | None = None
    notes: tuple[str, ...] = ()

    @property
    def properties(self) -> dict[str, str]:
        """Both kinds of properties together; the scheduler's own win, as in the ResourceManager."""
        return {**self.site, **self.scheduler}


@dataclass(frozen=True)
class Unreadable:
    """The scheduler's configuration cannot be seen from here; what the queues use still can.

    Attributes:
        reason: why, in a sentence.
        hint: what to do about it.
    """

    reason: str
    hint: str


@dataclass(frozen=True, slots=True)
class LiveContainer:
    """A container that runs, or was given out just now.

    Attributes:
        resources: its size, as allocated.
        started_s: when it was allocated.
        node: id of its node; empty where it is not known.
        is_am: whether the application master runs in it.
    """

    resources: Resources
    started_s: float
    node: str = ""
    is_am: bool = False


@dataclass(frozen=True, slots=True)
class Ask:
    """Containers of one size that an application waits for.

    Attributes:
        resources: the size of each, as the scheduler has rounded it.
        count: how many.
        label: expression of the node label that they shall run on; empty for nodes without one.
        priority: the application's own order among its asks; less is earlier.
    """

    resources: Resources
    count: int = 1
    label: str = ""
    priority: int = 0


@dataclass(frozen=True)
class LiveApplication:
    """An application that has not ended.

    Attributes:
        queue: full path of its leaf; the name that the ResourceManager gives where no such queue is there (any more).
        state: of YarnApplicationState; ACCEPTED until its application master has registered.
        submitted_s: when it was submitted.
        am_started: whether its application master has a container.
        containers: what it holds, the application master's first.
        containers_known: whether those are the real containers; otherwise they are the total, divided evenly.
        asks: what it waits for; where its master has no container yet, that one alone.
        diagnostics: the ResourceManager's own words on why it waits.
    """

    id: str
    name: str
    user: str
    type: str
    queue: str
    state: str
    submitted_s: float
    am_started: bool
    containers: tuple[LiveContainer, ...] = ()
    containers_known: bool = True
    asks: tuple[Ask, ...] = ()
    diagnostics: str = ""

    @property
    def waiting(self) -> bool:
        """Whether it waits for a container."""
        return bool(self.asks)

    @property
    def held(self) -> Resources:
        """What its containers hold together."""
        return sum((container.resources for container in self.containers), Resources())

    @property
    def asked(self) -> Resources:
        """What all containers that it waits for come to."""
        each = (Resources(a.resources.memory_mib * a.count, a.resources.vcores * a.count) for a in self.asks)
        return sum(each, Resources())


@dataclass(frozen=True)
class LiveCluster:
    """A cluster at one moment. The parts are read one after the other, so they may be a second apart.

    Attributes:
        time_s: when it was read.
        scheduler: which scheduler runs.
        hadoop_version: as the ResourceManager says it, for example ``3.4.1``.
        source: what named the cluster, in words.
        managers: every ResourceManager with what it says of itself.
        configuration: what the scheduler goes by, or why that cannot be seen.
        snapshot: nodes that run, and what each queue holds and waits for.
        queues: the queues as the ResourceManager shows them, with its own figures for limits.
        applications: those that have not ended, oldest first.
        free: what is free on each node that runs, by the node's id.
        absent: nodes that do not run, by id, with their state (LOST, UNHEALTHY, DECOMMISSIONED...).
    """

    time_s: float
    scheduler: Literal["capacity", "fair"]
    hadoop_version: str
    source: str
    managers: tuple[Probe, ...]
    configuration: Configuration | Unreadable
    snapshot: Snapshot
    queues: SchedulerInfo
    applications: tuple[LiveApplication, ...] = ()
    free: Mapping[str, Resources] = field(default_factory=lambda: MappingProxyType({}))
    absent: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def version(self) -> HadoopVersion:
        """The first two numbers of Hadoop's version; 3.5 where they cannot be told."""
        parts = self.hadoop_version.split(".")
        try:
            return int(parts[0]), int(parts[1])
        except (IndexError, ValueError):
            return (3, 5)

    def application(self, app_id: str) -> LiveApplication | None:
        """The application of that id; None where it has ended or never was."""
        return next((each for each in self.applications if each.id == app_id), None)

    def in_queue(self, path: str) -> tuple[LiveApplication, ...]:
        """The applications in a queue and in all queues below it."""
        return tuple(each for each in self.applications if each.queue == path or each.queue.startswith(f"{path}."))

    def require_configuration(self) -> Configuration:
        """The configuration.

        Raises:
            YarnError: it cannot be seen from here; with what to do.
        """
        if isinstance(self.configuration, Unreadable):
            raise YarnError(self.configuration.reason, self.configuration.hint)
        return self.configuration
