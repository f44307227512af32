"""The tree of queues of ``GET /scheduler``, of the Capacity, the Fair and the FIFO scheduler, in one shape. Pure."""

from __future__ import annotations

from tuner.yarn.errors import YarnProtocolError
from tuner.yarn.fields import (
    Document,
    count,
    excerpt,
    flag,
    integer,
    items,
    member,
    names,
    number,
    required_text,
    resource,
    text,
)
from tuner.yarn.model import (
    CapacityQueueInfo,
    FairQueueInfo,
    PartitionCapacity,
    QueueInfo,
    QueueUser,
    Resource,
    SchedulerInfo,
)

_NOTHING = Resource(0, 0)


def scheduler(document: Document) -> SchedulerInfo:
    """Reads ``GET /scheduler``.

    Raises:
        YarnProtocolError: the body has another shape, or the scheduler is of a kind that is not known.
    """
    info = member(member(document, "scheduler"), "schedulerInfo")
    kind = text(info, "type")
    if kind == "capacityScheduler":
        return SchedulerInfo("capacity", _capacity_queue(info, parent=""))
    if kind == "fairScheduler":
        return SchedulerInfo("fair", _fair_queue(member(info, "rootQueue")))
    if kind == "fifoScheduler":
        return SchedulerInfo("fifo", _fifo_queue(info))
    raise YarnProtocolError(
        f"the ResourceManager runs a scheduler of the kind {excerpt(kind)}, which yarntune does not know",
        "it knows the Capacity, the Fair and the FIFO Scheduler",
    )


def _capacity_queue(item: Document, parent: str) -> QueueInfo:
    # Before Hadoop 3.4 a queue has no queuePath, and its name is the last part only.
    path = text(item, "queuePath") or f"{parent}.{required_text(item, 'queueName')}".removeprefix(".")
    children = tuple(_capacity_queue(child, path) for child in items(item, "queues", "queue"))
    usage = _default_partition(items(item, "resources", "resourceUsagesByPartition"))
    capacities = _default_partition(items(item, "capacities", "queueCapacitiesByPartition"))
    return QueueInfo(
        path=path,
        state=text(item, "state", "RUNNING"),
        leaf=text(item, "type") == "capacitySchedulerLeafQueueInfo",
        used=resource(item, "resourcesUsed") or resource(usage, "used") or _sum_of_used(children),
        guaranteed=resource(item, "minEffectiveCapacity") or resource(capacities, "effectiveMinResource"),
        maximum=resource(item, "maxEffectiveCapacity") or resource(capacities, "effectiveMaxResource"),
        pending=resource(usage, "pending"),
        am_limit=resource(item, "AMResourceLimit"),
        am_used=resource(item, "usedAMResource"),
        active_applications=integer(item, "numActiveApplications"),
        pending_applications=integer(item, "numPendingApplications"),
        allocated_containers=integer(item, "allocatedContainers"),
        pending_containers=integer(item, "pendingContainers"),
        reserved_containers=integer(item, "reservedContainers"),
        maximum_allocation=resource(item, "maximumAllocation"),
        labels=names(item.get("nodeLabels")),
        capacity=_capacity_only(item),
        fair=None,
        children=children,
    )


def _capacity_only(item: Document) -> CapacityQueueInfo:
    return CapacityQueueInfo(
        capacity_percent=number(item, "capacity") or 0.0,
        maximum_capacity_percent=number(item, "maxCapacity") or 0.0,
        used_percent=number(item, "usedCapacity") or 0.0,
        # The root is the whole cluster and gives no absolute shares.
        absolute_capacity_percent=_or_whole(number(item, "absoluteCapacity")),
        absolute_maximum_capacity_percent=_or_whole(number(item, "absoluteMaxCapacity")),
        absolute_used_percent=number(item, "absoluteUsedCapacity") or number(item, "usedCapacity") or 0.0,
        weight=_weight(item),
        mode=text(item, "mode") or None,
        ordering_policy=text(item, "orderingPolicyInfo") or None,
        user_limit_percent=number(item, "userLimit"),
        user_limit_factor=number(item, "userLimitFactor"),
        max_applications=integer(item, "maxApplications"),
        max_applications_per_user=integer(item, "maxApplicationsPerUser"),
        max_parallel_applications=integer(item, "maxParallelApps"),
        max_am_share=number(item, "configuredMaxAMResourceLimit"),
        user_am_limit=resource(item, "userAMResourceLimit"),
        preemption_disabled=flag(item, "preemptionDisabled"),
        auto_created=bool(flag(item, "isAutoCreatedLeafQueue")) or text(item, "creationMethod").startswith("dynamic"),
        users=tuple(_user(user) for user in items(item, "users", "user")),
        partitions=tuple(_partition(each) for each in items(item, "capacities", "queueCapacitiesByPartition")),
    )


