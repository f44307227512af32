"""Every property of the Capacity Scheduler: the one place that knows its name, kind, default and when it takes effect.

Names, defaults and kinds: ``CapacitySchedulerConfiguration`` and ``YarnConfiguration`` of Hadoop 3.3.6, 3.4.1 and
3.5.0. Whether a change takes effect in a running ResourceManager was tried on a real one, or read from where the
scheduler reads the property (``initScheduler``: at start only; ``reinitialize``: at each change).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum
from functools import cache, lru_cache

PREFIX = "yarn.scheduler.capacity."
PREEMPTION_PREFIX = "yarn.resourcemanager.monitor.capacity.preemption."

HadoopVersion = tuple[int, int]
"""Major and minor: ``(3, 4)``. Patch releases do not differ in what is known here."""


class Scope(Enum):
    """Where a property is set."""

    QUEUE = "queue"
    GLOBAL = "global"


class Kind(Enum):
    """How a value is written."""

    BOOLEAN = "true or false"
    INTEGER = "whole number"
    NUMBER = "number"
    CAPACITY = "capacity"
    TEXT = "text"


class Effect(Enum):
    """When a change takes effect."""

    LIVE = "live"
    RAISE_ONLY = "live, but it can only be raised"
    RESTART = "at a restart of the ResourceManager"


@dataclass(frozen=True, slots=True)
class PropertySpec:
    """One property.

    Args:
        name: the suffix after the queue's path, or the full name of a global one; ``<x>`` stands for one name.
        scope: per queue or for the whole scheduler.
        default: what holds where it is not set; empty for nothing.
        kind: how the value is written.
        effect: when a change takes effect.
        description: one sentence.
        since: the first version of Hadoop that has it; all supported ones where it is None.
    """

    name: str
    scope: Scope
    default: str
    kind: Kind
    effect: Effect
    description: str
    since: HadoopVersion | None = None


def default_of(name: str, version: HadoopVersion) -> str:
    """The default of a global property or a queue's suffix in that version of Hadoop; empty for none.

    Raises:
        KeyError: if there is no such property.
    """
    if name == f"{PREFIX}schedule-asynchronously.enable":
        return "true" if version >= (3, 5) else "false"  # YARN-7327
    return _BY_NAME[name].default


@lru_cache(maxsize=4096)
def find_queue_property(suffix: str) -> PropertySpec | None:
    """The property that a suffix after a queue's path names; None where there is none."""
    return next((spec for pattern, spec in _queue_patterns() if pattern.fullmatch(suffix)), None)


@lru_cache(maxsize=4096)
def find_global_property(name: str) -> PropertySpec | None:
    """The property of the whole scheduler with this full name; None where there is none."""
    return next((spec for pattern, spec in _global_patterns() if pattern.fullmatch(name)), None)


def nearest_queue_property(suffix: str) -> str | None:
    """The known suffix that a wrong one was probably meant to be."""
    return next(iter(get_close_matches(suffix, [spec.name for spec in QUEUE_PROPERTIES], n=1)), None)


def nearest_global_property(name: str) -> str | None:
    """The known global property that a wrong name was probably meant to be."""
    return next(iter(get_close_matches(name, [spec.name for spec in GLOBAL_PROPERTIES], n=1)), None)


def _q(
    name: str,
    default: str,
    kind: Kind,
    description: str,
    effect: Effect = Effect.LIVE,
    since: HadoopVersion | None = None,
) -> PropertySpec:
    return PropertySpec(name, Scope.QUEUE, default, kind, effect, description, since)


def _g(
    name: str,
    default: str,
    kind: Kind,
    description: str,
    effect: Effect = Effect.LIVE,
    since: HadoopVersion | None = None,
) -> PropertySpec:
    full = name if name.startswith("yarn.") else PREFIX + name
    return PropertySpec(full, Scope.GLOBAL, default, kind, effect, description, since)


_BOOL, _INT, _NUM, _CAP, _TEXT = Kind.BOOLEAN, Kind.INTEGER, Kind.NUMBER, Kind.CAPACITY, Kind.TEXT
_RESTART = Effect.RESTART

