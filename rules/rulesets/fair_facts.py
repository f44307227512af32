"""What the Fair Scheduler's rules look at: an allocation file and yarn-site, as facts of numbers.

Defaults and inheritance are those of ``AllocationConfiguration`` and ``FSQueue``; percentages are resolved against the
cluster (``ConfigurableResource``). What a rule makes of a fact is the rule's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from rules.dialects.fair import AllocationFile
from rules.dialects.fair_resources import UNBOUNDED, UNBOUNDED_VCORES, parse_resources
from rules.dialects.fair_site import FairSite
from rules.dialects.fair_values import NEVER_MS, read_integer, read_number, read_policy, read_seconds
from rules.engine import Fact
from rules.model import ROOT, Resources

__all__ = ["USER_PLACE", "FairFacts", "cluster_fact", "queue_facts", "user_facts"]

USER_PLACE = "user:"
"""What stands before a user's name where a limit names a queue."""

DEFAULT_AM_SHARE = 0.5
DEFAULT_THRESHOLD = 0.5


@dataclass(frozen=True)
class FairFacts:
    """One configuration of the Fair Scheduler on one cluster.

    Attributes:
        allocations: the allocation file.
        site: yarn-site's part.
        nodes: what each node has.
    """

    allocations: AllocationFile
    site: FairSite
    nodes: tuple[Resources, ...]

    @cached_property
    def cluster(self) -> Resources:
        """What all nodes have together."""
        return sum(self.nodes, Resources())

    def facts(self, paths: Iterable[str], users: Iterable[str]) -> list[Fact]:
        """All facts: the cluster's, those of these queues (parents before children) and of these users."""
        return [cluster_fact(self), *queue_facts(self, paths), *user_facts(self, users)]


def cluster_fact(facts: FairFacts) -> Fact:
    """What holds for the whole cluster."""
    site, cluster = facts.site, facts.cluster
    return {
        "kind": "cluster",
        "memory": cluster.memory_mib,
        "vcores": cluster.vcores,
        "nodes": len(facts.nodes),
        "minimum_mib": site.minimum_mib,
        "minimum_vcores": site.minimum_vcores,
        "maximum_mib": site.maximum_mib,
        "maximum_vcores": site.maximum_vcores,
        "increment_mib": site.increment_mib,
        "increment_vcores": site.increment_vcores,
        "reservation_multiple": site.reservation_multiple,
        "reservable_nodes": site.reservable_nodes,
        "assign_multiple": int(site.assign_multiple),
        "dynamic_max_assign": int(site.dynamic_max_assign),
        "max_assign": site.max_assign,
        "size_based_weight": int(site.size_based_weight),
        "preemption": int(site.preemption),
        "preemption_utilization": site.preemption_utilization,
        "wait_before_kill_ms": site.wait_before_kill_ms,
        "wait_before_next_check_ms": site.wait_before_next_check_ms,
        "update_interval_ms": site.update_interval_ms if site.update_interval_ms >= 0 else 500,
        "continuous_scheduling": int(site.continuous_scheduling),
        "continuous_sleep_ms": site.continuous_sleep_ms,
    }


def queue_facts(facts: FairFacts, paths: Iterable[str]) -> list[Fact]:
    """A fact for each queue; queues that the file does not name get its defaults (``FSQueue.reinit``).

    Args:
        facts: the configuration.
        paths: full paths, parents before children.
    """
    made: dict[str, dict[str, Any]] = {}
    for path in paths:
        parent = made.get(path.rpartition(".")[0])
        made[path] = _queue_fact(facts, path, parent)
    return list(made.values())


