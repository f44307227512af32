"""The Fair Scheduler's rules: one for each mechanism of it, each giving the limit that the simulation obeys.

A limit's ``kind`` and coefficients are what :mod:`rules.simulation.fair.build` fills its tables with; where a rule is
taken out, the simulation goes on without that mechanism. Memory is MiB, times are milliseconds as in Hadoop.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache

import numpy as np

from rules.engine import Condition, Fact, Rule, RuleEngine

__all__ = ["FAIR_RULES", "fair_engine"]


def _pick(fact: Fact, *names: str) -> dict[str, float]:
    return {name: _number(fact[name]) for name in names}


def _number(value: float | str) -> float:
    assert not isinstance(value, str)
    return value


def cluster_resources(fact: Fact) -> Mapping[str, float]:
    """What all nodes have together is divided among the queues."""
    return _pick(fact, "memory", "vcores")


def weight(fact: Fact) -> Mapping[str, float]:
    """A queue is due memory in proportion to its weight; with weight 0, its minimum only."""
    return _pick(fact, "weight")


def minimum_share(fact: Fact) -> Mapping[str, float]:
    """A queue below its minimum share is served before its siblings, and is due at least that much."""
    return _pick(fact, "least_memory", "least_vcores")


def maximum_share(fact: Fact) -> Mapping[str, float]:
    """A queue never holds more than its maximum share (which is at least its minimum)."""
    return _pick(fact, "most_memory", "most_vcores")


def maximum_running_applications(fact: Fact) -> Mapping[str, float]:
    """So many applications run in a queue and below it; further ones wait, oldest first."""
    return _pick(fact, "max_apps")


def maximum_am_share(fact: Fact) -> Mapping[str, float]:
    """AMs hold at most this part of a leaf's fair share, or of what is free where it is due nothing of a resource."""
    return _pick(fact, "am_share")


def container_size(fact: Fact) -> Mapping[str, float]:
    """A container is at least the minimum allocation, and a multiple of the increment."""
    return _pick(fact, "minimum_mib", "minimum_vcores", "increment_mib", "increment_vcores")


def maximum_allocation(fact: Fact) -> Mapping[str, float]:
    """A container above the maximum allocation is refused."""
    return _pick(fact, "maximum_mib", "maximum_vcores")


def queue_maximum_allocation(fact: Fact) -> Mapping[str, float]:
    """A container above maxContainerAllocation of its queue, or of a queue above, is refused."""
    return _pick(fact, "container_memory", "container_vcores")


def placeable(fact: Fact) -> Mapping[str, float]:
    """A node that is too small for a container even when empty is never held for it: the next size is tried there."""
    return _pick(fact, "memory")


def order_fair(_: Fact) -> Mapping[str, float]:
    """Below the minimum first, then the least memory in use by weight."""
    return {"policy": 0}


def order_fifo(_: Fact) -> Mapping[str, float]:
    """The oldest application first, and all of the queue's share is due to it."""
    return {"policy": 1}


def order_drf(_: Fact) -> Mapping[str, float]:
    """The smallest dominant share of memory and vcores by weight first; both resources have fair shares."""
    return {"policy": 2}


def size_based_weight(_: Fact) -> Mapping[str, float]:
    """An application weighs the logarithm of the memory that it demands."""
    return {"size_based": 1}


def update_step(fact: Fact) -> Mapping[str, float]:
    """Demand and fair shares are computed at intervals: a new ask waits for the next one."""
    return {"interval_s": _number(fact["update_interval_ms"]) / 1000.0}


def assign_multiple(fact: Fact) -> Mapping[str, float]:
    """A node's beat gives out up to half of its free resources, or up to a number of containers, instead of one."""
    return _pick(fact, "dynamic_max_assign", "max_assign")


def reservation(fact: Fact) -> Mapping[str, float]:
    """An application below its fair share keeps nodes for large containers that do not fit yet."""
    by = _number(fact["reservation_multiple"])
    nodes = math.ceil(float(np.float32(fact["nodes"]) * np.float32(fact["reservable_nodes"])))
    return {
        "least_mib": int(_number(fact["increment_mib"]) * by),
        "least_vcores": int(_number(fact["increment_vcores"]) * by),
        "nodes": nodes,
    }


def preemption(fact: Fact) -> Mapping[str, float]:
    """On a busy cluster, containers of those above their fair share are killed for starved applications.

    They are marked first and killed after a time; the room is for the application that they were killed for. An
    application that was helped is not looked at again until some time after the kill.
    """
    # Without continuous scheduling FSPreemptionThread adds four heartbeat intervals, but it is made before the interval
    # is read (AbstractYarnScheduler.serviceInit), so that they are 0.
    beats_ms = 10 * _number(fact["continuous_sleep_ms"]) if fact["continuous_scheduling"] else 0.0
    wait_ms = _number(fact["wait_before_kill_ms"])
    return {
        "utilization": _number(fact["preemption_utilization"]),
        "wait_before_kill_ms": wait_ms,
        "next_check_ms": wait_ms + beats_ms + _number(fact["wait_before_next_check_ms"]),
    }


