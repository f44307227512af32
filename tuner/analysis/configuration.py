"""One configuration from all findings, checked before anybody sees it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tuner.analysis.facts import Facts
from tuner.analysis.model import Change, Finding
from tuner.model.limits import ClusterLimits
from tuner.spark.checks import find_problems
from tuner.spark.names import OLD_NAMES
from tuner.spark.params import PARAMS, parse_version

_ANY_MIB = 4 * 1024**2
_ANY_VCORES = 1024


@dataclass(frozen=True)
class Configuration:
    """What to set.

    Args:
        changes: under present names, in the table's order.
        reasons: ids of the findings that ask for each, by name.
        left_out: a sentence for each change that did not pass the checks.
    """

    changes: tuple[Change, ...]
    reasons: Mapping[str, tuple[str, ...]]
    left_out: tuple[str, ...] = ()

    def settings(self, facts: Facts) -> dict[str, str]:
        """Property -> value, under the names and in the units that the application's own Spark reads."""
        return dict(_spelled(change, facts) for change in self.changes)


def combine(facts: Facts, findings: Iterable[Finding]) -> Configuration:
    """The configuration that the findings ask for.

    Raises:
        ValueError: where two findings want different values, which the shared decisions rule out.
    """
    wanted: dict[str, Change] = {}
    reasons: dict[str, list[str]] = {}
    for finding in findings:
        for change in finding.seen.changes:
            if wanted.setdefault(change.name, change).value != change.value:
                raise ValueError(f"{change.name} is to be {wanted[change.name].value} and {change.value}")
            reasons.setdefault(change.name, [])
            if finding.id not in reasons[change.name]:
                reasons[change.name].append(finding.id)
    changes, left_out = _checked(facts, [wanted[name] for name in PARAMS if name in wanted])
    return Configuration(changes, {change.name: tuple(reasons[change.name]) for change in changes}, left_out)


def _checked(facts: Facts, changes: list[Change]) -> tuple[tuple[Change, ...], tuple[str, ...]]:
    """Drops what the table forbids, and what would make Spark refuse the configuration for a new reason."""
    limits, good, left_out = _any_cluster(facts.increment_mib), [], []
    for change in changes:
        spec = PARAMS[change.name]
        problem = spec.problem(spec.parse(change.value), limits)
        if problem is None:
            good.append(change)
        else:
            left_out.append(f"{change.name} stays as it is: {problem}.")
    while good:
        after = {**facts.conf, **{change.name: change.value for change in good}}
        new = [problem for problem in find_problems(after, facts.version) if problem.name not in facts.objections]
        if not new:
            break
        left_out += [f"{problem.name} and what belongs to it stay: {problem.message}." for problem in new]
        to_drop = {problem.name for problem in new}
        kept = [change for change in good if change.name not in to_drop]
        good = kept if len(kept) < len(good) else []
    return tuple(good), tuple(left_out)


def _any_cluster(increment_mib: int) -> ClusterLimits:
    """Limits that bind nothing: which cluster it is for is not known."""
    return ClusterLimits(
        max_container_memory_mib=_ANY_MIB,
        min_allocation_mib=increment_mib,
        increment_mib=increment_mib,
        max_container_vcores=_ANY_VCORES,
        total_memory_mib=_ANY_MIB * 1024,
        total_vcores=_ANY_VCORES * 1024,
        nodes=1024,
    )


def _spelled(change: Change, facts: Facts) -> tuple[str, str]:
    """The property as an old Spark reads it: by its old name, and before 2.0 as a bare number of MiB."""
    own = facts.own_version
    if own is None:
        return change.name, change.value
    for old in OLD_NAMES.get(change.name, ()):
        if own < parse_version(old.version):
            bare = own < (2, 0) and change.value.endswith("m")
            return old.name, change.value.removesuffix("m") if bare else change.value
    return change.name, change.value
