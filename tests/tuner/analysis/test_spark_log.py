"""What this Spark itself writes about failures, so that the phrases that are looked for are its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tuner.analysis.made import found
from tuner.analysis import Analysis, analyze
from tuner.spark.eventlog import read_log

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def analysis(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    folder = tmp_path_factory.mktemp("troubles")
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("SPARK_", "HADOOP_"))}
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("run_spark.py")), str(folder)],
        env=environment | {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    logs = [path for path in folder.iterdir() if not path.name.startswith(".")]
    if done.returncode or len(logs) != 1:
        pytest.fail(f"Spark ended with {done.returncode} and {len(logs)} logs:\n{done.stderr[-3000:]}")
    return analyze(read_log(logs[0]))


def test_results(analysis: Analysis) -> None:
    """G1-18: 20 results of 1 MiB with a limit of 4 MiB fail after 4 tasks."""
    (finding,) = found(analysis, "result-size")
    assert finding.seen.numbers["limit_mib"] == 4
    assert finding.seen.numbers["tasks"] == 4
    assert {change.name for change in finding.seen.changes} == {"spark.driver.maxResultSize", "spark.driver.memory"}


def test_python_worker_that_was_killed(analysis: Analysis) -> None:
    assert "python-crash" in {finding.seen.numbers["kind"] for finding in found(analysis, "memory-failures")}


def test_python_out_of_memory(analysis: Analysis) -> None:
    assert "python-memory" in {finding.seen.numbers["kind"] for finding in found(analysis, "memory-failures")}


def test_skew(analysis: Analysis) -> None:
    (finding,) = found(analysis, "skew")
    assert finding.seen.numbers["longest_s"] >= 20  # type: ignore[operator]
    assert finding.seen.changes == ()
