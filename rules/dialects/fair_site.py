"""The Fair Scheduler's properties in yarn-site.xml: one table, read as ``FairSchedulerConfiguration`` does.

The ResourceManager reads all of these at its start only; an allocation file alone changes while it runs. The two
``yarn.scheduler.maximum-allocation`` properties are read again at a refresh.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from rules.dialects.fair_values import read_integer, read_number
from rules.model import Finding, Severity
from tuner.errors import InputError

PREFIX = "yarn.scheduler.fair."
MINIMUM_MB = "yarn.scheduler.minimum-allocation-mb"
MINIMUM_VCORES = "yarn.scheduler.minimum-allocation-vcores"
MAXIMUM_MB = "yarn.scheduler.maximum-allocation-mb"
MAXIMUM_VCORES = "yarn.scheduler.maximum-allocation-vcores"
INCREMENT_MB = "yarn.scheduler.increment-allocation-mb"
INCREMENT_VCORES = "yarn.scheduler.increment-allocation-vcores"
TYPE_INCREMENT_MB = "yarn.resource-types.memory-mb.increment-allocation"
TYPE_INCREMENT_VCORES = "yarn.resource-types.vcores.increment-allocation"
RESOURCE_TYPES = "yarn.resource-types"

_WITH_UNIT = re.compile(r"([0-9]+)\s*([A-Za-z]*)")
_MIB_PER_UNIT = {
    "": 1.0,
    "Mi": 1.0,
    "Gi": 1024.0,
    "Ti": 1024.0**2,
    "M": 1e6 / 2**20,
    "G": 1e9 / 2**20,
    "T": 1e12 / 2**20,
}


@dataclass(frozen=True)
class FairSite:
    """What yarn-site.xml says to the Fair Scheduler.

    Attributes:
        minimum_mib: smallest memory of a container.
        minimum_vcores: smallest vcores of a container.
        maximum_mib: largest memory of a container.
        maximum_vcores: largest vcores of a container.
        increment_mib: containers are a multiple of it.
        increment_vcores: containers are a multiple of it.
        reservation_multiple: a reservation is made for asks of at least so many increments.
        reservable_nodes: part of the nodes that an application may reserve.
        assign_multiple: more than one container for each beat of a node.
        dynamic_max_assign: with assign_multiple, up to half of what the node has free.
        max_assign: with assign_multiple and no dynamic_max_assign, so many containers a beat; -1 for no limit.
        size_based_weight: applications weigh log2(1 + demand in MiB).
        preemption: whether starved applications preempt.
        preemption_utilization: only above this part of the cluster in use.
        am_preemption: whether AMs may be preempted.
        queue_am_preemption: the same for single queues, by full path.
        wait_before_kill_ms: from choosing a container to killing it.
        wait_before_next_check_ms: an application is not looked at again so long after its preemption.
        update_interval_ms: between two computations of demand and fair shares.
        continuous_scheduling: whether nodes are also looked at without beats (deprecated).
        continuous_sleep_ms: pause between two such rounds.
        allow_undeclared: whether applications may name queues that the file does not.
        user_as_default: whether an application without a queue goes to its user's.
        resource_types: names beyond memory and vcores.
    """

    minimum_mib: int = 1024
    minimum_vcores: int = 1
    maximum_mib: int = 8192
    maximum_vcores: int = 4
    increment_mib: int = 1024
    increment_vcores: int = 1
    reservation_multiple: float = 2.0
    reservable_nodes: float = 0.05
    assign_multiple: bool = False
    dynamic_max_assign: bool = True
    max_assign: int = -1
    size_based_weight: bool = False
    preemption: bool = False
    preemption_utilization: float = 0.8
    am_preemption: bool = True
    queue_am_preemption: Mapping[str, bool] = field(default_factory=dict, hash=False)
    wait_before_kill_ms: int = 15000
    wait_before_next_check_ms: int = 10000
    update_interval_ms: int = 500
    continuous_scheduling: bool = False
    continuous_sleep_ms: int = 5
    allow_undeclared: bool = True
    user_as_default: bool = True
    resource_types: tuple[str, ...] = ()


def _boolean(text: str) -> bool:
    lowered = text.strip().lower()
    if lowered not in ("true", "false"):
        raise InputError(f"{text!r} is neither true nor false")
    return lowered == "true"


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


READERS: Mapping[str, tuple[str, Callable[[str], object]]] = {
    MINIMUM_MB: ("minimum_mib", read_integer),
    MINIMUM_VCORES: ("minimum_vcores", read_integer),
    MAXIMUM_MB: ("maximum_mib", read_integer),
    MAXIMUM_VCORES: ("maximum_vcores", read_integer),
    INCREMENT_MB: ("increment_mib", read_integer),
    INCREMENT_VCORES: ("increment_vcores", read_integer),
    "yarn.scheduler.reservation-threshold.increment-multiple": ("reservation_multiple", read_number),
    RESOURCE_TYPES: ("resource_types", _names),
    PREFIX + "reservable-nodes": ("reservable_nodes", read_number),
    PREFIX + "assignmultiple": ("assign_multiple", _boolean),
    PREFIX + "dynamic.max.assign": ("dynamic_max_assign", _boolean),
    PREFIX + "max.assign": ("max_assign", read_integer),
    PREFIX + "sizebasedweight": ("size_based_weight", _boolean),
    PREFIX + "preemption": ("preemption", _boolean),
    PREFIX + "preemption.cluster-utilization-threshold": ("preemption_utilization", read_number),
    PREFIX + "am.preemption": ("am_preemption", _boolean),
    PREFIX + "waitTimeBeforeKill": ("wait_before_kill_ms", read_integer),
    PREFIX + "waitTimeBeforeNextStarvationCheck": ("wait_before_next_check_ms", read_integer),
    PREFIX + "update-interval-ms": ("update_interval_ms", read_integer),
    PREFIX + "continuous-scheduling-enabled": ("continuous_scheduling", _boolean),
    PREFIX + "continuous-scheduling-sleep-ms": ("continuous_sleep_ms", read_integer),
    PREFIX + "allow-undeclared-pools": ("allow_undeclared", _boolean),
    PREFIX + "user-as-default-queue": ("user_as_default", _boolean),
}


def read_site(conf: Mapping[str, str]) -> FairSite:
    """The Fair Scheduler's part of a configuration, defaults filled in.

    Args:
        conf: Hadoop properties by full name; others are passed over.

    Raises:
        InputError: for a value that the ResourceManager would not start with.
    """
    values: dict[str, object] = {}
    for key, (attribute, reader) in READERS.items():
        if conf.get(key) is not None:
            values[attribute] = _read(key, conf[key], reader)
    for key, attribute in ((TYPE_INCREMENT_MB, "increment_mib"), (TYPE_INCREMENT_VCORES, "increment_vcores")):
        if conf.get(key) is not None:
            values[attribute] = _read(key, conf[key], _with_unit)
    of_queue = f"{PREFIX}am.preemption."
    values["queue_am_preemption"] = {
        key.removeprefix(of_queue): _read(key, text, _boolean) for key, text in conf.items() if key.startswith(of_queue)
    }
    site = FairSite(**values)  # type: ignore[arg-type]  # the table pairs each attribute with the reader of its type
    errors = [finding for finding in check_site(site, conf) if finding.severity is Severity.ERROR]
    if errors:
        raise InputError(errors[0].message)
    return site


def _read(key: str, text: str, reader: Callable[[str], object]) -> object:
    try:
        return reader(text.strip())
    except InputError as error:
        raise InputError(f"{key}: {error.message}", error.hint) from error


def _with_unit(text: str) -> int:
    match = _WITH_UNIT.fullmatch(text)
    if match is None or match.group(2) not in _MIB_PER_UNIT:
        raise InputError(f"{text!r} is not a whole number with a unit", "write for example 1024 or 1Gi")
    return int(int(match.group(1)) * _MIB_PER_UNIT[match.group(2)])


def check_site(site: FairSite, conf: Mapping[str, str]) -> list[Finding]:
    """What is wrong or odd with a configuration (``FairScheduler.validateConf``, and what it does not see).

    Args:
        site: the configuration, read.
        conf: the properties as they are set, to tell which ones are.
    """
    found: list[Finding] = []

    def tell(key: str, rule_id: str, severity: Severity, message: str) -> None:
        found.append(Finding(None, key, rule_id, severity, f"{key}: {message}"))

    error, warning = Severity.ERROR, Severity.WARNING
    for low, high, low_key, high_key in (
        (site.minimum_mib, site.maximum_mib, MINIMUM_MB, MAXIMUM_MB),
        (site.minimum_vcores, site.maximum_vcores, MINIMUM_VCORES, MAXIMUM_VCORES),
    ):
        if low < 0 or low > high:
            tell(low_key, "fair-site-allocation", error, f"{low} must be from 0 to {high_key}, which is {high}")
    for step, key in ((site.increment_mib, INCREMENT_MB), (site.increment_vcores, INCREMENT_VCORES)):
        if step <= 0:
            tell(key, "fair-site-increment", error, f"{step} must be above 0")
    if site.increment_mib > 0 and site.maximum_mib % site.increment_mib:
        tell(
            INCREMENT_MB,
            "fair-site-increment",
            warning,
            f"{MAXIMUM_MB} {site.maximum_mib} is no multiple of {site.increment_mib}",
        )
    if not 0.0 <= site.preemption_utilization <= 1.0:
        key = PREFIX + "preemption.cluster-utilization-threshold"
        tell(key, "fair-site-range", warning, f"{site.preemption_utilization:g} is not between 0 and 1")
    if PREFIX + "max.assign" in conf and site.assign_multiple and site.dynamic_max_assign:
        tell(PREFIX + "max.assign", "fair-site-no-effect", warning, "has no effect while dynamic.max.assign is true")
    if PREFIX + "max.assign" in conf and not site.assign_multiple:
        tell(PREFIX + "max.assign", "fair-site-no-effect", warning, "has no effect while assignmultiple is false")
    if site.continuous_scheduling:
        key = PREFIX + "continuous-scheduling-enabled"
        tell(key, "fair-site-deprecated", warning, "is deprecated and slows the scheduler; use assignmultiple instead")
    if site.update_interval_ms < 0:
        tell(
            PREFIX + "update-interval-ms",
            "fair-site-range",
            warning,
            f"{site.update_interval_ms} is negative; 500 is used",
        )
    return found
