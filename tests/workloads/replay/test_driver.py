"""The JVM of a live replay: built once, its early end is an error, and it needs a compiler."""

from __future__ import annotations

import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from tuner.errors import InputError, MissingToolError, YarntuneError
from tuner.settings import Settings
from workloads.cluster.java import Java, find_java
from workloads.replay.driver import Driver, build
from workloads.replay.embedded import case_cluster
from workloads.trace import Case, Node

pytestmark = pytest.mark.cluster


def test_it_is_compiled_once(cluster_settings: Settings) -> None:
    folder = build(cluster_settings, find_java())
    assert (folder / "yarntune" / "replay" / "Replay.class").is_file()
    before = folder.stat().st_mtime_ns
    assert build(cluster_settings, find_java()) == folder
    assert folder.stat().st_mtime_ns == before


def test_a_java_without_compiler_is_said(cluster_settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    java = tmp_path / "bin" / "java"
    java.write_text("#!/bin/sh\n")
    java.chmod(stat.S_IRWXU)
    with pytest.raises(MissingToolError, match="no javac"):
        build(replace(cluster_settings, cache_dir=tmp_path / "cache"), Java(tmp_path, java))


def test_an_early_end_is_an_error_with_its_words(cluster_settings: Settings, tmp_path: Path) -> None:
    with (
        Driver({"jobs": []}, cluster_settings, tmp_path) as driver,
        pytest.raises(YarntuneError, match=r"ended early: .*Exception"),
    ):
        driver.event(timeout_s=60)


def test_closing_ends_the_jvm(cluster_settings: Settings, tmp_path: Path) -> None:
    plan = {"jobs": [], "threads": 1, "listen": "127.0.0.1", "tag": "t", "runner": "true", "am_heartbeat_ms": 100}
    waiting = {**plan, "jobs": [{"id": "j", "user": "u", "queue": "q", "submit": 1e6, "am_memory": 1, "tasks": []}]}
    with Driver(waiting, cluster_settings, tmp_path) as driver:
        event = driver.event(timeout_s=60)
        assert event is not None
        assert event["event"] == "ready"
        pid = driver._process.pid
        os.kill(pid, 0)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_cluster_of_a_case_has_equal_and_few_nodes(cluster_settings: Settings) -> None:
    for nodes, words in (((Node(8192, 8), Node(4096, 8)), "several sizes"), ((Node(8192, 8),) * 17, "17 nodes")):
        with pytest.raises(InputError, match=words), case_cluster(Case(nodes, ()), cluster_settings):
            pass
