"""Live clusters made by hand, as :func:`rules.live.read.read_cluster` would give them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from rules.dialects.capacity import parse
from rules.dialects.capacity_properties import PREFIX
from rules.dialects.fair import parse_allocations
from rules.live.model import Ask, Configuration, LiveApplication, LiveCluster, LiveContainer, Source
from rules.model import Node, QueueTree, QueueUse, Resources, Snapshot
from tuner.yarn.ha import Probe
from tuner.yarn.model import (
    CapacityQueueInfo,
    ClusterInfo,
    FairQueueInfo,
    QueueInfo,
    QueueUser,
    Resource,
    SchedulerInfo,
)

NOW_S = 1_796_068_800.0
NODE = Resources(8192, 8)
CONTAINER = Resources(1024, 1)
SITE = {
    "yarn.scheduler.minimum-allocation-mb": "1024",
    "yarn.scheduler.maximum-allocation-mb": "8192",
    "yarn.scheduler.maximum-allocation-vcores": "8",
    "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms": "1000",
}


def application(
    number: int,
    queue: str,
    *,
    user: str = "alice",
    containers: int = 0,
    asks: int = 0,
    size: Resources = CONTAINER,
    label: str = "",
    diagnostics: str = "",
) -> LiveApplication:
    """The application of that number: with so many containers (its AM's among them), asking for so many more."""
    held = tuple(LiveContainer(size, NOW_S - 100.0, is_am=i == 0) for i in range(containers))
    return LiveApplication(
        id=f"application_1_{number:04d}",
        name=f"job {number}",
        user=user,
        type="SPARK",
        queue=queue,
        state="RUNNING" if containers else "ACCEPTED",
        submitted_s=NOW_S - 1000.0 + number,
        am_started=containers > 0,
        containers=held,
        asks=(Ask(size, asks, label),) if asks else (),
        diagnostics=diagnostics,
    )


def capacity_cluster(
    conf: Mapping[str, str], *applications: LiveApplication, nodes: int = 2, node: Resources = NODE
) -> LiveCluster:
    """A cluster under the Capacity Scheduler; properties without their prefix."""
    properties = {f"{PREFIX}{name}": value for name, value in conf.items()}
    tree = parse(properties)
    configuration = Configuration(
        Source.STORE, "the ResourceManager's store (scheduler-conf)", properties, SITE, None, tree, version=7
    )
    return _cluster("capacity", configuration, tree, applications, nodes, node)


def fair_cluster(allocations: str, *applications: LiveApplication, nodes: int = 2) -> LiveCluster:
    """A cluster under the Fair Scheduler."""
    tree = parse_allocations(allocations).tree
    configuration = Configuration(Source.FILE, "/etc/hadoop/conf/fair-scheduler.xml", {}, SITE, allocations, tree)
    return _cluster("fair", configuration, tree, applications, nodes, NODE)


def _cluster(
    scheduler: Literal["capacity", "fair"],
    configuration: Configuration,
    tree: QueueTree,
    applications: tuple[LiveApplication, ...],
    nodes: int,
    node: Resources,
) -> LiveCluster:
    use = {queue.path: _use(queue.path, applications) for queue in tree}
    info = ClusterInfo("STARTED", "ACTIVE", "3.4.1", NOW_S - 5000.0)
    used = use["root"].used
    free = {f"node{i}:1": node for i in range(nodes)}
    if nodes:
        free["node0:1"] = Resources(node.memory_mib - used.memory_mib % node.memory_mib, node.vcores)
    return LiveCluster(
        time_s=NOW_S,
        scheduler=scheduler,
        hadoop_version="3.4.1",
        source="the test",
        managers=(Probe("http://rm:8088", info),),
        configuration=configuration,
        snapshot=Snapshot(NOW_S, tuple(Node(f"node{i}:1", node) for i in range(nodes)), use),
        queues=SchedulerInfo(scheduler, _queue_info(scheduler, tree, "root", use, applications)),
        applications=applications,
        free=MappingProxyType(free),
    )


def _use(path: str, applications: tuple[LiveApplication, ...]) -> QueueUse:
    inside = [each for each in applications if each.queue == path or each.queue.startswith(f"{path}.")]
    return QueueUse(
        used=sum((each.held for each in inside), Resources()),
        pending=sum((each.asked for each in inside), Resources()),
        running_applications=sum(each.am_started for each in inside),
        pending_applications=sum(not each.am_started for each in inside),
    )


def _amount(amount: Resources) -> Resource:
    return Resource(amount.memory_mib, amount.vcores)


def _queue_info(
    scheduler: str,
    tree: QueueTree,
    path: str,
    use: Mapping[str, QueueUse],
    applications: tuple[LiveApplication, ...],
) -> QueueInfo:
    queue, here = tree[path], use[path]
    users = tuple(dict.fromkeys(each.user for each in applications if each.queue == path))
    used = _amount(here.used)
    masters = [each for each in applications if each.queue == path and each.am_started]
    return QueueInfo(
        path=path,
        state="RUNNING",
        leaf=not queue.children,
        used=used,
        guaranteed=Resource(4096, 4),
        maximum=Resource(16384, 16),
        pending=_amount(here.pending),
        am_limit=Resource(2048, 2),
        am_used=Resource(1024 * len(masters), len(masters)),
        active_applications=here.running_applications,
        pending_applications=here.pending_applications,
        allocated_containers=None,
        pending_containers=None,
        reserved_containers=None,
        maximum_allocation=None,
        labels=("gpu",) if path.endswith("labelled") else (),
        capacity=_capacity_info(users, used) if scheduler == "capacity" else None,
        fair=FairQueueInfo(Resource(8192, 8), Resource(8192, 8), used, "fair", 2**31 - 1, preemptible=True)
        if scheduler == "fair"
        else None,
        children=tuple(_queue_info(scheduler, tree, child, use, applications) for child in queue.children),
    )


def _capacity_info(users: tuple[str, ...], used: Resource) -> CapacityQueueInfo:
    nothing = Resource(0, 0)
    return CapacityQueueInfo(
        capacity_percent=25.0,
        maximum_capacity_percent=100.0,
        used_percent=0.0,
        absolute_capacity_percent=25.0,
        absolute_maximum_capacity_percent=100.0,
        absolute_used_percent=0.0,
        weight=None,
        mode="percentage",
        ordering_policy="fifo",
        user_limit_percent=100.0,
        user_limit_factor=1.0,
        max_applications=10000,
        max_applications_per_user=10000,
        max_parallel_applications=2**31 - 1,
        max_am_share=0.1,
        user_am_limit=Resource(2048, 2),
        preemption_disabled=True,
        auto_created=False,
        users=tuple(QueueUser(user, used, nothing, Resource(4096, 4), 1, 1, 1.0, active=True) for user in users),
        partitions=(),
    )
