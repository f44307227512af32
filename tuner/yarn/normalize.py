"""The answers of the ResourceManager of any version of Hadoop, in the shapes of :mod:`tuner.yarn.model`.

Pure: a parsed body in, dataclasses out. Tried on bodies of Hadoop 2.4 to 3.5 and of Cloudera's and Hortonworks'
distributions. A field that a version lacks becomes None or 0 as the model says; a body of another shape is refused.
The tree of queues has a module of its own, :mod:`tuner.yarn.queues`.
"""

from __future__ import annotations

from tuner.yarn.errors import YarnProtocolError
from tuner.yarn.fields import (
    Document,
    count,
    integer,
    items,
    member,
    names,
    number,
    required_text,
    resource,
    seconds,
    text,
)
from tuner.yarn.model import (
    FINAL_STATES,
    Application,
    ClusterInfo,
    ClusterMetrics,
    Container,
    NewApplication,
    Node,
    Resource,
    ResourceRequest,
    SchedulerConf,
)


def cluster_info(document: Document) -> ClusterInfo:
    """Reads ``GET /info``.

    Raises:
        YarnProtocolError: the body has another shape; so with every function here.
    """
    info = member(document, "clusterInfo")
    return ClusterInfo(
        state=required_text(info, "state"),
        ha_state=text(info, "haState") or None,
        hadoop_version=required_text(info, "hadoopVersion"),
        started_at_s=seconds(info, "startedOn") or 0.0,
    )


def cluster_metrics(document: Document) -> ClusterMetrics:
    """Reads ``GET /metrics``."""
    metrics = member(document, "clusterMetrics")
    if "availableMB" not in metrics:
        raise YarnProtocolError("the answer to /metrics does not say how much memory is available")
    allocated = _pair(metrics, "allocated")
    available = _pair(metrics, "available")
    reserved = _pair(metrics, "reserved")
    total = _pair(metrics, "total")
    # Old versions leave out the one, the other, or both.
    if "totalMB" not in metrics:
        total = Resource(allocated.memory_mib + available.memory_mib + reserved.memory_mib, total.vcores)
    if "totalVirtualCores" not in metrics:
        total = Resource(total.memory_mib, allocated.vcores + available.vcores + reserved.vcores)
    return ClusterMetrics(
        total=total,
        allocated=allocated,
        available=available,
        reserved=reserved,
        pending=_pair(metrics, "pending") if "pendingMB" in metrics else None,
        containers_allocated=count(metrics, "containersAllocated"),
        containers_pending=count(metrics, "containersPending"),
        containers_reserved=count(metrics, "containersReserved"),
        apps_submitted=count(metrics, "appsSubmitted"),
        apps_pending=count(metrics, "appsPending"),
        apps_running=count(metrics, "appsRunning"),
        apps_completed=count(metrics, "appsCompleted"),
        apps_failed=count(metrics, "appsFailed"),
        apps_killed=count(metrics, "appsKilled"),
        nodes_active=count(metrics, "activeNodes"),
        nodes_lost=count(metrics, "lostNodes"),
        nodes_unhealthy=count(metrics, "unhealthyNodes"),
    )


def _pair(metrics: Document, prefix: str) -> Resource:
    return Resource(count(metrics, f"{prefix}MB"), count(metrics, f"{prefix}VirtualCores"))


def nodes(document: Document) -> tuple[Node, ...]:
    """Reads ``GET /nodes``; no node is an empty tuple, however this version writes it."""
    _expect(document, "nodes")
    return tuple(_node(item) for item in items(document, "nodes", "node"))


def node(document: Document) -> Node:
    """Reads ``GET /nodes/{id}``."""
    return _node(member(document, "node"))


def _node(item: Document) -> Node:
    used = Resource(count(item, "usedMemoryMB"), count(item, "usedVirtualCores"))
    available = Resource(count(item, "availMemoryMB"), count(item, "availableVirtualCores"))
    total = Resource(used.memory_mib + available.memory_mib, used.vcores + available.vcores)
    return Node(
        id=required_text(item, "id"),
        host=text(item, "nodeHostName"),
        rack=text(item, "rack"),
        state=required_text(item, "state"),
        version=text(item, "version"),
        health_report=text(item, "healthReport"),
        containers=count(item, "numContainers"),
        used=used,
        total=resource(item, "totalResource") or total,
        labels=names(item.get("nodeLabels")),
    )


def applications(document: Document) -> tuple[Application, ...]:
    """Reads ``GET /apps``; no application is an empty tuple, however this version writes it."""
    _expect(document, "apps")
    return tuple(_application(item) for item in items(document, "apps", "app"))


def application(document: Document) -> Application:
    """Reads ``GET /apps/{id}``."""
    return _application(member(document, "app"))


