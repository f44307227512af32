"""What the user fixes is checked before the first run."""

from __future__ import annotations

import pytest

from tuner.errors import InputError
from tuner.model.limits import ClusterLimits
from tuner.services.pins import check_names, check_values, feasibility_note
from tuner.spark.params import NEWEST

LIMITS = ClusterLimits(
    max_container_memory_mib=8192,
    min_allocation_mib=1024,
    increment_mib=1024,
    max_container_vcores=8,
    total_memory_mib=8192,
    total_vcores=8,
    nodes=1,
    queue_max_memory_mib=None,
    queue_max_vcores=None,
    counts_vcores=True,
)


def checked(pins: dict[str, str], defaults: dict[str, str] | None = None) -> str:
    conf = {**(defaults or {}), **pins}
    check_names(pins)
    check_values(conf, pins, NEWEST)
    return feasibility_note(conf, pins, LIMITS, python=False, cluster_mode=False, version=NEWEST)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("spark.executor.cores", "0", "0 cores cannot run a task"),
        ("spark.executor.cores", "-1", "-1 cores cannot run a task"),
        ("spark.executor.cores", "many", "'many' is not a whole number"),
        ("spark.executor.cores", "100", "needs 100 vcores, the largest has 8"),
        ("spark.executor.memory", "4", "has no unit"),
        ("spark.executor.memory", "64g", "needs 72089 MiB .*the largest has 8192 MiB"),
        ("spark.memory.fraction", "2", "not between 0 and 1"),
        ("spark.master", "local", "spark.master cannot be pinned: it is always yarn"),
        ("spark.yarn.queue", "etl", "use --queue"),
    ],
)
def test_what_cannot_be_run_is_refused(name: str, value: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        checked({name: value})


def test_what_can_be_run_is_accepted() -> None:
    assert checked({"spark.executor.cores": "2", "spark.executor.memory": "2g", "spark.some.thing": "x"}) == ""


def test_a_misspelt_name_is_told_and_a_foreign_one_is_not() -> None:
    assert check_names({"spark.executor.memry": "2g"}) == [
        "spark.executor.memry is no property that Spark documents; did you mean spark.executor.memory?"
    ]
    assert check_names({"spark.hadoop.fs.s3a.endpoint": "x", "spark.myapp.mode": "y"}) == []


def test_a_default_that_does_not_fit_side_by_side_is_told() -> None:
    assert "room for 1 of the 2 executors" in checked({}, {"spark.executor.memory": "4g"})


def test_the_users_own_settings_are_sparks_business() -> None:
    """A bare number works in most places today, so a job that runs with it must not be refused for it."""
    assert checked({}, {"spark.executor.memory": "1024"}) == ""
