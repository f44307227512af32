"""The Capacity Scheduler's rules, one for each of its mechanisms, as Hadoop 3.4 defines them.

Facts are about the cluster (``kind`` cluster) or about a queue (``kind`` queue); their fields are made in
:mod:`rules.rulesets.capacity_facts`. Hadoop keeps fractions as 32-bit floats, and so do the rules, because a rounding
decides whether one container more fits.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rules.engine import Condition, Fact, Rule

__all__ = ["RULES"]

_Term = Mapping[str, float]


def _float32(value: float | str | np.float32) -> float:
    return float(np.float32(value))


def cluster_resources(fact: Fact) -> _Term:
    """What all nodes have together. Shares of queues and users are shares of it; a full cluster gives nothing more."""
    return {"memory_mib": float(fact["memory_mib"]), "vcores": float(fact["vcores"])}


def dominant_resource(fact: Fact) -> _Term:
    """Memory and vcores both count: amounts compare by the larger of their shares of the cluster, then by the other.

    Without it memory alone counts, and a node's vcores can be overbooked.
    """
    return {"vcores_count": float(fact["dominant"])}


def container_normalization(fact: Fact) -> _Term:
    """A container is rounded up to a multiple of the minimum allocation, and is never smaller than it."""
    return {"memory_mib": float(fact["minimum_memory_mib"]), "vcores": float(fact["minimum_vcores"])}


def maximum_allocation(fact: Fact) -> _Term:
    """A request for a container above the maximum allocation is refused, and its job can never run."""
    return {"memory_mib": float(fact["maximum_memory_mib"]), "vcores": float(fact["maximum_vcores"])}


def assignments_per_heartbeat(fact: Fact) -> _Term:
    """A node's heartbeat hands out a limited number of containers, by default one of those without locality.

    Not with asynchronous scheduling, which does not wait for heartbeats.
    """
    return {
        "off_switch": float(fact["maximum_off_switch_assignments"]),
        "multiple": float(fact["multiple_assignments"]),
        "containers": float(fact["maximum_container_assignments"]),
    }


def asynchronous_scheduling(_: Fact) -> _Term:
    """Containers are handed out by a thread of its own within milliseconds, instead of at the nodes' heartbeats."""
    return {"asynchronous": 1.0}


def reservation(_: Fact) -> _Term:
    """A node on which the next container does not fit is reserved for it, so that large containers are not starved."""
    return {"reserve": 1.0}


def reservation_continue_looking(fact: Fact) -> _Term:
    """An application that holds a reservation goes on looking at other nodes, and gives it up for a container there."""
    return {"continue": float(fact["continue_looking"])}


def guaranteed_capacity(fact: Fact) -> _Term:
    """What a queue is sure of: its percentage of its parent, down the tree, times the cluster, rounded down."""
    own = _float32(_float32(fact["capacity"]) / np.float32(100))
    absolute = _float32(np.float32(own) * np.float32(fact["parent_absolute"]))
    return _guarantee(fact, absolute)


def guaranteed_weight(fact: Fact) -> _Term:
    """What a queue is sure of: its weight among the weights of its siblings, down the tree, times the cluster."""
    own = np.float32(np.float32(fact["capacity"]) / np.float32(fact["sibling_weights"]))
    return _guarantee(fact, _float32(own * np.float32(fact["parent_absolute"])))


def _guarantee(fact: Fact, absolute: float) -> _Term:
    return {
        "absolute": absolute,
        "memory_mib": float(int(float(fact["cluster_memory_mib"]) * absolute)),
        "vcores": float(int(float(fact["cluster_vcores"]) * absolute)),
        "configured_memory_mib": 0.0,
        "configured_vcores": 0.0,
    }


