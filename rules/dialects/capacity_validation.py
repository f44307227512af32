"""Checks a configuration of the Capacity Scheduler, at least as strictly as the ResourceManager does.

The ResourceManager takes much that cannot work (a user limit of 0, queues that do not exist, fractions above 1) and
answers 200. What it refuses is found here too, before it is asked; it still has the last word.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from rules.dialects.capacity_checks import change, cluster, labels, limits, names, placement, shares
from rules.dialects.capacity_checks.context import Context, Hit
from rules.dialects.capacity_properties import HadoopVersion
from rules.dialects.capacity_update import changes
from rules.model import Finding, Resources, Severity

LATEST: HadoopVersion = (3, 5)
ERROR, WARNING = Severity.ERROR, Severity.WARNING


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule for a configuration.

    Args:
        rule_id: in kebab-case, as the documentation lists it.
        severity: ERROR where it cannot work, WARNING where it is odd or without effect.
        rm_refuses: whether the ResourceManager (3.5) finds it too, or most of it.
        check: finds it.
    """

    rule_id: str
    severity: Severity
    rm_refuses: bool
    check: Callable[[Context], Iterator[Hit]]


@dataclass(frozen=True, slots=True)
class ChangeRule:
    """One rule for the way from a configuration that runs to another one; fields as of :class:`Rule`."""

    rule_id: str
    severity: Severity
    rm_refuses: bool
    check: Callable[[Context, Context], Iterator[Hit]]


RULES: tuple[Rule, ...] = (
    Rule("unreadable-value", ERROR, True, names.unreadable_value),
    Rule("blank-around-value", ERROR, True, names.blank_around_value),
    Rule("unresolved-variable", WARNING, False, names.unresolved_variable),
    Rule("include-not-read", WARNING, False, names.include_not_read),
    Rule("unknown-queue", WARNING, False, names.unknown_queue),
    Rule("unknown-property", WARNING, False, names.unknown_property),
    Rule("short-queue-name", WARNING, False, names.short_queue_name),
    Rule("invalid-queue-name", ERROR, False, names.invalid_queue_name),
    Rule("ambiguous-leaf-name", WARNING, False, names.ambiguous_leaf_name),
    Rule("not-in-version", WARNING, False, names.not_in_version),
    Rule("root-stopped", ERROR, False, names.root_stopped),
    Rule("capacity-range", ERROR, True, shares.capacity_range),
    Rule("root-capacity", ERROR, False, shares.root_capacity),
    Rule("maximum-below-capacity", ERROR, False, shares.maximum_below_capacity),
    Rule("maximum-is-weight", ERROR, True, shares.maximum_is_weight),
    Rule("mode-not-in-version", ERROR, False, shares.mode_not_in_version),
    Rule("mixed-modes", ERROR, True, shares.mixed_modes),
    Rule("sibling-sum", ERROR, True, shares.sibling_sum),
    Rule("capacity-not-set", WARNING, False, shares.capacity_not_set),
    Rule("absolute-sum", ERROR, True, shares.absolute_sum),
    Rule("label-without-parent", ERROR, False, labels.label_without_parent),
    Rule("label-not-accessible", ERROR, False, labels.label_not_accessible),
    Rule("label-not-in-parent", ERROR, True, labels.label_not_in_parent),
    Rule("absolute-over-cluster", WARNING, False, cluster.absolute_over_cluster),
    Rule("rounds-to-no-core", WARNING, False, cluster.rounds_to_no_core),
    Rule("below-smallest-container", WARNING, False, cluster.below_smallest_container),
    Rule("refuses-applications", WARNING, False, cluster.refuses_applications),
    Rule("user-limit-factor", ERROR, False, limits.user_limit_factor),
    Rule("minimum-user-limit-percent", ERROR, False, limits.minimum_user_limit_percent),
    Rule("am-resource-percent", ERROR, False, limits.am_resource_percent),
    Rule("no-applications", ERROR, False, limits.no_applications),
    Rule("user-weight", ERROR, True, limits.user_weight),
    Rule("ordering-policy", ERROR, True, limits.ordering_policy),
    Rule("size-based-weight", WARNING, False, limits.size_based_weight),
    Rule("priority-without-effect", WARNING, False, limits.priority),
    Rule("running-under-stopped", ERROR, True, limits.running_under_stopped),
    Rule("maximum-allocation", ERROR, True, limits.maximum_allocation),
    Rule("allocation-bounds", ERROR, True, limits.allocation_bounds),
    Rule("application-lifetime", ERROR, True, limits.application_lifetime),
    Rule("queue-mapping", ERROR, True, placement.queue_mapping),
    Rule("mapping-format", ERROR, True, placement.mapping_format),
    Rule("reservable-parent", ERROR, True, limits.reservable_parent),
    Rule("auto-creation", ERROR, False, limits.auto_creation),
)

