"""A case of the estimator from a live cluster: its nodes and configuration, and whatever jobs. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from rules.dialects.capacity_properties import PREFIX, default_of
from rules.dialects.fair import PLACEMENT_TAG, parse_allocations
from rules.live.model import LiveCluster
from rules.model import DEFAULT_LABEL
from workloads.trace import DEFAULT_HEARTBEAT_S, Case, Job, Node

__all__ = ["to_case"]

_HEARTBEAT_MS = "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms"
_ASYNCHRONOUS = f"{PREFIX}schedule-asynchronously.enable"
_UNDECLARED = "yarn.scheduler.fair.allow-undeclared-pools"


def to_case(live: LiveCluster, jobs: Iterable[Job], horizon_s: float) -> Case:
    """The live cluster as the estimator takes it, with these jobs.

    Nodes with a label are left out, as the model has no labels. Jobs name the queue that they are in, so placement
    rules are left out. Defaults that depend on the version of Hadoop are written out.

    Args:
        live: the cluster.
        jobs: with queues by full path, and times from 0 on.
        horizon_s: when the simulation stops.

    Raises:
        YarnError: the configuration cannot be seen.
        InputError: the allocation file cannot be read.
    """
    configuration = live.require_configuration()
    conf: dict[str, str | None] = dict(configuration.properties)
    nodes = tuple(
        Node(node.total.memory_mib, node.total.vcores) for node in live.snapshot.nodes if node.label == DEFAULT_LABEL
    )
    allocations = "<allocations/>"
    if live.scheduler == "fair":
        allocations = _without_placement(configuration.allocations or allocations)
        conf[_UNDECLARED] = "true"
    else:
        conf.setdefault(_ASYNCHRONOUS, default_of(_ASYNCHRONOUS, live.version))
    return Case(
        nodes=nodes,
        jobs=tuple(jobs),
        scheduler=live.scheduler,
        conf=conf,
        allocations=allocations,
        node_heartbeat_s=int(conf.get(_HEARTBEAT_MS) or DEFAULT_HEARTBEAT_S * 1000) / 1000,
        horizon_s=horizon_s,
    )


def _without_placement(text: str) -> str:
    document = parse_allocations(text).document
    while True:
        policy = next((element for element in document.root.children if element.tag == PLACEMENT_TAG), None)
        if policy is None:
            return document.render()
        document = document.without(policy)
