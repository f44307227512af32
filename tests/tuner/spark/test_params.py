from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.errors import InputError
from tuner.model.limits import ClusterLimits
from tuner.spark.names import canonical, canonical_name, lookup
from tuner.spark.params import (
    GROUPS,
    PARAMS,
    ParamSpec,
    Value,
    core_params,
    has_effect,
    param,
    parse_version,
    read_value,
    tuned_params,
)
from tuner.spark.params.docs import render

CORE = {
    "spark.executor.instances",
    "spark.executor.cores",
    "spark.executor.memory",
    "spark.executor.memoryOverhead",
    "spark.sql.shuffle.partitions",
    "spark.memory.fraction",
    "spark.serializer",
    "spark.sql.adaptive.advisoryPartitionSizeInBytes",
    "spark.driver.memory",
}


def limits(largest: int = 8192, *, total: int = 32768, queue: int | None = None, vcores: int = 8) -> ClusterLimits:
    return ClusterLimits(largest, 1024, 1024, vcores, total, 32, 4, queue)


def test_the_page_is_in_step_with_the_table() -> None:
    page = Path(__file__).parents[3] / "docs" / "parameters.md"
    assert page.read_text() == render(), "run: python -m tuner.spark.params > docs/parameters.md"


def test_the_table_is_whole() -> None:
    assert len(PARAMS) >= 35
    assert {spec.name for spec in core_params()} == CORE
    for spec in PARAMS.values():
        assert spec.group in GROUPS
        assert all(needed.name in PARAMS for needed in spec.requires)
        assert (spec.kind == "choice") == bool(spec.choices)
        assert (spec.kind == "memory") == bool(spec.unit)
        if spec.choices:
            assert spec.default in spec.choices


@pytest.mark.parametrize("largest", [900, 1024, 4096, 65536])
@pytest.mark.parametrize("spec", tuned_params(), ids=lambda s: s.name)
def test_bounds_hold_on_every_cluster(spec: ParamSpec, largest: int) -> None:
    at = limits(largest, total=4 * largest)
    bounds = spec.range_on(at)
    if bounds is None:
        assert spec.kind in ("bool", "choice")
        return
    assert bounds.low <= bounds.high
    assert spec.problem(int(bounds.high) if spec.kind == "memory" else bounds.high, at) is None


def test_bounds_follow_the_cluster() -> None:
    heap = param("spark.executor.memory").range_on(limits(8192))
    assert heap is not None
    assert heap.high == 7448  # 7448 + int(744.8) = 8192
    few = param("spark.executor.instances").range_on(limits(queue=4096))
    assert few is not None
    assert few.high == 4
    cores = param("spark.executor.cores").range_on(limits(vcores=6))
    assert cores is not None
    assert cores.high == 6


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("spark.executor.memory", 9000),
        ("spark.executor.memory", 100),
        ("spark.executor.memory", 1024.5),
        ("spark.executor.memory", "1g"),
        ("spark.executor.instances", 0),
        ("spark.executor.instances", True),
        ("spark.memory.fraction", 1.2),
        ("spark.serializer", "Kryo"),
        ("spark.speculation", "true"),
    ],
)
def test_what_a_sampler_must_not_suggest(name: str, value: Value) -> None:
    problem = param(name).problem(value, limits())
    assert problem is not None
    assert name in problem


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("spark.executor.memory", "4096", 4096),
        ("spark.executor.memory", "4G", 4096),
        ("spark.executor.memory", "1t", 1048576),
        ("spark.executor.memory", "1500000k", 1464),
        ("spark.shuffle.file.buffer", "1m", 1024),
        ("spark.memory.offHeap.size", "2147483648", 2048),
        ("spark.sql.autoBroadcastJoinThreshold", "-1", -1),
        ("spark.sql.autoBroadcastJoinThreshold", "20971520", 20),
        ("spark.driver.maxResultSize", "0", 0),
        ("spark.locality.wait", "500", 0.5),
        ("spark.dynamicAllocation.executorIdleTimeout", "90", 90.0),
        ("spark.speculation", "TRUE", True),
    ],
)
def test_values_are_read_as_spark_reads_them(name: str, text: str, value: Value) -> None:
    assert param(name).parse(text) == value


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("spark.executor.memory", 4096, "4096m"),
        ("spark.shuffle.file.buffer", 64, "64k"),
        ("spark.sql.autoBroadcastJoinThreshold", -1, "-1"),
        ("spark.locality.wait", 0.5, "500ms"),
        ("spark.locality.wait", 3.0, "3s"),
        ("spark.memory.fraction", 0.6000000000000001, "0.6"),
        ("spark.speculation", False, "false"),
    ],
)
def test_values_are_written_with_their_unit(name: str, value: Value, text: str) -> None:
    assert param(name).format(value) == text