def _queue_fact(facts: FairFacts, path: str, parent: Mapping[str, Any] | None) -> dict[str, Any]:
    tree = facts.allocations.tree
    own: Mapping[str, str] = tree[path].properties if path in tree else {}
    settings = tree.settings
    policy = read_policy(own.get("schedulingPolicy", settings.get("defaultQueueSchedulingPolicy", "fair")))
    am_share = own.get("maxAMShare", settings.get("queueMaxAMShareDefault"))
    max_apps = own.get("maxRunningApps", settings.get("queueMaxAppsDefault"))
    fact: dict[str, Any] = {
        "kind": "queue",
        "queue": path,
        "weight": read_number(own.get("weight", "1.0")),
        "policy": policy,
        "parent_policy": "" if parent is None else parent["policy"],
        "am_share": DEFAULT_AM_SHARE if am_share is None else min(read_number(am_share), 1.0),
        "has_max_apps": int(max_apps is not None),
        "max_apps": read_integer(max_apps) if max_apps is not None else 0,
        "am_preemption": int(facts.site.queue_am_preemption.get(path, facts.site.am_preemption)),
        "allow_preemption": int(
            own.get("allowPreemptionFrom", "true").lower() == "true"
            and (parent is None or bool(parent["allow_preemption"]))
        ),
    }
    fact |= _shares(facts, path, own, parent)
    fact |= _timeouts(path, own, settings, parent)
    return fact


def _shares(facts: FairFacts, path: str, own: Mapping[str, str], parent: Mapping[str, Any] | None) -> dict[str, Any]:
    """Minimum, maximum and largest container, in MiB and vcores."""
    cluster = (facts.cluster.memory_mib, facts.cluster.vcores)
    least = (0, 0)
    if "minResources" in own and not parse_resources(own["minResources"]).is_fraction:
        least = parse_resources(own["minResources"]).resolve(*cluster, missing=0)
    maximum = own.get("maxResources")
    if path not in facts.allocations.tree and parent is not None and parent["max_child_resources"]:
        maximum = str(parent["max_child_resources"])  # FairScheduler.applyChildDefaults
    if maximum is None:
        maximum = facts.allocations.tree.settings.get("queueMaxResourcesDefault")
    most = (UNBOUNDED, UNBOUNDED_VCORES)
    if maximum is not None:
        most = parse_resources(maximum).resolve(*cluster, missing=UNBOUNDED)
    largest = (UNBOUNDED, UNBOUNDED_VCORES)
    own_largest = own.get("maxContainerAllocation")
    if own_largest is not None and not parse_resources(own_largest).is_fraction:
        largest = parse_resources(own_largest).resolve(*cluster, missing=UNBOUNDED)
    elif parent is not None:
        largest = (parent["container_memory"], parent["container_vcores"])
    return {
        "has_minimum": int(least != (0, 0)),
        "least_memory": least[0],
        "least_vcores": least[1],
        "has_maximum": int(maximum is not None),
        "most_memory": max(most[0], least[0]),
        "most_vcores": max(most[1], least[1]),
        "has_container_maximum": int(largest != (UNBOUNDED, UNBOUNDED_VCORES)),
        "container_memory": largest[0],
        "container_vcores": largest[1],
        "max_child_resources": own.get("maxChildResources", ""),
    }


def _timeouts(
    path: str, own: Mapping[str, str], settings: Mapping[str, str], parent: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Preemption's time-outs and threshold: a queue's own, else its parent's; root's come from the file's defaults."""
    found: dict[str, Any] = {}
    for name, key, default in (
        ("minSharePreemptionTimeout", "min_timeout_ms", "defaultMinSharePreemptionTimeout"),
        ("fairSharePreemptionTimeout", "fair_timeout_ms", "defaultFairSharePreemptionTimeout"),
    ):
        text = own.get(name, settings.get(default) if path == ROOT else None)
        if text is not None:
            found[key] = read_seconds(text)
        else:
            found[key] = NEVER_MS if parent is None else parent[key]
    text = own.get("fairSharePreemptionThreshold")
    if text is None and path == ROOT:
        text = settings.get("defaultFairSharePreemptionThreshold")
    if text is not None:
        found["threshold"] = min(max(read_number(text), 0.0), 1.0)
    else:
        found["threshold"] = DEFAULT_THRESHOLD if parent is None else parent["threshold"]
    return found


def user_facts(facts: FairFacts, users: Iterable[str]) -> list[Fact]:
    """A fact for each user: how many applications may run."""
    own = facts.allocations.user_max_apps
    default = facts.allocations.tree.settings.get("userMaxAppsDefault")
    made: list[Fact] = []
    for user in users:
        text = own.get(user, default)
        made.append(
            {
                "kind": "user",
                "queue": f"{USER_PLACE}{user}",
                "has_max_apps": int(text is not None),
                "max_apps": read_integer(text) if text is not None else 0,
            }
        )
    return made
