"""Facts about what a queue is configured to be sure of and to borrow up to, in legacy mode and without it."""

from __future__ import annotations

from collections.abc import Mapping

from rules.dialects.capacity_properties import PREFIX
from rules.model import ROOT, Capacity, CapacityMode, Queue, QueueTree, Resources, ResourceShare
from rules.rulesets.capacity_shares import RESOURCES, float32, vector_minimum
from tuner.errors import InputError

__all__ = ["Facts", "is_legacy", "share_facts", "vector_facts"]

Facts = Mapping[str, float | str]

_LEGACY = f"{PREFIX}legacy-queue-mode.enabled"
_MODES = {CapacityMode.WEIGHT: "weight", CapacityMode.ABSOLUTE: "absolute", CapacityMode.VECTOR: "vector"}
_NAMES = {"memory_mib": "memory-mb", "vcores": "vcores"}
_PHASES = ("absolute", "percent", "weight")


def is_legacy(tree: QueueTree) -> bool:
    """Whether all resources of a queue go by one capacity (``isLegacyQueueMode``); so it is unless switched off."""
    return tree.settings.get(_LEGACY, "true").strip().lower() != "false"


def share_facts(tree: QueueTree, queue: Queue, parent: Facts) -> dict[str, float | str]:
    """What the rules of legacy mode look at, for one queue.

    Raises:
        InputError: the capacity is a vector, which legacy mode does not know.
    """
    return {**_guarantee_facts(tree, queue, parent), **_maximum_facts(queue, parent)}


def _guarantee_facts(tree: QueueTree, queue: Queue, parent: Facts) -> dict[str, float | str]:
    capacity = queue.capacity
    mode = _MODES.get(capacity.mode, "percent")
    if queue.path == ROOT:
        return {"capacity_mode": "percent", "capacity": 100.0, "parent_absolute": 1.0}
    if mode == "vector":
        raise InputError(
            f"{queue.path}: a capacity that mixes amounts, percentages and weights needs {_LEGACY} false",
            "set it, or write one percentage, one weight, or absolute amounts of memory and vcores",
        )
    if mode != "absolute":
        weights = sum(child.capacity.value for child in tree.children(queue.parent or ROOT))
        facts: dict[str, float | str] = {"capacity_mode": mode, "capacity": capacity.value}
        if mode == "weight":
            facts["sibling_weights"] = weights
        return {**facts, "parent_absolute": parent["parent_absolute"]}
    siblings = sum((child.capacity.resources for child in tree.children(queue.parent or ROOT)), Resources())
    return {
        "capacity_mode": mode,
        "configured_memory_mib": float(capacity.resources.memory_mib),
        "configured_vcores": float(capacity.resources.vcores),
        "parent_absolute": parent["parent_absolute"],
        "siblings_memory_mib": float(siblings.memory_mib),
        "siblings_vcores": float(siblings.vcores),
        "parent_memory_mib": parent["parent_memory_mib"],
        "parent_vcores": parent["parent_vcores"],
    }


def _maximum_facts(queue: Queue, parent: Facts) -> dict[str, float | str]:
    maximum = queue.maximum_capacity
    absolute = maximum.mode is CapacityMode.ABSOLUTE
    if absolute or (queue.capacity.mode is CapacityMode.ABSOLUTE and maximum.mode is CapacityMode.UNSET):
        return {
            "maximum_mode": "absolute",
            "maximum_memory_mib": float(maximum.resources.memory_mib),
            "maximum_vcores": float(maximum.resources.vcores),
            "parent_maximum_memory_mib": parent["parent_maximum_memory_mib"],
            "parent_maximum_vcores": parent["parent_maximum_vcores"],
        }
    percent = maximum.value if maximum.mode is CapacityMode.PERCENT else 100.0
    return {
        "maximum_mode": "percent",
        "maximum_capacity": 100.0 if percent < 0 or queue.path == ROOT else percent,
        "parent_absolute_maximum": parent["parent_absolute_maximum"],
    }


