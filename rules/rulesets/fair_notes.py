"""What a configuration of the Fair Scheduler asks for that the model does not do; an estimate says so."""

from __future__ import annotations

from collections.abc import Mapping

from rules.dialects.fair import AllocationFile
from rules.dialects.fair_site import FairSite

__all__ = ["unmodelled_fair"]

_PREFIX = "yarn.scheduler.fair."


def unmodelled_fair(conf: Mapping[str, str], site: FairSite, allocations: AllocationFile) -> tuple[str, ...]:
    """Sentences for what this configuration asks for in vain.

    Args:
        conf: the properties by full name.
        site: the same, read.
        allocations: the allocation file.
    """
    notes = []
    if site.continuous_scheduling:
        notes.append("continuous scheduling is passed over: containers are handed out at the nodes' heartbeats alone")
    thresholds = [name for name in ("locality.threshold.node", "locality.threshold.rack") if _is_set(conf, name)]
    if thresholds:
        notes.append("locality thresholds are passed over: asks are for any node")
    if site.resource_types:
        notes.append("resources other than memory and vcores are passed over")
    if any("reservation" in queue.properties for queue in allocations.tree):
        notes.append("reservable queues are taken for ordinary ones")
    return tuple(notes)


def _is_set(conf: Mapping[str, str], name: str) -> bool:
    return not conf.get(f"{_PREFIX}{name}", "-1").strip().startswith("-")
