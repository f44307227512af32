from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.tuner.spark.sparkjvm import RealSubmit, SparkJvm


@pytest.fixture(scope="session")
def spark_jvm() -> Iterator[SparkJvm]:
    """One JVM with Spark's classes for the whole run."""
    jvm = SparkJvm()
    yield jvm
    jvm.close()


@pytest.fixture(scope="session")
def real_submit(spark_jvm: SparkJvm) -> RealSubmit:
    """The real parsers of spark-submit."""
    return RealSubmit(spark_jvm)
