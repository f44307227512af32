"""Fixtures that every test may use."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import hypothesis
import pytest

from tuner.settings import Settings
from workloads.cluster.lifecycle import start, stop
from workloads.cluster.spec import ClusterSpec, RunningCluster

ROOT = Path(__file__).resolve().parent.parent

# How long an example takes is a matter of what else the machine does.
hypothesis.settings.register_profile("any-load", deadline=None)
hypothesis.settings.load_profile("any-load")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Traces, event logs, queue files and REST bodies of real systems, which are not part of the project."""
    folder = Path(os.environ.get("YARNTUNE_TEST_DATA") or ROOT.parent / "shared" / "data")
    if folder.is_dir():
        return folder
    reason = f"the real-world test data is not at {folder}; set YARNTUNE_TEST_DATA to where it is"
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture
def yarntune_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data and a state folder of the test's own; the cache of jars stays shared."""
    monkeypatch.setenv("YARNTUNE_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("YARNTUNE_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.delenv("YARNTUNE_DATABASE_URL", raising=False)
    monkeypatch.delenv("YARNTUNE_RM_URL", raising=False)
    monkeypatch.delenv("HADOOP_CONF_DIR", raising=False)
    monkeypatch.delenv("YARN_CONF_DIR", raising=False)
    return tmp_path


@pytest.fixture(scope="session")
def cluster_settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Settings with a state folder of the test run's own; skips where no cluster can run."""
    if not (os.environ.get("JAVA_HOME") or shutil.which("java")):
        reason = "the embedded cluster needs a JDK 17 or newer: apt-get install openjdk-17-jdk-headless"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    return replace(Settings.from_environment(), state_dir=tmp_path_factory.mktemp("state"))


@pytest.fixture(scope="session")
def yarn_cluster(cluster_settings: Settings) -> Iterator[RunningCluster]:
    """A real YARN for the whole run: 2 nodes of 8192 MiB and 8 vcores, Capacity Scheduler, store `memory`.

    It is shared: a test that changes the queues puts them back. `workloads.cluster.shell.environment(cluster)` has
    the variables for spark-submit.
    """
    spec = ClusterSpec(name="shared", nodes=2, node_memory_mib=8192, node_vcores=8)
    yield start(spec, cluster_settings)
    stop(spec.name, cluster_settings, purge=True)
