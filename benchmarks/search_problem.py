"""What a search is given instead of a cluster: a forest that answers for runs, and what counts as the best.

A forest fitted to the logarithm of all recorded times of a program says how long a configuration would run (a
surrogate benchmark: Eggensperger, Hutter, Hoos, Leyton-Brown 2015). The nearest recorded run would be no fairer: in
30 dimensions all recorded runs are about equally far away, so that the answer would be some run's luck, which no
search can do anything about. What a configuration reserves is computed by the container model.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from benchmarks.search_tables import Table, TimeAlone
from tuner.search.objective import Observation, TrialState
from tuner.search.reserve import Reservation

__all__ = ["ROUNDS", "SLACK", "WITHIN", "Goal", "Problem", "StandIn", "place_of", "problems"]

Goal = Literal["time", "GiB·s"]
Array = NDArray[np.float64]
WITHIN: Final = 0.05
"""A search is there when what it has found costs at most so much more than the best."""
SLACK: Final = 0.05
"""How much slower than the fastest a configuration may be where GiB·s are what counts."""
_TREES: Final = 100
_TREES_TO_CHOOSE: Final = 25
"""Of the forests that cross-validation is done with: a hundred say the same, and take four times as long."""
_LEAVES: Final = (1, 3, 8)
_OUTLIER: Final = 3.0
"""Longer than so many medians is no more than that: stragglers of the recording, up to a hundred medians long."""
ROUNDS: Final = 30
"""Generations of the search for the best."""
_LOOKED_AT, _KEPT = 1000, 100


class StandIn:
    """How long configurations run.

    Args:
        table: what was recorded.

    Attributes:
        leaf: least runs in a leaf, which cross-validation chose.
        explained: the part of the variance of log time in runs that a forest has not seen that it explains (R² of
            five-fold cross-validation).
    """

    def __init__(self, table: Table) -> None:
        places = np.array([place_of(table, each) for each in table.configurations])
        logs = np.log(table.times_s)
        logs = np.minimum(logs, np.median(logs) + math.log(_OUTLIER))
        scores = {leaf: _explained(places, logs, leaf) for leaf in _LEAVES}
        self.leaf = max(scores, key=lambda leaf: scores[leaf])
        self.explained = scores[self.leaf]
        self._trees: list[Any] = [each.tree_ for each in _forest(self.leaf).fit(places, logs).estimators_]

    def times_s(self, places: Array) -> Array:
        """Seconds, of points in the unit cube, one row each."""
        rows = places.astype(np.float32)
        # The trees themselves: the forest's own way takes twenty times as long for one row.
        result: Array = np.exp(np.mean([tree.predict(rows)[:, 0] for tree in self._trees], axis=0))
        return result


def place_of(table: Table, configuration: Mapping[str, str]) -> list[float]:
    """A configuration's place in the unit cube."""
    return table.space.to_unit(table.space.point_of(configuration))


def _forest(leaf: int, trees: int = _TREES) -> Any:
    from sklearn.ensemble import RandomForestRegressor

    return RandomForestRegressor(trees, min_samples_leaf=leaf, random_state=0, n_jobs=1)


def _explained(places: Array, logs: Array, leaf: int) -> float:
    from sklearn.model_selection import KFold, cross_val_predict

    folds = KFold(5, shuffle=True, random_state=0)
    expected = cross_val_predict(_forest(leaf, _TREES_TO_CHOOSE), places, logs, cv=folds)
    return float(1.0 - np.sum(np.square(expected - logs)) / np.sum(np.square(logs - logs.mean())))


