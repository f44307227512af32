"""The properties that an allocation file can hold: one table, and how each kind of value is read.

Names, defaults and readers are those of ``AllocationFileParser`` and ``AllocationFileQueueParser`` (Hadoop 3.4).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

import numpy as np

from rules.dialects.fair_resources import parse_resources
from tuner.errors import InputError

MAX_INT = 2**31 - 1
NEVER_MS = 2**63 - 1
"""Hadoop's ``Long.MAX_VALUE``: a time-out that never runs out."""

POLICIES = ("fair", "fifo", "drf")
POLICY_CLASSES = {
    "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.policies.FairSharePolicy": "fair",
    "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.policies.FifoPolicy": "fifo",
    "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.policies.DominantResourceFairnessPolicy": "drf",
}

_INT = re.compile(r"[+-]?[0-9]+")
_FLOAT = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?[fFdD]?")


class Kind(Enum):
    """What a value is, which decides how it is read."""

    RESOURCES = "resources"
    INTEGER = "integer"
    NUMBER = "number"
    SECONDS = "seconds"
    POLICY = "policy"
    BOOLEAN = "boolean"
    ACL = "acl"
    TEXT = "text"
    MARK = "mark"


@dataclass(frozen=True, slots=True)
class FairProperty:
    """One element that may stand in a queue, or at the top of the file.

    Attributes:
        name: its name.
        kind: how its value is read.
        meaning: what it does, in a few words.
        aliases: older names that mean the same.
    """

    name: str
    kind: Kind
    meaning: str
    aliases: tuple[str, ...] = ()


QUEUE_PROPERTIES = (
    FairProperty("weight", Kind.NUMBER, "share among siblings; 1.0 where not set"),
    FairProperty("minResources", Kind.RESOURCES, "served before siblings while below it; none where not set"),
    FairProperty("maxResources", Kind.RESOURCES, "never holds more; queueMaxResourcesDefault where not set"),
    FairProperty("maxChildResources", Kind.RESOURCES, "maxResources of children that the file does not name"),
    FairProperty("maxContainerAllocation", Kind.RESOURCES, "largest container; the cluster's where not set"),
    FairProperty("maxRunningApps", Kind.INTEGER, "applications that run at once; queueMaxAppsDefault where not set"),
    FairProperty("maxAMShare", Kind.NUMBER, "part of the fair share for AMs, -1 for no limit; leaves only"),
    FairProperty(
        "schedulingPolicy", Kind.POLICY, "order of what is inside: fair, fifo (leaves) or drf", ("schedulingMode",)
    ),
    FairProperty("minSharePreemptionTimeout", Kind.SECONDS, "below minResources so long before it preempts"),
    FairProperty("fairSharePreemptionTimeout", Kind.SECONDS, "below its fair share so long before it preempts"),
    FairProperty("fairSharePreemptionThreshold", Kind.NUMBER, "part of the fair share that counts as starved; 0.5"),
    FairProperty("allowPreemptionFrom", Kind.BOOLEAN, "whether others may preempt its containers; true"),
    FairProperty("aclSubmitApps", Kind.ACL, "who may submit"),
    FairProperty("aclAdministerApps", Kind.ACL, "who may administer"),
    FairProperty("aclAdministerReservations", Kind.ACL, "who may administer reservations"),
    FairProperty("aclListReservations", Kind.ACL, "who may list reservations"),
    FairProperty("aclSubmitReservations", Kind.ACL, "who may submit reservations"),
    FairProperty("reservation", Kind.MARK, "the ReservationSystem manages the queue; leaves only"),
)

FILE_PROPERTIES = (
    FairProperty("userMaxAppsDefault", Kind.INTEGER, "applications that a user runs at once; no limit where not set"),
    FairProperty("queueMaxAppsDefault", Kind.INTEGER, "maxRunningApps of queues that set none"),
    FairProperty("queueMaxResourcesDefault", Kind.RESOURCES, "maxResources of queues that set none"),
    FairProperty("queueMaxAMShareDefault", Kind.NUMBER, "maxAMShare of queues that set none; 0.5"),
    FairProperty(
        "defaultQueueSchedulingPolicy",
        Kind.POLICY,
        "schedulingPolicy of queues that set none",
        ("defaultQueueSchedulingMode",),
    ),
    FairProperty("defaultMinSharePreemptionTimeout", Kind.SECONDS, "root's minSharePreemptionTimeout"),
    FairProperty(
        "defaultFairSharePreemptionTimeout",
        Kind.SECONDS,
        "root's fairSharePreemptionTimeout",
        ("fairSharePreemptionTimeout",),
    ),
    FairProperty("defaultFairSharePreemptionThreshold", Kind.NUMBER, "root's fairSharePreemptionThreshold; 0.5"),
    FairProperty("reservation-agent", Kind.TEXT, "class that places reservations"),
    FairProperty("reservation-policy", Kind.TEXT, "class that admits reservations"),
    FairProperty("reservation-planner", Kind.TEXT, "class that replans reservations"),
)

QUEUE_BY_TAG = {tag: prop for prop in QUEUE_PROPERTIES for tag in (prop.name, *prop.aliases)}
FILE_BY_TAG = {tag: prop for prop in FILE_PROPERTIES for tag in (prop.name, *prop.aliases)}


def read_integer(text: str) -> int:
    """As ``Integer.parseInt``.

    Raises:
        InputError: where Java would throw.
    """
    if not _INT.fullmatch(text) or not -(2**31) <= int(text) <= MAX_INT:
        raise InputError(f"{text!r} is not a whole number that the ResourceManager can read", "write for example 20")
    return int(text)


def read_number(text: str) -> float:
    """As ``Float.parseFloat``: the nearest 32-bit number, in a 64-bit one.

    Raises:
        InputError: where Java would throw, and for what is no finite number, which Java takes.
    """
    if not _FLOAT.fullmatch(text):
        raise InputError(f"{text!r} is not a number", "write for example 0.5")
    with np.errstate(over="ignore"):
        value = float(np.float32(text.rstrip("fFdD")))
    if not np.isfinite(value):
        raise InputError(f"{text!r} is too large", "write for example 2.0")
    return value


def read_seconds(text: str) -> int:
    """A time-out in milliseconds, as ``Long.parseLong(text) * 1000``.

    Raises:
        InputError: where Java would throw, and for a negative time.
    """
    if not _INT.fullmatch(text) or abs(int(text)) > NEVER_MS:
        raise InputError(f"{text!r} is not a whole number of seconds", "write for example 60")
    if int(text) < 0:
        raise InputError(f"the time-out {text} is negative", "take the element out for a time-out that never ends")
    return min(int(text) * 1000, NEVER_MS)


def read_policy(text: str) -> str:
    """``fair``, ``fifo`` or ``drf``, by name or by class (``SchedulingPolicy.parse``).

    Raises:
        InputError: for any other class: what it does is not known here.
    """
    name = POLICY_CLASSES.get(text, text.lower())
    if name not in POLICIES:
        raise InputError(f"{text!r} is not a scheduling policy known here", "use fair, fifo or drf")
    return name


def check_value(kind: Kind, text: str) -> None:
    """Reads a value and forgets it.

    Raises:
        InputError: where the value cannot be read.
    """
    if kind is Kind.RESOURCES:
        parse_resources(text)
    elif kind is Kind.INTEGER:
        read_integer(text)
    elif kind is Kind.NUMBER:
        read_number(text)
    elif kind is Kind.SECONDS:
        read_seconds(text)
    elif kind is Kind.POLICY:
        read_policy(text)
