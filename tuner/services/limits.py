"""What the cluster allows, asked from the ResourceManager."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from tuner.errors import ClusterError, InputError
from tuner.model.limits import ClusterLimits
from tuner.yarn.client import ResourceManagerClient
from tuner.yarn.errors import YarnError
from tuner.yarn.hadoopconf import HadoopConf, read_hadoop_conf
from tuner.yarn.model import NotMutable, QueueInfo, Resource, SchedulerInfo

_CALCULATOR = "yarn.scheduler.capacity.resource-calculator"
_MINIMUM = "yarn.scheduler.minimum-allocation-mb"
# Newest name first; FairSchedulerConfiguration reads them in this order.
_FAIR_INCREMENTS = ("yarn.resource-types.memory-mb.increment-allocation", "yarn.scheduler.increment-allocation-mb")
_DEFAULT_MINIMUM_MIB = 1024
_DEFAULT_FAIR_INCREMENT_MIB = 1024


def read_limits(client: ResourceManagerClient, queue: str, hadoop_conf_dir: Path | None) -> ClusterLimits:
    """The limits for an application in a queue.

    Args:
        client: the ResourceManager.
        queue: the queue's full path, or a leaf's name.
        hadoop_conf_dir: where yarn-site.xml and capacity-scheduler.xml are looked for when the ResourceManager
            does not show its configuration (that takes an administrator where ACLs are on).

    Raises:
        ClusterError: the cluster has no running node.
        InputError: there is no such queue.
    """
    nodes = [node for node in client.nodes() if node.state == "RUNNING"]
    if not nodes:
        raise ClusterError(
            "the cluster has no NodeManager that runs, so nothing can be started on it",
            "look at its nodes: yarn node -list -all, or yarntune cluster status for an embedded cluster",
        )
    scheduler = client.scheduler()
    found = _queue(scheduler, queue)
    largest = client.maximum_allocation(queue)
    conf = _configuration(client, hadoop_conf_dir)
    minimum = _mib(conf, _MINIMUM, _DEFAULT_MINIMUM_MIB)
    increment = minimum or 1
    if scheduler.kind == "fair":
        texts = [conf[name] for name in _FAIR_INCREMENTS if name in conf]
        increment = _first_mib(texts, _DEFAULT_FAIR_INCREMENT_MIB)
    maximum = found.maximum or Resource(0, 0)
    return ClusterLimits(
        max_container_memory_mib=min(largest.memory_mib, max(node.total.memory_mib for node in nodes)),
        min_allocation_mib=minimum,
        increment_mib=increment,
        max_container_vcores=max(1, min(largest.vcores, max(node.total.vcores for node in nodes))),
        total_memory_mib=sum(node.total.memory_mib for node in nodes),
        total_vcores=sum(node.total.vcores for node in nodes),
        nodes=len(nodes),
        queue_max_memory_mib=maximum.memory_mib or None,
        queue_max_vcores=maximum.vcores or None,
        counts_vcores=_counts_vcores(client, scheduler, found, hadoop_conf_dir),
    )


def _queue(scheduler: SchedulerInfo, name: str) -> QueueInfo:
    found = scheduler.queue(name)
    leaves = sorted(queue.path for queue in scheduler.root.walk() if queue.leaf)
    if found is None:
        raise InputError(f"there is no queue {name!r}, or several leaves of that name", f"queues: {', '.join(leaves)}")
    if not found.leaf:
        raise InputError(f"{name!r} is a parent queue, which takes no applications", f"queues: {', '.join(leaves)}")
    return found


def _configuration(client: ResourceManagerClient, hadoop_conf_dir: Path | None) -> Mapping[str, str]:
    try:
        return client.configuration()
    except YarnError:
        files = _read_files(hadoop_conf_dir, "yarn-site.xml")
        values = {name: files.get(name) for name in (_MINIMUM, *_FAIR_INCREMENTS)}
        return {name: value for name, value in values.items() if value}


def _read_files(hadoop_conf_dir: Path | None, name: str) -> HadoopConf:
    return read_hadoop_conf([hadoop_conf_dir / name] if hadoop_conf_dir else [], os.environ)


def _counts_vcores(
    client: ResourceManagerClient, scheduler: SchedulerInfo, queue: QueueInfo, hadoop_conf_dir: Path | None
) -> bool:
    if scheduler.kind == "fair":
        return queue.fair is not None and queue.fair.scheduling_policy.lower() == "drf"
    if scheduler.kind == "fifo":
        return False
    try:
        conf = client.scheduler_conf()
        if not isinstance(conf, NotMutable):
            return "Dominant" in conf.properties.get(_CALCULATOR, "")
    except YarnError:
        pass
    return "Dominant" in (_read_files(hadoop_conf_dir, "capacity-scheduler.xml").get(_CALCULATOR) or "")


def _mib(conf: Mapping[str, str], name: str, default: int) -> int:
    return _first_mib([conf[name]] if name in conf else [], default)


def _first_mib(texts: list[str], default: int) -> int:
    for text in texts:
        number = text.strip().lower().removesuffix("mi").removesuffix("mb").removesuffix("m").strip()
        if number.isdigit() and int(number) > 0:
            return int(number)
    return default
