from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rules.optimizer.knobs import fit, in_steps, number_knob
from rules.policy import Bounds, QueuePolicy

PARTS = st.lists(st.floats(0.01, 100), min_size=2, max_size=8)


@settings(deadline=None)
@given(values=PARTS, data=st.data())
def test_parts_that_are_fitted_add_up_and_lie_in_their_ranges(values: list[float], data: st.DataObject) -> None:
    least = [data.draw(st.floats(0, 20)) for _ in values]
    most = [low + data.draw(st.floats(0, 100)) for low in least]
    found = fit(values, least, most, 100.0)
    if sum(least) > 100 or sum(most) < 100 - 1e-6:
        assert found is None or abs(sum(found) - 100) < 1e-6
        return
    if found is None:
        assert sum(most) < 100
        return
    assert sum(found) == pytest.approx(100.0, abs=1e-6)
    assert all(low - 1e-6 <= part <= high + 1e-6 for low, part, high in zip(least, found, most, strict=True))


def test_parts_inside_their_ranges_keep_their_proportions() -> None:
    assert fit([1, 2, 5], [0, 0, 0], [100, 100, 100], 80.0) == pytest.approx([10, 20, 50])


def test_what_one_part_cannot_take_goes_to_the_others() -> None:
    assert fit([8, 1, 1], [0, 0, 0], [40, 100, 100], 100.0) == pytest.approx([40, 30, 30])


def test_ranges_that_do_not_allow_the_total_give_nothing() -> None:
    assert fit([1, 1], [60, 60], [100, 100], 100.0) is None
    assert fit([1, 1], [0, 0], [40, 40], 100.0) is None


@given(PARTS)
def test_steps_add_up_exactly_and_no_part_is_off_by_a_step(values: list[float]) -> None:
    parts = [100.0 * value / sum(values) for value in values]
    found = in_steps(parts, 100.0, 0.01)
    assert sum(round(part * 100) for part in found) == 10_000
    assert all(abs(part - new) < 0.01 + 1e-6 for part, new in zip(parts, found, strict=True))


def test_a_knob_has_the_values_that_the_policy_allows_and_the_present_one() -> None:
    policy = QueuePolicy(bounds={"x": Bounds(least=2, most=9, largest_step=4)})
    knob = number_knob("root.a", "x", 5, (1, 2, 3, 8, 9, 10), 1, policy)
    assert knob is not None
    assert knob.values == (2, 3, 5, 8, 9)
    assert (knob.least, knob.most) == (2, 9)


def test_what_is_locked_or_has_no_other_value_is_no_knob() -> None:
    assert number_knob("root.a", "x", 5, (1, 9), 1, QueuePolicy(locked=("x",))) is None
    assert number_knob("root.a", "x", 5, (1, 9), 1, QueuePolicy(bounds={"x": Bounds(least=5, most=5)})) is None
