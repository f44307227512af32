"""Similar jobs, by several views of their first runs' event logs, and what was best for them.

A view is a few numbers of one kind: how the work is divided, what resources it takes, what data it moves. A job that
is near in one view only is a coincidence, so the views' rankings are fused by reciprocal rank (Cormack, Clarke and
Buettcher 2009), which needs no scale that the views have in common.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tuner.search.proposal import Proposal
from tuner.search.reserve import Reservation
from tuner.search.space import SearchSpace

__all__ = ["Neighbour", "PastJob", "neighbours", "warm_proposals"]

_RANK_OFFSET: Final = 60.0
"""The constant of reciprocal rank fusion, as in the paper."""
FAR: Final = 3.0
"""Root mean square distance, in doublings, beyond which a job is no neighbour in a view."""

VIEWS: Final[Mapping[str, tuple[str, ...]]] = {
    "stages": ("tasks", "stages", "jobs", "task_s", "skew"),
    "resources": ("cpu_s", "gc_share", "peak_unified_mib", "peak_rss_mib", "driver_s"),
    "data": ("input_bytes", "output_bytes", "shuffle_read_bytes", "shuffle_write_bytes", "disk_spill_bytes"),
}
"""Fields of :class:`tuner.spark.metrics.RunMetrics`, by view."""


@dataclass(frozen=True)
class PastJob:
    """A job that was tuned before.

    Attributes:
        name: for people.
        metrics: of its run with its own configuration, as :class:`tuner.spark.metrics.RunMetrics` in JSON.
        best: the configuration that won.
    """

    name: str
    metrics: Mapping[str, Any]
    best: Mapping[str, str]


@dataclass(frozen=True)
class Neighbour:
    """A similar job.

    Attributes:
        score: of the fusion; more is nearer.
        views: in which it is near.
    """

    job: PastJob
    score: float
    views: tuple[str, ...]


def neighbours(metrics: Mapping[str, Any], past: Sequence[PastJob], *, most: int = 3) -> list[Neighbour]:
    """The nearest jobs, best first.

    Args:
        metrics: of the new job's first run.
        past: all jobs that were tuned.
        most: how many at most.

    Returns:
        Those that are near in at least two views; empty where none is.
    """
    scores = [0.0] * len(past)
    near: list[list[str]] = [[] for _ in past]
    for view, names in VIEWS.items():
        distances = [_distance(metrics, job.metrics, names) for job in past]
        for rank, place in enumerate(sorted(range(len(past)), key=lambda i: distances[i])):
            if distances[place] <= FAR:
                scores[place] += 1.0 / (_RANK_OFFSET + rank)
                near[place].append(view)
    order = sorted((i for i in range(len(past)) if len(near[i]) >= 2), key=lambda i: (-scores[i], i))
    return [Neighbour(past[i], scores[i], tuple(near[i])) for i in order[:most]]


def warm_proposals(
    space: SearchSpace, memory: Reservation, found: Sequence[Neighbour], default: Mapping[str, str]
) -> list[Proposal]:
    """What was best for the neighbours, as far as this space and cluster have it.

    Properties that a neighbour's search did not have keep their defaults; a configuration that cannot be granted here
    is left out, and so is one that is the default.
    """
    proposals: list[Proposal] = []
    own = space.point_of(memory.filled(default))
    for neighbour in found:
        names = {dimension.name for dimension in space.dimensions}
        known = {name: value for name, value in neighbour.job.best.items() if name in names}
        configuration = memory.filled(space.render(space.point_of({**default, **known})))
        point = space.point_of(configuration)
        if point == own or not memory.reserved_mib(configuration) or any(point == each.point for each in proposals):
            continue
        views = " and ".join(neighbour.views)
        proposals.append(Proposal(point, f"best for {neighbour.job.name}, which is alike in {views}"))
    return proposals


def _distance(one: Mapping[str, Any], other: Mapping[str, Any], names: Sequence[str]) -> float:
    """Root mean square difference of the logarithms to base 2; infinite where fewer than half are known of both."""
    pairs = [(one.get(name), other.get(name)) for name in names]
    known = [(a, b) for a, b in pairs if a is not None and b is not None]
    if 2 * len(known) < len(names):
        return math.inf
    differences: NDArray[np.float64] = np.array([math.log2(1.0 + a) - math.log2(1.0 + b) for a, b in known])
    return float(np.sqrt(np.mean(np.square(differences))))