def _application(item: Document) -> Application:
    return Application(
        id=required_text(item, "id"),
        name=text(item, "name"),
        user=text(item, "user"),
        queue=text(item, "queue"),
        type=text(item, "applicationType"),
        tags=names(item.get("applicationTags")),
        state=required_text(item, "state"),
        final_status=text(item, "finalStatus", "UNDEFINED"),
        progress_percent=number(item, "progress") or 0.0,
        priority=_known(item, "priority"),
        started_at_s=seconds(item, "startedTime") or 0.0,
        launched_at_s=seconds(item, "launchTime"),
        finished_at_s=seconds(item, "finishedTime"),
        elapsed_s=seconds(item, "elapsedTime") or 0.0,
        memory_seconds=integer(item, "memorySeconds"),
        vcore_seconds=integer(item, "vcoreSeconds"),
        allocated=_allocated(item),
        running_containers=None if _ended(item) else _known(item, "runningContainers"),
        preempted=Resource(count(item, "preemptedResourceMB"), count(item, "preemptedResourceVCores")),
        preempted_containers=count(item, "numNonAMContainerPreempted") + count(item, "numAMContainerPreempted"),
        preempted_memory_seconds=count(item, "preemptedMemorySeconds"),
        diagnostics=text(item, "diagnostics"),
        tracking_url=text(item, "trackingUrl"),
        am_host=text(item, "amHostHttpAddress"),
        requests=tuple(_request(each) for each in items(item, "resourceRequests") if _is_anywhere(each)),
        label=_label(item, "appNodeLabelExpression"),
    )


def _label(item: Document, key: str) -> str:
    # Older versions write "<Not set>" or "<DEFAULT_PARTITION>" for none.
    expression = text(item, key)
    return "" if expression.startswith("<") else expression


def _is_anywhere(item: Document) -> bool:
    # The same containers are listed for their node, for its rack and for any node; those that are given out stay as 0.
    return text(item, "resourceName", "*") == "*" and count(item, "numContainers") > 0


def _request(item: Document) -> ResourceRequest:
    # Hadoop 2 writes the priority as an object.
    holder = item["priority"] if isinstance(item.get("priority"), dict) else item
    return ResourceRequest(
        priority=count(holder, "priority"),
        resource=resource(item, "capability") or Resource(0, 0),
        containers=count(item, "numContainers"),
        label=_label(item, "nodeLabelExpression"),
    )


def attempt_ids(document: Document, app_id: str) -> tuple[str, ...]:
    """Reads ``GET /apps/{id}/appattempts``: the attempts' ids, oldest first."""
    found = {count(item, "id"): text(item, "appAttemptId") for item in items(document, "appAttempts", "appAttempt")}
    stem = app_id.replace("application_", "appattempt_", 1)
    return tuple(found[number] or f"{stem}_{number:06d}" for number in sorted(found))


def containers(document: Document) -> tuple[Container, ...]:
    """Reads ``GET .../appattempts/{id}/containers``: those that are held now."""
    holder = document.get("containers", document)
    listed = items(holder, "container") if isinstance(holder, dict) else []
    return tuple(
        Container(
            id=required_text(item, "containerId"),
            resource=Resource(count(item, "allocatedMB"), count(item, "allocatedVCores")),
            priority=count(item, "priority"),
            started_at_s=seconds(item, "startedTime") or 0.0,
            node_id=text(item, "nodeId") or text(item, "assignedNodeId"),
        )
        for item in listed
        if text(item, "containerState", "RUNNING") != "COMPLETE"
    )


def _known(item: Document, key: str) -> int | None:
    # The ResourceManager writes -1 for "does not apply".
    value = integer(item, key)
    return None if value is None or value < 0 else value


def _ended(item: Document) -> bool:
    # Then some versions write -1, some 0, some what it held last, and for a moment so do all.
    return text(item, "state") in FINAL_STATES


def _allocated(item: Document) -> Resource | None:
    memory_mib, vcores = _known(item, "allocatedMB"), _known(item, "allocatedVCores")
    return None if memory_mib is None or _ended(item) else Resource(memory_mib, vcores or 0)


def scheduler_conf(document: Document) -> SchedulerConf:
    """Reads ``GET /scheduler-conf``, and the answer to a validation.

    A property without a value is one that is not set, and is left out.
    """
    _expect(document, "property")
    properties = items(document, "property")
    return SchedulerConf({required_text(item, "name"): text(item, "value") for item in properties if "value" in item})


def scheduler_conf_version(document: Document) -> int:
    """Reads ``GET /scheduler-conf/version``: ``{"versionID": "1"}`` up to 3.4, inside ``configversion`` from 3.5."""
    holder = member(document, "configversion") if "configversion" in document else document
    version = integer(holder, "versionID")
    if version is None:
        raise YarnProtocolError("the answer to /scheduler-conf/version has no versionID")
    return version


def new_application(document: Document) -> NewApplication:
    """Reads ``POST /apps/new-application``."""
    maximum = resource(document, "maximum-resource-capability")
    if maximum is None:
        raise YarnProtocolError("the answer to /apps/new-application does not name the largest container")
    return NewApplication(id=required_text(document, "application-id"), maximum_allocation=maximum)


def configuration(document: Document) -> dict[str, str]:
    """Reads ``GET /conf``: the properties of the ResourceManager, defaults included."""
    _expect(document, "properties")
    return {required_text(item, "key"): text(item, "value") for item in items(document, "properties")}


def _expect(document: Document, key: str) -> None:
    if key not in document:
        found = ", ".join(list(document)[:5]) or "nothing"
        raise YarnProtocolError(f"the answer has no {key!r}; it has {found}")
