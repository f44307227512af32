"""Whether the Capacity Scheduler's queues, as the ResourceManager shows them, have the values they should have. Pure.

Not every property can be seen: absolute amounts, labels, and users' settings cannot, and are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rules.dialects.capacity import queue_property
from rules.dialects.capacity_properties import PREFIX
from rules.dialects.capacity_values import parse_capacity, parse_number
from rules.model import CapacityMode, PropertyChange
from rules.plan import Configuration, differences
from tuner.errors import InputError
from tuner.yarn.model import CapacityQueueInfo, QueueInfo, SchedulerInfo

__all__ = ["unseen_capacity"]

_TOLERANCE = 1e-3
"""The ResourceManager reckons with float32 (30.000002), and percentages have three decimals here."""


@dataclass(frozen=True, slots=True)
class _Shown:
    """How one property can be seen.

    Attributes:
        default: what holds where neither the queue nor the scheduler sets it; None: then it is not looked at.
        inherited: whether the scheduler's property of the same name stands in for the queue's.
        value: takes it from the queue as shown; None where this version does not show it.
    """

    default: str | None
    inherited: bool
    value: Callable[[CapacityQueueInfo], float | str | None]


_NUMBERS: Mapping[str, _Shown] = {
    "user-limit-factor": _Shown("1", True, lambda queue: queue.user_limit_factor),
    "minimum-user-limit-percent": _Shown("100", True, lambda queue: queue.user_limit_percent),
    "maximum-am-resource-percent": _Shown("0.1", True, lambda queue: queue.max_am_share),
    "maximum-applications": _Shown(None, False, lambda queue: queue.max_applications),
    "max-parallel-apps": _Shown(None, True, lambda queue: queue.max_parallel_applications),
}


def unseen_capacity(wanted: Configuration, before: Configuration, shown: SchedulerInfo) -> tuple[PropertyChange, ...]:
    """What differs between the queues as shown and as they should be, among the properties that changed.

    Returns:
        By property: ``before`` is what is wanted, ``after`` what is shown (None: the queue is not there).
    """
    queues = {queue.path: queue for queue in shown.root.walk()}
    longest_first = sorted(queues, key=len, reverse=True)
    found = []
    for change in differences(before.properties, wanted.properties):
        path = next((each for each in longest_first if change.property.startswith(f"{PREFIX}{each}.")), None)
        if path is None:
            continue
        suffix = change.property.removeprefix(f"{PREFIX}{path}.")
        mismatch = _mismatch(suffix, path, wanted.properties, queues[path])
        if mismatch is not None:
            found.append(PropertyChange(change.property, *mismatch))
    return tuple(found)


def _mismatch(
    suffix: str, path: str, properties: Mapping[str, str], queue: QueueInfo
) -> tuple[str | None, str | None] | None:
    """What is wanted and what is shown, where they differ."""
    info = queue.capacity
    own = properties.get(queue_property(path, suffix))
    if info is None:
        return None
    if suffix == "capacity":
        return _capacity_mismatch(own, info.capacity_percent, info.weight)
    if suffix == "maximum-capacity":
        return _capacity_mismatch(own or "100", info.maximum_capacity_percent, None)
    if suffix == "ordering-policy" and queue.leaf:
        order = (own or "fifo").lower()
        # A class of one's own is shown by another name than it is configured by.
        return (order, info.ordering_policy) if _differs(order, info.ordering_policy) and "." not in order else None
    spec = _NUMBERS.get(suffix)
    if spec is None:
        return None
    text = own or (properties.get(f"{PREFIX}{suffix}") if spec.inherited else None) or spec.default
    value = spec.value(info)
    if text is None or not isinstance(value, (int, float)):
        return None
    return _number_mismatch(text, float(value))


def _differs(order: str, shown: str | None) -> bool:
    return shown is not None and shown.lower() != order


def _capacity_mismatch(text: str | None, percent: float, weight: float | None) -> tuple[str, str] | None:
    if text is None:
        return None
    try:
        capacity = parse_capacity(text)
    except InputError:
        return None
    if capacity.mode is CapacityMode.PERCENT and abs(capacity.value - percent) > _TOLERANCE * 10:
        return text, f"{percent:g}"
    if capacity.mode is CapacityMode.WEIGHT and weight is not None and abs(capacity.value - weight) > _TOLERANCE:
        return text, f"{weight:g}w"
    return None


def _number_mismatch(text: str, shown: float) -> tuple[str, str] | None:
    try:
        number = parse_number(text)
    except InputError:
        return None
    return (text, f"{shown:g}") if abs(number - shown) > _TOLERANCE * max(1.0, abs(number)) else None
