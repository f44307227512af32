from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tuner.search.simulated import LIMITS, space
from tuner.errors import InputError
from tuner.search.space import Dimension, SearchSpace
from tuner.spark.params import PARAMS, tuned_params

SPACE = space()
ALL = SearchSpace(
    tuple(
        Dimension.on(spec, LIMITS, spec.default_value() if spec.default_value() is not None else 384)
        for spec in tuned_params()
    )
)
places = st.lists(st.floats(0, 1), min_size=len(ALL.dimensions), max_size=len(ALL.dimensions))


@given(places)
def test_every_place_is_a_configuration_that_the_table_allows(place: list[float]) -> None:
    point = ALL.from_unit(place)
    for dimension in ALL.dimensions:
        value = dimension.spec.parse(dimension.spec.format(point[dimension.name]))
        assert dimension.spec.problem(value, LIMITS) is None
    assert ALL.point_of(ALL.render(point)) == point


@given(places)
def test_a_points_own_place_leads_back_to_it(place: list[float]) -> None:
    point = ALL.from_unit(place)
    assert ALL.from_unit(ALL.to_unit(point)) == point


@given(st.floats(-1e6, 1e6))
def test_values_outside_are_brought_inside(value: float) -> None:
    for dimension in SPACE.dimensions:
        if not dimension.choices:
            assert dimension.low <= float(dimension.clamp(value)) <= dimension.high


def test_a_missing_property_has_its_default_and_an_old_value_is_moved_onto_the_space() -> None:
    point = SPACE.point_of({"spark.executor.memory": "1023m"})
    assert point["spark.executor.memory"] == 1024
    assert point["spark.executor.cores"] == 1


def test_memory_is_always_written_with_its_unit() -> None:
    text = SPACE.render(SPACE.point_of({}))
    assert text["spark.executor.memory"] == "1024m"
    assert text["spark.sql.adaptive.advisoryPartitionSizeInBytes"] == "64m"


def test_the_hash_changes_with_bounds_and_with_dimensions() -> None:
    narrow = space("spark.executor.cores")
    (cores,) = narrow.dimensions
    other = SearchSpace((Dimension(cores.spec, cores.low, cores.high + 1, cores.default),))
    assert len({SPACE.hash, narrow.hash, other.hash}) == 3
    assert narrow.hash == space("spark.executor.cores").hash


def test_a_space_of_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="every property is pinned"):
        SearchSpace(())
    cores = Dimension.on(PARAMS["spark.executor.cores"], LIMITS, 1)
    with pytest.raises(InputError, match="stands twice"):
        SearchSpace((cores, cores))


def test_models_see_that_two_by_one_is_nearly_one_by_two() -> None:
    names = ("spark.executor.instances", "spark.executor.cores")
    small = space(*names)

    def slots(instances: int, cores: int) -> float:
        return small.features(dict(zip(names, (instances, cores), strict=True)))[-1]

    assert slots(2, 1) == slots(1, 2) < slots(2, 2) == slots(1, 4)
