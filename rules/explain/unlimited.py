"""Configurations with the queues of another one and none of its limits, under which what runs can be set up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from xml.sax.saxutils import quoteattr

from rules.dialects.capacity import parse, queue_property
from rules.dialects.capacity_properties import PREFIX
from rules.model import CapacityMode, Queue
from workloads.trace import Job

__all__ = ["unlimited_capacity", "unlimited_fair"]

_MANY = "1000000"
_PER_BEAT = f"{PREFIX}per-node-heartbeat."


def unlimited_capacity(conf: Mapping[str, str | None]) -> dict[str, str | None]:
    """The Capacity Scheduler's properties with every limit lifted, apart from the nodes' resources.

    Args:
        conf: properties by full name; None stands for not set.

    Raises:
        InputError: there are no queues in it.
    """
    opened = dict(conf)
    for name in conf:
        if name.startswith(PREFIX) and name.endswith("max-parallel-apps"):
            opened[name] = None
    opened |= {
        f"{PREFIX}maximum-applications": _MANY,
        f"{_PER_BEAT}multiple-assignments-enabled": "true",
        f"{_PER_BEAT}maximum-container-assignments": "-1",
        f"{_PER_BEAT}maximum-offswitch-assignments": _MANY,
    }
    for queue in parse({name: value for name, value in conf.items() if value is not None}):
        opened |= {queue_property(queue.path, suffix): value for suffix, value in _without_limits(queue).items()}
    return opened


def _without_limits(queue: Queue) -> dict[str, str | None]:
    absolute = queue.capacity.mode is CapacityMode.ABSOLUTE
    found: dict[str, str | None] = {
        "state": "RUNNING",
        "maximum-capacity": None if absolute else "100",
        "max-parallel-apps": None,
    }
    if queue.is_leaf:
        # A share of AMs far above 1 reaches users whose queue is sure of little.
        found |= {
            "maximum-am-resource-percent": "1000",
            "user-limit-factor": "-1",
            "minimum-user-limit-percent": "100",
            "maximum-applications": _MANY,
        }
    return found


def unlimited_fair(jobs: Iterable[Job]) -> str:
    """An allocation file with the queues of these jobs, equal and without limits."""
    tree = _Names()
    for path in dict.fromkeys(job.queue for job in jobs):
        level = tree
        for name in path.split(".")[1:]:
            level = level.setdefault(name, _Names())
    return (
        "<allocations><queueMaxAMShareDefault>-1.0</queueMaxAMShareDefault>"
        f'<queue name="root">{_elements(tree)}</queue></allocations>'
    )


class _Names(dict[str, "_Names"]):
    """Names of queues, each with those below it."""


def _elements(tree: _Names) -> str:
    return "".join(f"<queue name={quoteattr(name)}>{_elements(below)}</queue>" for name, below in tree.items())
