"""``yarn rmadmin -refreshQueues``: Hadoop has no REST call for it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tuner.errors import YarntuneError
from tuner.settings import Settings
from tuner.yarn.locate import Target
from tuner.yarn.model import Applied, Rejected, Unknown

if TYPE_CHECKING:
    from workloads.cluster.spec import RunningCluster

__all__ = ["REFRESH_TIMEOUT_S", "Refresh", "find_refresh"]

Refresh = Callable[[], Applied | Rejected | Unknown]
"""Lets the ResourceManager read its queues' file again. It may be said again without harm."""

REFRESH_TIMEOUT_S = 120.0


def find_refresh(target: Target, settings: Settings, environ: Mapping[str, str] | None = None) -> Refresh | None:
    """The way to refresh the queues of a cluster; None where Hadoop's ``yarn`` command is not on this machine.

    Args:
        target: the cluster; an embedded one needs no ``yarn`` command.
        settings: name the folder of embedded clusters.
        environ: PATH, HADOOP_HOME and HADOOP_YARN_HOME; the process's own where it is not given.
    """
    env = os.environ if environ is None else environ
    embedded = _embedded(target, settings)
    if embedded is not None:
        return embedded
    yarn = _yarn_command(env)
    if yarn is None or target.hadoop_conf_dir is None:
        return None
    return lambda: run_refresh([yarn], {**env, "HADOOP_CONF_DIR": str(target.hadoop_conf_dir)})


def _embedded(target: Target, settings: Settings) -> Refresh | None:
    """Of an embedded cluster, known by its folder of configuration."""
    from workloads.cluster.layout import Layout

    for record in sorted((settings.state_dir / "clusters").glob("*/cluster.json")):
        cluster = Layout.of(settings, record.parent.name).read()
        if cluster is None or target.hadoop_conf_dir is None:
            continue
        if cluster.hadoop_conf_dir.resolve() == target.hadoop_conf_dir.resolve():
            return partial(_refresh_embedded, cluster, settings)
    return None


def _refresh_embedded(cluster: RunningCluster, settings: Settings) -> Applied | Rejected:
    from workloads.cluster.admin import rmadmin

    try:
        rmadmin(cluster, settings, ["-refreshQueues"])
    except YarntuneError as error:
        return Rejected(error.message, error.hint, 0)
    return Applied()


def _yarn_command(env: Mapping[str, str]) -> str | None:
    homes = (env[name] for name in ("HADOOP_YARN_HOME", "HADOOP_HOME") if env.get(name))
    for home in homes:
        candidate = Path(home) / "bin" / "yarn"
        if os.access(candidate, os.X_OK):
            return str(candidate)
    return shutil.which("yarn", path=env.get("PATH"))


def run_refresh(
    yarn: list[str], env: Mapping[str, str], timeout_s: float = REFRESH_TIMEOUT_S
) -> Applied | Rejected | Unknown:
    """Runs ``yarn rmadmin -refreshQueues``.

    Args:
        yarn: the command.
        env: its environment.
        timeout_s: after which it is ended, and nobody knows.
    """
    try:
        done = subprocess.run(
            [*yarn, "rmadmin", "-refreshQueues"],
            env=dict(env),
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=timeout_s,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        return Unknown(f"yarn rmadmin -refreshQueues took more than {timeout_s:g} s")
    except OSError as error:
        return Rejected(f"{yarn[0]} cannot be run: {error.strerror or error}", "look at HADOOP_HOME and PATH", 0)
    if done.returncode == 0:
        return Applied()
    lines = [line.strip() for line in (done.stderr + done.stdout).splitlines() if line.strip()]
    said = next((line for line in lines if "Exception" in line or line.startswith("refreshQueues:")), "")
    return Rejected((said or (lines or ["it said nothing"])[-1])[:500], "", done.returncode)