def guaranteed_resources(fact: Fact) -> _Term:
    """What a queue is sure of: its absolute resources, scaled down where the children's exceed what the parent has."""
    amounts = {}
    for amount in ("memory_mib", "vcores"):
        available, wanted = float(fact[f"parent_{amount}"]), float(fact[f"siblings_{amount}"])
        ratio = np.float32(available / wanted) if 0 < available < wanted else np.float32(1)
        amounts[amount] = float(int(float(fact[f"configured_{amount}"]) * float(ratio)))
    above = max(_shares(fact, fact, "parent_"))
    own = max(_shares(fact, amounts)) / above if above > 0 else 0.0
    return {
        "absolute": _float32(np.float32(own) * np.float32(fact["parent_absolute"])),
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


def maximum_capacity(fact: Fact) -> _Term:
    """What a queue may borrow up to: its percentage of its parent's maximum. Hard, at every level of the tree."""
    own = _float32(_float32(fact["maximum_capacity"]) / np.float32(100))
    absolute = _float32(np.float32(own) * np.float32(fact["parent_absolute_maximum"]))
    return {
        "absolute": absolute,
        "memory_mib": float(int(float(fact["cluster_memory_mib"]) * absolute)),
        "vcores": float(int(float(fact["cluster_vcores"]) * absolute)),
    }


def maximum_resources(fact: Fact) -> _Term:
    """What a queue may borrow up to, in absolute resources; where none are configured, as much as its parent."""
    own = {name: float(fact[f"maximum_{name}"]) for name in ("memory_mib", "vcores")}
    above = {name: float(fact[f"parent_maximum_{name}"]) for name in ("memory_mib", "vcores")}
    if not any(own.values()) or sorted(_shares(fact, own), reverse=True) > sorted(_shares(fact, above), reverse=True):
        own = above
    return {"absolute": _float32(max(_shares(fact, own))), **own}


def queue_order(_: Fact) -> _Term:
    """Among siblings the queue that uses least of what it is sure of is served first."""
    return {"by_usage": 1.0}


def queue_priority(fact: Fact) -> _Term:
    """Under the parent's policy priority-utilization, siblings on the same side of their guarantee go by priority."""
    return {"priority": float(fact["priority"]), "children_by_priority": float(fact["children_by_priority"])}


def am_limit(fact: Fact) -> _Term:
    """Application masters may use a share of the queue; others wait in state ACCEPTED, though the cluster be idle.

    A share of what the queue is sure of or, if more, of what it could have come to at the last assignment.
    """
    return {"fraction": _float32(fact["maximum_am_resource_percent"])}


def user_am_limit(fact: Fact) -> _Term:
    """The application masters of one user may use the user's part of the AM share: minimum percent, times factor."""
    return {"fraction": _float32(fact["maximum_am_resource_percent"])}


def user_limit(fact: Fact) -> _Term:
    """An active user of a queue gets an equal part of it, but no less than the minimum percent; blocked when over it.

    Shared among the users that ask for something. 100 means that the first user may have it all. A user who uses more
    than the limit is blocked, one who uses exactly as much is not.
    """
    return {"minimum_percent": _float32(fact["minimum_user_limit_percent"])}


def user_limit_factor(fact: Fact) -> _Term:
    """One user gets at most so many times what the queue is sure of, however idle the cluster; -1 switches it off."""
    return {"factor": _float32(fact["user_limit_factor"])}


def application_order(fact: Fact) -> _Term:
    """Applications of a queue are served in the order of their submission (fifo), or by least memory in use (fair)."""
    return {"fair": float(fact["ordering_policy"] == "fair")}


def size_based_weight(_: Fact) -> _Term:
    """In fair order an application's use counts less the larger its demand: divided by the logarithm of it."""
    return {"size_based": 1.0}


def user_weight(fact: Fact) -> _Term:
    """A user's weight: how many users this one counts for, in sharing a queue and in the user limit."""
    return {"weight": _float32(fact["weight"])}


def parallel_applications(fact: Fact) -> _Term:
    """At most so many applications of a queue, or of all queues below it, run beside each other; others wait."""
    return {"applications": float(fact["maximum_parallel"])}


def user_parallel_applications(fact: Fact) -> _Term:
    """At most so many applications of one user, in all queues together, run beside each other; others wait."""
    return {"applications": float(fact["maximum_parallel"])}


def maximum_applications_per_user(fact: Fact) -> _Term:
    """A queue refuses the application of a user who has too many in it: the percent of the queue's times the factor."""
    return {
        "applications": float(fact["maximum_applications"]),
        "of_all_applications": float(fact["system_applications"]),
        "part": _float32(np.float32(fact["minimum_user_limit_percent"]) / np.float32(100))
        * _float32(fact["user_limit_factor"]),
    }


def system_applications(fact: Fact) -> _Term:
    """A cluster that holds so many applications, running and waiting, refuses another."""
    return {"applications": float(fact["system_applications"])}


def queue_state(_: Fact) -> _Term:
    """A stopped queue refuses every new application; those that it has go on."""
    return {"stopped": 1.0}


def maximum_applications(fact: Fact) -> _Term:
    """A queue that holds so many applications, running and waiting, refuses another.

    Where it is not configured: the queue's absolute capacity times the whole cluster's number of applications.
    """
    return {
        "applications": float(fact["maximum_applications"]),
        "of_all_applications": float(fact["system_applications"]),
    }


RULES: tuple[Rule, ...] = (
    Rule(
        "cluster-resources", "cluster-resources", "CapacityScheduler#getClusterResource", "cluster", cluster_resources
    ),
    Rule(
        "dominant-resource",
        "calculator",
        "DominantResourceCalculator",
        "cluster",
        dominant_resource,
        (Condition("dominant", "==", 1),),
    ),
    Rule(
        "container-normalization",
        "normalization",
        "AbstractYarnScheduler#getNormalizedResource",
        "cluster",
        container_normalization,
    ),
    Rule(
        "maximum-allocation",
        "maximum-allocation",
        "SchedulerUtils#validateResourceRequest",
        "cluster",
        maximum_allocation,
    ),
    Rule(
        "assignments-per-heartbeat",
        "assignments",
        "CapacityScheduler#canAllocateMore",
        "cluster",
        assignments_per_heartbeat,
        (Condition("asynchronous", "==", 0),),
    ),
    Rule(
        "asynchronous-scheduling",
        "asynchronous",
        "CapacityScheduler.AsyncScheduleThread",
        "cluster",
        asynchronous_scheduling,
        (Condition("asynchronous", "==", 1),),
    ),
    Rule("reservation", "reservation", "RegularContainerAllocator#assignContainer", "cluster", reservation),
    Rule(
        "reservation-continue-looking",
        "continue-looking",
        "AbstractCSQueue#canAssignToThisQueue",
        "cluster",
        reservation_continue_looking,
        (Condition("continue_looking", "==", 1),),
    ),
    Rule(
        "guaranteed-capacity",
        "guarantee",
        "AbstractCSQueue#updateEffectiveResources",
        "queue",
        guaranteed_capacity,
        (Condition("capacity_mode", "==", "percent"),),
    ),
    Rule(
        "guaranteed-weight",
        "guarantee",
        "AbstractParentQueue#setChildQueues",
        "queue",
        guaranteed_weight,
        (Condition("capacity_mode", "==", "weight"),),
    ),
    Rule(
        "guaranteed-resources",
        "guarantee",
        "AbstractCSQueue#updateEffectiveResources",
        "queue",
        guaranteed_resources,
        (Condition("capacity_mode", "==", "absolute"),),
    ),
    Rule(
        "maximum-capacity",
        "maximum",
        "AbstractCSQueue#canAssignToThisQueue",
        "queue",
        maximum_capacity,
        (Condition("maximum_mode", "==", "percent"),),
    ),
    Rule(
        "maximum-resources",
        "maximum",
        "AbstractCSQueue#canAssignToThisQueue",
        "queue",
        maximum_resources,
        (Condition("maximum_mode", "==", "absolute"),),
    ),
    Rule(
        "queue-order",
        "queue-order",
        "PriorityUtilizationQueueOrderingPolicy",
        "queue",
        queue_order,
        (Condition("leaf", "==", 0),),
    ),
    Rule(
        "queue-priority",
        "queue-priority",
        "PriorityUtilizationQueueOrderingPolicy",
        "queue",
        queue_priority,
    ),
    Rule(
        "am-limit",
        "am-limit",
        "AbstractLeafQueue#calculateAndGetAMResourceLimitPerPartition",
        "queue",
        am_limit,
        (Condition("leaf", "==", 1),),
    ),
    Rule(
        "user-am-limit",
        "user-am-limit",
        "AbstractLeafQueue#getUserAMResourceLimitPerPartition",
        "queue",
        user_am_limit,
        (Condition("leaf", "==", 1),),
    ),
    Rule(
        "user-limit", "user-limit", "UsersManager#computeUserLimit", "queue", user_limit, (Condition("leaf", "==", 1),)
    ),
    Rule(
        "user-limit-factor",
        "user-limit-factor",
        "UsersManager#computeUserLimit",
        "queue",
        user_limit_factor,
        (Condition("leaf", "==", 1), Condition("user_limit_factor", "!=", -1)),
    ),
    Rule(
        "application-order",
        "application-order",
        "FifoOrderingPolicy, FairOrderingPolicy",
        "queue",
        application_order,
        (Condition("leaf", "==", 1),),
    ),
    Rule(
        "size-based-weight",
        "size-based-weight",
        "FairOrderingPolicy",
        "queue",
        size_based_weight,
        (Condition("leaf", "==", 1), Condition("ordering_policy", "==", "fair"), Condition("size_based", "==", 1)),
    ),
    Rule(
        "maximum-applications",
        "maximum-applications",
        "AbstractLeafQueue#validateSubmitApplication",
        "queue",
        maximum_applications,
        (Condition("leaf", "==", 1),),
    ),
    Rule(
        "maximum-applications-per-user",
        "user-applications",
        "AbstractLeafQueue#validateSubmitApplication",
        "queue",
        maximum_applications_per_user,
        (Condition("leaf", "==", 1), Condition("user_limit_factor", "!=", -1)),
    ),
    Rule(
        "system-applications",
        "system-applications",
        "CapacityScheduler#addApplication",
        "cluster",
        system_applications,
    ),
    Rule(
        "queue-state",
        "queue-state",
        "AbstractLeafQueue#validateSubmitApplication",
        "queue",
        queue_state,
        (Condition("leaf", "==", 1), Condition("stopped", "==", 1)),
    ),
    Rule(
        "parallel-applications",
        "parallel",
        "CSMaxRunningAppsEnforcer#exceedQueueMaxParallelApps",
        "queue",
        parallel_applications,
        (Condition("maximum_parallel", "<", 2**31 - 1),),
    ),
    Rule(
        "user-parallel-applications",
        "parallel",
        "CSMaxRunningAppsEnforcer#exceedUserMaxParallelApps",
        "user",
        user_parallel_applications,
        (Condition("maximum_parallel", "<", 2**31 - 1),),
    ),
    Rule("user-weight", "weight", "UsersManager#getComputedResourceLimitForActiveUsers", "queue-user", user_weight),
)
"""In the order of the documentation."""
