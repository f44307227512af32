"""Asks the ResourceManager how busy it is."""

from __future__ import annotations

from tuner.model.load import Load
from tuner.yarn.client import ResourceManagerClient
from tuner.yarn.errors import YarnError
from tuner.yarn.model import ClusterMetrics, QueueInfo

MOST_NODES = 100
"""Of more nodes the list is long, and that a container fits on none although there is room in all is rare."""


def read_load(client: ResourceManagerClient, queue: str) -> Load | None:
    """The load that an application submitted to a queue now would meet.

    Returns:
        None where the ResourceManager does not say: not knowing the load never costs a run.
    """
    try:
        metrics = client.metrics()
        found = client.scheduler().queue(queue)
        nodes = _free_on_nodes(client, metrics)
    except YarnError:
        return None
    memory_mib, vcores = _free(found)
    return Load(
        available_memory_mib=metrics.available.memory_mib,
        total_memory_mib=metrics.total.memory_mib,
        available_vcores=metrics.available.vcores,
        total_vcores=metrics.total.vcores,
        pending_containers=metrics.containers_pending,
        applications_running=metrics.apps_running,
        applications_pending=metrics.apps_pending,
        queue_available_memory_mib=memory_mib,
        queue_available_vcores=vcores,
        nodes=nodes,
    )


def _free_on_nodes(client: ResourceManagerClient, metrics: ClusterMetrics) -> tuple[tuple[int, int], ...] | None:
    """What is free on each node without a label; the metrics are of these, too."""
    if not 0 < metrics.nodes_active <= MOST_NODES:
        return None
    return tuple(
        (node.total.memory_mib - node.used.memory_mib, node.total.vcores - node.used.vcores)
        for node in client.nodes()
        if node.state == "RUNNING" and not node.labels
    )


def _free(queue: QueueInfo | None) -> tuple[int | None, int | None]:
    if queue is None or queue.maximum is None:
        return None, None
    left = (queue.maximum.memory_mib - queue.used.memory_mib, queue.maximum.vcores - queue.used.vcores)
    return max(0, left[0]), max(0, left[1])
