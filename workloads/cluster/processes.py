"""The operating system's side: start daemons, know them again, and end them and what they left.

A process is known by its pid and its start time, so a recycled pid is never taken for ours. What the daemons' children
left (YARN containers run in sessions of their own and outlive a killed NodeManager) carries the cluster's folder in
the environment variable that :mod:`workloads.cluster.config` hands on to every container.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import psutil

from workloads.cluster.config import MARKER_VARIABLE
from workloads.cluster.spec import ProcessRecord

TERMINATE_TIMEOUT_S = 5.0
KILL_TIMEOUT_S = 5.0
# psutil derives the start from the boot time, which moves a little when the clock is set.
_START_TIME_TOLERANCE_S = 2.0
_SPARK_SUBMIT = "org.apache.spark.deploy.SparkSubmit"


def spawn(command: Sequence[str], environment: Mapping[str, str], folder: Path, output: Path) -> psutil.Process:
    """Starts a daemon in a session of its own, so that Ctrl-C in the terminal does not reach it.

    Args:
        command: the program and its arguments.
        environment: its whole environment.
        folder: its working directory.
        output: the file that takes what it prints.

    Returns:
        The process; it is a child of this one until this one ends, and is not waited for.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    # Not subprocess.Popen: that warns of a child which outlives it, which is the very purpose here.
    pid = os.posix_spawn(
        "/bin/sh",
        ["sh", "-c", 'cd "$0" && exec "$@"', str(folder), *command],
        dict(environment),
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(output), flags, 0o644),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        setsid=True,
    )
    return psutil.Process(pid)


def find(record: ProcessRecord) -> psutil.Process | None:
    """The process of a record, if it still runs and is the same one."""
    try:
        process = psutil.Process(record.pid)
        same = abs(process.create_time() - record.start_time) < _START_TIME_TOLERANCE_S
        return process if same and process.status() != psutil.STATUS_ZOMBIE else None
    except psutil.NoSuchProcess:
        return None


def end(processes: Iterable[psutil.Process]) -> int:
    """Ends processes: asks, waits up to 5 s, then kills. Returns how many there were to end."""
    remaining = [process for process in processes if process.is_running()]
    count = len(remaining)
    for terminate, timeout_s in ((True, TERMINATE_TIMEOUT_S), (False, KILL_TIMEOUT_S)):
        for process in remaining:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.terminate() if terminate else process.kill()
        _, remaining = psutil.wait_procs(remaining, timeout=timeout_s)
    return count


def marked(folder: Path) -> list[psutil.Process]:
    """Every process that is a daemon or a container of the cluster in this folder, or a descendant of one."""
    own = {MARKER_VARIABLE: str(folder)}
    found = {process.pid: process for process in psutil.process_iter() if _has(process, own)}
    for process in list(found.values()):
        with contextlib.suppress(psutil.NoSuchProcess):
            found.update({child.pid: child for child in process.children(recursive=True)})
    # A program inside a container may itself be `yarntune cluster down`.
    for process in (psutil.Process(), *psutil.Process().parents()):
        found.pop(process.pid, None)
    return list(found.values())


def orphaned_drivers(hadoop_conf_dir: Path) -> list[psutil.Process]:
    """Spark drivers of this cluster whose starter is gone, with their children; those still watched are left alone."""
    found: dict[int, psutil.Process] = {}
    for process in psutil.process_iter():
        try:
            if process.ppid() != 1 or _SPARK_SUBMIT not in process.cmdline():
                continue
            environment = process.environ()
            if str(hadoop_conf_dir) in (environment.get("HADOOP_CONF_DIR"), environment.get("YARN_CONF_DIR")):
                found.update({each.pid: each for each in (process, *process.children(recursive=True))})
        except psutil.Error:
            continue
    return list(found.values())


def _has(process: psutil.Process, variables: Mapping[str, str]) -> bool:
    try:
        environment = process.environ()
    except (psutil.Error, OSError):
        # Another user's process, or one that has just ended: neither is ours.
        return False
    return all(environment.get(name) == value for name, value in variables.items())
