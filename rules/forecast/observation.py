"""What a policy may see at a moment: the same from a replay in virtual time, a live ResourceManager, or the store.

Seen are the jobs submitted so far, the containers that they asked for, since when those that run have been running,
and how long those that ended took. What a job will ask for before its application master runs, how long a running
container will still take, and every job to come are not here, so nothing that reads this can use them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from workloads.trace import Node

__all__ = ["ClusterFacts", "Observation", "SeenContainers", "SeenJob"]


@dataclass(frozen=True, slots=True)
class SeenContainers:
    """The containers of one size that a job asked for.

    Attributes:
        memory_mib, vcores: as asked.
        ended_s: how long each container that ended was held, in the order of their starts.
        running_s: for how long each of the others that were given has been held.
        waiting: asked for and not given yet.
    """

    memory_mib: int
    vcores: int
    ended_s: tuple[float, ...] = ()
    running_s: tuple[float, ...] = ()
    waiting: int = 0

    @property
    def asked(self) -> int:
        """How many were asked for in all."""
        return len(self.ended_s) + len(self.running_s) + self.waiting


@dataclass(frozen=True, slots=True)
class SeenJob:
    """A job that was submitted.

    Attributes:
        id: the application's.
        queue: as it was submitted, or the full path.
        user: who submitted it.
        submit_s: when, on the clock of the observation.
        am_memory_mib: of its application master.
        name: what recurs, as :attr:`workloads.trace.Job.recurring_name`.
        holds: its containers are kept to its end, as Spark's executors are; else each ends with its task.
        containers: by size; empty until its application master has asked.
        am_start_s: when its application master started; None before that.
        end_s: when it ended; None before that.
    """

    id: str
    queue: str
    user: str
    submit_s: float
    am_memory_mib: int
    name: str
    holds: bool = False
    containers: tuple[SeenContainers, ...] = ()
    am_start_s: float | None = None
    end_s: float | None = None

    @property
    def asked(self) -> int:
        """How many containers it asked for so far, its application master not counted."""
        return sum(each.asked for each in self.containers)


@dataclass(frozen=True)
class Observation:
    """What is visible at one moment.

    Attributes:
        time_s: the moment, on the clock of the jobs' times.
        jobs: every job submitted before it, in the order of their submissions; refused ones are left out.
        since_s: from when on all jobs are known: nothing is missing between it and ``time_s``.
    """

    time_s: float
    jobs: tuple[SeenJob, ...]
    since_s: float = 0.0


@dataclass(frozen=True)
class ClusterFacts:
    """The cluster and its scheduler, as they are now: all of a case but the jobs.

    Attributes:
        scheduler: ``capacity`` or ``fair``.
        conf: Hadoop properties in force.
        allocations: the Fair Scheduler's allocation file in force.
        nodes: in the order of their heartbeats.
        node_heartbeat_s: interval of each node's heartbeats.
        am_heartbeat_s: interval of each application master's heartbeats.
    """

    scheduler: str
    nodes: tuple[Node, ...]
    conf: Mapping[str, str | None] = field(default_factory=dict)
    allocations: str = "<allocations/>"
    node_heartbeat_s: float = 1.0
    am_heartbeat_s: float = 1.0
