"""The table of properties, held against the Spark that is installed."""

from __future__ import annotations

import pytest

from tests.tuner.spark.sparkjvm import SparkJvm
from tuner.model.limits import ClusterLimits
from tuner.spark.names import OLD_NAMES
from tuner.spark.params import NEWEST, PARAMS, ParamSpec, Value, parse_version

LIMITS = ClusterLimits(
    max_container_memory_mib=8192,
    min_allocation_mib=1024,
    increment_mib=1024,
    max_container_vcores=8,
    total_memory_mib=32768,
    total_vcores=32,
    nodes=4,
)

# Spark leaves these undefined and has a number in its YARN back end instead.
YARN_BACKEND = {"spark.executor.instances": "2", "spark.scheduler.minRegisteredResourcesRatio": "0.8"}

ALL = pytest.mark.parametrize("spec", PARAMS.values(), ids=PARAMS.keys())


def spark_default(spark_jvm: SparkJvm, name: str) -> str | None:
    text = str(spark_jvm.entry(name).defaultValueString())
    if text.startswith("<value of "):
        return spark_default(spark_jvm, text.removeprefix("<value of ").removesuffix(">"))
    return None if text == "<undefined>" else text


def samples(spec: ParamSpec) -> list[Value]:
    if spec.kind == "bool":
        return [True, False]
    if spec.kind == "choice":
        return list(spec.choices)
    bounds = spec.range_on(LIMITS)
    assert bounds is not None, f"{spec.name} has no bounds"
    whole = spec.kind in ("int", "memory")
    values: list[Value] = [int(v) if whole else v for v in (bounds.low, bounds.high)]
    return values + ([int(spec.off)] if spec.off is not None else [])


def test_the_table_was_held_against_this_spark() -> None:
    import pyspark

    assert parse_version(pyspark.__version__) == NEWEST


@ALL
def test_default_is_sparks(spark_jvm: SparkJvm, spec: ParamSpec) -> None:
    real = spark_default(spark_jvm, spec.name)
    if spec.name in YARN_BACKEND:
        assert real is None
        assert spec.default == YARN_BACKEND[spec.name]
    elif spec.name == "spark.dynamicAllocation.initialExecutors":
        # Spark falls back on minExecutors, whatever that is; a default of our own would hide it.
        assert spec.default is None
        assert real == PARAMS["spark.dynamicAllocation.minExecutors"].default
    elif real is None:
        assert spec.default is None
    else:
        assert spec.default_value() == spec.parse(real)


@ALL
def test_first_version_is_sparks(spark_jvm: SparkJvm, spec: ParamSpec) -> None:
    assert spec.since == max((3, 0), parse_version(spark_jvm.entry(spec.name).version()))


@ALL
def test_spark_reads_what_is_written(spark_jvm: SparkJvm, spec: ParamSpec) -> None:
    entry = spark_jvm.entry(spec.name)
    for value in samples(spec):
        text = spec.format(value)
        assert spec.parse(text) == value
        try:
            spark_jvm.conf({spec.name: text}).get(entry)  # Py4JJavaError where Spark refuses it
        except ValueError:
            assert spec.name == "spark.task.cpus"  # Spark read it; py4j cannot carry its BigDecimal to Python


@pytest.mark.parametrize("spec", [s for s in PARAMS.values() if s.bare_unit], ids=lambda s: s.name)
def test_bare_numbers_have_sparks_unit(spark_jvm: SparkJvm, spec: ParamSpec) -> None:
    entry = spark_jvm.entry(spec.name)
    number = "1073741824" if spec.bare_unit == "b" else "6000"
    bare = spark_jvm.conf({spec.name: number}).get(entry)
    named = spark_jvm.conf({spec.name: f"{number}{spec.bare_unit}"}).get(entry)
    assert getattr(bare, "get", lambda: bare)() == getattr(named, "get", lambda: named)()


def test_old_names_are_sparks(spark_jvm: SparkJvm) -> None:
    conf_object = spark_jvm.scala_object("org.apache.spark.SparkConf")
    table = spark_jvm.field(conf_object, "allAlternatives")
    real = {}
    iterator = table.iterator()
    while iterator.hasNext():
        pair = iterator.next()
        real[pair._1()] = pair._2()._1()
    ours = {old.name: new for new, olds in OLD_NAMES.items() for old in olds}
    assert ours.items() <= real.items()
    missing = {old: new for old, new in real.items() if new in PARAMS and old not in ours}
    assert not missing


@pytest.mark.parametrize("name", sorted(n for n in OLD_NAMES if n in PARAMS))
def test_old_name_gives_sparks_value(spark_jvm: SparkJvm, name: str) -> None:
    from tuner.spark.params import read_value

    entry = spark_jvm.entry(name)
    for old in OLD_NAMES[name]:
        text = "true" if PARAMS[name].kind == "bool" else "128"
        real = spark_jvm.conf({old.name: text}).get(entry)
        ours = read_value({old.name: text}, name)
        assert str(getattr(real, "get", lambda real=real: real)()).lower() == str(ours).lower()
        both = spark_jvm.conf({old.name: text, name: "false" if text == "true" else "256m"}).get(entry)
        newer = read_value({old.name: text, name: "false" if text == "true" else "256m"}, name)
        expected = newer if PARAMS[name].unit != "k" else int(str(newer))
        assert str(getattr(both, "get", lambda both=both: both)()).lower() == str(expected).lower()
