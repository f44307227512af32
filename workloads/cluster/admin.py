"""``yarn rmadmin`` for an embedded cluster: what a file store's queues are refreshed with."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from tuner.errors import ClusterError
from tuner.settings import Settings
from workloads.cluster import daemons
from workloads.cluster.jars import ensure_jars, pyspark_home
from workloads.cluster.java import Java
from workloads.cluster.spec import RunningCluster

ADMIN_TIMEOUT_S = 60.0


def rmadmin(cluster: RunningCluster, settings: Settings, arguments: Sequence[str]) -> None:
    """Runs ``yarn rmadmin ARGUMENTS`` against the cluster, for example ``["-refreshQueues"]``.

    Args:
        cluster: a running one.
        settings: names the cache of jars.
        arguments: as ``yarn rmadmin`` takes them.

    Raises:
        ClusterError: the ResourceManager refused (the message is its own, for example that a capacity sum is wrong,
            or that its store is mutable and has to be changed over REST), or did not answer within a minute.
    """
    java = Java(cluster.java_home, cluster.java_home / "bin" / "java")
    jars = daemons.class_path(ensure_jars(settings), pyspark_home() / "jars")
    command = daemons.command(daemons.RM_ADMIN, java, jars, cluster.hadoop_conf_dir, options=("-Dlog4j2.level=error",))
    try:
        result = subprocess.run(
            [*command, *arguments],
            env=daemons.client_environment(java),
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=ADMIN_TIMEOUT_S,
        )
    except subprocess.TimeoutExpired:
        raise ClusterError(
            f"rmadmin {' '.join(arguments)} took more than {ADMIN_TIMEOUT_S:.0f} s", "see `yarntune cluster status`"
        ) from None
    if result.returncode != 0:
        lines = [line.strip() for line in (result.stdout + result.stderr).splitlines() if line.strip()]
        said = next((line for line in lines if "Exception" in line or "refresh" in line.lower()), "it said nothing")
        raise ClusterError(f"rmadmin {' '.join(arguments)} failed: {said[:500]}")
