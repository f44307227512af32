"""Steps of the local search: from one candidate to one nearby."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rules.optimizer.knobs import SHARE, Candidate, Knob, Value
from rules.optimizer.space import Space

__all__ = ["neighbour"]

_STEPS = (0.5, 0.3, 0.2)
"""How often a move is of one, two and three steps: where each knob by itself is best, it takes two that go together."""
_TAKEN_OVER = 0.1
"""How often the first step takes over all of a leaf's settings from another good candidate."""
_SHARES, _ALIKE = 0.3, 0.1
"""How often a step is on parts of a parent, and on one setting of all leaves; else on one setting of one leaf."""
_LEAST_SPREAD, _SPREAD, _SMALL_SPREAD = 0.05, 0.6, 0.12
"""Standard deviations of the logarithm by which a part grows (the second by reach), and of a small step of a number."""
_SMALL, _NEXT = 0.45, 0.25
"""How often a number takes a small step, and one to the next values of its grid; else to any of them."""


def neighbour(
    space: Space, candidate: Candidate, rng: np.random.Generator, reach: float, others: Sequence[Candidate] = ()
) -> list[Value]:
    """A candidate nearby: one to three steps.

    Args:
        space: the knobs.
        candidate: where to step from.
        rng: decides.
        reach: from 1, parts may change much, to 0, a little.
        others: good candidates, whose settings of a leaf may be taken over.
    """
    values = list(candidate)
    steps = 1 + int(rng.choice(len(_STEPS), p=_STEPS))
    if others and rng.random() < _TAKEN_OVER:
        _take_over(space, values, others[int(rng.integers(len(others)))], rng)
        steps -= 1
    for _ in range(steps):
        kind = rng.random()
        if space.groups and kind < _SHARES:
            _resize(space, values, rng, reach)
        elif kind < _SHARES + _ALIKE:
            _turn_all(space, values, rng)
        else:
            _turn_one(space, values, rng)
    return values


def _take_over(space: Space, values: list[Value], other: Candidate, rng: np.random.Generator) -> None:
    """One leaf's own settings as another candidate has them: what serves its jobs there often serves them here."""
    places = space.leaf_knobs[space.leaves[int(rng.integers(len(space.leaves)))]]
    for place in places:
        values[place] = other[place]


def _resize(space: Space, values: list[Value], rng: np.random.Generator, reach: float) -> None:
    """One sibling's part grows or shrinks: at the cost of all others alike, or grows at the cost of one."""
    group = space.groups[int(rng.integers(len(space.groups)))]
    first, second = (group.knobs[int(place)] for place in rng.choice(len(group.knobs), 2, replace=False))
    factor = float(np.exp(rng.normal(0.0, _LEAST_SPREAD + _SPREAD * reach * rng.random())))
    if rng.random() < 0.5:
        values[first] = float(values[first]) * factor
    else:
        amount = float(values[second]) * min(abs(factor - 1.0), 0.9)
        values[first], values[second] = float(values[first]) + amount, float(values[second]) - amount


def _turn_one(space: Space, values: list[Value], rng: np.random.Generator) -> None:
    places = [i for i, knob in enumerate(space.knobs) if knob.name != SHARE]
    if places:
        place = places[int(rng.integers(len(places)))]
        values[place] = _turned(space.knobs[place], values[place], rng)


def _turn_all(space: Space, values: list[Value], rng: np.random.Generator) -> None:
    """The same new value for one setting of every leaf."""
    names = sorted({knob.name for knob in space.knobs if knob.name != SHARE})
    if not names:
        return
    name = names[int(rng.integers(len(names)))]
    places = [i for i, knob in enumerate(space.knobs) if knob.name == name]
    pattern = places[int(rng.integers(len(places)))]
    new = _turned(space.knobs[pattern], values[pattern], rng)
    for place in places:
        knob = space.knobs[place]
        if isinstance(new, str):
            values[place] = new if new in knob.values else values[place]
        else:
            values[place] = min(max(new, knob.least), knob.most)


def _turned(knob: Knob, value: Value, rng: np.random.Generator) -> Value:
    if isinstance(value, str) or knob.step == 0:
        others = [other for other in knob.values if other != value]
        return others[int(rng.integers(len(others)))]
    kind = rng.random()
    if kind < _SMALL:
        small = value * float(np.exp(rng.normal(0.0, _SMALL_SPREAD))) + float(rng.choice([-1, 1])) * knob.step
        return min(max(small, knob.least), knob.most)
    numbers = [float(other) for other in knob.values]
    if kind < _SMALL + _NEXT:
        place = int(np.argmin([abs(number - value) for number in numbers])) + int(rng.choice([-2, -1, 1, 2]))
        return numbers[min(max(place, 0), len(numbers) - 1)]
    return numbers[int(rng.integers(len(numbers)))]