def vector_facts(tree: QueueTree, parent: Queue, above: Facts, cluster: Facts) -> dict[str, dict[str, float | str]]:
    """What the rules without legacy mode look at, for each child of a queue.

    Args:
        tree: the configuration.
        parent: the queue whose children share it.
        above: what the children know of it.
        cluster: memory and vcores of the cluster.

    Returns:
        By path; with what is left to each child when its turn comes, which depends on the children before it.
    """
    children = tree.children(parent.path)
    facts: dict[str, dict[str, float | str]] = {
        child.path: {"capacity_mode": "vector", "maximum_mode": "vector", **above, **_configured(child.capacity)}
        for child in children
    }
    for name in RESOURCES:
        for child in children:
            facts[child.path].update(_written(child, name), **{f"total_{name}": float(cluster[name])})
        _share_out(list(facts.values()), name, float(above[f"parent_{name}"]))
    return facts


def _configured(capacity: Capacity) -> dict[str, float | str]:
    """The amounts of a capacity without percentages; a weight beside them counts as nothing (``RESOURCE_PATTERN``)."""
    amounts = {share.resource: share for share in capacity.shares}
    known = all(share.mode is not CapacityMode.PERCENT for share in capacity.shares)
    found: dict[str, float | str] = {}
    for name, resource in _NAMES.items():
        share = amounts.get(resource)
        found[f"configured_{name}"] = share.value if known and share and share.mode is CapacityMode.ABSOLUTE else 0.0
    if not found["configured_memory_mib"]:
        found["configured_vcores"] = 0.0
    return found


def _written(queue: Queue, name: str) -> dict[str, float | str]:
    """How one resource of a queue's capacity and maximum is written."""
    least, most = _entry(queue.capacity, _NAMES[name]), _entry(queue.maximum_capacity, _NAMES[name])
    return {
        f"mode_{name}": least.mode.value,
        f"value_{name}": float32(least.value),
        f"most_mode_{name}": "unset" if least.mode is CapacityMode.UNSET else most.mode.value,
        f"most_{name}": float32(most.value) if most.mode is CapacityMode.PERCENT else most.value,
    }


def _entry(capacity: Capacity, resource: str) -> ResourceShare:
    """A capacity's part for one resource; one that a vector does not name is an amount of 0."""
    if capacity.mode in (CapacityMode.PERCENT, CapacityMode.WEIGHT):
        if capacity.value >= 0:
            return ResourceShare(resource, capacity.mode, capacity.value)
        return ResourceShare(resource, CapacityMode.UNSET, 0.0)
    if capacity.mode is CapacityMode.UNSET:
        return ResourceShare(resource, CapacityMode.UNSET, 0.0)
    named = {share.resource: share for share in capacity.shares}
    return named.get(resource, ResourceShare(resource, CapacityMode.ABSOLUTE, 0.0))


def _share_out(children: list[dict[str, float | str]], name: str, whole: float) -> None:
    """Notes what is left to each child: amounts first, then percentages, then weights, each in the children's order."""
    amounts = sum(float(fact[f"value_{name}"]) for fact in children if fact[f"mode_{name}"] == "absolute")
    weights = sum(float(fact[f"value_{name}"]) for fact in children if fact[f"mode_{name}"] == "weight")
    scale = float32(whole / amounts) if whole < amounts else 1.0
    left = room = whole
    for phase in _PHASES:
        used = 0.0
        for fact in children:
            if fact[f"mode_{name}"] != phase:
                continue
            fact |= {f"left_{name}": left, f"room_{name}": room, f"weights_{name}": weights, f"scale_{name}": scale}
            least = vector_minimum(fact, name)
            if name == "vcores" and vector_minimum(fact, "memory_mib") == 0:
                least = 0.0
            used += least
            room -= least
        left -= used
    for fact in children:
        for missing in ("left", "room", "weights", "scale"):
            fact.setdefault(f"{missing}_{name}", 0.0)
