"""Which line of a failing application's output is shown."""

from __future__ import annotations

import pytest

from tuner.spark.failure_line import cause_of, telling_line

WARN = "26/01/31 12:00:00 WARN Utils: Your hostname resolves to a loopback address"
INFO = "26/01/31 12:00:01 INFO ShutdownHookManager: Deleting directory /tmp/spark-1"
JAVA = """
Exception in thread "main" org.apache.spark.SparkException: Application application_1_1 finished with failed status
\tat org.apache.spark.deploy.yarn.Client.run(Client.scala:1)
Caused by: java.net.ConnectException: Connection refused
\tat sun.nio.ch.Net.pollConnect(Native Method)
\t... 12 more
""".splitlines()
PY4J = """
Traceback (most recent call last):
  File "job.py", line 3, in <module>
    spark.read.parquet("/nowhere").count()
py4j.protocol.Py4JJavaError: An error occurred while calling o46.count.
: org.apache.spark.SparkException: Job aborted due to stage failure
\tat org.apache.spark.scheduler.DAGScheduler.abortStage(DAGScheduler.scala:1)
Caused by: java.io.FileNotFoundException: /nowhere does not exist
\t... 3 more
""".splitlines()
PYTHON = ["Traceback (most recent call last):", '  File "job.py", line 1', "ValueError: no such column: day"]


@pytest.mark.parametrize(
    ("output", "log", "expected"),
    [
        ([], [WARN, *JAVA, INFO], "java.net.ConnectException: Connection refused"),
        (PYTHON, [WARN, INFO], "ValueError: no such column: day"),
        (PY4J, [WARN, INFO], "java.io.FileNotFoundException: /nowhere does not exist"),
        ([], ["Error: Missing application resource.", WARN, INFO], "Error: Missing application resource."),
        ([], [WARN, "26/01/31 12:00:02 ERROR SparkContext: Error initializing", INFO],
         "26/01/31 12:00:02 ERROR SparkContext: Error initializing"),
        ([], ["java: command not found", "2026-01-31T12:00:00 INFO X: y"], "java: command not found"),
        (["last words"], [], "last words"),
        ([], [], "it printed nothing"),
    ],
    ids=["java", "python", "py4j", "usage", "logged", "shell", "output", "nothing"],
)  # fmt: skip
def test_the_line_that_says_why(output: list[str], log: list[str], expected: str) -> None:
    assert telling_line(output, log) == expected


def test_a_later_exception_takes_the_place_of_an_earlier_cause() -> None:
    later = "java.lang.IllegalStateException: Cannot call methods on a stopped SparkContext"
    assert telling_line([], [*JAVA, later]) == later


def test_diagnostics_name_their_innermost_cause() -> None:
    diagnostics = "User class threw exception: a.B: outer\n\tat x\nCaused by: c.D: middle\nCaused by: e.F: inner\n"
    assert cause_of(diagnostics) == "e.F: inner"
    assert cause_of("\nApplication was killed by user alice.\nmore") == "Application was killed by user alice."
    assert cause_of("") == ""
