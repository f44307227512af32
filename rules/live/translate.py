"""From what the ResourceManager says to the values of ``rules``. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rules.live.model import Ask, LiveApplication, LiveContainer
from rules.model import DEFAULT_LABEL, CapacityMode, Node, QueueTree, QueueUse, Resources, Snapshot
from tuner.yarn import model as yarn
from tuner.yarn.model import SchedulerInfo

__all__ = ["application", "differences", "resources", "site_properties", "snapshot"]

_SITE_PREFIXES = (
    "yarn.scheduler.",
    "yarn.resource-types",
    "yarn.resourcemanager.monitor.",
    "yarn.resourcemanager.scheduler.",
    "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms",
    "yarn.cluster.max-application-priority",
    "yarn.node-labels.enabled",
)
_NODE_RUNS = frozenset({"RUNNING"})
_PERCENT_TOLERANCE = 0.01  # shown as a float32


def resources(amount: yarn.Resource | None) -> Resources:
    """An amount as ``rules`` has it; nothing for None."""
    return Resources() if amount is None else Resources(amount.memory_mib, amount.vcores)


def site_properties(properties: Mapping[str, str]) -> dict[str, str]:
    """Those of yarn-site's properties that a scheduler looks at; others may hold secrets and stay behind."""
    return {name: value for name, value in sorted(properties.items()) if name.startswith(_SITE_PREFIXES)}


def snapshot(time_s: float, nodes: Iterable[yarn.Node], shown: SchedulerInfo) -> Snapshot:
    """The nodes that run, and what each queue holds and waits for."""
    running = tuple(
        Node(node.id, resources(node.total), node.labels[0] if node.labels else DEFAULT_LABEL)
        for node in sorted(nodes, key=lambda node: node.id)
        if node.state in _NODE_RUNS
    )
    return Snapshot(time_s, running, {queue.path: _use(queue) for queue in shown.root.walk()})


def _use(queue: yarn.QueueInfo) -> QueueUse:
    below = [leaf for leaf in queue.walk() if leaf.leaf]
    return QueueUse(
        used=resources(queue.used),
        pending=resources(queue.pending),
        running_applications=sum(leaf.active_applications or 0 for leaf in below),
        pending_applications=sum(leaf.pending_applications or 0 for leaf in below),
    )


def application(
    found: yarn.Application, containers: tuple[yarn.Container, ...] | None, shown: SchedulerInfo
) -> LiveApplication:
    """One application.

    Args:
        found: as the ResourceManager lists it.
        containers: what it holds; None where it was not asked for, so that what it holds in all is divided evenly.
        shown: the queues, for the full path of its queue.
    """
    queue = shown.queue(found.queue)
    held = _held(found, containers)
    return LiveApplication(
        id=found.id,
        name=found.name,
        user=found.user,
        type=found.type,
        queue=queue.path if queue else found.queue,
        state=found.state,
        submitted_s=found.started_at_s,
        am_started=bool(held),
        containers=held,
        containers_known=containers is not None or not held,
        asks=tuple(
            Ask(resources(each.resource), each.containers, each.label or found.label, each.priority)
            for each in sorted(found.requests, key=lambda each: each.priority)
        ),
        diagnostics=found.diagnostics,
    )


def _held(found: yarn.Application, containers: tuple[yarn.Container, ...] | None) -> tuple[LiveContainer, ...]:
    if containers is not None:
        ordered = sorted(containers, key=lambda each: (not each.is_am, each.started_at_s, each.id))
        return tuple(
            LiveContainer(resources(each.resource), each.started_at_s, each.node_id, each.is_am) for each in ordered
        )
    count, total = found.running_containers or 0, found.allocated
    if count <= 0 or total is None:
        return ()
    started_s = found.launched_at_s or found.started_at_s
    return tuple(
        LiveContainer(
            Resources(_part(total.memory_mib, count, i), _part(total.vcores, count, i)), started_s, is_am=i == 0
        )
        for i in range(count)
    )


def _part(total: int, count: int, place: int) -> int:
    return total // count + (place < total % count)


def differences(tree: QueueTree, shown: SchedulerInfo, where: str) -> tuple[str, ...]:
    """What a file has and the ResourceManager does not go by: it was edited and not refreshed, or is another's.

    Returns:
        Sentences, at most one for the queues and one for the capacities.
    """
    by_path = {queue.path: queue for queue in shown.root.walk()}
    automatic = {path for path, queue in by_path.items() if queue.capacity is not None and queue.capacity.auto_created}
    missing = [queue.path for queue in tree if queue.path not in by_path]
    surplus = [path for path in by_path if path not in tree and path not in automatic]
    found = []
    if missing:
        found.append(f"{where} has {', '.join(missing)}, which the ResourceManager does not have: it was not refreshed")
    if surplus and shown.kind == "capacity":
        found.append(f"the ResourceManager has {', '.join(surplus)}, which {where} does not: it was not refreshed")
    for queue in tree:
        there = by_path.get(queue.path)
        if there is None or there.capacity is None or queue.capacity.mode is not CapacityMode.PERCENT:
            continue
        if (
            queue.parent is not None
            and abs(queue.capacity.value - there.capacity.capacity_percent) > _PERCENT_TOLERANCE
        ):
            found.append(
                f"{where} gives {queue.path} a capacity of {queue.capacity.value:g}, the ResourceManager goes by "
                f"{there.capacity.capacity_percent:g}: it was not refreshed"
            )
            break
    return tuple(found)