CHANGE_RULES: tuple[ChangeRule, ...] = (
    ChangeRule("deleted-while-running", ERROR, True, change.deleted_while_running),
    ChangeRule("leaf-became-parent", ERROR, True, change.leaf_became_parent),
    ChangeRule("auto-creation-converted", ERROR, True, change.auto_creation_converted),
    ChangeRule("maximum-allocation-lowered", ERROR, True, change.maximum_allocation_lowered),
    ChangeRule("needs-restart", ERROR, False, change.needs_restart),
    ChangeRule("legacy-mode-changed", WARNING, False, change.legacy_mode_changed),
)

_WITHOUT_EFFECT = frozenset({"unknown-queue", "unknown-property", "short-queue-name", "not-in-version"})


def validate(
    properties: Mapping[str, str],
    *,
    version: HadoopVersion = LATEST,
    cluster_total: Resources | None = None,
    includes: tuple[str, ...] = (),
) -> tuple[Finding, ...]:
    """Checks a configuration by itself.

    Args:
        properties: as configured, by full name, yarn-site's among them where they are known.
        version: of Hadoop, whose rules differ.
        cluster_total: the resources of all nodes; without them, what depends on them is not checked.
        includes: files that the configuration includes and that were not read.

    Raises:
        InputError: if there are no queues at all.
    """
    context = Context(properties, version, cluster_total, includes)
    return tuple(_finding(rule, hit) for rule in RULES for hit in rule.check(context))


def validate_change(
    current: Mapping[str, str],
    proposed: Mapping[str, str],
    *,
    version: HadoopVersion = LATEST,
    cluster_total: Resources | None = None,
) -> tuple[Finding, ...]:
    """Checks a change of the configuration of a ResourceManager that runs.

    What is set anew and has no effect is an ERROR here. An ERROR that the present configuration has just so is told
    as a WARNING: the ResourceManager lives with it, so it is no reason against this change.

    Args:
        current: what runs now, by full name.
        proposed: what is to run.
        version: of Hadoop.
        cluster_total: the resources of all nodes.

    Raises:
        InputError: if one of the two has no queues at all.
    """
    before = Context(current, version, cluster_total)
    after = Context(proposed, version, cluster_total)
    known = set(validate(current, version=version, cluster_total=cluster_total))
    set_anew = {made.property for made in changes(current, proposed) if made.after is not None}
    found = [
        _in_change(finding, finding in known, set_anew)
        for finding in validate(proposed, version=version, cluster_total=cluster_total)
    ]
    found += [_finding(rule, hit) for rule in CHANGE_RULES for hit in rule.check(before, after)]
    return tuple(found)


def _finding(rule: Rule | ChangeRule, hit: Hit) -> Finding:
    return Finding(hit.queue, hit.property, rule.rule_id, rule.severity, hit.message)


def _in_change(finding: Finding, is_known: bool, set_anew: set[str]) -> Finding:
    if finding.rule_id in _WITHOUT_EFFECT and finding.property in set_anew:
        return replace(finding, severity=ERROR)
    if is_known and finding.severity is ERROR:
        return replace(finding, severity=WARNING)
    return finding


def errors(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """The findings that stop a change."""
    return tuple(finding for finding in findings if finding.severity is ERROR)
