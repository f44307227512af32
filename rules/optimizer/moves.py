"""Steps of the local search: from one candidate to one nearby."""

from __future__ import annotations

import numpy as np

from rules.optimizer.knobs import SHARE, Candidate, Knob, Value
from rules.optimizer.space import Space

__all__ = ["anywhere", "neighbour"]


def anywhere(space: Space, rng: np.random.Generator) -> list[Value]:
    """A candidate from anywhere: parts that may be far from equal; settings of each leaf, or one for all."""
    values: list[Value] = [float(rng.exponential()) if knob.name == SHARE else knob.present for knob in space.knobs]
    if rng.random() < 0.3:
        values = [
            knob.present if knob.name == SHARE else value for knob, value in zip(space.knobs, values, strict=True)
        ]
    alike = rng.random() < 0.5
    chosen: dict[str, float] = {}
    for i, knob in enumerate(space.knobs):
        if knob.name != SHARE:
            where = chosen.setdefault(knob.name, float(rng.random())) if alike else float(rng.random())
            values[i] = knob.values[int(where * len(knob.values))]
    return values


def neighbour(space: Space, candidate: Candidate, rng: np.random.Generator, reach: float) -> list[Value]:
    """A candidate nearby: one to three steps, each on one knob, on one kind of knob of all leaves, or between siblings.

    Args:
        space: the knobs.
        candidate: where to step from.
        rng: decides.
        reach: from 1, steps to any value, to 0, small ones.
    """
    values = list(candidate)
    for _ in range(int(rng.choice([1, 2, 3], p=[0.5, 0.3, 0.2]))):
        kind = rng.random()
        if space.groups and kind < 0.3:
            _shift(space, values, rng, reach)
        elif kind < 0.4:
            _turn_all(space, values, rng, reach)
        else:
            _turn_one(space, values, rng, reach)
    return values


def _shift(space: Space, values: list[Value], rng: np.random.Generator, reach: float) -> None:
    """Some of one sibling's part goes to another."""
    group = space.groups[int(rng.integers(len(space.groups)))]
    giver, taker = rng.choice(len(group.knobs), 2, replace=False)
    giver_at, taker_at = group.knobs[int(giver)], group.knobs[int(taker)]
    part = float(values[giver_at])
    amount = part * float(rng.uniform(0.02, 0.1 + 0.5 * reach))
    values[giver_at], values[taker_at] = part - amount, float(values[taker_at]) + amount


def _turn_one(space: Space, values: list[Value], rng: np.random.Generator, reach: float) -> None:
    places = [i for i, knob in enumerate(space.knobs) if knob.name != SHARE]
    if places:
        place = places[int(rng.integers(len(places)))]
        values[place] = _turned(space.knobs[place], values[place], rng, reach)


def _turn_all(space: Space, values: list[Value], rng: np.random.Generator, reach: float) -> None:
    """The same new value for one setting of every leaf."""
    names = sorted({knob.name for knob in space.knobs if knob.name != SHARE})
    if not names:
        return
    name = names[int(rng.integers(len(names)))]
    places = [i for i, knob in enumerate(space.knobs) if knob.name == name]
    pattern = places[int(rng.integers(len(places)))]
    new = _turned(space.knobs[pattern], values[pattern], rng, reach)
    for place in places:
        knob = space.knobs[place]
        if isinstance(new, str):
            values[place] = new if new in knob.values else values[place]
        else:
            values[place] = min(max(new, knob.least), knob.most)


def _turned(knob: Knob, value: Value, rng: np.random.Generator, reach: float) -> Value:
    if isinstance(value, str) or knob.step == 0:
        others = [other for other in knob.values if other != value]
        return others[int(rng.integers(len(others)))]
    kind = rng.random()
    if kind < 0.3 + 0.3 * (1.0 - reach):
        fine = value * float(np.exp(rng.normal(0.0, 0.12))) + float(rng.choice([-1, 1])) * knob.step
        return min(max(fine, knob.least), knob.most)
    numbers = [float(other) for other in knob.values]
    if kind < 0.7:
        place = int(np.argmin([abs(number - value) for number in numbers])) + int(rng.choice([-2, -1, 1, 2]))
        return numbers[min(max(place, 0), len(numbers) - 1)]
    return numbers[int(rng.integers(len(numbers)))]