QUEUE_PROPERTIES: tuple[PropertySpec, ...] = (
    _q("queues", "", _TEXT, "Short names of the child queues, comma separated."),
    _q("capacity", "", _CAP, "Guaranteed share: percent of the parent, weight among siblings, or amounts."),
    _q("maximum-capacity", "100", _CAP, "Most that it may use: percent of the parent's maximum, or amounts."),
    _q("user-limit-factor", "1.0", _NUM, "Times the capacity that one user may use; -1 for no limit."),
    _q("minimum-user-limit-percent", "100", _NUM, "Percent that each user gets at least when several compete."),
    _q("user-settings.<user>.weight", "1.0", _NUM, "Weight of one user against the others."),
    _q("maximum-am-resource-percent", "0.1", _NUM, "Fraction of the queue that application masters may hold."),
    _q("maximum-applications", "", _INT, "Most applications, running and waiting; more are refused."),
    _q("max-parallel-apps", "2147483647", _INT, "Most applications that run at once; more wait."),
    _q("ordering-policy", "", _TEXT, "Leaf: fifo (default) or fair; parent: utilization or priority-utilization."),
    _q(
        "ordering-policy.fair.enable-size-based-weight",
        "false",
        _BOOL,
        "Fair order favours applications that ask more.",
    ),
    _q("ordering-policy.exclusive-enforced-partitions", "", _TEXT, "Labels that fifo-with-partitions holds exclusive."),
    _q("priority", "0", _INT, "Order among siblings under priority-utilization; higher is served first."),
    _q("state", "RUNNING", _TEXT, "RUNNING, or STOPPED: takes no new applications."),
    _q("accessible-node-labels", "", _TEXT, "Labels whose nodes it may use; * for all; the parent's where not set."),
    _q("accessible-node-labels.<label>.capacity", "0", _CAP, "Guaranteed share of the nodes with the label."),
    _q("accessible-node-labels.<label>.maximum-capacity", "100", _CAP, "Most that it may use of the label's nodes."),
    _q("accessible-node-labels.<label>.maximum-am-resource-percent", "", _NUM, "Fraction for masters on the label."),
    _q("default-node-label-expression", "", _TEXT, "Label of applications that name none."),
    _q("maximum-allocation", "", _TEXT, "Largest container, for example memory-mb=8192,vcores=4.", Effect.RAISE_ONLY),
    _q("maximum-allocation-mb", "", _INT, "Largest container's memory in MiB.", Effect.RAISE_ONLY),
    _q("maximum-allocation-vcores", "", _INT, "Largest container's vcores.", Effect.RAISE_ONLY),
    _q("disable_preemption", "false", _BOOL, "Whether its containers are safe from other queues' preemption."),
    _q("intra-queue-preemption.disable_preemption", "false", _BOOL, "Whether preemption inside the queue is off."),
    _q("default-application-priority", "0", _INT, "Priority of applications that name none."),
    _q("maximum-application-lifetime", "-1", _INT, "Seconds after which an application is killed; -1 never."),
    _q("default-application-lifetime", "-1", _INT, "Lifetime in seconds of applications that name none."),
    _q("acl_submit_applications", "", _TEXT, "Users and groups that may submit."),
    _q("acl_administer_queue", "", _TEXT, "Users and groups that may administer the queue."),
    _q("acl_application_max_priority", "*", _TEXT, "Who may use which priority."),
    _q("acl_administer_reservations", "*", _TEXT, "Who may administer reservations."),
    _q("acl_list_reservations", "*", _TEXT, "Who may list reservations."),
    _q("acl_submit_reservations", "*", _TEXT, "Who may make reservations."),
    _q("multi-node-sorting.policy", "", _TEXT, "How nodes are sorted for the queue.", _RESTART),
    _q("allow-zero-capacity-sum", "false", _BOOL, "Whether the children may all have 0 %.", since=(3, 4)),
    _q(
        "auto-create-child-queue.enabled",
        "false",
        _BOOL,
        "Makes a managed parent, whose leaves come by themselves (v1).",
    ),
    _q("auto-create-child-queue.management-policy", "", _TEXT, "Class that manages the capacities of those leaves."),
    _q("auto-create-child-queue.max-queues", "1000", _INT, "Most leaves that a managed parent makes."),
    _q("auto-create-child-queue.fail-on-exceeding-parent-capacity", "false", _BOOL, "Refuse leaves beyond capacity."),
    _q("auto-queue-creation-v2.enabled", "false", _BOOL, "Makes queues below by themselves (v2).", since=(3, 4)),
    _q("auto-queue-creation-v2.max-queues", "1000", _INT, "Most queues made below.", since=(3, 4)),
    _q("auto-queue-creation-v2.maximum-queue-depth", "2", _INT, "Levels made below.", since=(3, 4)),
    _q("auto-queue-creation-v2.queue-auto-removal.enable", "true", _BOOL, "Empty ones are removed.", since=(3, 4)),
    _q("reservable", "false", _BOOL, "Whether the reservation system plans the queue."),
    _q("reservation-window", "86400000", _INT, "Reservations: window of the sharing policy in ms."),
    _q("average-capacity", "100", _NUM, "Reservations: average percent of the queue."),
    _q("instantaneous-max-capacity", "100", _NUM, "Reservations: most percent at one moment."),
    _q("reservation-policy", "", _TEXT, "Reservations: class of the sharing policy."),
    _q("reservation-agent", "", _TEXT, "Reservations: class of the agent."),
    _q("reservation-planner", "", _TEXT, "Reservations: class of the planner."),
    _q("reservation-move-on-expiry", "true", _BOOL, "Reservations: applications move to the default queue at the end."),
    _q("reservation-enforcement-window", "3600000", _INT, "Reservations: planner's window in ms."),
    _q("show-reservations-as-queues", "false", _BOOL, "Reservations: seen as queues."),
)

