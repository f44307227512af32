"""A live cluster as JSON: what ``scheduler show --json`` prints and the REST API serves. Pure."""

from __future__ import annotations

from typing import Any

from rules.live.model import LiveApplication, LiveCluster, Unreadable
from rules.live.translate import resources
from rules.model import Resources
from tuner.errors import YarnError
from tuner.yarn.ha import Probe
from tuner.yarn.model import QueueInfo, QueueUser, Resource

__all__ = ["application_document", "cluster_document", "configured_capacity", "manager_state", "resources_document"]


def cluster_document(live: LiveCluster) -> dict[str, Any]:
    """All of it but the configuration's properties; memory is MiB, times are seconds since the epoch."""
    return {
        "time": live.time_s,
        "scheduler": live.scheduler,
        "hadoop_version": live.hadoop_version,
        "cluster": live.source,
        "resource_managers": [{"url": probe.url, "state": manager_state(probe)} for probe in live.managers],
        "configuration": _configuration(live),
        "nodes": [
            {
                "id": node.name,
                "label": node.label,
                "total": resources_document(node.total),
                "free": resources_document(live.free.get(node.name, Resources())),
            }
            for node in live.snapshot.nodes
        ],
        "absent_nodes": dict(live.absent),
        "queues": [_queue(live, queue) for queue in live.queues.root.walk()],
        "applications": [application_document(each) for each in live.applications],
    }


def manager_state(probe: Probe) -> str:
    """A ResourceManager's state in high availability, or what went wrong when it was asked."""
    if isinstance(probe.answer, YarnError):
        return probe.answer.message
    if probe.answer.ha_state == "INITIALIZING" and probe.answer.state == "STARTED":
        return "STARTED"  # without high availability some versions never leave that state
    return probe.answer.ha_state or "unknown"


def configured_capacity(live: LiveCluster, queue: QueueInfo) -> str:
    """A queue's share as it is configured: 60, 4w or [memory=...] (Capacity), or its weight (Fair).

    Where the configuration cannot be seen, the percentage that the ResourceManager shows; empty with Fair, which does
    not show weights.
    """
    configuration = live.configuration
    if isinstance(configuration, Unreadable) or queue.path not in configuration.tree:
        return "" if queue.capacity is None else f"{queue.capacity.capacity_percent:.3f}".rstrip("0").rstrip(".")
    properties = configuration.tree[queue.path].properties
    if live.scheduler == "fair":
        return properties.get("weight", "1")
    return properties.get("capacity", "100" if queue.path == "root" else "")


def resources_document(amount: Resources) -> dict[str, int]:
    """Memory in MiB and vcores."""
    return {"memory_mib": amount.memory_mib, "vcores": amount.vcores}


def application_document(found: LiveApplication) -> dict[str, Any]:
    """One application."""
    return {
        "id": found.id,
        "name": found.name,
        "user": found.user,
        "type": found.type,
        "queue": found.queue,
        "state": found.state,
        "submitted": found.submitted_s,
        "am_started": found.am_started,
        "containers": len(found.containers),
        "held": resources_document(found.held),
        "asks": [
            {"containers": ask.count, "label": ask.label, **resources_document(ask.resources)} for ask in found.asks
        ],
        "diagnostics": found.diagnostics,
    }


def _configuration(live: LiveCluster) -> dict[str, Any]:
    found = live.configuration
    if isinstance(found, Unreadable):
        return {"source": None, "reason": found.reason, "hint": found.hint}
    return {
        "source": found.source.value,
        "where": found.where,
        "version": found.version,
        "notes": list(found.notes),
    }


def _amount(amount: Resource | None) -> dict[str, int] | None:
    return None if amount is None else resources_document(resources(amount))


def _queue(live: LiveCluster, queue: QueueInfo) -> dict[str, Any]:
    use = live.snapshot.use[queue.path]
    value: dict[str, Any] = {
        "path": queue.path,
        "leaf": queue.leaf,
        "state": queue.state,
        "configured": configured_capacity(live, queue),
        "guaranteed": _amount(queue.guaranteed),
        "maximum": _amount(queue.maximum),
        "used": resources_document(use.used),
        "pending": resources_document(use.pending),
        "am_limit": _amount(queue.am_limit),
        "am_used": _amount(queue.am_used),
        "running_applications": use.running_applications,
        "waiting_applications": use.pending_applications,
        "labels": list(queue.labels),
    }
    if queue.capacity is not None:
        value["users"] = [_user(user) for user in queue.capacity.users]
    if queue.fair is not None:
        value["fair_share"] = _amount(queue.fair.fair_share)
        value["demand"] = _amount(queue.fair.demand)
        value["scheduling_policy"] = queue.fair.scheduling_policy
        value["maximum_running_applications"] = queue.fair.max_running_applications
    return value


def _user(user: QueueUser) -> dict[str, Any]:
    return {
        "name": user.name,
        "used": _amount(user.used),
        "am_used": _amount(user.am_used),
        "limit": _amount(user.limit),
        "running_applications": user.active_applications,
        "waiting_applications": user.pending_applications,
        "active": user.active,
    }
