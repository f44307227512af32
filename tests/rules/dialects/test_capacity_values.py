from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rules.dialects.capacity_values import (
    format_capacity,
    format_number,
    parse_capacity,
    percentages,
    settle,
    undrift,
    weights_to_percent,
)
from rules.model import Capacity, CapacityMode, Resources, ResourceShare
from tuner.errors import InputError


@pytest.mark.parametrize(
    ("text", "mode", "value"),
    [
        ("50", CapacityMode.PERCENT, 50.0),
        ("50.0", CapacityMode.PERCENT, 50.0),
        (" 33.333 ", CapacityMode.PERCENT, 33.333),
        ("-1", CapacityMode.PERCENT, -1.0),
        ("4w", CapacityMode.WEIGHT, 4.0),
        ("1.5w", CapacityMode.WEIGHT, 1.5),
    ],
)
def test_percentages_and_weights(text, mode, value):
    assert parse_capacity(text) == Capacity(mode, value)


@pytest.mark.parametrize(
    ("text", "resources"),
    [
        ("[memory=4096,vcores=4]", Resources(4096, 4)),
        ("[memory=4Gi,vcores=4]", Resources(4096, 4)),
        ("[memory=2048Mi, vcores=2]", Resources(2048, 2)),
        ("[memory-mb=1024]", Resources(1024)),
        # UnitsConversionUtil: G is 1000^3, and 4e9 / 2^20 = 3814.697, cut.
        ("[memory=4G,vcores=1]", Resources(3814, 1)),
        ("[memory=8388608k,vcores=1]", Resources(8000, 1)),
        ("[memory=1024,vcores=1,yarn.io/gpu=2]", Resources.of({"memory-mb": 1024, "vcores": 1, "yarn.io/gpu": 2})),
    ],
)
def test_amounts(text, resources):
    capacity = parse_capacity(text)
    assert capacity.mode is CapacityMode.ABSOLUTE
    assert capacity.resources == resources


def test_a_vector_mixes_ways():
    capacity = parse_capacity("[memory=50%,vcores=2w,yarn.io/gpu=1]")
    assert capacity.mode is CapacityMode.VECTOR
    assert capacity.shares == (
        ResourceShare("memory-mb", CapacityMode.PERCENT, 50.0),
        ResourceShare("vcores", CapacityMode.WEIGHT, 2.0),
        ResourceShare("yarn.io/gpu", CapacityMode.ABSOLUTE, 1.0),
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("50%", "write 50"),
        ("", "not a capacity"),
        ("NaN", "not a capacity"),
        ("w", "not a capacity"),
        ("0x10", "not a capacity"),
        ("50f", "not a capacity"),
        ("[vcores=2]", "no memory"),
        ("[memory=0,vcores=2]", "no memory"),
        ("[memory=4096", "closing bracket"),
        # YARN's m is a thousandth, and g is none of its units: both would be taken for next to nothing.
        ("[memory=4096m,vcores=4]", "unit 'm'"),
        ("[memory=4g,vcores=4]", "unit 'g'"),
        ("[memory=4Gi,vcores=4k]", "unit 'k'"),
        ("[memory=1.5Gi]", "fraction"),
        ("[memory=1,memory=2]", "twice"),
        ("[memory=1 vcores=2]", "NAME=AMOUNT"),
    ],
)
def test_what_is_no_capacity_is_refused_with_what_to_do(text, says):
    with pytest.raises(InputError) as caught:
        parse_capacity(text)
    assert says in f"{caught.value.message}; {caught.value.hint}"
    assert caught.value.hint or says == "twice"


CAPACITIES = st.one_of(
    st.builds(Capacity, st.just(CapacityMode.PERCENT), st.floats(0, 100).map(lambda value: round(value, 6))),
    st.builds(Capacity, st.just(CapacityMode.WEIGHT), st.floats(0, 1e4).map(lambda value: round(value, 3))),
    st.builds(
        lambda memory, vcores: Capacity(
            CapacityMode.ABSOLUTE,
            0.0,
            (
                ResourceShare("memory-mb", CapacityMode.ABSOLUTE, float(memory)),
                ResourceShare("vcores", CapacityMode.ABSOLUTE, float(vcores)),
            ),
        ),
        st.integers(1, 10**9),
        st.integers(0, 10**6),
    ),
    st.builds(
        lambda percent, weight: Capacity(
            CapacityMode.VECTOR,
            0.0,
            (
                ResourceShare("memory-mb", CapacityMode.PERCENT, percent),
                ResourceShare("vcores", CapacityMode.WEIGHT, weight),
            ),
        ),
        st.floats(0.001, 100).map(lambda value: round(value, 3)).filter(bool),
        st.floats(0, 100).map(lambda value: round(value, 3)),
    ),
)


