"""Preemption between queues under the Capacity Scheduler: its facts, and its rules.

``ProportionalCapacityPreemptionPolicy`` looks at the queues at intervals. It reckons what each should have
(``PreemptableResourceCalculator``): its guarantee, and what others leave over, in proportion to the guarantees; and has
containers killed of those that hold more. Hadoop keeps some of the fractions as 32-bit floats, and so do the rules.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rules.dialects.capacity_properties import PREEMPTION_PREFIX, default_of
from rules.dialects.capacity_values import parse_number
from rules.engine import Condition, Fact, Rule
from rules.model import Queue, QueueTree
from tuner.errors import InputError

__all__ = ["PREEMPTION_RULES", "preemption_facts", "preemption_notes", "preemption_off"]

_MONITOR = "yarn.resourcemanager.scheduler.monitor.enable"
_POLICIES = "yarn.resourcemanager.scheduler.monitor.policies"
_POLICY = "ProportionalCapacityPreemptionPolicy"
_PREFIX = "yarn.scheduler.capacity."
_VERSION = (3, 4)
_Term = Mapping[str, float]

_NUMBERS = {
    "monitoring_interval_ms": "monitoring_interval",
    "maximum_wait_ms": "max_wait_before_kill",
    "total_per_round": "total_preemption_per_round",
    "ignored_over_capacity": "max_ignored_over_capacity",
    "natural_termination": "natural_termination_factor",
}
_FLAGS = {
    "observe_only": "observe_only",
    "reserved_demand": "additional_res_balance_based_on_reserved_containers",
    "conservative": "conservative-drf",
}
_NOT_MODELLED = {
    f"{PREEMPTION_PREFIX}intra-queue-preemption.enabled": "preemption inside queues",
    f"{PREEMPTION_PREFIX}select_based_on_reserved_containers": "preemption for reserved nodes first",
    f"{PREEMPTION_PREFIX}preemption-to-balance-queue-after-satisfied.enabled": "preemption to balance satisfied queues",
    f"{_PREFIX}lazy-preemption-enabled": "lazy preemption",
    f"{_PREFIX}ordering-policy.priority-utilization.underutilized-preemption.enabled": "preemption by queue priority",
}


def _is_on(settings: Mapping[str, str], name: str) -> bool:
    return settings.get(name, "false").strip().lower() == "true"


def _runs(settings: Mapping[str, str]) -> bool:
    """Whether the policy runs: the monitor is on, and has no other policies only."""
    policies = settings.get(_POLICIES) or _POLICY
    return _is_on(settings, _MONITOR) and _POLICY in policies


def preemption_facts(settings: Mapping[str, str]) -> dict[str, float | str]:
    """What the cluster's fact has of preemption.

    Raises:
        InputError: a value is not a number.
    """
    facts: dict[str, float | str] = {"preemption": float(_runs(settings))}
    for field, suffix in _NUMBERS.items():
        name = f"{PREEMPTION_PREFIX}{suffix}"
        try:
            facts[field] = parse_number(settings.get(name) or default_of(name, _VERSION))
        except InputError as error:
            raise InputError(f"{name}: {error.message}", error.hint) from error
    for field, suffix in _FLAGS.items():
        facts[field] = float(_is_on(settings, f"{PREEMPTION_PREFIX}{suffix}"))
    return facts


def preemption_off(tree: QueueTree, queue: Queue) -> bool:
    """Whether nothing is preempted from a queue: it says so, or the next one above it that says anything."""
    for above in (queue, *tree.ancestors(queue.path)):
        if text := above.properties.get("disable_preemption"):
            return text.strip().lower() == "true"
    return False


def preemption_notes(tree: QueueTree) -> tuple[str, ...]:
    """What of a configuration's preemption an estimate leaves out, in words."""
    settings = tree.settings
    if not _is_on(settings, _MONITOR):
        return ()
    notes = [
        f"{name} is true, but {what} is not modelled" for name, what in _NOT_MODELLED.items() if _is_on(settings, name)
    ]
    others = [name for name in (settings.get(_POLICIES) or _POLICY).split(",") if _POLICY not in name]
    return (*notes, *(f"the scheduling monitor {name.strip()} is not modelled" for name in others))


def preemption_monitor(fact: Fact) -> _Term:
    """At intervals it is reckoned what each queue should have: its guarantee, and a part of what others leave over.

    What a queue holds beyond that is to be preempted, if others ask for it within their user limits.
    """
    return {
        "interval_ms": float(fact["monitoring_interval_ms"]),
        "reserved_demand": float(fact["reserved_demand"]),
        "conservative": float(fact["conservative"]),
    }


def preemption_kill(fact: Fact) -> _Term:
    """A container that is chosen is killed if it is chosen again so long after; until then its AM may give it back.

    Of the last application in the queue's order first, and of it the newest; AMs only where their share is exceeded.
    """
    return {"wait_ms": float(fact["maximum_wait_ms"])}


def preemption_round(fact: Fact) -> _Term:
    """In one round at most so much of the cluster is chosen."""
    return {"part": float(np.float32(float(fact["total_per_round"])))}


def preemption_dead_zone(fact: Fact) -> _Term:
    """A queue that holds not much more than its guarantee is let be."""
    return {"over_capacity": float(fact["ignored_over_capacity"])}


def preemption_natural_termination(fact: Fact) -> _Term:
    """In one round only a part of what a queue holds too much is chosen: some of it will end by itself."""
    return {"part": float(fact["natural_termination"])}


def no_preemption(_: Fact) -> _Term:
    """Nothing is preempted from a queue with disable_preemption, or below one: what it holds is its own."""
    return {"disabled": 1.0}


_ON = Condition("preemption", "==", 1)
PREEMPTION_RULES: tuple[Rule, ...] = (
    Rule(
        "preemption-monitor",
        "preemption-monitor",
        "ProportionalCapacityPreemptionPolicy#editSchedule",
        "cluster",
        preemption_monitor,
        (_ON,),
    ),
    Rule(
        "preemption-kill",
        "preemption-kill",
        "ProportionalCapacityPreemptionPolicy#preemptOrkillSelectedContainerAfterWait",
        "cluster",
        preemption_kill,
        (_ON, Condition("observe_only", "==", 0)),
    ),
    Rule(
        "preemption-round",
        "preemption-round",
        "CapacitySchedulerPreemptionUtils#tryPreemptContainerAndDeductResToObtain",
        "cluster",
        preemption_round,
        (_ON,),
    ),
    Rule(
        "preemption-dead-zone",
        "preemption-dead-zone",
        "PreemptableResourceCalculator#calculateResToObtainByPartitionForLeafQueues",
        "cluster",
        preemption_dead_zone,
        (_ON,),
    ),
    Rule(
        "preemption-natural-termination",
        "preemption-natural-termination",
        "PreemptableResourceCalculator#calculateResToObtainByPartitionForLeafQueues",
        "cluster",
        preemption_natural_termination,
        (_ON,),
    ),
    Rule(
        "no-preemption",
        "no-preemption",
        "TempQueuePerPartition#updatePreemptableExtras",
        "queue",
        no_preemption,
        (Condition("preemption_disabled", "==", 1),),
    ),
)
"""Part of the Capacity Scheduler's rules."""
