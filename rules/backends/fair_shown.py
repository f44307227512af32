"""Whether the Fair Scheduler goes by an allocation file, as far as its queues show it. Pure.

Limits, minimum shares, policies and numbers of applications are shown as they are. Weights are not; they are seen by
the steady fair shares, which are computed from all weights as soon as a file was read
(``QueueManager.updateAllocationConfiguration``).
"""

from __future__ import annotations

from collections.abc import Mapping

from rules.dialects.fair_resources import UNBOUNDED, parse_resources
from rules.model import ROOT, PropertyChange
from rules.plan import Configuration, differences
from tuner.errors import InputError
from tuner.yarn.model import QueueInfo, Resource, SchedulerInfo

__all__ = ["steady_memory", "unseeable_fair", "unseen_fair"]

_SEEN = frozenset({"minResources", "maxResources", "maxRunningApps", "schedulingPolicy", "weight"})
_ROUNDS = 60
_TOLERANCE_MIB = 2


def unseen_fair(
    wanted: Configuration, before: Configuration, shown: SchedulerInfo, total: Resource
) -> tuple[PropertyChange, ...]:
    """What differs between the queues as shown and as they should be, among the properties that changed.

    Args:
        wanted: the configuration that should be in force.
        before: the one that was.
        shown: the queues.
        total: the resources of the cluster.

    Returns:
        By property: ``before`` is what is wanted, ``after`` what is shown.
    """
    queues = {queue.path: queue for queue in shown.root.walk()}
    changed = differences(before.properties, wanted.properties)
    found = []
    for change in changed:
        path, _, name = change.property.rpartition(".")
        if path in queues and change.after is not None:
            shows = _shown(name, change.after, queues[path], total)
            if shows is not None:
                found.append(PropertyChange(change.property, change.after, shows))
    weights = [change for change in changed if change.property.endswith(".weight")]
    return tuple(found + _unseen_weights(weights, wanted, shown))


def unseeable_fair(wanted: Configuration, before: Configuration) -> tuple[str, ...]:
    """The changed properties that no queue shows: those of the whole file, those taken out, and the rarer ones."""
    return tuple(
        change.property
        for change in differences(before.properties, wanted.properties)
        if change.after is None or change.property.rpartition(".")[2] not in _SEEN or "." not in change.property
    )


def _shown(name: str, text: str, queue: QueueInfo, total: Resource) -> str | None:
    """What a queue shows of a property where that is not what is wanted."""
    try:
        if name in {"minResources", "maxResources"}:
            missing = 0 if name == "minResources" else UNBOUNDED
            memory_mib, _ = parse_resources(text).resolve(total.memory_mib, total.vcores, missing=missing)
            there = queue.guaranteed if name == "minResources" else queue.maximum
            # A maximum is shown as no more than the cluster.
            same = there is None or min(memory_mib, total.memory_mib) == min(there.memory_mib, total.memory_mib)
            return None if same or there is None else f"{there.memory_mib} mb,{there.vcores} vcores"
        if name == "maxRunningApps" and queue.fair is not None:
            shown = queue.fair.max_running_applications
            return None if shown == int(text) else str(shown)
    except (InputError, ValueError):
        return None
    if name == "schedulingPolicy" and queue.fair is not None:
        policy = queue.fair.scheduling_policy
        return None if policy.lower() == text.lower() or "." in text else policy
    return None


def _unseen_weights(changed: list[PropertyChange], wanted: Configuration, shown: SchedulerInfo) -> list[PropertyChange]:
    if not changed:
        return []
    expected = steady_memory(wanted.properties, shown)
    queues = {queue.path: queue for queue in shown.root.walk()}
    found = []
    for change in changed:
        path = change.property.rpartition(".")[0]
        queue = queues.get(path)
        if queue is None or queue.fair is None or path not in expected:
            continue
        there = queue.fair.steady_fair_share.memory_mib
        if abs(there - expected[path]) > _TOLERANCE_MIB:
            found.append(PropertyChange(change.property, change.after, f"a steady fair share of {there} MiB"))
    return found


def steady_memory(properties: Mapping[str, str], shown: SchedulerInfo) -> dict[str, int]:
    """The steady fair share of each queue, in MiB (``ComputeFairShares.computeSteadyShares``).

    Args:
        properties: of the allocation file, as ``root.a.weight``; a queue that is not in it has weight 1.
        shown: the queues with their minimum and maximum shares.
    """
    found: dict[str, int] = {}
    root = shown.root
    found[ROOT] = root.fair.steady_fair_share.memory_mib if root.fair is not None else 0
    for parent in root.walk():
        if parent.children:
            shares = _divide(found[parent.path], parent.children, properties)
            found.update(zip((child.path for child in parent.children), shares, strict=True))
    return found


def _divide(total: int, children: tuple[QueueInfo, ...], properties: Mapping[str, str]) -> list[int]:
    bounds = [
        (
            _weight(properties.get(f"{child.path}.weight")),
            child.guaranteed.memory_mib if child.guaranteed else 0,
            child.maximum.memory_mib if child.maximum else UNBOUNDED,
        )
        for child in children
    ]

    def shares(ratio: float) -> list[int]:
        return [int(min(max(weight * ratio, least), most)) for weight, least, most in bounds]

    total = min(total, sum(most for _, _, most in bounds))
    high = 1.0
    while sum(shares(high)) < total and high < 2.0**62:
        high *= 2
    low = 0.0
    for _ in range(_ROUNDS):
        middle = (low + high) / 2
        if sum(shares(middle)) < total:
            low = middle
        else:
            high = middle
    return shares(high)


def _weight(text: str | None) -> float:
    try:
        return float(text) if text else 1.0
    except ValueError:
        return 1.0
