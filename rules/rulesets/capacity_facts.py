"""From a configuration of the Capacity Scheduler to the facts that its rules look at, and on to the limits.

Queues are taken from root down, since what a queue is sure of depends on its parent's. The limits of a queue follow
from its fact alone, so they are derived once for each different fact: of a configuration that changes two queues, only
those and the ones below them are derived anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from rules.dialects.capacity_properties import PREFIX, default_of
from rules.dialects.capacity_values import parse_number
from rules.engine import Rule, RuleEngine
from rules.limits import Limit, Limits
from rules.model import Queue, QueueState, QueueTree, Resources
from rules.rulesets.capacity import RULES
from rules.rulesets.capacity_preemption import preemption_facts, preemption_off
from rules.rulesets.capacity_share_facts import is_legacy, share_facts, vector_facts
from tuner.errors import InputError

__all__ = ["CapacityRules", "user_place"]

_VERSION = (3, 4)
_CALCULATOR = f"{PREFIX}resource-calculator"


class CapacityRules:
    """The rules of the Capacity Scheduler, ready to derive the limits of any number of configurations.

    Args:
        rules: the rule set; a test takes one out.
    """

    def __init__(self, rules: Sequence[Rule] = RULES) -> None:
        self._engine = RuleEngine("capacity", rules)
        self._limits_of = lru_cache(maxsize=65_536)(self._evaluate)

    @property
    def rule_ids(self) -> tuple[str, ...]:
        """The ids of the rules, in the order of the rule set."""
        return tuple(rule.id for rule in self._engine.rules)

    def derive(self, tree: QueueTree, cluster: Resources) -> Limits:
        """Derives the limits of a configuration.

        Args:
            tree: the queues and settings.
            cluster: all nodes together.

        Raises:
            InputError: a property that a rule needs is not a number, or is of a kind that is not modelled.
        """
        cluster_fact = _cluster_fact(tree, cluster)
        found = list(self._limits_of(tuple(cluster_fact.items())))
        for other in _user_facts(tree):
            found += self._limits_of(tuple(other.items()))
        parents: dict[str, dict[str, float]] = {"": _above_root(cluster)}
        vectors: dict[str, dict[str, float | str]] = {}
        legacy = is_legacy(tree)
        for queue in tree:
            parent = parents[queue.parent or ""]
            shares = vectors.get(queue.path) or share_facts(tree, queue, parent)
            fact = _queue_fact(tree, queue, shares, cluster_fact)
            limits = self._limits_of(tuple(fact.items()))
            found += limits
            for other in _queue_user_facts(tree, queue):
                found += self._limits_of(tuple(other.items()))
            parents[queue.path] = _as_parent({limit.kind: limit for limit in limits}, parent)
            if not legacy:
                vectors |= vector_facts(tree, queue, parents[queue.path], cluster_fact)
        return Limits.of(found)

    def _evaluate(self, fact: tuple[tuple[str, float | str], ...]) -> tuple[Limit, ...]:
        return self._engine.evaluate([dict(fact)])


def _above_root(cluster: Resources) -> dict[str, float]:
    memory, vcores = float(cluster.memory_mib), float(cluster.vcores)
    return {
        "parent_absolute": 1.0,
        "parent_absolute_maximum": 1.0,
        "parent_memory_mib": memory,
        "parent_vcores": vcores,
        "parent_maximum_memory_mib": memory,
        "parent_maximum_vcores": vcores,
    }


def _as_parent(limits: Mapping[str, Limit], above: Mapping[str, float]) -> dict[str, float]:
    """What children need to know of a queue; where no rule limits it, it is no narrower than its parent."""
    guarantee, maximum = limits.get("guarantee"), limits.get("maximum")
    known = dict(above)
    if guarantee is not None:
        known["parent_absolute"] = guarantee["absolute"]
        known["parent_memory_mib"], known["parent_vcores"] = guarantee["memory_mib"], guarantee["vcores"]
    if maximum is not None:
        known["parent_absolute_maximum"] = maximum["absolute"]
        known["parent_maximum_memory_mib"] = maximum["memory_mib"]
        known["parent_maximum_vcores"] = maximum["vcores"]
    return known


def _cluster_fact(tree: QueueTree, cluster: Resources) -> dict[str, float | str]:
    settings = tree.settings
    per_beat = f"{PREFIX}per-node-heartbeat."
    return {
        "kind": "cluster",
        "memory_mib": float(cluster.memory_mib),
        "vcores": float(cluster.vcores),
        "dominant": float("Dominant" in settings.get(_CALCULATOR, "")),
        "minimum_memory_mib": _number(settings, "yarn.scheduler.minimum-allocation-mb", "1024"),
        "minimum_vcores": _number(settings, "yarn.scheduler.minimum-allocation-vcores", "1"),
        "maximum_memory_mib": _number(settings, "yarn.scheduler.maximum-allocation-mb", "8192"),
        "maximum_vcores": _number(settings, "yarn.scheduler.maximum-allocation-vcores", "4"),
        "maximum_off_switch_assignments": _setting(settings, f"{per_beat}maximum-offswitch-assignments"),
        "multiple_assignments": _flag(settings, f"{per_beat}multiple-assignments-enabled"),
        "maximum_container_assignments": _setting(settings, f"{per_beat}maximum-container-assignments"),
        "continue_looking": _flag(settings, f"{PREFIX}reservations-continue-look-all-nodes"),
        "system_applications": _number(settings, f"{PREFIX}maximum-applications", "10000"),
        "asynchronous": _flag(settings, f"{PREFIX}schedule-asynchronously.enable"),
        **preemption_facts(settings),
        "round_ms": _setting(settings, f"{PREFIX}schedule-asynchronously.scheduling-interval-ms"),
        "threads": _setting(settings, f"{PREFIX}schedule-asynchronously.maximum-threads"),
    }


def _queue_fact(
    tree: QueueTree, queue: Queue, shares: Mapping[str, float | str], cluster: Mapping[str, float | str]
) -> dict[str, float | str]:
    fact: dict[str, float | str] = {
        "kind": "queue",
        "queue": queue.path,
        "leaf": float(queue.is_leaf),
        "cluster_memory_mib": cluster["memory_mib"],
        "cluster_vcores": float(cluster["vcores"]) * float(cluster["dominant"]),
        "priority": _number(queue.properties, "priority", "0"),
        "stopped": float(_is_stopped(tree, queue)),
        "preemption_disabled": float(preemption_off(tree, queue)),
        "maximum_parallel": _number(queue.properties, "max-parallel-apps", _parallel_default(tree)),
        **shares,
    }
    if not queue.is_leaf:
        fact["children_by_priority"] = float(_parent_policy(tree, queue) == "priority-utilization")
        return fact
    for name, suffix in (
        ("user_limit_factor", "user-limit-factor"),
        ("minimum_user_limit_percent", "minimum-user-limit-percent"),
        ("maximum_am_resource_percent", "maximum-am-resource-percent"),
    ):
        fact[name] = _number(queue.properties, suffix, _inherited(tree, suffix))
    fact["children_by_priority"] = 0.0
    fact["ordering_policy"] = _application_policy(queue)
    fact["size_based"] = _flag(queue.properties, "ordering-policy.fair.enable-size-based-weight", "false")
    fact["maximum_applications"] = _number(queue.properties, "maximum-applications", "-1")
    fact["system_applications"] = _number(tree.settings, f"{PREFIX}maximum-applications", "10000")
    return fact


def _application_policy(queue: Queue) -> str:
    policy = queue.properties.get("ordering-policy") or "fifo"
    if policy not in ("fifo", "fair", "fifo-with-partitions"):
        raise InputError(
            f"{queue.path}: the ordering policy {policy!r} is not modelled", "use fifo, fair or fifo-with-partitions"
        )
    return policy


def _parent_policy(tree: QueueTree, queue: Queue) -> str:
    """A parent's policy for its children; where it has none of its own, its parent's."""
    for above in (queue, *tree.ancestors(queue.path)):
        if policy := above.properties.get("ordering-policy"):
            return policy
    return "utilization"


def _inherited(tree: QueueTree, suffix: str) -> str:
    """The value of a queue's property where the queue has none: the scheduler's of that name, or the default."""
    return tree.settings.get(f"{PREFIX}{suffix}") or default_of(suffix, _VERSION)


def _setting(settings: Mapping[str, str], name: str) -> float:
    return _number(settings, name, default_of(name, _VERSION))


def _number(properties: Mapping[str, str], name: str, default: str) -> float:
    text = properties.get(name) or default
    try:
        return parse_number(text)
    except InputError as error:
        raise InputError(f"{name}: {error.message}", error.hint) from error


def _flag(properties: Mapping[str, str], name: str, default: str | None = None) -> float:
    text = properties.get(name) or (default_of(name, _VERSION) if default is None else default)
    return float(text.strip().lower() == "true")


def _is_stopped(tree: QueueTree, queue: Queue) -> bool:
    states = [above.state for above in (queue, *tree.ancestors(queue.path))]
    return next((state for state in states if state is not None), QueueState.RUNNING) is QueueState.STOPPED


def _parallel_default(tree: QueueTree) -> str:
    return tree.settings.get(f"{PREFIX}max-parallel-apps") or str(2**31 - 1)


def _user_facts(tree: QueueTree) -> Iterator[dict[str, float | str]]:
    """Users with a number of parallel applications; the one for all others has no name."""
    prefix, suffix = f"{PREFIX}user.", "max-parallel-apps"
    for name in tree.settings:
        if name.startswith(prefix) and name.endswith(suffix):
            user = name.removeprefix(prefix).removesuffix(suffix).rstrip(".")
            yield {
                "kind": "user",
                "queue": user_place("", user),
                "maximum_parallel": _number(tree.settings, name, str(2**31 - 1)),
            }


def _queue_user_facts(tree: QueueTree, queue: Queue) -> Iterator[dict[str, float | str]]:
    """Users of a leaf who have a weight of their own, there or in a queue above it."""
    if not queue.is_leaf:
        return
    prefix, suffix = "user-settings.", ".weight"
    weights: dict[str, float] = {}
    for above in (*reversed(tuple(tree.ancestors(queue.path))), queue):
        for name in above.properties:
            if name.startswith(prefix) and name.endswith(suffix):
                weights[name.removeprefix(prefix).removesuffix(suffix)] = _number(above.properties, name, "1")
    for user, weight in weights.items():
        yield {"kind": "queue-user", "queue": user_place(queue.path, user), "weight": weight}


def user_place(path: str, user: str) -> str:
    """What a limit of one user has in place of a queue: the queue's path, if any, and the user's name."""
    return f"{path} user {user}"