@dataclass(frozen=True)
class Problem:
    """A table, what stands in for its cluster, and what is to be lowered.

    Attributes:
        limit_s: the longest time that counts: infinite where time itself is lowered.
        best: least of what counts (seconds or GiB·s) among all configurations that were looked at.
        worst: the most of it among the recorded ones.
    """

    table: Table
    stand_in: StandIn
    goal: Goal
    limit_s: float
    best: float
    worst: float

    @classmethod
    def of(cls, table: Table, stand_in: StandIn, goal: Goal, *, rounds: int = ROUNDS) -> Problem:
        """Looks for the best, with far more evaluations than any search has: a thousand in each round."""
        recorded = np.array([place_of(table, each) for each in table.configurations])
        fast = cls(table, stand_in, "time", math.inf, 0.0, math.inf)
        fastest = fast._least(recorded, rounds)
        if goal == "time":
            return cls(table, stand_in, goal, math.inf, fastest, float(np.max(stand_in.times_s(recorded))))
        limit_s = (1.0 + SLACK) * fastest
        every = cls(table, stand_in, goal, math.inf, 0.0, math.inf)
        worst = float(np.max([each for each in every._values(recorded) if math.isfinite(each)]))
        asked = cls(table, stand_in, goal, limit_s, 0.0, worst)
        return cls(table, stand_in, goal, limit_s, asked._least(recorded, rounds), worst)

    @property
    def name(self) -> str:
        """Of the table and the goal."""
        return f"{self.table.name}, {self.goal}"

    @property
    def memory(self) -> Reservation:
        """What the search is told of memory: the container model, or that all configurations reserve the same."""
        if self.goal == "time" or self.table.memory is None:
            return TimeAlone(self.table.memory)
        return self.table.memory

    def observe(self, configuration: Mapping[str, str]) -> Observation:
        """What a run comes to; FAILED where the cluster could not grant the configuration."""
        held = self.memory.reserved_mib(configuration)
        time_s = float(self.stand_in.times_s(np.array([place_of(self.table, configuration)]))[0])
        if held is None:
            return Observation(configuration, TrialState.FAILED, time_s, 0.0, 0.0)
        return Observation(configuration, TrialState.SUCCEEDED, time_s, 0.0, held / 1024.0 * time_s)

    def value(self, observation: Observation) -> float:
        """The number that other searches lower.

        Of two that are too slow the faster one is better, and any that is fast enough is better than both (Deb 2000).
        """
        if observation.state is not TrialState.SUCCEEDED:
            return 10.0 * self.worst
        return float(self._judged(np.array([observation.duration_s]), np.array([observation.gib_seconds]))[0])

    def ratio(self, observation: Observation) -> float:
        """What counts, by the best; infinite where it does not count."""
        value = self.value(observation)
        return value / self.best if observation.duration_s <= self.limit_s and value < 10.0 * self.worst else math.inf

    def _judged(self, times_s: Array, gib_s: Array) -> Array:
        if not math.isfinite(self.limit_s):
            return gib_s
        result: Array = np.where(times_s <= self.limit_s, gib_s, self.worst * times_s / self.limit_s)
        return result

    def _values(self, places: Array) -> Array:
        space, memory = self.table.space, self.memory
        points = [space.point_of(memory.filled(space.render(space.from_unit(place)))) for place in places]
        held = np.array([memory.reserved_mib(space.render(point)) or math.inf for point in points])
        times_s = self.stand_in.times_s(np.array([space.to_unit(point) for point in points]))
        return np.where(np.isfinite(held), self._judged(times_s, held / 1024.0 * times_s), math.inf)

    def _least(self, recorded: Array, rounds: int) -> float:
        """Evolution from the recorded configurations: some new ones in each round, the others near good ones."""
        rng = np.random.default_rng(0)
        places, values = recorded, self._values(recorded)
        for _ in range(rounds):
            order = np.argsort(values)[:_KEPT]
            places, values = places[order], values[order]
            parents = places[rng.integers(len(places), size=_LOOKED_AT)]
            others = places[rng.integers(len(places), size=_LOOKED_AT)]
            crossed = np.where(rng.random(parents.shape) < 0.5, parents, others)
            changed = rng.random(parents.shape) < rng.choice([0.03, 0.1, 0.3], (_LOOKED_AT, 1))
            new = np.where(changed, rng.random(parents.shape), crossed)
            places = np.vstack([places, new])
            values = np.concatenate([values, self._values(new)])
        return float(np.min(values))


def problems(tables: Sequence[Table]) -> list[tuple[Table, Goal]]:
    """What is searched: time where nothing else is known, and GiB·s beside it where memory is."""
    goals: list[tuple[Table, Goal]] = []
    for table in tables:
        goals += [(table, "GiB·s")] if table.memory is not None else []
        goals.append((table, "time"))
    return goals
