"""What a queue of the Capacity Scheduler is sure of and what it may borrow up to: the terms of its rules.

In legacy mode capacities are fractions of the parent's, kept as 32-bit floats down the tree
(``AbstractCSQueue#updateEffectiveResources``). In the other (``legacy-queue-mode.enabled`` false) each resource is
worked out by itself, amounts first, then percentages, then weights of what is left (``ResourceCalculationDriver``).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from rules.engine import Fact

__all__ = [
    "RESOURCES",
    "Term",
    "float32",
    "guaranteed_capacity",
    "guaranteed_resources",
    "guaranteed_vector",
    "guaranteed_weight",
    "maximum_capacity",
    "maximum_resources",
    "maximum_vector",
    "vector_minimum",
]

Term = Mapping[str, float]
"""A term's coefficients by name."""

RESOURCES = ("memory_mib", "vcores")
"""The resources of a vector, in the order in which they are worked out."""


def float32(value: float | str | np.float32) -> float:
    """What is left of a number that Hadoop keeps as a float."""
    return float(np.float32(value))


def guaranteed_capacity(fact: Fact) -> Term:
    """What a queue is sure of: its percentage of its parent, down the tree, times the cluster, rounded down."""
    own = float32(float32(fact["capacity"]) / np.float32(100))
    absolute = float32(np.float32(own) * np.float32(fact["parent_absolute"]))
    return _guarantee(fact, absolute)


def guaranteed_weight(fact: Fact) -> Term:
    """What a queue is sure of: its weight among the weights of its siblings, down the tree, times the cluster."""
    own = np.float32(np.float32(fact["capacity"]) / np.float32(fact["sibling_weights"]))
    return _guarantee(fact, float32(own * np.float32(fact["parent_absolute"])))


def _guarantee(fact: Fact, absolute: float) -> Term:
    return {
        "absolute": absolute,
        "memory_mib": float(int(float(fact["cluster_memory_mib"]) * absolute)),
        "vcores": float(int(float(fact["cluster_vcores"]) * absolute)),
        "configured_memory_mib": 0.0,
        "configured_vcores": 0.0,
    }


def guaranteed_resources(fact: Fact) -> Term:
    """What a queue is sure of: its absolute resources, scaled down where the children's exceed what the parent has."""
    amounts = {}
    for amount in ("memory_mib", "vcores"):
        available, wanted = float(fact[f"parent_{amount}"]), float(fact[f"siblings_{amount}"])
        ratio = np.float32(available / wanted) if 0 < available < wanted else np.float32(1)
        amounts[amount] = float(int(float(fact[f"configured_{amount}"]) * float(ratio)))
    above = max(_shares(fact, fact, "parent_"))
    own = max(_shares(fact, amounts)) / above if above > 0 else 0.0
    return {
        "absolute": float32(np.float32(own) * np.float32(fact["parent_absolute"])),
        **amounts,
        "configured_memory_mib": float(fact["configured_memory_mib"]),
        "configured_vcores": float(fact["configured_vcores"]),
    }


def _shares(fact: Fact, amounts: Mapping[str, float | str], prefix: str = "") -> list[float]:
    """Amounts as fractions of the cluster; vcores only where they count."""
    return [
        float(amounts[f"{prefix}{name}"]) / float(fact[f"cluster_{name}"])
        for name in ("memory_mib", "vcores")
        if float(fact[f"cluster_{name}"]) > 0
    ]


def maximum_capacity(fact: Fact) -> Term:
    """What a queue may borrow up to: its percentage of its parent's maximum. Hard, at every level of the tree."""
    own = float32(float32(fact["maximum_capacity"]) / np.float32(100))
    absolute = float32(np.float32(own) * np.float32(fact["parent_absolute_maximum"]))
    return {
        "absolute": absolute,
        "memory_mib": float(int(float(fact["cluster_memory_mib"]) * absolute)),
        "vcores": float(int(float(fact["cluster_vcores"]) * absolute)),
    }


def maximum_resources(fact: Fact) -> Term:
    """What a queue may borrow up to, in absolute resources; where none are configured, as much as its parent."""
    own = {name: float(fact[f"maximum_{name}"]) for name in ("memory_mib", "vcores")}
    above = {name: float(fact[f"parent_maximum_{name}"]) for name in ("memory_mib", "vcores")}
    if not any(own.values()) or sorted(_shares(fact, own), reverse=True) > sorted(_shares(fact, above), reverse=True):
        own = above
    return {"absolute": float32(max(_shares(fact, own))), **own}


def guaranteed_vector(fact: Fact) -> Term:
    """What a queue is sure of without legacy mode: of each resource an amount, a percentage or a weight, in that order.

    Amounts are scaled down where the siblings' exceed what the parent has; percentages are of what the amounts leave,
    weights of what those leave. None is more than the queue's maximum, or than what earlier siblings have left.
    """
    least = {name: vector_minimum(fact, name) for name in RESOURCES}
    if least["memory_mib"] == 0:
        least["vcores"] = 0.0
    above, own = max(_shares(fact, fact, "parent_")), max(_shares(fact, least))
    part = float32(own / above) if above > 0 else 0.0
    return {
        "absolute": float32(np.float32(part) * np.float32(fact["parent_absolute"])),
        **least,
        "configured_memory_mib": float(fact["configured_memory_mib"]),
        "configured_vcores": float(fact["configured_vcores"]),
    }


def maximum_vector(fact: Fact) -> Term:
    """What a queue may borrow up to without legacy mode: of each resource an amount, or a percentage of the parent's.

    No more than the parent's; as much where nothing is configured.
    """
    most = {name: _vector_maximum(fact, name) for name in RESOURCES}
    return {"absolute": float32(max(_shares(fact, most))), **most}


def vector_minimum(fact: Fact, name: str) -> float:
    """What a queue is sure of, of one resource (``ResourceCalculationDriver#setChildResources``)."""
    cluster, value, parent = float(fact[f"total_{name}"]), float(fact[f"value_{name}"]), float(fact[f"parent_{name}"])
    if cluster <= 0 or parent <= 0:
        return 0.0
    left = float(fact[f"left_{name}"]) / parent
    mode = fact[f"mode_{name}"]
    if mode == "absolute":
        least: float = math.floor(float(fact[f"scale_{name}"]) * left * value)
    elif mode == "percent":
        least = math.floor(cluster * (parent / cluster * left * value / 100))
    else:
        share = value / float(fact[f"weights_{name}"])
        amount = float(fact[f"left_{name}"]) if share == 1 else cluster * (parent / cluster * left * share)
        least = math.floor(amount + 0.5)
    return float(min(least, _vector_maximum(fact, name), float(fact[f"room_{name}"])))


def _vector_maximum(fact: Fact, name: str) -> float:
    cluster, above = float(fact[f"total_{name}"]), float(fact[f"parent_maximum_{name}"])
    most = float(fact[f"most_{name}"])
    if fact[f"most_mode_{name}"] == "percent":
        most = math.floor(cluster * (above / cluster * most / 100)) if cluster > 0 else 0.0
    return above if most == 0 else min(float(math.floor(most)), above)
