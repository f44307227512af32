"""Reads a live cluster: calls to the ResourceManager, and their translation."""

from __future__ import annotations

import os
from collections.abc import Mapping
from types import MappingProxyType

from rules.live import translate
from rules.live.configuration import read_configuration
from rules.live.model import LiveApplication, LiveCluster
from rules.model import Resources
from tuner.errors import YarnError
from tuner.settings import Settings
from tuner.yarn.client import ResourceManagerClient
from tuner.yarn.locate import Target, locate
from tuner.yarn.model import ACTIVE_STATES, SchedulerInfo

__all__ = ["MOST_DETAILED_APPLICATIONS", "connect", "read_cluster"]

MOST_DETAILED_APPLICATIONS = 200
"""Of so many running applications the containers are read one by one (two calls for each), of further ones the sum."""


def read_cluster(
    client: ResourceManagerClient,
    target: Target,
    now_s: float,
    *,
    environ: Mapping[str, str] | None = None,
    most_detailed: int = MOST_DETAILED_APPLICATIONS,
) -> LiveCluster:
    """Reads what a cluster is configured to do and what it holds now; nothing is changed.

    Args:
        client: of the cluster that ``target`` names.
        target: from :func:`tuner.yarn.locate.locate`; its folder is where files are looked for.
        now_s: the time, seconds since the epoch.
        environ: for variables in yarn-site.xml; the process's own where it is not given.
        most_detailed: of how many running applications the containers are read one by one, the oldest first; 0 where
            their sums are enough.

    Raises:
        YarnError: the cluster does not answer, refuses, or runs the FIFO scheduler, which has no queues.
        InputError: a configuration file is broken.
    """
    info, shown = client.info(), client.scheduler()
    if shown.kind == "fifo":
        raise YarnError(
            "the cluster runs the FIFO Scheduler, which has one queue and no limits to look at",
            "set yarn.resourcemanager.scheduler.class to the Capacity or the Fair Scheduler",
        )
    nodes = client.nodes()
    running = {node.id: node for node in nodes if node.state == "RUNNING"}
    free = {
        node.id: Resources(node.total.memory_mib - node.used.memory_mib, node.total.vcores - node.used.vcores)
        for node in running.values()
    }
    return LiveCluster(
        time_s=now_s,
        scheduler=shown.kind,
        hadoop_version=info.hadoop_version,
        source=target.source,
        managers=client.probes(),
        configuration=read_configuration(client, target, shown, os.environ if environ is None else environ),
        snapshot=translate.snapshot(now_s, nodes, shown),
        queues=shown,
        applications=_applications(client, shown, most_detailed),
        free=MappingProxyType(free),
        absent=MappingProxyType({node.id: node.state for node in nodes if node.id not in running}),
    )


def connect(settings: Settings, environ: Mapping[str, str] | None = None) -> tuple[ResourceManagerClient, Target]:
    """The client of the cluster that the settings, or Hadoop's own, name.

    Raises:
        ClusterError: there is none.
    """
    target = locate(settings, environ)
    return ResourceManagerClient.of(target, settings), target


def _applications(
    client: ResourceManagerClient, shown: SchedulerInfo, most_detailed: int
) -> tuple[LiveApplication, ...]:
    found = sorted(
        client.applications(states=ACTIVE_STATES, requests=True), key=lambda each: (each.started_at_s, each.id)
    )
    holding = [each.id for each in found if each.running_containers]
    detailed = {app_id: client.containers(app_id) for app_id in holding[:most_detailed]}
    return tuple(
        translate.application(each, detailed.get(each.id, None if each.running_containers else ()), shown)
        for each in found
    )
