"""Limits of users, applications, application masters and containers; orders; states."""

from __future__ import annotations

from collections.abc import Iterator

from rules.dialects.capacity import queue_property
from rules.dialects.capacity_checks.context import Context, Hit, Setting
from rules.dialects.capacity_properties import PREFIX
from rules.model import MEMORY, VCORES, Queue, QueueState

_LEAF_POLICIES = ("fifo", "fair", "fifo-with-partitions", "fifo-for-pending-apps")
_PARENT_POLICIES = ("utilization", "priority-utilization")


def _hit(setting: Setting, message: str) -> Hit:
    return Hit(
        setting.queue.path if setting.queue else None, setting.full, f"{setting.full} is {setting.text}{message}"
    )


def user_limit_factor(context: Context) -> Iterator[Hit]:
    """0 lets no user have anything; only -1 of the negative numbers means something."""
    for setting in context.named("user-limit-factor"):
        if setting.number is not None and setting.number <= 0 and setting.number != -1:
            yield _hit(setting, ", which leaves nothing for any user; write 1 or more, or -1 for no limit (3.4)")


def minimum_user_limit_percent(context: Context) -> Iterator[Hit]:
    """A percentage; 100 means that there is no sharing by users."""
    for setting in context.named("minimum-user-limit-percent"):
        if setting.number is not None and not 0 < setting.number <= 100:
            yield _hit(setting, ", which is not a percentage above 0; write 1 to 100 (25: four users share)")


def am_resource_percent(context: Context) -> Iterator[Hit]:
    """A fraction, not a percentage, in spite of its name."""
    names = ("maximum-am-resource-percent", "accessible-node-labels.<label>.maximum-am-resource-percent")
    for setting in context.named(*names):
        if setting.number is not None and not 0 < setting.number <= 1:
            example = f" (did you mean {setting.number / 100:g}?)" if 1 < setting.number <= 100 else ""
            yield _hit(setting, f", which is not a fraction above 0 and up to 1; write 0.1 for 10 %{example}")


def no_applications(context: Context) -> Iterator[Hit]:
    """Limits of applications below 1."""
    names = ("maximum-applications", "max-parallel-apps", "user.max-parallel-apps", "user.<user>.max-parallel-apps")
    for setting in context.named(*names):
        if setting.number is not None and setting.number < 1:
            yield _hit(setting, ", so that no application ever runs; write 1 or more, or stop the queue")


def user_weight(context: Context) -> Iterator[Hit]:
    """From 0 to 100 / minimum-user-limit-percent (``UserWeights.validateForLeafQueue``)."""
    for setting in context.named("user-settings.<user>.weight"):
        assert setting.queue is not None
        limit = context.tree.settings.get(f"{PREFIX}minimum-user-limit-percent", "100")
        limit = setting.queue.properties.get("minimum-user-limit-percent", limit)
        try:
            largest = 100 / float(limit)
        except (ValueError, ZeroDivisionError):
            continue
        if setting.number is not None and not 0 < setting.number <= largest:
            yield _hit(setting, f", outside of what is allowed: above 0 and at most 100 / {limit} = {largest:g}")


def ordering_policy(context: Context) -> Iterator[Hit]:
    """A leaf has an order of applications, a parent an order of queues."""
    for setting in context.named("ordering-policy"):
        if setting.queue is None or "." in setting.text:  # a class of one's own
            continue
        is_template = setting.suffix != "ordering-policy"
        is_parent = not is_template and context.acts_as_parent(setting.queue)
        known = (
            (*_LEAF_POLICIES, *_PARENT_POLICIES) if is_template else _PARENT_POLICIES if is_parent else _LEAF_POLICIES
        )
        if setting.text not in known:
            kind = "a parent queue" if is_parent else "a leaf queue"
            yield _hit(setting, f", which is no order for {kind}; write one of {', '.join(known)}")


def size_based_weight(context: Context) -> Iterator[Hit]:
    """Size-based weight belongs to the fair order."""
    for setting in context.named("ordering-policy.fair.enable-size-based-weight"):
        policy = setting.queue.properties.get("ordering-policy", "fifo") if setting.queue else "fair"
        if setting.text.lower() == "true" and "fair" not in policy.lower():
            yield _hit(setting, f" without effect: the order is {policy}; set ordering-policy to fair")


def priority(context: Context) -> Iterator[Hit]:
    """Priorities count under priority-utilization only, which parents inherit."""
    for queue in context.tree:
        if queue.properties.get("priority", "0") in ("", "0") or queue.parent is None:
            continue
        chain = (ancestor.properties.get("ordering-policy") for ancestor in context.tree.ancestors(queue.path))
        policy = next((policy for policy in chain if policy), "utilization")
        if policy == "utilization":
            full = queue_property(queue.path, "priority")
            message = (
                f"{full} is {queue.properties['priority']} without effect: the order of {queue.parent}'s children "
            )
            yield Hit(queue.path, full, message + "is utilization; set its ordering-policy to priority-utilization")


