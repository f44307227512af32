"""What our own checks say of a change of the Capacity Scheduler, the way back included. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from rules.backends.checks import error, never_done
from rules.dialects.capacity import read
from rules.dialects.capacity_properties import HadoopVersion
from rules.dialects.capacity_validation import errors, validate_change
from rules.model import Finding, Resources
from rules.plan import Configuration
from tuner.errors import InputError

__all__ = ["check_capacity_change"]


def check_capacity_change(
    current: Configuration,
    proposed: Configuration,
    *,
    site: Mapping[str, str],
    version: HadoopVersion,
    cluster_total: Resources,
) -> tuple[Finding, ...]:
    """All findings of a change, and whether it could be taken back.

    Args:
        current: what runs.
        proposed: what is to run.
        site: yarn-site's properties, which some checks look at.
        version: of Hadoop.
        cluster_total: the resources of all nodes.
    """
    before, after = {**site, **current.properties}, {**site, **proposed.properties}
    try:
        found = list(validate_change(before, after, version=version, cluster_total=cluster_total))
        found += never_done(read(current.properties).tree, read(proposed.properties).tree)
        back = errors(validate_change(after, before, version=version, cluster_total=cluster_total))
    except InputError as problem:
        return (error("unreadable-value", f"{problem.message}; {problem.hint}" if problem.hint else problem.message),)
    known = {(finding.rule_id, finding.property) for finding in found}
    found += [
        error("no-way-back", f"it could not be taken back: {finding.message}", finding.queue, finding.property)
        for finding in back
        if (finding.rule_id, finding.property) not in known
    ]
    return tuple(found)
