"""``yarntune-submit`` around a real spark-submit on a real YARN."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tuner.model.advice import Advice, Candidate
from tuner.settings import Settings
from tuner.spark.identity import named_job_key
from tuner.store import Run, RunKind, RunState, open_store
from tuner.yarn.auth import SimpleAuth
from tuner.yarn.client import ResourceManagerClient
from tuner.yarn.model import ACTIVE_STATES
from workloads.cluster.shell import environment
from workloads.cluster.spec import RunningCluster

pytestmark = [pytest.mark.cluster, pytest.mark.slow]

PROGRAM = """
import sys, time
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
assert spark.sparkContext.parallelize(range(8), 2).sum() == 28
print("heap", spark.conf.get("spark.executor.memory", "unset"), flush=True)
time.sleep(float(sys.argv[1]))
spark.stop()
"""
SMALL = {"spark.executor.memory": "640m", "spark.executor.memoryOverhead": "384m", "spark.executor.instances": "1"}


@pytest.fixture
def environ(yarn_cluster: RunningCluster, tmp_path: Path) -> dict[str, str]:
    own = {
        "YARNTUNE_DATA_DIR": str(tmp_path / "data"),
        "YARNTUNE_STATE_DIR": str(tmp_path / "state"),
        "YARNTUNE_RM_URL": yarn_cluster.rm_url,
        "YARNTUNE_JOB": "nightly",
    }
    (tmp_path / "job.py").write_text(PROGRAM)
    with open_store(Settings.from_environment(own)) as store:
        candidate = Candidate(SMALL, 1024, 1024, 1, 1, {1: 20.0}, 1, "best")
        store.advice.put(named_job_key("nightly"), Advice("", 0.0, 0.05, (candidate,), "from tests").to_json(), now=0.0)
    return {**os.environ, **environment(yarn_cluster), **own}


def recorded(environ: dict[str, str]) -> Run:
    """The one run in the store, once its recorder has written its end."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        with open_store(Settings.from_environment(environ)) as store:
            runs = store.runs.list()
        if runs and runs[0].state is not RunState.RUNNING:
            assert len(runs) == 1
            return runs[0]
        time.sleep(0.5)
    pytest.fail("the run was not recorded to its end")


def command(tmp_path: Path, *options: str, seconds: str = "0") -> list[str]:
    return [sys.executable, "-m", "tuner.submit", "--master", "yarn", *options, str(tmp_path / "job.py"), seconds]


def test_a_run_is_submitted_with_what_is_advised_and_recorded(environ: dict[str, str], tmp_path: Path) -> None:
    done = subprocess.run(
        command(tmp_path), env=environ, capture_output=True, text=True, timeout=300, check=False
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "heap 640m" in done.stdout
    assert "job nightly: sets 3 properties" in done.stderr
    run = recorded(environ)
    assert (run.state, run.kind) == (RunState.SUCCEEDED, RunKind.PRODUCTION)
    assert run.application_id is not None
    assert run.load is not None
    assert run.load["total_memory_mib"] == 16384
    assert run.configuration["spark.executor.memory"] == "640m"
    assert run.memory_seconds is not None
    assert run.memory_seconds > 0
    assert run.wait_s is not None
    with open_store(Settings.from_environment(environ)) as store:
        document = store.advice.get(named_job_key("nightly"))
    assert document is not None
    assert Advice.from_json(document).candidates[0].runs == 2, "the run is learnt from"


def test_ending_the_wrapper_ends_a_driver_on_the_cluster(
    environ: dict[str, str], tmp_path: Path, yarn_cluster: RunningCluster
) -> None:
    """Else a scheduler that retries would have the job twice."""
    process = subprocess.Popen(
        command(tmp_path, "--deploy-mode", "cluster", seconds="600"),
        env=environ,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    with ResourceManagerClient(yarn_cluster.rm_url, SimpleAuth("tester"), 10) as client:
        deadline = time.monotonic() + 180
        mine: list[str] = []
        while not mine and time.monotonic() < deadline:
            time.sleep(0.5)
            with open_store(Settings.from_environment(environ)) as store:
                mine = [run.application_id for run in store.runs.list() if run.application_id]
        assert mine, "the application's id is in the store while it runs"
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=120)
        assert f"yarntune: kills {mine[0]}" in said
        application = client.application(mine[0])
        assert application is not None
        assert application.state not in ACTIVE_STATES
    assert process.returncode not in (0, None)
    assert recorded(environ).state is RunState.KILLED
