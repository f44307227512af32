from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.tuner.spark.sparkjvm import SparkJvm


@pytest.fixture(scope="session")
def spark_jvm() -> Iterator[SparkJvm]:
    """One JVM with Spark's classes for the whole run."""
    jvm = SparkJvm()
    yield jvm
    jvm.close()
