"""Capacities: each by itself, among siblings, and against the parent.

Sources: ``AbstractParentQueue.setChildQueues`` and ``getCapacityConfigurationTypeForQueues``,
``AbstractCSQueue.setupQueueConfigs``, ``CapacitySchedulerConfiguration`` (Hadoop 3.4).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress

from rules.dialects.capacity import LABELS, queue_property
from rules.dialects.capacity_checks.context import Context, Hit
from rules.dialects.capacity_properties import PREFIX
from rules.dialects.capacity_values import PRECISION, format_capacity, format_number, parse_capacity
from rules.model import ROOT, Capacity, CapacityMode, Queue, Resources
from tuner.errors import InputError

_MAX_WEIGHT = 10000
# The RM adds in single precision; what it may just accept is refused here.
_STRICT_PRECISION = PRECISION - 1e-6
_PERCENT, _WEIGHT, _ABSOLUTE = CapacityMode.PERCENT, CapacityMode.WEIGHT, CapacityMode.ABSOLUTE


def _name(queue: Queue, label: str, suffix: str = "capacity") -> str:
    return queue_property(queue.path, f"{LABELS}.{label}.{suffix}" if label else suffix)


def _on(label: str) -> str:
    return f" on label {label!r}" if label else ""


def _capacity(queue: Queue, label: str) -> Capacity:
    return queue.capacities[label].capacity if label in queue.capacities else Capacity()


def _percent(queue: Queue, label: str) -> float:
    """What the RM takes for a queue's percentage: root's is fixed, an unset one and other modes are 0."""
    if queue.path == ROOT:
        return 100.0
    return _capacity(queue, label).value if _capacity(queue, label).mode is _PERCENT else 0.0


def _modes(queues: Iterable[Queue], labels: Iterable[str]) -> set[CapacityMode]:
    """The ways of writing that siblings use on any label; 0 % and unset are of no way."""
    found: set[CapacityMode] = set()
    for queue in queues:
        for label in labels:
            capacity = _capacity(queue, label)
            if capacity.mode is not CapacityMode.UNSET and (capacity.mode is not _PERCENT or capacity.value > 0):
                found.add(capacity.mode)
    return found


def capacity_range(context: Context) -> Iterator[Hit]:
    """Percentages from 0 to 100, weights from 0 to 10000; of the negative maxima only -1 (not set)."""
    for queue, full, capacity in _written(context):
        top = {_PERCENT: 100, _WEIGHT: _MAX_WEIGHT}.get(capacity.mode)
        is_unlimited = full == queue_property(queue.path, "maximum-capacity") and capacity.value == -1
        if top is not None and not 0 <= capacity.value <= top and not is_unlimited:
            message = f"{full} is {format_capacity(capacity)}, outside of 0 to {top}; write a value in between"
            yield Hit(queue.path, full, message)


def _written(context: Context) -> Iterator[tuple[Queue, str, Capacity]]:
    """Every capacity and maximum that can be read, those of templates among them, with its full name."""
    for queue in context.tree:
        for label, shares in queue.capacities.items():
            yield queue, _name(queue, label), shares.capacity
            yield queue, _name(queue, label, "maximum-capacity"), shares.maximum
    for setting in context.template_capacities:
        assert setting.queue is not None
        with suppress(InputError):
            yield setting.queue, setting.full, parse_capacity(setting.text)


def root_capacity(context: Context) -> Iterator[Hit]:
    """Root has all of the cluster."""
    for label, shares in context.tree.root.capacities.items():
        for suffix, capacity in (("capacity", shares.capacity), ("maximum-capacity", shares.maximum)):
            is_all = capacity.mode is _PERCENT and capacity.value == 100
            is_unlimited = suffix == "maximum-capacity" and capacity.mode is _PERCENT and capacity.value == -1
            if capacity.mode is not CapacityMode.UNSET and not is_all and not is_unlimited:
                full = _name(context.tree.root, label, suffix)
                yield Hit(ROOT, full, f"{full} is {format_capacity(capacity)}; root has all, so write 100 or remove it")


def maximum_below_capacity(context: Context) -> Iterator[Hit]:
    """A queue cannot be guaranteed more than it may use."""
    for queue in context.tree:
        for label, shares in queue.capacities.items():
            least, most = shares.capacity, shares.maximum
            if most.mode is _PERCENT and least.mode is _PERCENT:
                is_below = 0 <= most.value < least.value
            elif most.mode is _ABSOLUTE and least.mode is _ABSOLUTE:
                is_below = any(most.resources.amount(name) < amount for name, amount in least.resources.items())
            else:
                is_below = False
            if is_below:
                full = _name(queue, label, "maximum-capacity")
                message = f"{full} is {format_capacity(most)}, below the capacity of {format_capacity(least)}"
                yield Hit(queue.path, full, f"{message}; raise it to that at least, or lower the capacity")


def maximum_is_weight(context: Context) -> Iterator[Hit]:
    """A maximum is a percentage or amounts."""
    for queue, full, capacity in _written(context):
        weighs = capacity.mode is _WEIGHT or any(share.mode is _WEIGHT for share in capacity.shares)
        if weighs and full.endswith("maximum-capacity"):
            message = f"{full} is {format_capacity(capacity)}, and a maximum has no weight"
            yield Hit(queue.path, full, f"{message}; write a percentage of the parent's maximum, or amounts")


def mode_not_in_version(context: Context) -> Iterator[Hit]:
    """Weights and vectors came with Hadoop 3.4; vectors need the legacy mode to be off."""
    for queue, full, capacity in _written(context):
        text = format_capacity(capacity) if capacity.mode is not CapacityMode.UNSET else ""
        if capacity.mode in (_WEIGHT, CapacityMode.VECTOR) and context.version < (3, 4):
            yield Hit(queue.path, full, f"{full} is {text}, which came with Hadoop 3.4; write a percentage")
        elif capacity.mode is CapacityMode.VECTOR and context.legacy_mode:
            message = f"{full} is the vector {text}, which counts as 0 in legacy mode"
            yield Hit(queue.path, full, f"{message}; set {PREFIX}legacy-queue-mode.enabled to false")


def mixed_modes(context: Context) -> Iterator[Hit]:
    """In legacy mode the children of one parent write all capacities, of all labels, in one way."""
    if not context.legacy_mode:
        return
    for parent in context.tree:
        children = context.tree.children(parent.path)
        modes = _modes(children, parent.capacities)
        if len(modes) > 1:
            listed = ", ".join(
                f"{child.name} {format_capacity(child.capacity)}" for child in children if _is_set(child)
            )
            names = " and ".join(sorted(mode.value for mode in modes))
            yield Hit(
                parent.path,
                None,
                f"the children of {parent.path} mix {names} ({listed}); write all of them in one way",
            )
        parent_modes = _modes((parent,), parent.capacities)
        if parent.path != ROOT and _ABSOLUTE in modes ^ parent_modes and children:
            yield Hit(
                parent.path,
                None,
                f"{parent.path} and its children do not both have absolute amounts; where one has, both must",
            )


def _is_set(queue: Queue) -> bool:
    return queue.capacity.mode is not CapacityMode.UNSET


def sibling_sum(context: Context) -> Iterator[Hit]:
    """Percentages of the children of one parent add up to 100, on each label, or all to 0 where that is allowed."""
    for parent in context.tree:
        children = context.tree.children(parent.path)
        if not children or _modes(children, parent.capacities) - {_PERCENT}:
            continue
        allows_zero = parent.properties.get("allow-zero-capacity-sum", "").lower() == "true"
        parent_is_percent = not _modes((parent,), parent.capacities) - {_PERCENT}
        for label in parent.capacities:
            total = sum(_percent(child, label) for child in children)
            problem = _sum_problem(total, _percent(parent, label), parent_is_percent, allows_zero)
            if problem is None or (not context.legacy_mode and total < 100):
                continue
            listed = ", ".join(f"{child.name} {format_number(_percent(child, label))}" for child in children)
            message = f"the children of {parent.path} have {format_number(round(total, 6))} % in all{_on(label)}"
            yield Hit(parent.path, None, f"{message} ({listed}); {problem}")


def _sum_problem(total: float, parent_percent: float, parent_is_percent: bool, allows_zero: bool) -> str | None:
    if abs(total / 100) <= PRECISION:
        is_refused = parent_is_percent and parent_percent > 0 and not allows_zero
        return "give them 100 % in all, or set allow-zero-capacity-sum" if is_refused else None
    if abs(1 - total / 100) > _STRICT_PRECISION:
        return "it must be 100, so change them together"
    if parent_is_percent and parent_percent == 0 and not allows_zero:
        return "their parent has 0 %, so give it a capacity, or them 0"
    return None


def capacity_not_set(context: Context) -> Iterator[Hit]:
    """A queue without a capacity has 0 %, or a weight of nothing."""
    for queue in context.tree:
        if (
            queue.path != ROOT
            and not _is_set(queue)
            and queue_property(queue.path, "capacity") not in context.properties
        ):
            full = queue_property(queue.path, "capacity")
            yield Hit(queue.path, full, f"{full} is not set, which counts as 0; write the share of {queue.path}")


def absolute_sum(context: Context) -> Iterator[Hit]:
    """Absolute amounts of children fit in their parent's, maxima in the parent's maximum.

    By what the resource calculator looks at: memory alone, unless it is the dominant one.
    """
    dominant = "Dominant" in context.tree.settings.get(f"{PREFIX}resource-calculator", "")

    def counted(resources: Resources) -> Resources:
        return resources if dominant else Resources(resources.memory_mib, 0)

    for parent in context.tree:
        children = context.tree.children(parent.path)
        for label, shares in parent.capacities.items():
            if shares.capacity.mode is _ABSOLUTE and context.legacy_mode:
                total = sum((_capacity(child, label).resources for child in children), Resources())
                yield from _over(parent, label, counted(total), counted(shares.capacity.resources))
            for child in children:
                most = child.capacities[label].maximum if label in child.capacities else Capacity()
                if _ABSOLUTE is most.mode is shares.maximum.mode and not counted(most.resources).fits_in(
                    counted(shares.maximum.resources)
                ):
                    full = _name(child, label, "maximum-capacity")
                    limit = format_capacity(shares.maximum)
                    message = f"{full} is {format_capacity(most)}, more than its parent's {limit}; lower it"
                    yield Hit(child.path, full, message)


def _over(parent: Queue, label: str, total: Resources, limit: Resources) -> Iterator[Hit]:
    if not total.fits_in(limit):
        message = f"the children of {parent.path} are promised {total} in all{_on(label)}, more than its own {limit}"
        yield Hit(parent.path, None, f"{message}; lower theirs or raise its capacity")