@given(st.sampled_from([s for s in PARAMS.values() if s.kind == "memory"]), st.integers(1, 10_000_000))
def test_memory_survives_writing_and_reading(spec: ParamSpec, value: int) -> None:
    assert spec.parse(spec.format(value)) == value


def test_a_bad_value_names_its_property() -> None:
    with pytest.raises(InputError, match=r"spark\.executor\.memory: the size '63\.75g' has a fraction"):
        param("spark.executor.memory").parse("63.75g")
    with pytest.raises(InputError, match=r"spark\.executor\.cores: 'two'"):
        param("spark.executor.cores").parse("two")


@pytest.mark.parametrize(
    ("name", "version", "default"),
    [
        ("spark.sql.adaptive.enabled", (3, 1), False),
        ("spark.sql.adaptive.enabled", (3, 2), True),
        ("spark.speculation.multiplier", (3, 5), 1.5),
        ("spark.speculation.multiplier", (4, 0), 3.0),
        ("spark.rdd.compress", (4, 2), False),
        ("spark.rdd.compress", (4, 3), True),
        ("spark.dynamicAllocation.shuffleTracking.enabled", (3, 3), False),
        ("spark.dynamicAllocation.shuffleTracking.enabled", (3, 4), True),
    ],
)
def test_defaults_changed_between_versions(name: str, version: tuple[int, int], default: Value) -> None:
    assert read_value({}, name, version) == default


def test_tuned_params_are_those_that_the_version_knows() -> None:
    name = "spark.sql.adaptive.coalescePartitions.parallelismFirst"
    assert name not in {spec.name for spec in tuned_params((3, 1))}
    assert name in {spec.name for spec in tuned_params((3, 2))}


def test_has_effect_follows_what_a_property_depends_on() -> None:
    size = param("spark.memory.offHeap.size")
    assert not has_effect(size, {})
    assert has_effect(size, {"spark.memory.offHeap.enabled": "true"})
    assert has_effect(size, {"spark.unsafe.offHeap": "true"})
    advisory = param("spark.sql.adaptive.advisoryPartitionSizeInBytes")
    assert has_effect(advisory, {})
    assert not has_effect(advisory, {}, (3, 1))  # off by default then


class TestOldNames:
    """G1-11."""

    OLD = "spark.yarn.executor.memoryOverhead"
    NEW = "spark.executor.memoryOverhead"

    def test_alone(self) -> None:
        assert lookup({self.OLD: "777"}, self.NEW) == "777"
        assert canonical({self.OLD: "777", "spark.x": "y"}) == {"spark.x": "y", self.NEW: "777"}

    def test_the_new_name_holds_where_both_are_set(self) -> None:
        both = {self.OLD: "777", self.NEW: "888"}
        assert lookup(both, self.NEW) == "888"
        assert canonical(both) == {self.NEW: "888"}

    def test_names(self) -> None:
        assert canonical_name(self.OLD) == self.NEW
        assert canonical_name("spark.executor.memory") == "spark.executor.memory"

    def test_a_unit_in_the_old_name_is_kept(self) -> None:
        assert canonical({"spark.reducer.maxMbInFlight": "24"}) == {"spark.reducer.maxSizeInFlight": "24m"}


def test_versions() -> None:
    assert parse_version("3.5.6") == (3, 5)
    assert parse_version("4.1.0-preview1") == (4, 1)
    with pytest.raises(InputError):
        parse_version("latest")
