"""The tables of preemption between queues; without rows where the configuration has none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rules.limits import Limits
from rules.simulation.java import hash_map_order
from rules.simulation.memory import Table, columns, make_table, rows
from rules.simulation.tables import track_containers

__all__ = [
    "PREEMPTION_COUNTERS",
    "PREEMPTION_TABLES",
    "choice_at",
    "doomed_at",
    "lay_out_preemption",
    "monitor_at",
    "needy_at",
    "preempted_leaf_at",
    "room_at",
    "skipped_at",
    "spared_at",
    "tier_at",
    "underserved_at",
]

_LIST = columns("row")
PREEMPTION_TABLES: Mapping[str, np.dtype[Any]] = {
    # A row for each configuration.
    "monitors": columns("interval_ms wait_ms kills conservative reserved_demand", "round over_capacity termination"),
    "spared": columns("disabled"),  # a row for each configuration and queue
    # A row for each queue (``TempQueuePerPartition``): what it asks for, with and without what it has reserved; what it
    # holds beyond its guarantee, to be preempted or not; what it should have; what is to be preempted.
    "tiers": columns(
        "pending_memory pending_vcores asked_memory asked_vcores extra_memory extra_vcores untouchable_memory "
        "untouchable_vcores ideal_memory ideal_vcores excess_memory excess_vcores target_memory target_vcores",
        "part_memory part_vcores",
    ),
    "rooms": columns("memory vcores known"),  # a row for each pair of a leaf and a user: what the user may still get
    "needy": _LIST,  # a heap of queues, the one that has least of its guarantee on top
    "underserved": _LIST,
    "preempted_leaves": _LIST,  # leaves, in the order in which the policy goes through them
    "skipped": _LIST,  # AMs that are spared at first
    "doomed": columns("row serial job"),  # containers that are killed in this round
    # A row for each job: in which round it was last chosen from, and as the how manyth of the applications.
    "choices": columns("round place"),
}

PREEMPTION_COUNTERS = (
    "monitored monitor_ms last_monitor_ms needy_queues underserved_queues skipped_ams doomed_containers chosen_apps"
)
"""``monitored``: whether the monitor is on; ``monitor_ms``: when it runs next."""

monitor_at = rows("monitors", PREEMPTION_TABLES["monitors"])
spared_at = rows("spared", PREEMPTION_TABLES["spared"])
tier_at = rows("tiers", PREEMPTION_TABLES["tiers"])
room_at = rows("rooms", PREEMPTION_TABLES["rooms"])
needy_at = rows("needy", _LIST)
underserved_at = rows("underserved", _LIST)
preempted_leaf_at = rows("preempted_leaves", _LIST)
skipped_at = rows("skipped", _LIST)
doomed_at = rows("doomed", PREEMPTION_TABLES["doomed"])
choice_at = rows("choices", PREEMPTION_TABLES["choices"])


def lay_out_preemption(
    core: dict[str, Table], limits: Sequence[Limits], paths: Sequence[str], leaves: Sequence[str]
) -> dict[str, Table]:
    """Lays out the tables; the monitor is on for good, or off for good.

    Args:
        core: the core's tables; with the monitor on, they get what it takes to tell containers apart.
        limits: of each configuration.
        paths: full paths of the queues, in the order of their rows.
        leaves: full paths of the leaves.
    """
    if limits[0].get("preemption-monitor") is None:
        return {name: make_table(dtype, 0) for name, dtype in PREEMPTION_TABLES.items()}
    track_containers(core)
    jobs = len(core["jobs"])
    lengths = {
        "monitors": len(limits),
        "spared": len(limits) * len(paths),
        "tiers": len(paths),
        "rooms": jobs,  # at least as many as there are users in leaves
        "needy": len(paths),
        "underserved": len(paths),
        "preempted_leaves": len(leaves),
        "skipped": jobs,
        "doomed": len(core["containers"]),
        "choices": jobs,
    }
    tables = {name: make_table(PREEMPTION_TABLES[name], length) for name, length in lengths.items()}
    places = {path: row for row, path in enumerate(paths)}
    tables["preempted_leaves"]["row"] = [places[path] for path in hash_map_order(leaves)]
    for number, found in enumerate(limits):
        _fill_monitor(tables["monitors"][number], found, limits[0])
        for row, path in enumerate(paths):
            disabled = found.get("no-preemption", path) is not None
            tables["spared"][number * len(paths) + row]["disabled"] = disabled
    return tables


def _fill_monitor(row: Any, limits: Limits, first: Limits) -> None:
    monitor = limits.get("preemption-monitor") or first.get("preemption-monitor")
    kill, most = limits.get("preemption-kill"), limits.get("preemption-round")
    zone, termination = limits.get("preemption-dead-zone"), limits.get("preemption-natural-termination")
    if monitor:
        row["interval_ms"] = max(int(monitor["interval_ms"]), 1)
        row["conservative"], row["reserved_demand"] = monitor["conservative"], monitor["reserved_demand"]
    row["kills"], row["wait_ms"] = kill is not None, kill["wait_ms"] if kill else 0
    row["round"] = most["part"] if most else 1e6
    row["over_capacity"] = zone["over_capacity"] if zone else 0
    row["termination"] = termination["part"] if termination else 1