@given(CAPACITIES)
def test_what_is_written_is_read_again(capacity):
    assert parse_capacity(format_capacity(capacity)) == capacity


def test_a_capacity_that_is_not_set_has_no_text():
    with pytest.raises(InputError, match="not set"):
        format_capacity(Capacity())


@pytest.mark.parametrize(
    ("value", "text"),
    [(50.0, "50"), (33.333, "33.333"), (0.0, "0"), (1e-7, "0.0000001"), (100.0, "100"), (1e7, "10000000")],
)
def test_numbers_have_no_exponent_and_no_needless_zeros(value, text):
    assert format_number(value) == text


def test_g2_05_the_published_conversion_of_weights():
    assert weights_to_percent({"default": 10, "users": 30}) == {"default": "25", "users": "75"}
    assert weights_to_percent({"alice": 1, "bob": 1, "charlie": 1}) == {
        "alice": "33.333",
        "bob": "33.333",
        "charlie": "33.334",
    }


WEIGHTS = st.lists(st.floats(0, 1e6).map(lambda value: round(value, 3)), min_size=1, max_size=200)


@given(WEIGHTS.filter(any), st.integers(0, 6))
def test_percentages_total_exactly_100_and_keep_the_shares(weights, decimals):
    found = percentages([Decimal(repr(weight)) for weight in weights], decimals)
    assert sum(found) == 100
    step = Decimal(1).scaleb(-decimals)
    for weight, percent in zip(weights, found, strict=True):
        assert abs(float(percent) - 100 * weight / sum(weights)) < float(step) + 1e-9
    assert all(percent >= 0 and percent % step == 0 for percent in found)


@pytest.mark.parametrize("weights", [{"a": 0.0}, {"a": -1.0, "b": 2.0}, {}])
def test_weights_that_make_no_whole_are_refused(weights):
    with pytest.raises(InputError, match="no whole"):
        weights_to_percent(weights)


@pytest.mark.parametrize(
    ("reported", "configured"),
    [
        ("30.000002", "30"),
        ("33.33", "33.33"),
        ("33.333", "33.333"),
        ("12.34567", "12.34567"),
        ("4w", "4w"),
        ("0.0", "0"),
    ],
)
def test_the_noise_of_single_precision_goes(reported, configured):
    assert undrift(reported) == configured


@given(st.integers(0, 100_000).map(lambda thousandths: thousandths / 1000))
def test_a_percentage_survives_the_way_through_the_resource_manager(percent):
    # The RM divides by 100 and multiplies again, both in single precision.
    reported = float(np.float32(np.float32(percent) / np.float32(100)) * np.float32(100))
    assert undrift(repr(reported)) == format_number(percent)


@pytest.mark.parametrize(
    ("reported", "settled"),
    [
        ({"a": "30.000002", "b": "70.0"}, {"a": "30", "b": "70"}),
        ({"a": "33.33", "b": "33.33", "c": "33.33"}, {"a": "33.333", "b": "33.333", "c": "33.334"}),
        ({"a": "33.33", "b": "33.33", "c": "33.34"}, {"a": "33.33", "b": "33.33", "c": "33.34"}),
        # Not meant to be 100: the checks tell, nothing is mended in silence.
        ({"a": "30", "b": "60"}, {"a": "30", "b": "60"}),
        ({"a": "1w", "b": "2w"}, {"a": "1w", "b": "2w"}),
        ({"a": "0.0", "b": "0.0"}, {"a": "0", "b": "0"}),
    ],
)
def test_reported_siblings_are_settled(reported, settled):
    assert settle(reported) == settled
    assert settle(settled) == settled
