from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rules.optimizer.knobs import SHARE, Candidate, Value
from rules.optimizer.moves import neighbour
from rules.optimizer.optimize import make_space
from rules.optimizer.space import Space
from rules.policy import NO_LIMITS
from tests.rules.optimizer.cases import case_of

KINDS = ("percent", "nested", "weights", "absolute", "fair")


@cache
def space_of(kind: str) -> Space:
    return make_space(case_of(kind), NO_LIMITS)


def changed(space: Space, before: Candidate, after: Sequence[Value]) -> list[int]:
    return [i for i in range(len(space.knobs)) if before[i] != after[i]]


@settings(deadline=None, max_examples=150)
@given(kind=st.sampled_from(KINDS), seed=st.integers(0, 10**6), reach=st.floats(0, 1))
def test_a_move_is_of_values_that_the_knobs_have(kind: str, seed: int, reach: float) -> None:
    space = space_of(kind)
    moved = neighbour(space, space.present, np.random.default_rng(seed), reach)
    for knob, value in zip(space.knobs, moved, strict=True):
        if knob.name == SHARE:
            assert float(value) > 0
        elif isinstance(knob.present, str) or isinstance(value, str):
            assert value in knob.values
        else:
            assert knob.least <= value <= knob.most


@pytest.mark.parametrize("kind", KINDS)
def test_every_knob_is_reached(kind: str) -> None:
    space, rng = space_of(kind), np.random.default_rng(0)
    reached = {i for _ in range(1000) for i in changed(space, space.present, neighbour(space, space.present, rng, 1.0))}
    assert reached == set(range(len(space.knobs)))


def test_parts_change_less_where_the_reach_is_short() -> None:
    space = space_of("percent")
    parts = [i for i, knob in enumerate(space.knobs) if knob.name == SHARE]

    def spread(reach: float) -> float:
        rng = np.random.default_rng(0)
        moves = [neighbour(space, space.present, rng, reach) for _ in range(500)]
        return float(
            np.mean([[abs(np.log(float(move[i]) / float(space.present[i]))) for i in parts] for move in moves])
        )

    assert spread(0.0) < spread(0.5) < spread(1.0)


def test_a_leaf_takes_over_all_of_its_settings_and_no_others() -> None:
    space, rng = space_of("percent"), np.random.default_rng(0)
    other = tuple(knob.present if knob.name == SHARE else knob.values[0] for knob in space.knobs)
    differ = {path: {i for i in own if other[i] != space.present[i]} for path, own in space.leaf_knobs.items()}
    moves = [set(changed(space, space.present, neighbour(space, space.present, rng, 0.0, [other]))) for _ in range(500)]
    for own in differ.values():
        assert own in moves
