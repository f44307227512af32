"""The grammar and the precedence of spark-submit, held against its own parsers and one real process."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pyspark
import pytest
from hypothesis import HealthCheck, given, settings
from py4j.protocol import Py4JJavaError

from tests.tuner.spark.sparkjvm import RealSubmit, SparkJvm
from tests.tuner.spark.test_argv import changes, command_lines
from tuner.errors import InputError
from tuner.spark.argv import _MIXED_CLASSES, OPTIONS, effective, parse, rewrite

FIELDS = {
    "executorMemory": "spark.executor.memory",
    "driverMemory": "spark.driver.memory",
    "numExecutors": "spark.executor.instances",
}


def test_the_options_are_sparks(spark_jvm: SparkJvm) -> None:
    parser = spark_jvm.jvm.java.lang.Class.forName("org.apache.spark.launcher.SparkSubmitOptionParser")
    constructor = parser.getDeclaredConstructors()[0]
    constructor.setAccessible(True)
    instance = constructor.newInstance(spark_jvm.gateway.new_array(spark_jvm.jvm.java.lang.Object, 0))
    for field, takes_value in (("opts", True), ("switches", False)):
        real = {tuple(spellings) for spellings in spark_jvm.field(instance, field)}
        ours = {(o.name, o.alias) if o.alias else (o.name,) for o in OPTIONS if o.takes_value is takes_value}
        assert ours == real


def test_classes_with_mixed_arguments_are_the_launchers(spark_jvm: SparkJvm) -> None:
    builder = spark_jvm.jvm.java.lang.Class.forName("org.apache.spark.launcher.SparkSubmitCommandBuilder")
    field = builder.getDeclaredField("specialClasses")
    field.setAccessible(True)
    assert set(field.get(None)) == _MIXED_CLASSES


def test_help_names_no_option_that_is_not_in_the_table(tmp_path: Path) -> None:
    program = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    output = subprocess.run([program, "--help"], capture_output=True, text=True, timeout=120, check=True)
    named = set(re.findall(r"(?:^|\s)(--?[a-z][a-z-]*)", output.stderr + output.stdout))
    assert "--executor-memory" in named
    assert named <= {spelling for option in OPTIONS for spelling in (option.name, option.alias)}


def real_settings(real_submit: RealSubmit, tokens: list[str]) -> dict[str, str]:
    """What Spark on YARN takes for the properties that the test's command lines set."""
    parsed = real_submit.parse(tokens)
    found = {k: v for k, v in real_submit.properties(parsed).items() if k == "spark.x"}
    values = {name: getattr(parsed, field)() for field, name in FIELDS.items()}
    return found | {name: str(value) for name, value in values.items() if value is not None}


CASES = [
    ["--executor-memory", "6g", "--conf", "spark.executor.memory=5g"],
    ["--conf", "spark.executor.memory=5g", "--executor-memory", "6g"],
    ["--conf", "spark.executor.memory=3g", "-c", "spark.executor.memory=5g"],
    ["--driver-memory", "2g", "--conf", "spark.driver.memory=3g"],
    ["--conf", "spark.driver.memory=3g", "--driver-memory", "2g"],
    ["--num-executors", "3", "--conf=spark.executor.instances=5", "--conf=spark.x=a=b"],
    ["--num-executors=3", "--num-executors=4", "-v", "--verbose=1", "--supervise"],
]


@pytest.mark.parametrize("head", CASES)
def test_what_wins_is_what_wins_in_spark(real_submit: RealSubmit, head: list[str]) -> None:
    """G1-13."""
    tokens = ["--master", "yarn", *head, "app.py"]
    wanted = {"spark.master", *FIELDS.values(), "spark.x"}
    ours = {name: value for name, value in effective(parse(tokens)).items() if name in wanted}
    assert ours == real_settings(real_submit, tokens) | {"spark.master": "yarn"}


@pytest.mark.parametrize("head", CASES)
def test_spark_takes_an_overriding_configuration(real_submit: RealSubmit, head: list[str]) -> None:
    wanted = {
        "spark.executor.memory": "7g",
        "spark.driver.memory": "8g",
        "spark.executor.instances": "9",
        "spark.x": "new",
    }
    result = rewrite(parse(["--master", "yarn", *head, "app.py", "--conf", "x=y"]), wanted, override=True)
    assert real_settings(real_submit, list(result.arguments.render())) == wanted


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(line=command_lines, wanted=changes)
def test_application_and_arguments_are_where_spark_finds_them(
    real_submit: RealSubmit, line: tuple[list[str], str, list[str]], wanted: dict[str, str]
) -> None:
    head, application, own = line
    tokens = [*head, application or "app.py", *own]
    arguments = rewrite(parse(tokens), wanted).arguments
    handed_on = real_submit.launcher(list(arguments.render()))
    assert handed_on[len(handed_on) - len(own) - 1 :] == [arguments.application, *own]


def test_of_repeated_lists_of_files_one_is_kept(real_submit: RealSubmit) -> None:
    """G1-13: without an error."""
    tokens = ["--master", "yarn", "--files", "a.txt", "--files=b.txt", "--py-files", "a.zip", "--py-files", "b.zip"]
    real = real_submit.parse([*tokens, "app.py"])
    ours = parse([*tokens, "app.py"])
    assert str(real.files()).endswith("/b.txt")
    assert str(real.pyFiles()).endswith("/b.zip")
    assert (ours.value("--files"), ours.value("--py-files")) == ("b.txt", "b.zip")


REFUSED = [
    ["--nonsense", "app.py"],
    ["--nonsense=3", "app.py"],
    ["--name=", "app.py"],
    ["--master", "yarn", "--name"],
    ["--conf", "spark.x", "app.py"],
    ["--name=a\nb", "app.py"],
    ["-", "app.py"],
]


@pytest.mark.parametrize("tokens", REFUSED)
def test_what_spark_refuses_is_refused(real_submit: RealSubmit, tokens: list[str]) -> None:
    with pytest.raises(Py4JJavaError):
        real_submit.launcher(tokens)
    with pytest.raises(InputError):
        parse(tokens)


def test_a_real_spark_submit_agrees(tmp_path: Path) -> None:
    """G1-13 and G1-15, by a process."""
    tokens = ["--master", "yarn", "--executor-memory=6g", "-c", "spark.executor.memory=5g", "--queue", "root.etl"]
    own = ["--conf", "spark.executor.memory=9g", "a b", "--", "x"]
    wanted = {"spark.executor.cores": "3", "spark.executor.memory": "4g", "spark.driver.memory": "700m"}
    result = rewrite(parse([*tokens, str(tmp_path / "nowhere.py"), *own]), wanted, override=True)
    program = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    head = ["--verbose"]
    run = subprocess.run(
        [program, *head, *result.arguments.render()],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=os.environ | {"HADOOP_CONF_DIR": str(tmp_path), "SPARK_CONF_DIR": str(tmp_path)},
    )
    said = dict(re.findall(r"^  (\w+) +(.*)$", run.stdout + run.stderr, re.MULTILINE))
    assert said["executorMemory"] == "4g"
    assert said["executorCores"] == "3"
    assert said["driverMemory"] == "700m"
    assert said["queue"] == "root.etl"
    assert said["childArgs"] == "[--conf spark.executor.memory=9g a b -- x]"
