from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.tuner.spark.sparkjvm import SparkJvm
from tuner.errors import InputError
from tuner.spark.properties import parse_properties, render_properties

# Texts made of what the syntax is made of.
syntax = st.text(
    st.one_of(st.sampled_from("\\=:#! \t\f\r\nab\x00\x1c"), st.sampled_from("\\=:\n é√😀"), st.sampled_from("un")),
    max_size=25,
)
UTF8 = st.text(st.characters(codec="utf-8"), max_size=12)


def real_properties(spark_jvm: SparkJvm, path: Path) -> dict[str, str]:
    utils = spark_jvm.scala_object("org.apache.spark.util.Utils")
    found = utils.getPropertiesFromFile(str(path))
    java_map = spark_jvm.jvm.scala.jdk.javaapi.CollectionConverters.asJava(found)
    return {str(key): str(java_map.get(key)) for key in list(java_map.keySet())}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("spark.a 1\nspark.b=2\nspark.c:3\n", {"spark.a": "1", "spark.b": "2", "spark.c": "3"}),
        ("  spark.a \t =  1  \r\nspark.b\t2", {"spark.a": "1", "spark.b": "2"}),
        ("# spark.a 1\n! spark.b 2\n\n   # spark.c 3\n", {}),
        ("spark.a one \\\n   two\\\n # three", {"spark.a": "one two# three"}),
        ("# no \\\nspark.a 1", {"spark.a": "1"}),
        ("spark.a\\ b\\=c 1\\t2\\\\", {"spark.a b=c": "1\t2\\"}),
        ("spark.a \\u00e9\\ud83d\\ude00", {"spark.a": "é😀"}),
        ("spark.a 1\nspark.a 2", {"spark.a": "2"}),
        ("spark.a", {"spark.a": ""}),
        ("spark.a == 1", {"spark.a": "= 1"}),
        ("spark.opts -Dx=1 -Dy=2", {"spark.opts": "-Dx=1 -Dy=2"}),
        ("spark.a 1\\", {"spark.a": "1"}),
        ("", {}),
    ],
)
def test_syntax(spark_jvm: SparkJvm, tmp_path: Path, text: str, expected: dict[str, str]) -> None:
    path = tmp_path / "x.conf"
    path.write_bytes(text.encode())
    assert parse_properties(text) == expected == real_properties(spark_jvm, path)


def test_a_bad_escape_names_file_and_line() -> None:
    with pytest.raises(InputError, match=r"x\.conf, line 3: .u must be followed"):
        parse_properties("# one\nspark.a 1\nspark.b C:\\users\n", where="x.conf")


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=syntax)
@example(text="a\\\n\\\n b")
@example(text="a\\\r\n\n b=c")
@example(text="a \\\n# b\nc")
@example(text="\\\n#")
@example(text="\\\n")
@example(text="\\")
def test_java_reads_the_same(spark_jvm: SparkJvm, tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.conf"
    path.write_bytes(text.encode())
    try:
        ours = parse_properties(text)
    except InputError:
        with pytest.raises(Exception, match=r"IllegalArgument|Malformed|Failed when loading"):
            real_properties(spark_jvm, path)
        return
    real = real_properties(spark_jvm, path)
    # Whether a lone backslash at the very end makes an empty key depends on Java's buffer; Spark drops that key anyway.
    ours.pop("", None)
    real.pop("", None)
    assert ours == real


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(conf=st.dictionaries(UTF8.map(lambda k: f"spark.{k}"), UTF8.map(lambda v: f"<{v}>"), max_size=4), comment=UTF8)
def test_spark_reads_what_is_written(spark_jvm: SparkJvm, tmp_path: Path, conf: dict[str, str], comment: str) -> None:
    text = render_properties(conf, comment=comment)
    path = tmp_path / "x.conf"
    path.write_bytes(text.encode())
    assert parse_properties(text) == conf == real_properties(spark_jvm, path)


def test_units_are_always_written() -> None:
    text = render_properties(
        {
            "spark.executor.memory": "4096",
            "spark.memory.offHeap.size": "1073741824",
            "spark.locality.wait": "500",
            "spark.executor.cores": "4",
            "spark.sql.autoBroadcastJoinThreshold": "-1",
            "spark.app.name": "2026",
        },
        comment="Tuned\nby hand",
    )
    assert text == (
        "# Tuned\n"
        "# by hand\n"
        "spark.app.name=2026\n"
        "spark.executor.cores=4\n"
        "spark.executor.memory=4096m\n"
        "spark.locality.wait=500ms\n"
        "spark.memory.offHeap.size=1073741824b\n"
        "spark.sql.autoBroadcastJoinThreshold=-1\n"
    )
