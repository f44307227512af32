"""Old names and secrets."""

from __future__ import annotations

import pytest

from tuner.spark.eventlog import lookup, mask
from tuner.spark.eventlog.properties import MASKED, OLDER_NAMES

NEW, OLD = "spark.executor.memoryOverhead", "spark.yarn.executor.memoryOverhead"


@pytest.mark.parametrize(
    ("properties", "expected"),
    [({OLD: "777"}, "777"), ({OLD: "777", NEW: "888"}, "888"), ({NEW: "888"}, "888"), ({}, None)],
)
def test_the_present_name_wins(properties: dict[str, str], expected: str | None) -> None:
    assert lookup(properties, NEW) == expected


def test_the_one_old_name_with_a_unit_of_its_own() -> None:
    assert lookup({"spark.kryoserializer.buffer.mb": "0.5"}, "spark.kryoserializer.buffer") == "500k"
    assert lookup({"spark.kryoserializer.buffer.mb": "x"}, "spark.kryoserializer.buffer") == "x"


def test_no_name_is_its_own_older_one() -> None:
    for name, older in OLDER_NAMES.items():
        assert older
        assert name not in older


@pytest.mark.parametrize(
    ("key", "value", "hidden"),
    [
        ("spark.hadoop.fs.s3a.secret.key", "abc", True),
        ("spark.hadoop.fs.s3a.access.key", "abc", True),
        ("spark.hadoop.fs.azure.accessKey", "abc", True),
        ("spark.ssl.keyPassword", "abc", True),
        ("spark.my.TOKEN", "abc", True),
        ("spark.driver.extraJavaOptions", "-Djavax.net.ssl.keyStorePassword=abc", True),
        ("spark.executor.memory", "4g", False),
        ("spark.hadoop.fs.s3a.endpoint", "https://host", False),
    ],
)
def test_secrets_are_masked(key: str, value: str, hidden: bool) -> None:
    assert mask({key: value}) == {key: MASKED if hidden else value}
