"""What the tests of the wrapper on a real YARN share."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil
import pytest

from tuner.settings import Settings
from tuner.store import Run, RunState, open_store
from workloads.cluster.shell import environment
from workloads.cluster.spec import RunningCluster


def environ_of(cluster: RunningCluster, home: Path, **more: str) -> dict[str, str]:
    """The environment of a user with a store of their own on the cluster."""
    own = {
        "YARNTUNE_DATA_DIR": str(home / "data"),
        "YARNTUNE_STATE_DIR": str(home / "state"),
        "YARNTUNE_RM_URL": cluster.rm_url,
    }
    return {**os.environ, **environment(cluster), **own, **more}


def submitted(environ: Mapping[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    """One call of yarntune-submit, to its end; arguments are those of spark-submit."""
    command = [sys.executable, "-m", "tuner.submit", "--master", "yarn", *arguments]
    return subprocess.run(command, env=dict(environ), capture_output=True, text=True, timeout=800, check=False)


def called(environ: Mapping[str, str], *arguments: str) -> str:
    """What a command of yarntune prints."""
    command = [sys.executable, "-m", "tuner.cli", *arguments]
    done = subprocess.run(command, env=dict(environ), capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def ended_runs(environ: Mapping[str, str], number: int) -> Sequence[Run]:
    """The runs in the store, oldest first, once so many are there and their recorders have written their ends."""
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        with open_store(Settings.from_environment(environ)) as store:
            runs = store.runs.list()
        if len(runs) >= number and all(run.state is not RunState.RUNNING for run in runs):
            assert len(runs) == number, "a run that nobody asked for"
            return list(reversed(runs))
        time.sleep(0.5)
    pytest.fail(f"{number} runs were not recorded to their end")


def end(process: subprocess.Popen[bytes]) -> None:
    """Ends a spark-submit that runs in the background, with what it started."""
    children = psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
    for each in (*children, process):
        try:
            each.kill()
        except psutil.NoSuchProcess:
            continue
    process.wait(30)
