"""Only our own processes are ever found and ended."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from workloads.cluster import processes
from workloads.cluster.config import MARKER_VARIABLE
from workloads.cluster.spec import ProcessRecord


@pytest.fixture
def foreign() -> Iterator[psutil.Process]:
    """A process that has nothing to do with any cluster."""
    with subprocess.Popen(["sleep", "600"]) as child:
        yield psutil.Process(child.pid)
        child.kill()


def record_of(process: psutil.Process, *, later_s: float = 0.0) -> ProcessRecord:
    return ProcessRecord("resourcemanager", process.pid, process.create_time() - later_s, "log")


def spawn(folder: Path, *command: str, marker: str) -> psutil.Process:
    return processes.spawn(command, {**os.environ, MARKER_VARIABLE: marker}, folder, folder / "out")


def test_a_recycled_pid_is_not_ours(foreign: psutil.Process) -> None:
    assert processes.find(record_of(foreign)) == foreign
    assert processes.find(record_of(foreign, later_s=60.0)) is None


def test_a_process_that_ended_is_not_found_even_before_it_is_waited_for(tmp_path: Path) -> None:
    process = spawn(tmp_path, "sleep", "600", marker="x")
    record = record_of(process)
    assert processes.find(record) is not None
    os.kill(process.pid, 9)
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert process.status() == psutil.STATUS_ZOMBIE
    assert processes.find(record) is None
    process.wait()


def test_daemons_have_a_session_and_a_folder_of_their_own(tmp_path: Path) -> None:
    folder = tmp_path / "mit Lücke"
    folder.mkdir()
    process = spawn(
        folder, sys.executable, "-c", "import os; print(os.getcwd(), os.getsid(0) == os.getpid())", marker="x"
    )
    process.wait(60)
    assert (folder / "out").read_text(encoding="utf-8").strip() == f"{folder} True"


def test_what_containers_left_is_told_from_everything_else(tmp_path: Path, foreign: psutil.Process) -> None:
    left = spawn(tmp_path, "sh", "-c", "env -i sleep 600; :", marker=str(tmp_path))
    other = spawn(tmp_path, "sleep", "600", marker=f"{tmp_path}2")
    try:
        while not left.children():
            assert left.is_running()
        (hidden,) = left.children()
        assert {process.pid for process in processes.marked(tmp_path)} == {left.pid, hidden.pid}
        assert processes.end(processes.marked(tmp_path)) == 2
        assert not hidden.is_running()
        assert other.is_running()
        assert foreign.is_running()
    finally:
        processes.end([other])


def test_a_process_that_will_not_end_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "TERMINATE_TIMEOUT_S", 0.2)
    stubborn = spawn(tmp_path, "sh", "-c", "trap '' TERM; echo ready; while :; do sleep 600; done", marker="x")
    while "ready" not in (tmp_path / "out").read_text():
        assert stubborn.is_running()
    children = stubborn.children(recursive=True)
    assert processes.end([stubborn]) == 1
    assert not stubborn.is_running()
    processes.end(children)
