"""What a configuration of the Capacity Scheduler asks for that the model does not do; an estimate says so."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rules.dialects.capacity_properties import PREFIX
from rules.model import QueueTree

__all__ = ["NOT_MODELLED", "unmodelled"]


def _is_on(properties: Mapping[str, str], name: str) -> bool:
    return properties.get(name, "").strip().lower() == "true"


def _any_queue(tree: QueueTree, *suffixes: str) -> bool:
    return any(_is_on(queue.properties, suffix) for queue in tree for suffix in suffixes)


def _creates_queues(tree: QueueTree) -> bool:
    return _any_queue(tree, "auto-create-child-queue.enabled", "auto-queue-creation-v2.enabled")


def _has_priorities(tree: QueueTree) -> bool:
    highest = tree.settings.get("yarn.cluster.max-application-priority", "0").strip()
    return highest not in ("", "0") and any(queue.properties.get("default-application-priority") for queue in tree)


def _has_lifetimes(tree: QueueTree) -> bool:
    names = ("maximum-application-lifetime", "default-application-lifetime")
    return any(queue.properties.get(name, "-1").strip() not in ("", "-1", "0") for queue in tree for name in names)


def _has_mappings(tree: QueueTree) -> bool:
    names = ("queue-mappings", "mapping-rule-json", "mapping-rule-json-file", "workflow-priority-mappings")
    return any(tree.settings.get(f"{PREFIX}{name}") for name in names)


def _has_other_resources(tree: QueueTree) -> bool:
    shares = (share for queue in tree for of in queue.capacities.values() for share in of.capacity.shares)
    return any(share.resource not in ("memory-mb", "vcores") for share in shares)


NOT_MODELLED: Mapping[str, tuple[Callable[[QueueTree], bool], str]] = {
    "auto-created-queues": (
        _creates_queues,
        "queues that would be created at need are not: jobs for queues that are not configured count as refused",
    ),
    "queue-mappings": (_has_mappings, "placement rules are passed over: each job runs in the queue that it names"),
    "application-priorities": (_has_priorities, "priorities of applications are passed over"),
    "application-lifetimes": (_has_lifetimes, "lifetimes are passed over: no application is ended early"),
    "multi-node-placement": (
        lambda tree: _is_on(tree.settings, f"{PREFIX}multi-node-placement-enabled"),
        "sorting of several nodes at once is passed over: nodes are looked at one by one",
    ),
    "reservation-system": (
        lambda tree: _any_queue(tree, "reservable"),
        "reservable queues are taken for ordinary ones",
    ),
    "other-resources": (_has_other_resources, "resources other than memory and vcores are passed over"),
}
"""By an id: whether a configuration has it, and what the model does instead."""


def unmodelled(tree: QueueTree) -> tuple[str, ...]:
    """Sentences for what this configuration asks for in vain.

    Args:
        tree: the configuration.

    Returns:
        One for each mechanism, in the order of :data:`NOT_MODELLED`.
    """
    return tuple(sentence for applies, sentence in NOT_MODELLED.values() if applies(tree))
