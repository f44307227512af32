"""The table of Spark's properties that matter for speed and memory on YARN: one row each, in one place.

Adding a property is adding a row to one of the modules of this package; the search space, the checks, the container
model and ``docs/parameters.md`` follow from it.
"""

from __future__ import annotations

from collections.abc import Mapping

from tuner.spark.names import lookup
from tuner.spark.params.allocation import DYNAMIC_ALLOCATION
from tuner.spark.params.engine import MEMORY, PYTHON, SCHEDULING, SERIALISATION, SHUFFLE
from tuner.spark.params.resources import EXECUTORS_AND_DRIVER
from tuner.spark.params.spec import (
    NEWEST,
    Bound,
    Kind,
    ParamSpec,
    Range,
    Requirement,
    SparkVersion,
    Value,
    parse_version,
)
from tuner.spark.params.sql import ADAPTIVE, SQL

__all__ = [
    "GROUPS",
    "NEWEST",
    "PARAMS",
    "Bound",
    "Kind",
    "ParamSpec",
    "Range",
    "Requirement",
    "SparkVersion",
    "Value",
    "core_params",
    "has_effect",
    "param",
    "parse_version",
    "read_bool",
    "read_number",
    "read_value",
    "tuned_params",
]

_CONFIGURATION = "https://spark.apache.org/docs/latest/configuration.html"
_SQL_TUNING = "https://spark.apache.org/docs/latest/sql-performance-tuning.html"

GROUPS: dict[str, tuple[str, str]] = {
    "executors": ("Executors", f"{_CONFIGURATION}#application-properties"),
    "driver": ("Driver and application master", f"{_CONFIGURATION}#application-properties"),
    "allocation": ("Allocation of executors", f"{_CONFIGURATION}#dynamic-allocation"),
    "memory": ("Memory inside an executor", f"{_CONFIGURATION}#memory-management"),
    "python": ("Python", "https://spark.apache.org/docs/latest/api/python/tutorial/sql/arrow_pandas.html"),
    "shuffle": ("Shuffle", f"{_CONFIGURATION}#shuffle-behavior"),
    "serialisation": ("Serialisation, compression, broadcast", f"{_CONFIGURATION}#compression-and-serialization"),
    "scheduling": ("Scheduling of tasks", f"{_CONFIGURATION}#scheduling"),
    "sql": ("Spark SQL", f"{_SQL_TUNING}#tuning-partitions"),
    "adaptive": ("Adaptive query execution", f"{_SQL_TUNING}#adaptive-query-execution"),
}
"""Groups in the order of the documentation: key -> (title, address)."""

PARAMS: dict[str, ParamSpec] = {
    spec.name: spec
    for spec in (
        *EXECUTORS_AND_DRIVER,
        *DYNAMIC_ALLOCATION,
        *MEMORY,
        *PYTHON,
        *SHUFFLE,
        *SERIALISATION,
        *SCHEDULING,
        *SQL,
        *ADAPTIVE,
    )
}
"""Every row by its name."""


def param(name: str) -> ParamSpec:
    """The row of a property.

    Raises:
        KeyError: for a property that the table does not have.
    """
    return PARAMS[name]


def tuned_params(version: SparkVersion = NEWEST) -> tuple[ParamSpec, ...]:
    """The rows that a search may change, in that version of Spark."""
    return tuple(spec for spec in PARAMS.values() if spec.tuned and spec.exists_in(version))


def core_params(version: SparkVersion = NEWEST) -> tuple[ParamSpec, ...]:
    """The few of them that a first tuning should start with."""
    return tuple(spec for spec in tuned_params(version) if spec.core)


def read_value(conf: Mapping[str, str], name: str, version: SparkVersion = NEWEST) -> Value | None:
    """What Spark would take for a property, old names and defaults included.

    Args:
        conf: the configuration as text, for example of an event log.
        name: a name in the table.
        version: the version of Spark, for its default. A property that it does not know yet counts with its default.

    Returns:
        As :meth:`ParamSpec.parse`; None where it is not set and Spark has no fixed default.

    Raises:
        InputError: where Spark would refuse the value.
    """
    spec = PARAMS[name]
    text = lookup(conf, name) if spec.exists_in(version) else None
    return spec.default_value(version) if text is None else spec.parse(text)


def read_number(conf: Mapping[str, str], name: str, version: SparkVersion = NEWEST) -> float:
    """:func:`read_value` of a property that is a number and has a default."""
    value = read_value(conf, name, version)
    assert isinstance(value, (int, float)), name
    return value


def read_bool(conf: Mapping[str, str], name: str, version: SparkVersion = NEWEST) -> bool:
    """:func:`read_value` of a property that is true or false."""
    value = read_value(conf, name, version)
    assert isinstance(value, bool), name
    return value


def has_effect(spec: ParamSpec, conf: Mapping[str, str], version: SparkVersion = NEWEST) -> bool:
    """Whether setting the property changes anything: the version knows it and all that it depends on holds."""
    return spec.exists_in(version) and all(
        read_value(conf, needed.name, version) == PARAMS[needed.name].parse(needed.value) for needed in spec.requires
    )