def running_under_stopped(context: Context) -> Iterator[Hit]:
    """A queue cannot run under a parent that is stopped."""
    for queue in context.tree:
        if queue.parent is None or queue.state is not QueueState.RUNNING:
            continue
        if context.state(context.tree[queue.parent]) is QueueState.STOPPED:
            yield Hit(
                queue.path,
                queue_property(queue.path, "state"),
                f"{queue.path} is RUNNING under {queue.parent}, which is STOPPED; stop it first, or start its parent",
            )


def maximum_allocation(context: Context) -> Iterator[Hit]:
    """A queue's largest container is at most the cluster's."""
    limits = {
        MEMORY: context.value("yarn.scheduler.maximum-allocation-mb"),
        VCORES: context.value("yarn.scheduler.maximum-allocation-vcores"),
    }
    names = {"maximum-allocation-mb": MEMORY, "maximum-allocation-vcores": VCORES}
    for setting in context.named("maximum-allocation-mb", "maximum-allocation-vcores", "maximum-allocation"):
        amounts = dict(_amounts(setting, names))
        for resource, amount in amounts.items():
            limit = limits.get(resource, "")
            if limit.isdigit() and amount > int(limit):
                yield _hit(setting, f", more than the cluster's {limit} (yarn.scheduler.maximum-allocation); lower it")
            elif amount < 1:
                yield _hit(setting, ", so that no container fits; write 1 or more")


def _amounts(setting: Setting, names: dict[str, str]) -> Iterator[tuple[str, int]]:
    if setting.spec.name in names and setting.text.isdigit():
        yield names[setting.spec.name], int(setting.text)
    if setting.spec.name == "maximum-allocation":
        for part in setting.text.split(","):
            name, _, amount = part.partition("=")
            if amount.strip().isdigit():
                yield name.strip(), int(amount)


def allocation_bounds(context: Context) -> Iterator[Hit]:
    """The smallest container is at least 1 and at most the largest."""
    for unit in ("mb", "vcores"):
        least, most = (f"yarn.scheduler.{end}-allocation-{unit}" for end in ("minimum", "maximum"))
        if not (context.value(least).isdigit() and context.value(most).isdigit()):
            continue
        if not 1 <= int(context.value(least)) <= int(context.value(most)):
            yield Hit(
                None,
                least,
                f"{least} is {context.value(least)} and {most} is {context.value(most)}; "
                "the first must be at least 1 and at most the second",
            )


def reservable_parent(context: Context) -> Iterator[Hit]:
    """Only a leaf can be planned by the reservation system."""
    for queue in context.tree:
        if queue.children and queue.properties.get("reservable", "").lower() == "true":
            full = queue_property(queue.path, "reservable")
            yield Hit(queue.path, full, f"{full} is true, but {queue.path} has children; only a leaf is reservable")


def auto_creation(context: Context) -> Iterator[Hit]:
    """A managed parent (v1) has no children of its own, and not both kinds of creation."""
    for queue in context.tree:
        full = queue_property(queue.path, "auto-create-child-queue.enabled")
        if queue.properties.get("auto-create-child-queue.enabled", "").lower() != "true":
            continue
        if queue.children:
            yield Hit(queue.path, full, f"{full} is true, but {queue.path} has children configured; remove one of both")
        if queue.properties.get("auto-queue-creation-v2.enabled", "").lower() == "true":
            yield Hit(queue.path, full, f"{queue.path} creates queues in both ways (v1 and v2); keep one")


def application_lifetime(context: Context) -> Iterator[Hit]:
    """The default lifetime of a queue's applications is at most the longest, its parents' where it has none."""
    for queue in context.tree:
        names = ("default-application-lifetime", "maximum-application-lifetime")
        if not any(name in queue.properties for name in names):
            continue
        line = (queue, *context.tree.ancestors(queue.path))
        usual, longest = (next((int(text) for text in _lifetimes(line, name)), -1) for name in names)
        if 0 < longest < usual:
            full = queue_property(queue.path, names[0])
            message = f"{queue.path} has a default lifetime of {usual} s and a longest one of {longest} s"
            yield Hit(queue.path, full, f"{message}; lower the default or raise the longest")


def _lifetimes(line: tuple[Queue, ...], name: str) -> Iterator[str]:
    return (queue.properties[name] for queue in line if queue.properties.get(name, "").lstrip("-").isdigit())
