"""A cluster as the ResourceManager would show it, without one."""

from __future__ import annotations

from rules.live.model import Ask, LiveApplication, LiveCluster, LiveContainer, Unreadable
from rules.model import Node, Resources, Snapshot
from tuner.yarn.model import ClusterMetrics, QueueInfo, Resource, SchedulerInfo
from web.live import Reading

TOTAL = Resource(262144, 128)


def queue(
    path: str,
    used: int,
    guaranteed: int,
    maximum: int,
    *,
    waiting: int = 0,
    pending: int = 0,
    children: tuple[QueueInfo, ...] = (),
) -> QueueInfo:
    """One queue; memory in MiB, a vcore for each 2 GiB."""

    def amount(memory_mib: int) -> Resource:
        return Resource(memory_mib, memory_mib // 2048)

    return QueueInfo(
        path=path,
        state="RUNNING",
        leaf=not children,
        used=amount(used),
        guaranteed=amount(guaranteed),
        maximum=amount(maximum),
        pending=amount(pending),
        am_limit=None,
        am_used=None,
        active_applications=used // 20480,
        pending_applications=waiting,
        allocated_containers=used // 2048,
        pending_containers=pending // 2048,
        reserved_containers=0,
        maximum_allocation=Resource(16384, 8),
        labels=(),
        capacity=None,
        fair=None,
        children=children,
    )


def reading(at: float) -> Reading:
    """A busy cluster: one queue above its guarantee, applications that wait in another."""
    ingest = queue("root.prod.ingest", 62914, 62914, 125829, waiting=3, pending=49152)
    etl = queue("root.prod.etl", 71680, 94371, 157286)
    prod = queue("root.prod", 134594, 157286, 262144, waiting=3, children=(etl, ingest))
    ds = queue("root.ds", 98304, 78643, 157286)
    adhoc = queue("root.adhoc", 8192, 26215, 52429)
    root = queue("root", 241090, 262144, 262144, waiting=3, children=(prod, ds, adhoc))
    waiting = tuple(
        LiveApplication(
            id=f"application_1795990000000_{40 + i:04}",
            name=name,
            user=user,
            type="SPARK",
            queue="root.prod.ingest",
            state="ACCEPTED",
            submitted_s=at - age_s,
            am_started=False,
            asks=(Ask(Resources(memory, 1), count),),
        )
        for i, (name, user, age_s, memory, count) in enumerate(
            (
                ("ingest-clicks", "etl", 640.0, 2048, 1),
                ("ingest-orders", "etl", 420.0, 2048, 1),
                ("compaction", "ops", 95.0, 4096, 11),
            )
        )
    )
    running = LiveApplication(
        id="application_1795990000000_0031",
        name="daily-report",
        user="etl",
        type="SPARK",
        queue="root.prod.etl",
        state="RUNNING",
        submitted_s=at - 900,
        am_started=True,
        containers=(LiveContainer(Resources(2048, 1), at - 880, is_am=True),),
    )
    nodes = tuple(Node(f"node{i}.example.com:8041", Resources(32768, 16)) for i in range(8))
    reasons = tuple(
        {
            "application": each.id,
            "rule": "am-limit",
            "why": "the AMs of root.prod.ingest would hold 14336 MiB, and 12288 MiB is their limit",
            "frees": "yarn.scheduler.capacity.root.prod.ingest.maximum-am-resource-percent: 0.1 → 0.12",
        }
        for each in waiting
    )
    cluster = LiveCluster(
        time_s=at,
        scheduler="capacity",
        hadoop_version="3.4.1",
        source="YARNTUNE_RM_URL",
        managers=(),
        configuration=Unreadable("the store is `file`", ""),
        snapshot=Snapshot(at, nodes),
        queues=SchedulerInfo("capacity", root),
        applications=(running, *waiting),
    )
    return Reading(at, cluster, metrics(241090), reasons)


def metrics(used_mib: int) -> ClusterMetrics:
    """The cluster's load."""
    nothing = Resource(0, 0)
    return ClusterMetrics(
        total=TOTAL,
        allocated=Resource(used_mib, used_mib // 2048),
        available=Resource(TOTAL.memory_mib - used_mib, 10),
        reserved=nothing,
        pending=Resource(49152, 24),
        containers_allocated=118,
        containers_pending=13,
        containers_reserved=0,
        apps_submitted=420,
        apps_pending=3,
        apps_running=11,
        apps_completed=400,
        apps_failed=4,
        apps_killed=2,
        nodes_active=8,
        nodes_lost=0,
        nodes_unhealthy=0,
    )
