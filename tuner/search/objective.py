"""What a good configuration is: little reserved memory times time, among those that are fast enough.

The cost of a run is what the ResourceManager charges for it, memory x time in GiB·s. A configuration is fast enough
when its time is at most (1 + slack) times the fastest one's. Nothing here knows Optuna, a clock or a cluster.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum


class TrialState(StrEnum):
    """How a trial ended."""

    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    """The application failed; its configuration is not tried again."""
    STOPPED = "STOPPED"
    """Ended by the tuner because it was hopeless; its time is a lower bound."""


@dataclass(frozen=True)
class Observation:
    """One run of one configuration.

    Attributes:
        configuration: Spark properties by full name.
        state: how it ended.
        duration_s: from submission to end; of a stopped run, to the stop.
        wait_s: the part of it before the application master ran.
        gib_seconds: the ResourceManager's memorySeconds / 1024.
    """

    configuration: Mapping[str, str]
    state: TrialState
    duration_s: float
    wait_s: float
    gib_seconds: float

    @property
    def key(self) -> frozenset[tuple[str, str]]:
        """What makes two runs runs of the same configuration."""
        return frozenset(self.configuration.items())


@dataclass(frozen=True)
class Summary:
    """One configuration's successful runs, by their medians."""

    configuration: Mapping[str, str]
    runs: int
    duration_s: float
    wait_s: float
    gib_seconds: float


def summarise(observations: Iterable[Observation]) -> list[Summary]:
    """The successful observations, one summary for each configuration, in the order they were first seen."""
    groups: dict[frozenset[tuple[str, str]], list[Observation]] = {}
    for observation in observations:
        if observation.state is TrialState.SUCCEEDED:
            groups.setdefault(observation.key, []).append(observation)
    return [
        Summary(
            configuration=group[0].configuration,
            runs=len(group),
            duration_s=statistics.median(o.duration_s for o in group),
            wait_s=statistics.median(o.wait_s for o in group),
            gib_seconds=statistics.median(o.gib_seconds for o in group),
        )
        for group in groups.values()
    ]


def fastest_of(summaries: Iterable[Summary]) -> Summary | None:
    """The configuration of the shortest time, whatever it reserves; the earlier one of equals, None of none."""
    return min(summaries, key=lambda summary: summary.duration_s, default=None)


def best_of(summaries: Iterable[Summary], slack: float) -> Summary | None:
    """The configuration with the least GiB·s among those no slower than (1 + slack) x the fastest.

    Args:
        summaries: candidates; may be empty.
        slack: tolerated slowdown as a fraction, 0.05 for 5 %.

    Returns:
        The best, the earlier one of equals; None where there is no candidate.
    """
    candidates = list(summaries)
    fastest = fastest_of(candidates)
    if fastest is None:
        return None
    limit_s = (1.0 + slack) * fastest.duration_s
    return min((s for s in candidates if s.duration_s <= limit_s), key=lambda s: s.gib_seconds)