def _or_whole(percent: float | None) -> float:
    return 100.0 if percent is None else percent


def _weight(item: Document) -> float | None:
    # -1 says that the queue is not in weight mode.
    weight = number(item, "weight")
    return None if weight is None or weight < 0 else weight


def _user(item: Document) -> QueueUser:
    return QueueUser(
        name=required_text(item, "username"),
        used=resource(item, "resourcesUsed") or _NOTHING,
        am_used=resource(item, "AMResourceUsed") or _NOTHING,
        limit=resource(item, "userResourceLimit") or _NOTHING,
        active_applications=count(item, "numActiveApplications"),
        pending_applications=count(item, "numPendingApplications"),
        weight=number(item, "userWeight") or 1.0,
        active=bool(flag(item, "isActive")),
    )


def _partition(item: Document) -> PartitionCapacity:
    return PartitionCapacity(
        label=text(item, "partitionName"),
        capacity_percent=number(item, "capacity") or 0.0,
        maximum_capacity_percent=number(item, "maxCapacity") or 0.0,
        absolute_capacity_percent=number(item, "absoluteCapacity") or 0.0,
        absolute_maximum_capacity_percent=number(item, "absoluteMaxCapacity") or 0.0,
        used_percent=number(item, "usedCapacity") or 0.0,
        effective_minimum=resource(item, "effectiveMinResource"),
        effective_maximum=resource(item, "effectiveMaxResource"),
    )


def _default_partition(partitions: list[Document]) -> Document:
    return next((each for each in partitions if not text(each, "partitionName")), {})


def _sum_of_used(children: tuple[QueueInfo, ...]) -> Resource:
    return Resource(
        sum(child.used.memory_mib for child in children),
        sum(child.used.vcores for child in children),
    )


def _fair_queue(item: Document) -> QueueInfo:
    used = resource(item, "usedResources") or _NOTHING
    demand = resource(item, "demandResources") or _NOTHING
    return QueueInfo(
        path=required_text(item, "queueName"),
        state="RUNNING",
        leaf=text(item, "type") == "fairSchedulerLeafQueueInfo",
        used=used,
        guaranteed=resource(item, "minResources"),
        maximum=resource(item, "maxResources"),
        pending=Resource(max(demand.memory_mib - used.memory_mib, 0), max(demand.vcores - used.vcores, 0)),
        am_limit=resource(item, "amMaxResources"),
        am_used=resource(item, "amUsedResources"),
        active_applications=integer(item, "numActiveApps"),
        pending_applications=integer(item, "numPendingApps"),
        allocated_containers=integer(item, "allocatedContainers"),
        pending_containers=integer(item, "pendingContainers"),
        reserved_containers=integer(item, "reservedContainers"),
        maximum_allocation=resource(item, "maxContainerAllocation"),
        labels=(),
        capacity=None,
        fair=FairQueueInfo(
            fair_share=resource(item, "fairResources") or _NOTHING,
            steady_fair_share=resource(item, "steadyFairResources") or _NOTHING,
            demand=demand,
            scheduling_policy=text(item, "schedulingPolicy"),
            max_running_applications=count(item, "maxApps"),
            preemptible=bool(flag(item, "preemptable")),  # codespell:ignore preemptable
        ),
        children=tuple(_fair_queue(child) for child in items(item, "childQueues", "queue")),
    )


def _fifo_queue(item: Document) -> QueueInfo:
    total_mib = count(item, "totalNodeCapacity")
    return QueueInfo(
        path="default",
        state=text(item, "qstate", "RUNNING"),
        leaf=True,
        used=Resource(count(item, "usedNodeCapacity"), 0),
        guaranteed=Resource(total_mib, 0),
        maximum=Resource(total_mib, 0),
        pending=None,
        am_limit=None,
        am_used=None,
        active_applications=None,
        pending_applications=None,
        allocated_containers=integer(item, "numContainers"),
        pending_containers=None,
        reserved_containers=None,
        maximum_allocation=None,
        labels=(),
        capacity=None,
        fair=None,
        children=(),
    )