def starvation(fact: Fact) -> Mapping[str, float]:
    """An application is starved after so long below a part of its fair share, a queue below its minimum share."""
    return {
        **_pick(fact, "fair_timeout_ms", "min_timeout_ms"),
        "threshold": float(np.float32(_number(fact["threshold"]))),
    }


def no_am_preemption(_: Fact) -> Mapping[str, float]:
    """AMs of the queue are never preempted. Otherwise they may be, where no node has enough without them."""
    return {"am_preemption": 0}


def no_preemption_from(_: Fact) -> Mapping[str, float]:
    """Containers of a queue with allowPreemptionFrom false, or below one, are never preempted."""
    return {"allow_preemption": 0}


FAIR_RULES: tuple[Rule, ...] = (
    Rule("cluster-resources", "cluster-resources", "FairScheduler.getClusterResource", "cluster", cluster_resources),
    Rule("fair-weight", "weight", "policies.ComputeFairShares", "queue", weight),
    Rule(
        "fair-min-share",
        "min-share",
        "policies.FairSharePolicy.FairShareComparator",
        "queue",
        minimum_share,
        (Condition("has_minimum", "==", 1),),
    ),
    Rule(
        "fair-max-share",
        "max-share",
        "FSQueue.fitsInMaxShare",
        "queue",
        maximum_share,
        (Condition("has_maximum", "==", 1),),
    ),
    Rule(
        "fair-max-running-apps",
        "max-running-apps",
        "MaxRunningAppsEnforcer.exceedQueueMaxRunningApps",
        "queue",
        maximum_running_applications,
        (Condition("has_max_apps", "==", 1),),
    ),
    Rule(
        "fair-user-max-running-apps",
        "max-running-apps",
        "MaxRunningAppsEnforcer.exceedUserMaxApps",
        "user",
        maximum_running_applications,
        (Condition("has_max_apps", "==", 1),),
    ),
    Rule(
        "fair-am-share",
        "am-share",
        "FSLeafQueue.canRunAppAM",
        "queue",
        maximum_am_share,
        (Condition("am_share", "!=", -1.0),),
    ),
    Rule("fair-container-size", "container-size", "FairScheduler.getNormalizedResource", "cluster", container_size),
    Rule(
        "fair-max-allocation",
        "maximum-allocation",
        "RMServerUtils.normalizeAndValidateRequests",
        "cluster",
        maximum_allocation,
    ),
    Rule(
        "fair-queue-max-allocation",
        "maximum-allocation",
        "FairScheduler.getMaximumResourceCapability",
        "queue",
        queue_maximum_allocation,
        (Condition("has_container_maximum", "==", 1),),
    ),
    Rule("fair-placeable", "placeable", "FSAppAttempt.hasContainerForNode", "cluster", placeable),
    Rule(
        "fair-order-fair",
        "order",
        "policies.FairSharePolicy",
        "queue",
        order_fair,
        (Condition("policy", "==", "fair"),),
    ),
    Rule("fair-order-fifo", "order", "policies.FifoPolicy", "queue", order_fifo, (Condition("policy", "==", "fifo"),)),
    Rule(
        "fair-order-drf",
        "order",
        "policies.DominantResourceFairnessPolicy",
        "queue",
        order_drf,
        (Condition("policy", "==", "drf"),),
    ),
    Rule(
        "fair-size-based-weight",
        "size-based-weight",
        "FSAppAttempt.getWeight",
        "cluster",
        size_based_weight,
        (Condition("size_based_weight", "==", 1),),
    ),
    Rule("fair-update-step", "update-step", "FairScheduler.update", "cluster", update_step),
    Rule(
        "fair-assign-multiple",
        "assign-multiple",
        "FairScheduler.shouldContinueAssigning",
        "cluster",
        assign_multiple,
        (Condition("assign_multiple", "==", 1),),
    ),
    Rule("fair-reservation", "reservation", "FSAppAttempt.isReservable", "cluster", reservation),
    Rule(
        "fair-preemption",
        "preemption",
        "FSPreemptionThread",
        "cluster",
        preemption,
        (Condition("preemption", "==", 1),),
    ),
    Rule("fair-starvation", "starvation", "FSLeafQueue.updateStarvedApps", "queue", starvation),
    Rule(
        "fair-no-preemption-from",
        "no-preemption",
        "FSAppAttempt.canContainerBePreempted",
        "queue",
        no_preemption_from,
        (Condition("allow_preemption", "==", 0),),
    ),
    Rule(
        "fair-no-am-preemption",
        "no-am-preemption",
        "FSAppAttempt.canContainerBePreempted",
        "queue",
        no_am_preemption,
        (Condition("am_preemption", "==", 0),),
    ),
)
"""All rules; ``docs/fair-scheduler.md`` lists them."""


@cache
def fair_engine() -> RuleEngine:
    """The rule set, ready to be evaluated; built once for each process."""
    return RuleEngine("fair", FAIR_RULES)
