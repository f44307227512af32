"""``yarntune scheduler daemon`` as a process: it outlives a cluster that is not there, and ends cleanly on SIGTERM."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

COMMAND = [sys.executable, "-c", "from tuner.cli import main; main()", "scheduler", "daemon", "--look-every", "1"]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Of a machine without a cluster."""
    kept = {name: value for name, value in os.environ.items() if name not in ("HADOOP_CONF_DIR", "YARN_CONF_DIR")}
    return kept | {
        "YARNTUNE_DATA_DIR": str(tmp_path / "data"),
        "YARNTUNE_STATE_DIR": str(tmp_path / "state"),
        "YARNTUNE_RM_URL": "http://127.0.0.1:9",
        "YARNTUNE_RM_TIMEOUT": "1",
    }


@pytest.fixture
def daemon(environment: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(COMMAND, env=environment, stderr=subprocess.PIPE, text=True)
    yield process
    if process.poll() is None:
        process.kill()
    process.communicate()


def line(process: subprocess.Popen[str]) -> str:
    assert process.stderr is not None
    return process.stderr.readline().rstrip("\n")


def test_it_survives_that_there_is_no_cluster_and_ends_on_sigterm(daemon: subprocess.Popen[str]) -> None:
    assert line(daemon) == "every 900 s, looking for events every 1 s; SIGTERM ends it"
    assert line(daemon).startswith("run failed: ")
    assert line(daemon).startswith("look failed: "), "it goes on after a fault"
    assert daemon.poll() is None
    daemon.send_signal(signal.SIGTERM)
    _, rest = daemon.communicate(timeout=60)
    assert rest == "ended\n", "each fault is told once"
    assert daemon.returncode == 0


def test_a_policy_that_cannot_be_read_is_an_error_at_the_start(environment: dict[str, str], tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("mode: perhaps\n")
    result = subprocess.run(
        [*COMMAND, "--policy", str(policy)], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert result.returncode == 1
    assert result.stderr.startswith(f"error: {policy}")
