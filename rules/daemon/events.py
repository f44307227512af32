"""What happens on a cluster between two runs that is worth another look: bursts, imbalance, the end of large jobs.

Pure: samples in, events out. Each kind of event has two thresholds: it fires above the upper one, and again only after
the cluster has been below the lower one, so that a value that swings about a threshold fires once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import median

__all__ = ["Event", "EventDetector", "EventLimits", "QueueLoad", "Sample"]


@dataclass(frozen=True, slots=True)
class QueueLoad:
    """A leaf at one moment; guaranteed is 0 where the scheduler does not say."""

    used_mib: int
    pending_mib: int
    guaranteed_mib: int


@dataclass(frozen=True)
class Sample:
    """The cluster at one moment, as one cheap call or two tell it.

    Attributes:
        time_s: the clock.
        total_mib: memory of all nodes.
        queues: the leaves by full path.
        applications: memory that each open application holds, by its id.
    """

    time_s: float
    total_mib: int
    queues: Mapping[str, QueueLoad]
    applications: Mapping[str, int]

    @property
    def pending_share(self) -> float:
        """What waits, as a share of what the nodes have."""
        return sum(queue.pending_mib for queue in self.queues.values()) / max(self.total_mib, 1)


@dataclass(frozen=True, slots=True)
class EventLimits:
    """The thresholds.

    Attributes:
        burst_share: a burst is so much more waiting than usual, as a share of the nodes' memory.
        burst_over_share: over when what waits is not more than usual by this.
        imbalance_share: an imbalance is a leaf that waits and is so far below its guarantee (as a share of the nodes'
            memory), or waits while so much of the cluster is free.
        imbalance_over_share: over when no leaf is by this.
        large_share: an application that held so much of the nodes' memory is large.
        usual_samples: over how many samples the median is what is usual.
    """

    burst_share: float = 0.5
    burst_over_share: float = 0.2
    imbalance_share: float = 0.25
    imbalance_over_share: float = 0.1
    large_share: float = 0.3
    usual_samples: int = 20


@dataclass(frozen=True, slots=True)
class Event:
    """Something worth a run.

    Attributes:
        kind: ``burst``, ``imbalance`` or ``large-job-ended``.
        message: in a sentence.
    """

    kind: str
    message: str


@dataclass
class EventDetector:
    """Turns samples into events; keeps what it needs of the past.

    Attributes:
        limits: the thresholds.
    """

    limits: EventLimits = field(default_factory=EventLimits)
    _usual: deque[float] = field(default_factory=deque)
    _largest_mib: dict[str, int] = field(default_factory=dict)
    _fired: set[str] = field(default_factory=set)

    def add(self, sample: Sample) -> tuple[Event, ...]:
        """Takes a sample, gives the events that it completes."""
        found = [*self._burst(sample), *self._imbalance(sample), *self._ended(sample)]
        self._usual.append(sample.pending_share)
        while len(self._usual) > self.limits.usual_samples:
            self._usual.popleft()
        return tuple(found)

    def _burst(self, sample: Sample) -> list[Event]:
        if not self._usual:
            return []
        above = sample.pending_share - median(self._usual)
        message = f"{sample.pending_share:.0%} of the cluster's memory is waited for, {above:.0%} more than usual"
        return self._fire("burst", above, self.limits.burst_share, self.limits.burst_over_share, message)

    def _imbalance(self, sample: Sample) -> list[Event]:
        free_mib = sample.total_mib - sum(queue.used_mib for queue in sample.queues.values())
        worst, share = "", 0.0
        for path, queue in sample.queues.items():
            wants_mib = max(queue.guaranteed_mib - queue.used_mib, free_mib)
            lacks = min(queue.pending_mib, wants_mib) / max(sample.total_mib, 1)
            if lacks > share:
                worst, share = path, lacks
        message = f"{worst} waits for {share:.0%} of the cluster's memory that is free, or that it has a right to"
        return self._fire("imbalance", share, self.limits.imbalance_share, self.limits.imbalance_over_share, message)

    def _ended(self, sample: Sample) -> list[Event]:
        gone = [
            (app_id, held_mib) for app_id, held_mib in self._largest_mib.items() if app_id not in sample.applications
        ]
        self._largest_mib = {
            app_id: max(held_mib, self._largest_mib.get(app_id, 0)) for app_id, held_mib in sample.applications.items()
        }
        return [
            Event("large-job-ended", f"{app_id} ended, which held {held_mib / sample.total_mib:.0%} of the memory")
            for app_id, held_mib in gone
            if held_mib >= self.limits.large_share * sample.total_mib > 0
        ]

    def _fire(self, kind: str, value: float, upper: float, lower: float, message: str) -> list[Event]:
        if value <= lower:
            self._fired.discard(kind)
        if value < upper or kind in self._fired:
            return []
        self._fired.add(kind)
        return [Event(kind, message)]
