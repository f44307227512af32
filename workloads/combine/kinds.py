"""The few kinds of a trace's segments, by k-means with a bound on the error, and the blocks that replay a segment.

Cores, memory, and CPI with MAI are clustered apart: with ``a``, ``b`` and ``c`` centres a segment is one of
``a * b * c`` blocks (product quantization: Jegou, Douze, Schmid, 2011), so that a few hundred centres stand for
thousands of segments within one per cent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import ceil, nan
from typing import Final

import numpy as np
from numpy.typing import NDArray

from workloads.blocks.calibration import Calibration
from workloads.blocks.mix import MAI_FLOOR, Block, kernel_shares
from workloads.combine.segments import FEATURES, Segments

__all__ = ["DEFAULT_BOUND", "FLOORS", "Kinds", "find_kinds", "relative_error"]

DEFAULT_BOUND: Final = 0.005
FLOORS: Final[Mapping[str, float]] = {"cores": 0.005, "memory_mib": 16.0, "cpi": 0.1, "mai": MAI_FLOOR}
"""A difference is reckoned against the trace's value, or against this where the value is nearer to zero."""
_GROUPS: Final = (("cores",), ("memory_mib",), ("cpi", "mai"))
_FIRST_K: Final = 4
_GROWTH: Final = 1.6


def relative_error(found: NDArray[np.float64], true: NDArray[np.float64], floor: float) -> NDArray[np.float64]:
    """``|found - true| / max(true, floor)``, element by element."""
    return np.asarray(np.abs(found - true) / np.maximum(true, floor), np.float64)


@dataclass(frozen=True, eq=False)
class Kinds:
    """The centres of a trace's segments, and which of them each segment is.

    Attributes:
        segments: what was clustered.
        centres: by group of features: shape (k, features of the group).
        labels: by group: the number of the centre of each segment.
        bound: that was asked for.
    """

    segments: Segments
    centres: Mapping[tuple[str, ...], NDArray[np.float64]]
    labels: Mapping[tuple[str, ...], NDArray[np.int64]]
    bound: float

    @cached_property
    def values(self) -> dict[str, NDArray[np.float64]]:
        """What the centres say of each segment, by feature."""
        return {
            name: self.centres[group][self.labels[group], column]
            for group in self.centres
            for column, name in enumerate(group)
        }

    @property
    def errors(self) -> dict[str, NDArray[np.float64]]:
        """Relative error of each segment, by feature; zero where the trace says nothing."""
        return {
            name: np.nan_to_num(relative_error(self.values[name], getattr(self.segments, name), FLOORS[name]))
            for name in FEATURES
        }

    @property
    def count(self) -> int:
        """How many centres there are, of all groups."""
        return sum(len(centres) for centres in self.centres.values())

    def block(self, row: int, factor: float, calibration: Calibration) -> Block:
        """The block that replays a segment in a ``factor``-th of its time."""
        values = {name: float(column[row]) for name, column in self.values.items()}
        shares = kernel_shares(values["cpi"] or nan, values["mai"], calibration)
        return Block(self.segments.step_s / factor, values["cores"], values["memory_mib"], shares)


def find_kinds(segments: Segments, *, bound: float = DEFAULT_BOUND, seed: int = 0) -> Kinds:
    """Clusters segments with as many centres as the bound needs.

    Distances are relative: k-means runs on logarithms, above each feature's floor.

    Args:
        segments: at least one.
        bound: the mean over the segments of each feature's relative error stays below it.
        seed: of k-means' starts.
    """
    centres: dict[tuple[str, ...], NDArray[np.float64]] = {}
    labels: dict[tuple[str, ...], NDArray[np.int64]] = {}
    for group in _GROUPS:
        points = np.stack([getattr(segments, name) for name in group], axis=1)
        floors = np.array([FLOORS[name] for name in group])
        centres[group], labels[group] = _cluster(points, floors, bound, seed)
    return Kinds(segments, centres, labels, bound)


def _cluster(
    points: NDArray[np.float64], floors: NDArray[np.float64], bound: float, seed: int
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits

    known = ~np.isnan(points).any(axis=1)
    labels = np.zeros(len(points), np.int64)
    if not known.any():
        return np.full((1, points.shape[1]), nan), labels
    wanted = points[known]
    logs = np.log(np.maximum(wanted, floors * 1e-3))
    distinct = len(np.unique(logs, axis=0))
    k = min(_FIRST_K, distinct)
    while True:
        with threadpool_limits(1):
            found = KMeans(k, n_init=1, random_state=seed, init="k-means++" if k < distinct else "random").fit(logs)
        own = found.labels_
        counts = np.maximum(np.bincount(own, minlength=k), 1)[:, None]
        centres = np.stack([np.bincount(own, column, k) for column in wanted.T], axis=1) / counts
        errors = np.abs(centres[own] - wanted) / np.maximum(wanted, floors)
        if k == distinct or errors.mean(axis=0).max() <= bound:
            break
        k = min(ceil(k * _GROWTH), distinct)
    # What is not known gets a centre of its own that says so.
    labels[known] = own
    if not known.all():
        labels[~known] = k
        centres = np.vstack((centres, np.full((1, points.shape[1]), nan)))
    return centres, labels