TEMPLATE_PREFIXES: dict[str, HadoopVersion | None] = {
    "leaf-queue-template.": None,
    "auto-queue-creation-v2.template.": (3, 4),
    "auto-queue-creation-v2.parent-template.": (3, 4),
    "auto-queue-creation-v2.leaf-template.": (3, 4),
}
"""What stands before a queue's property in the template of queues that are made by themselves."""

GLOBAL_PROPERTIES: tuple[PropertySpec, ...] = (
    _g("maximum-applications", "10000", _INT, "Most applications in the whole scheduler."),
    _g("global-queue-max-application", "", _INT, "Most applications of each queue that has none of its own."),
    _g("maximum-am-resource-percent", "0.1", _NUM, "Default of the queues' property of that name."),
    _g("max-parallel-apps", "2147483647", _INT, "Default of the queues' property of that name."),
    _g("user.max-parallel-apps", "2147483647", _INT, "Most applications of one user that run at once."),
    _g("user.<user>.max-parallel-apps", "", _INT, "The same for one user."),
    _g("user-limit-factor", "1.0", _NUM, "Default of the queues' property of that name.", since=(3, 4)),
    _g("minimum-user-limit-percent", "100", _NUM, "Default of the queues' property of that name.", since=(3, 4)),
    _g(
        "resource-calculator",
        "org.apache.hadoop.yarn.util.resource.DefaultResourceCalculator",
        _TEXT,
        "Class that compares resources: the default counts memory only, the Dominant one every resource.",
        _RESTART,
    ),
    _g("legacy-queue-mode.enabled", "true", _BOOL, "One way of writing capacities among siblings.", since=(3, 4)),
    _g("node-locality-delay", "40", _INT, "Missed chances before a rack-local container is taken."),
    _g("rack-locality-additional-delay", "-1", _INT, "Further missed chances before any node is taken."),
    _g("rack-locality-full-reset", "true", _BOOL, "Rack-local containers reset the count of missed chances."),
    _g("reservations-continue-look-all-nodes", "true", _BOOL, "Other nodes are tried although one is reserved."),
    _g("skip-allocate-on-nodes-with-reserved-containers", "false", _BOOL, "Leave reserved nodes out.", since=(3, 4)),
    _g("per-node-heartbeat.multiple-assignments-enabled", "true", _BOOL, "Several containers per heartbeat."),
    _g("per-node-heartbeat.maximum-container-assignments", "100", _INT, "Most containers per heartbeat; -1 no limit."),
    _g("per-node-heartbeat.maximum-offswitch-assignments", "1", _INT, "Most containers off switch per heartbeat."),
    _g("schedule-asynchronously.enable", "false", _BOOL, "Scheduling apart from heartbeats (on from 3.5).", _RESTART),
    _g("schedule-asynchronously.maximum-threads", "1", _INT, "Threads of it.", _RESTART),
    _g("schedule-asynchronously.maximum-pending-backlogs", "100", _INT, "Proposals that may wait.", _RESTART),
    _g("schedule-asynchronously.scheduling-interval-ms", "5", _INT, "Pause between rounds.", _RESTART, (3, 4)),
    _g("lazy-preemption-enabled", "false", _BOOL, "Containers are killed only when their room is needed."),
    _g("multi-node-placement-enabled", "false", _BOOL, "Choice among several nodes at once.", _RESTART),
    _g("multi-node-sorting.policy", "", _TEXT, "How they are sorted by default.", _RESTART),
    _g("multi-node-sorting.policy.names", "", _TEXT, "Names of the sorting policies.", _RESTART),
    _g("multi-node-sorting.policy.<name>.class", "", _TEXT, "Class of one.", _RESTART),
    _g("multi-node-sorting.policy.<name>.sorting-interval.ms", "1000", _INT, "Its interval.", _RESTART),
    _g("queue-mappings", "", _TEXT, "Users and groups to queues: u:NAME:QUEUE, g:GROUP:QUEUE."),
    _g("queue-mappings-override.enable", "false", _BOOL, "Mappings win over the queue that was asked for."),
    _g("mapping-rule-format", "legacy", _TEXT, "legacy or json.", since=(3, 4)),
    _g("mapping-rule-json", "", _TEXT, "Mapping rules as JSON.", since=(3, 4)),
    _g("mapping-rule-json-file", "", _TEXT, "File of mapping rules as JSON.", since=(3, 4)),
    _g("workflow-priority-mappings", "", _TEXT, "Priorities of workflows."),
    _g("workflow-priority-mappings-override.enable", "false", _BOOL, "They win over the priority asked for."),
    _g("ordering-policy.priority-utilization.underutilized-preemption.enabled", "false", _BOOL, "Priority preempts."),
    _g(
        "ordering-policy.priority-utilization.underutilized-preemption.reserved-container-delay-ms",
        "60000",
        _INT,
        "How long a reserved container waits before that.",
    ),
    _g(
        "ordering-policy.priority-utilization.underutilized-preemption.allow-move-reservation",
        "false",
        _BOOL,
        "Whether its reservation may move to another node.",
    ),
    _g("auto-queue-creation-v2.queue-expiration-time", "300", _INT, "Idle seconds to removal.", since=(3, 4)),
    _g(
        "queue.auto.refresh.monitoring-interval",
        "5000",
        _INT,
        "How often the file is looked at, in ms.",
        _RESTART,
        (3, 4),
    ),
    _g("application.fail-fast", "false", _BOOL, "The RM stops at an application of an unknown queue.", _RESTART),
    _g("user-metrics.enable", "false", _BOOL, "Metrics by user.", _RESTART),
    _g("yarn.scheduler.minimum-allocation-mb", "1024", _INT, "Smallest container, and the step, in MiB.", _RESTART),
    _g("yarn.scheduler.minimum-allocation-vcores", "1", _INT, "Smallest container's vcores.", _RESTART),
    _g("yarn.scheduler.maximum-allocation-mb", "8192", _INT, "Largest container in MiB.", Effect.RAISE_ONLY),
    _g("yarn.scheduler.maximum-allocation-vcores", "4", _INT, "Largest container's vcores.", Effect.RAISE_ONLY),
    _g("yarn.cluster.max-application-priority", "0", _INT, "Highest priority of an application.", _RESTART),
    _g("yarn.resourcemanager.scheduler.monitor.enable", "false", _BOOL, "Preemption between queues is on.", _RESTART),
    _g("yarn.resourcemanager.scheduler.monitor.policies", "", _TEXT, "Classes of the monitors.", _RESTART),
    _g("yarn.resourcemanager.monitor.capacity.queue-management.monitoring-interval", "1500", _INT, "In ms.", _RESTART),
    _g(f"{PREEMPTION_PREFIX}observe_only", "false", _BOOL, "Reckons, but kills nothing."),
    _g(f"{PREEMPTION_PREFIX}monitoring_interval", "3000", _INT, "Pause between rounds in ms."),
    _g(f"{PREEMPTION_PREFIX}max_wait_before_kill", "15000", _INT, "From asking to killing in ms."),
    _g(f"{PREEMPTION_PREFIX}total_preemption_per_round", "0.1", _NUM, "Most of the cluster in one round."),
    _g(f"{PREEMPTION_PREFIX}max_ignored_over_capacity", "0.1", _NUM, "Use over capacity that is let be."),
    _g(f"{PREEMPTION_PREFIX}natural_termination_factor", "0.2", _NUM, "Part of the target that is taken per round."),
    _g(f"{PREEMPTION_PREFIX}select_based_on_reserved_containers", "false", _BOOL, "Frees reserved nodes first."),
    _g(
        f"{PREEMPTION_PREFIX}additional_res_balance_based_on_reserved_containers",
        "false",
        _BOOL,
        "Counts reservations as demand.",
    ),
    _g(f"{PREEMPTION_PREFIX}conservative-drf", "false", _BOOL, "Spares applications short of one resource."),
    _g(f"{PREEMPTION_PREFIX}intra-queue-preemption.enabled", "false", _BOOL, "Preemption inside queues."),
    _g(f"{PREEMPTION_PREFIX}intra-queue-preemption.minimum-threshold", "0.5", _NUM, "Use from which it starts."),
    _g(f"{PREEMPTION_PREFIX}intra-queue-preemption.max-allowable-limit", "0.2", _NUM, "Most of a queue."),
    _g(
        f"{PREEMPTION_PREFIX}intra-queue-preemption.preemption-order-policy",
        "userlimit_first",
        _TEXT,
        "userlimit_first or priority_first.",
    ),
    _g(f"{PREEMPTION_PREFIX}intra-queue-preemption.conservative-drf", "true", _BOOL, "The same, inside queues."),
    _g(
        f"{PREEMPTION_PREFIX}preemption-to-balance-queue-after-satisfied.enabled",
        "false",
        _BOOL,
        "Goes on when all have their guarantee.",
    ),
    _g(
        f"{PREEMPTION_PREFIX}preemption-to-balance-queue-after-satisfied.max-wait-before-kill",
        "300000",
        _INT,
        "From asking to killing in ms for that.",
    ),
)

_BY_NAME = {spec.name: spec for spec in (*QUEUE_PROPERTIES, *GLOBAL_PROPERTIES)}


@cache
def _queue_patterns() -> tuple[tuple[re.Pattern[str], PropertySpec], ...]:
    prefix = "|".join(re.escape(prefix) for prefix in TEMPLATE_PREFIXES)
    return tuple((re.compile(f"(?:{prefix})?{_pattern(spec.name)}"), spec) for spec in QUEUE_PROPERTIES)


@cache
def _global_patterns() -> tuple[tuple[re.Pattern[str], PropertySpec], ...]:
    return tuple((re.compile(_pattern(spec.name)), spec) for spec in GLOBAL_PROPERTIES)


def _pattern(name: str) -> str:
    # A user's name may hold dots (user-settings.first.last.weight); a label's may not.
    return re.escape(name).replace("<user>", r".+").replace("<label>", r"[^.]+").replace("<name>", r"[^.]+")
