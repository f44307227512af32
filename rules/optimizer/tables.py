"""Leaf tables: what a leaf's jobs cost by the share that it is sure of, with the best of its own settings inside.

A leaf is simulated by itself, with no more of the cluster than it could really use at each time: its share or, if more,
what the others left in the last run of the whole. Entries are pure functions of the question, and kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rules.estimator import job_times
from rules.optimizer.judge import Judge
from rules.optimizer.knobs import Value
from rules.optimizer.space import LEAF, LeafQuestion, Settings, Space, Usable
from workloads.trace import Case, Job

__all__ = ["LeafTable", "LeafTables"]

_UNFINISHED = 1e9
"""What a job without an end adds to a leaf's cost: more than any sum of latencies."""
_KEPT_PRESETS = 3


@dataclass(frozen=True)
class LeafTable:
    """A leaf's costs.

    Attributes:
        cost: by units of the cluster; infinite below what it is left with at least.
        settings: the best of its own settings, by units.
    """

    cost: NDArray[np.float64]
    settings: tuple[Settings, ...]


class LeafTables:
    """Makes the tables of all leaves.

    Attributes:
        evaluations: simulations of one leaf.
    """

    def __init__(self, space: Space, draws: Sequence[Case], paths: Sequence[Sequence[str]], judge: Judge) -> None:
        """Sorts the jobs of each draw by leaf."""
        self._space, self._draws, self._judge = space, draws, judge
        self.evaluations = 0
        self._known: dict[LeafQuestion, float] = {}
        self._jobs: dict[str, list[tuple[Job, ...]]] = {}
        self._places: dict[str, list[NDArray[np.int64]]] = {}
        first = 0
        for case, own in zip(draws, paths, strict=True):
            by_leaf: dict[str, list[int]] = {}
            for place, path in enumerate(own):
                by_leaf.setdefault(path, []).append(place)
            for path in space.leaves:
                places = by_leaf.get(path, [])
                self._jobs.setdefault(path, []).append(tuple(replace(case.jobs[place], queue=LEAF) for place in places))
                self._places.setdefault(path, []).append(np.array(places, np.int64) + first)
            first += len(own)

    def is_idle(self, path: str) -> bool:
        """Whether a leaf has no jobs."""
        return not any(self._jobs[path])

    def cost(self, question: LeafQuestion) -> float:
        """What the leaf's jobs add to the objective's sum, over all draws."""
        found = self._known.get(question)
        if found is None:
            self.evaluations += 1
            found = self._known[question] = sum(
                self._cost_of(question, number)
                for number in range(len(self._draws))
                if self._jobs[question.path][number]
            )
        return found

    def _cost_of(self, question: LeafQuestion, number: int) -> float:
        case = self._space.leaf_case(question, self._jobs[question.path][number], self._draws[number])
        times = job_times(case)
        submits_s = self._judge.submit_s[self._places[question.path][number]]
        ends_s = np.where(times.finish_s >= 0, times.finish_s, case.horizon_s)
        costs = self._judge.job_costs(ends_s - submits_s, self._places[question.path][number])
        return float(costs.sum()) + _UNFINISHED * int((times.finish_s < 0).sum())

    def table(
        self, path: str, usable: Usable, present: Settings, share: float, presets: Sequence[Settings], units: int
    ) -> LeafTable:
        """The table of one leaf.

        Args:
            path: the leaf.
            usable: what it could use, by time.
            present: settings to begin with.
            share: of the cluster, where settings are compared first.
            presets: other settings to try.
            units: of which root has all.
        """
        floor = max(int(np.ceil(self._space.floor(path) * units - 1e-9)), 1)
        cost = np.full(units + 1, np.inf)
        if self.is_idle(path):
            cost[floor:] = 0.0
            return LeafTable(cost, (present,) * (units + 1))
        best = self._best_settings(path, usable, present, share, presets)
        points = self._points(floor, share, units)
        found: list[tuple[float, Settings]] = []
        for point in points:
            costs = [self.cost(_question(path, point / units, settings, usable)) for settings in best]
            place = int(np.argmin(costs))
            found.append((costs[place], best[place]))
        cost[floor:] = np.interp(np.arange(floor, units + 1), points, [value for value, _ in found])
        nearest = [int(np.argmin([abs(point - own) for point in points])) for own in range(units + 1)]
        return LeafTable(cost, tuple(found[place][1] for place in nearest))

    @staticmethod
    def _points(floor: int, share: float, units: int) -> list[int]:
        """Where the table is simulated; in between it is straight."""
        own = share * units
        wanted = {floor, *(round(own * factor) for factor in (0.5, 1, 1.5, 2, 4, 8)), round(0.6 * units), units}
        return sorted(point for point in wanted if floor <= point <= units)

    def _best_settings(
        self, path: str, usable: Usable, present: Settings, share: float, presets: Sequence[Settings]
    ) -> list[Settings]:
        """The best few at one share: presets, then one knob after the other from the best of them."""

        def cost(settings: Settings) -> float:
            return self.cost(_question(path, share, settings, usable))

        tried = [
            present,
            *({**present, **{name: preset[name] for name in present if name in preset}} for preset in presets),
        ]
        tried.sort(key=cost)
        best = tried[0]
        for place in self._space.leaf_knobs[path]:
            knob = self._space.knobs[place]
            best = min([best, *({**best, knob.name: value} for value in _near(knob.values, best[knob.name]))], key=cost)
        kept = [best, *tried[:_KEPT_PRESETS], present]
        return list({tuple(sorted(settings.items())): settings for settings in kept}.values())


def _near(values: Sequence[Value], present: Value) -> Sequence[Value]:
    """Of many values those next to the present one, two on each side."""
    if len(values) <= 4 or isinstance(present, str):
        return values
    below = [value for value in values if not isinstance(value, str) and value < present]
    above = [value for value in values if not isinstance(value, str) and value > present]
    return [*below[-2:], *above[:2]]


def _question(path: str, share: float, settings: Settings, usable: Usable) -> LeafQuestion:
    return LeafQuestion(path, round(share, 6), tuple(sorted(settings.items())), usable)
