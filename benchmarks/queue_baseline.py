"""What the optimizer is held against: random configurations, then hill climbing from the best of them.

Over the same estimator with the same knobs and the same validity, without tables, presets or any other knowledge.
"""

from __future__ import annotations

import time

import numpy as np

from rules.optimizer.judge import Score
from rules.optimizer.knobs import SHARE, Candidate, Value
from rules.optimizer.space import Space
from rules.optimizer.whole import Whole

__all__ = ["random_and_local"]

_RANDOM_SHARE = 0.2
_RESTART_AFTER = 300


def random_and_local(space: Space, whole: Whole, seconds: float, seed: int) -> tuple[Candidate, Score]:
    """The best that is found in so many seconds of CPU time, so that other load on the machine does not matter.

    A fifth of the time goes to random configurations. From the best, one or two knobs at a time are drawn anew or
    moved a little, and what is no worse is kept; after 300 steps without gain it starts from another of the ten best.
    """
    rng = np.random.default_rng(seed)
    begin = time.process_time()
    found: list[tuple[Candidate, Score]] = [(space.present, whole.score(space.present))]

    def consider(values: list[Value]) -> tuple[Candidate, Score] | None:
        candidate = space.normal(values)
        if candidate is None or candidate in whole:
            return None
        found.append((candidate, whole.score(candidate)))
        return found[-1]

    while time.process_time() - begin < _RANDOM_SHARE * seconds:
        consider([_draw(space, i, rng) for i in range(len(space.knobs))])
    found.sort(key=lambda item: item[1].rank)
    starts = found[:10]
    current, idle = starts[0], 0
    best = current
    while time.process_time() - begin < seconds:
        values = list(current[0])
        for i in rng.choice(len(values), int(rng.integers(1, 3)), replace=False):
            values[i] = _draw(space, int(i), rng) if rng.random() < 0.5 else _nudge(space, int(i), values[i], rng)
        stepped = consider(values)
        idle += 1
        if stepped is not None and stepped[1].rank <= current[1].rank:
            idle = 0 if stepped[1].rank < current[1].rank else idle
            current = stepped
            best = min(best, current, key=lambda item: item[1].rank)
        if idle > _RESTART_AFTER:
            current, idle = starts[int(rng.integers(len(starts)))], 0
    return best


def _draw(space: Space, place: int, rng: np.random.Generator) -> Value:
    knob = space.knobs[place]
    if knob.name == SHARE:
        return float(rng.exponential())
    if knob.step == 0 or isinstance(knob.present, str):
        return knob.values[int(rng.integers(len(knob.values)))]
    low, high = float(knob.values[0]), float(knob.values[-1])
    return float(np.exp(rng.uniform(np.log(max(low, 0.01)), np.log(max(high, 0.01)))))


def _nudge(space: Space, place: int, value: Value, rng: np.random.Generator) -> Value:
    knob = space.knobs[place]
    if isinstance(value, str) or (knob.step == 0 and knob.name != SHARE):
        return _draw(space, place, rng)
    return value * float(np.exp(rng.normal(0.0, 0.2)))
