"""An embedded cluster with a case's nodes, queues and heartbeats."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

from tuner.errors import InputError
from tuner.settings import Settings
from tuner.yarn.locate import Target
from workloads.cluster import archives, daemons, lifecycle
from workloads.cluster.config import hadoop_xml
from workloads.cluster.jars import ensure_jars, pyspark_home
from workloads.cluster.java import find_java
from workloads.cluster.spec import ClusterSpec, RunningCluster
from workloads.trace import Case

__all__ = ["case_cluster", "target_of"]

MOST_NODES: Final = 16
_CAPACITY: Final = "yarn.scheduler.capacity."
_LEAST_HEARTBEAT_MS: Final = 20


@contextmanager
def case_cluster(
    case: Case, settings: Settings, *, name: str | None = None, note: Callable[[str], None] = lambda _: None
) -> Iterator[RunningCluster]:
    """Starts a cluster as the case describes it, and ends it with all that it kept.

    Args:
        case: at most 16 equal nodes, each of which is a JVM of 200 MiB.
        settings: for the state folder.
        name: of the cluster; one with this process's number where it is not given.
        note: told what is going on.

    Raises:
        InputError: the nodes are too many, or of several sizes.
        ClusterError: it does not start.
    """
    sizes = set(case.nodes)
    if len(sizes) > 1:
        raise InputError("the case has nodes of several sizes; an embedded cluster has equal ones")
    if len(case.nodes) > MOST_NODES:
        raise InputError(
            f"the case has {len(case.nodes)} nodes; each is a JVM here, and {MOST_NODES} are the most",
            "make a case with fewer nodes, or reduce it --by tasks",
        )
    (node,) = sizes
    conf = {key: value for key, value in case.conf.items() if value is not None}
    queues = case.allocations
    if case.scheduler == "capacity":
        queues = hadoop_xml({key: value for key, value in conf.items() if key.startswith(_CAPACITY)})
    spec = ClusterSpec(
        name=name or f"replay-{os.getpid()}",
        nodes=len(case.nodes),
        node_memory_mib=node.memory_mib,
        node_vcores=node.vcores,
        scheduler=case.scheduler,
        queues=queues,
    )
    heartbeat_ms = max(_LEAST_HEARTBEAT_MS, round(case.node_heartbeat_s * 1000))
    java = find_java()
    jars = daemons.class_path(ensure_jars(settings, note=note), pyspark_home() / "jars")
    tuning = archives.tuning(settings, java, jars, pyspark_home())
    own = {key: value for key, value in conf.items() if not key.startswith(_CAPACITY)}
    own["yarn.resourcemanager.nodemanagers.heartbeat-interval-ms"] = str(heartbeat_ms)
    tuning = replace(tuning, yarn_properties={**tuning.yarn_properties, **own})
    try:
        yield lifecycle.start(spec, settings, note=note, tuning=tuning)
    finally:
        lifecycle.stop(spec.name, settings, purge=True)


def target_of(cluster: RunningCluster) -> Target:
    """The cluster as :func:`tuner.yarn.locate.locate` would find it."""
    return Target(
        rm_urls=(cluster.rm_url,),
        hadoop_conf_dir=cluster.hadoop_conf_dir,
        spark_conf_dir=cluster.spark_conf_dir,
        event_log_dir=cluster.event_log_dir,
        source=f"the embedded cluster {cluster.spec.name}",
    )
