"""Which configuration to try next: pure, from what was observed, a memory model and a seed."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tuner.search.objective import Observation, TrialState
from tuner.search.prior import TimePrior
from tuner.search.reserve import Reservation
from tuner.search.space import Point, SearchSpace
from tuner.search.surrogate import Array, Prediction, TimeModel, constrained_expected_improvement
from tuner.spark.params import Value

SPREAD_CANDIDATES = 512
LOCAL_CANDIDATES = 128
LOCAL_STEP = 0.15
KEEP_DEFAULT = 0.5
"""Chance that a property of a spread candidate keeps its default."""

MIN_DISTANCE = 0.08
"""A candidate must differ from every tried one by this share of some property's range; less is lost in the noise."""

PARSIMONY = 0.97
"""What each changed property must bring: so much of the expected gain."""

FAILURE_FACTOR = 2.0
"""A failed configuration counts as this much slower than the slowest: its neighbourhood is avoided, not forbidden."""


@dataclass(frozen=True)
class Proposal:
    """A point to try and why.

    Attributes:
        gain: what it is expected to save of the best one's GiB·s, as a fraction; None where nothing is expected of it
            but to learn.
        price: its own expected GiB·s, in units of the best one's.
    """

    point: Point
    reason: str
    gain: float | None = None
    price: float = 1.0

    def pays_back(self, runs_ahead: float) -> bool:
        """Whether so many runs with the expected saving are worth this one."""
        return self.gain is None or self.gain * runs_ahead >= self.price


@dataclass(frozen=True)
class _Data:
    points: list[Point]
    places: Array
    features: Array
    log_times: Array
    log_memory: Array
    usable: NDArray[np.bool_]


def propose(
    space: SearchSpace,
    observations: Sequence[Observation],
    memory: Reservation,
    *,
    slack: float,
    seed: int,
    prior: TimePrior | None = None,
    fixed: Collection[str] = (),
) -> Proposal | None:
    """The candidate with the largest constrained expected improvement.

    Args:
        space: what may be changed.
        observations: all runs so far, of whatever end.
        memory: what a configuration reserves.
        slack: tolerated slowdown against the fastest, as a fraction.
        seed: decides the candidates; the same arguments give the same proposal.
        prior: what is believed of times before anything has run; nothing where not given.
        fixed: properties of the space that keep their defaults.

    Returns:
        The proposal, or None where every candidate was tried or can never be granted.
    """
    rng = np.random.default_rng(seed)
    data = _training_data(space, observations, memory)
    candidates, log_memory = _candidates(space, observations, data, memory, rng, fixed)
    if not candidates:
        return None
    if data is None or not data.usable.any():
        index = int(np.argmin(log_memory))
        return Proposal(candidates[index], "nothing has succeeded yet: the untried configuration that reserves least")
    believed = _believed(space, prior.fitted(observations) if prior else None, memory)
    of_seen = believed(data.points)
    model = TimeModel(data.features, data.log_times - of_seen, seed=seed)
    seen = model.predict(data.features).mean + of_seen
    limit = float(np.min(seen[data.usable])) + math.log1p(slack)
    fast = data.usable & (seen <= limit + 1e-9)
    best_log_cost = float(np.min((seen + data.log_memory)[fast]))
    residual = model.predict(np.array([space.features(point) for point in candidates]))
    prediction = Prediction(residual.mean + believed(candidates), residual.deviation)
    gain = constrained_expected_improvement(prediction, log_memory, best_log_cost=best_log_cost, log_time_limit=limit)
    changes = np.array([sum(point[d.name] != d.clamp(d.default) for d in space.dimensions) for point in candidates])
    index = int(np.argmax(gain * PARSIMONY**changes))
    saving = 1.0 - math.exp(log_memory[index] + prediction.mean[index] - best_log_cost)
    time_s = math.exp(prediction.mean[index])
    return Proposal(
        candidates[index],
        f"model expects {time_s:.0f} s and {saving:+.0%} GiB·s saved on the best so far",
        gain=1.0 - math.exp(-float(gain[index])),
        price=math.exp(log_memory[index] + prediction.mean[index] - best_log_cost),
    )


def _believed(space: SearchSpace, prior: TimePrior | None, memory: Reservation) -> Callable[[Sequence[Point]], Array]:
    """Log times that the prior expects of points; all 0 without one."""
    if prior is None:
        return lambda points: np.zeros(len(points))
    return lambda points: np.array([prior.log_time(memory.filled(space.render(point))) for point in points])


def _training_data(space: SearchSpace, observations: Sequence[Observation], memory: Reservation) -> _Data | None:
    rows = [(o, held) for o in observations if (held := memory.reserved_mib(o.configuration))]
    succeeded = [o.duration_s for o, _ in rows if o.state is TrialState.SUCCEEDED]
    if not succeeded:
        return None
    slowest_s = max(succeeded)
    times = [
        o.duration_s if o.state is TrialState.SUCCEEDED else FAILURE_FACTOR * max(slowest_s, o.duration_s)
        for o, _ in rows
    ]
    points = [space.point_of(o.configuration) for o, _ in rows]
    return _Data(
        points=points,
        places=np.array([space.to_unit(point) for point in points]),
        features=np.array([space.features(point) for point in points]),
        log_times=np.log(times),
        log_memory=np.log([held for _, held in rows]),
        usable=np.array([o.state is TrialState.SUCCEEDED for o, _ in rows]),
    )


def _candidates(
    space: SearchSpace,
    observations: Sequence[Observation],
    data: _Data | None,
    memory: Reservation,
    rng: np.random.Generator,
    fixed: Collection[str],
) -> tuple[list[Point], Array]:
    from scipy.stats import qmc

    width = len(space.dimensions)
    stays = np.array([d.name in fixed for d in space.dimensions])
    default = np.array([d.to_unit(d.clamp(d.default)) for d in space.dimensions])
    spread = qmc.Sobol(width, seed=rng).random(SPREAD_CANDIDATES)
    # What nothing speaks against stays as it is: a result full of needless changes is trusted by nobody.
    places = [np.where(rng.random(spread.shape) < KEEP_DEFAULT, default, spread)]
    if data is not None:
        order = np.argsort(np.where(data.usable, data.log_times + data.log_memory, np.inf))[:3]
        for row in order:
            step = rng.normal(0.0, LOCAL_STEP, (LOCAL_CANDIDATES, width)) * (
                rng.random((LOCAL_CANDIDATES, width)) < 0.5
            )
            places.append(np.clip(data.places[row] + step, 0.0, 1.0))
    tried = np.array([space.to_unit(space.point_of(o.configuration)) for o in observations]).reshape(-1, width)
    points: dict[tuple[tuple[str, Value], ...], tuple[Point, float]] = {}
    for place in np.where(stays, default, np.vstack(places)):
        # Filled first: two heaps that end in the same container are one candidate.
        configuration = memory.filled(space.render(space.from_unit(place)))
        point = space.point_of(configuration)
        key = _key(point)
        if key in points or _is_near(np.array(space.to_unit(point)), tried):
            continue
        held = memory.reserved_mib(configuration)
        if held:
            points[key] = (point, math.log(held))
    return [point for point, _ in points.values()], np.array([held for _, held in points.values()])


def _is_near(place: Array, tried: Array) -> bool:
    return bool(len(tried)) and float(np.min(np.max(np.abs(tried - place), axis=1))) < MIN_DISTANCE


def _key(point: Mapping[str, Value]) -> tuple[tuple[str, Value], ...]:
    return tuple(sorted(point.items()))
