from __future__ import annotations

import pytest

from tests.tuner.spark.sparkjvm import SparkJvm
from tuner.spark.redaction import DEFAULT_PATTERN, REDACTED, mask_arguments, mask_conf

SECRETS = {
    "spark.hadoop.fs.s3a.secret.key": "abc",
    "spark.my.PASSWORD": "abc",
    "spark.ssl.keyPassword": "abc",
    "spark.hadoop.fs.s3a.access.key": "abc",
    "spark.executor.extraJavaOptions": "-Dmy.token=abc",
}


def test_the_pattern_is_sparks(spark_jvm: SparkJvm) -> None:
    assert spark_jvm.entry("spark.redaction.regex").defaultValueString() == DEFAULT_PATTERN
    package = spark_jvm.scala_object("org.apache.spark.util.Utils")
    assert package.REDACTION_REPLACEMENT_TEXT() == REDACTED


def test_conf() -> None:
    plain = {"spark.executor.memory": "1g", "spark.app.name": "keys"}
    assert mask_conf(plain | SECRETS) == plain | dict.fromkeys(SECRETS, REDACTED)


@pytest.mark.parametrize(
    ("own", "hidden"),
    [
        ("(?i)salary", {"spark.my.SALARY", "spark.my.password"}),
        ("salary", {"spark.my.password"}),
        ("(unclosed", {"spark.my.SALARY", "spark.my.password", "spark.x", "spark.redaction.regex"}),
    ],
)
def test_the_users_own_pattern(own: str, hidden: set[str]) -> None:
    conf = {"spark.my.SALARY": "1", "spark.my.password": "1", "spark.x": "1", "spark.redaction.regex": own}
    masked = mask_conf(conf)
    expected = hidden | ({"spark.redaction.regex"} if "salary" in own else set())
    assert {name for name, value in masked.items() if value == REDACTED} == expected


@pytest.mark.parametrize(
    ("tokens", "shown"),
    [
        (["app.py", "--day", "2026-01-31"], ["app.py", "--day", "2026-01-31"]),
        (["--password", "x", "in"], ["--password", REDACTED, "in"]),
        (["--password=x"], [f"--password={REDACTED}"]),
        (["--conf", "spark.my.password=a=b"], ["--conf", f"spark.my.password={REDACTED}"]),
        (["--conf=spark.my.password=a=b"], [f"--conf=spark.my.password={REDACTED}"]),
        (["--use-token", "--verbose", "x"], ["--use-token", "--verbose", "x"]),
        (["jdbc:x?user=a&password=b"], [f"jdbc:x?user={REDACTED}"]),
        (["mysecret"], [REDACTED]),
    ],
)
def test_arguments(tokens: list[str], shown: list[str]) -> None:
    assert mask_arguments(tokens) == tuple(shown)
