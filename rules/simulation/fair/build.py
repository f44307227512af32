"""The Fair Scheduler's tables from the limits of each configuration that a case goes through."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rules.limits import Limits
from rules.model import ROOT
from rules.simulation.fair.state import FAIR_TABLES, UNBOUNDED, UNORDERED, make_memory
from rules.simulation.memory import Memory, Table, make_table
from workloads.trace import Case

__all__ = ["FairPlan", "Layout", "build_fair_memory", "lay_out_queues"]

_MOST_VCORES = 2**31 - 1
_NEVER_MS = 2**63 - 1


@dataclass(frozen=True)
class Layout:
    """Which rows queues and users have.

    Attributes:
        paths: full paths of the queues, level by level, so that parents come before children and siblings together.
        users: names of the users.
    """

    paths: tuple[str, ...]
    users: tuple[str, ...]

    @property
    def parents(self) -> list[int]:
        """For each queue the row of its parent, -1 for root."""
        rows = {path: row for row, path in enumerate(self.paths)}
        return [rows.get(path.rpartition(".")[0], -1) for path in self.paths]

    @property
    def ranks(self) -> list[int]:
        """For each queue its place in the order of full names, as Java compares them (by UTF-16 code units)."""
        ordered = sorted(self.paths, key=lambda path: path.encode("utf-16-be"))
        places = {path: place for place, path in enumerate(ordered)}
        return [places[path] for path in self.paths]


@dataclass(frozen=True)
class FairPlan:
    """One configuration.

    Attributes:
        limits: what the rules derived from it.
        present: full paths of the queues that exist with it.
    """

    limits: Limits
    present: frozenset[str]


def lay_out_queues(paths: Sequence[str], users: Sequence[str]) -> Layout:
    """Gives rows to queues (root and all that lie above one are added) and users."""
    known = {ROOT}
    for path in paths:
        parts = path.split(".")
        known.update(".".join(parts[:length]) for length in range(1, len(parts) + 1))
    by_parent: dict[str, list[str]] = {}
    for path in sorted(known - {ROOT}):
        by_parent.setdefault(path.rpartition(".")[0], []).append(path)
    level, ordered = [ROOT], [ROOT]
    while level:
        level = [child for parent in level for child in by_parent.get(parent, [])]
        ordered += level
    return Layout(tuple(ordered), tuple(dict.fromkeys(users)))


def build_fair_memory(
    case: Case,
    core: Mapping[str, Table],
    layout: Layout,
    plans: Sequence[FairPlan],
    made_leaves: Sequence[str],
    app_queues: NDArray[np.int64],
    app_users: NDArray[np.int64],
) -> Memory:
    """Makes the state before the first event.

    Args:
        case: the case.
        core: its workload and nodes, laid out.
        layout: the rows of queues and users.
        plans: the configuration at the start, then one for each update.
        made_leaves: full paths of the leaves, in the order of their making.
        app_queues: for each job the row of its leaf, or minus the reason for which it is refused.
        app_users: for each job the row of its user.
    """
    clusters = make_table(FAIR_TABLES["clusters"], len(plans))
    queues = make_table(FAIR_TABLES["plans"], len(plans) * len(layout.paths))
    users = make_table(FAIR_TABLES["user_plans"], len(plans) * len(layout.users))
    for i, plan in enumerate(plans):
        _fill_cluster(clusters, i, plan.limits)
        for q, path in enumerate(layout.paths):
            _fill_queue(queues, i * len(layout.paths) + q, path, plan)
        for u, user in enumerate(layout.users):
            limit = plan.limits.get("max-running-apps", f"user:{user}")
            users[i * len(layout.users) + u]["most_apps"] = limit["max_apps"] if limit else UNBOUNDED
    if not _any_large(core["asks"], clusters):
        clusters["reserve"] = 0
    tables = {"clusters": clusters, "plans": queues, "user_plans": users}
    rows = {path: row for row, path in enumerate(layout.paths)}
    leaves = [rows[path] for path in made_leaves]
    am_asks = core["asks"][core["jobs"]["am_ask"]]
    unlimited = bool((queues["most_memory"] == UNBOUNDED).all() and (queues["most_vcores"] == _MOST_VCORES).all())
    full_alike = unlimited and not _any_large(am_asks, clusters)
    return make_memory(case, core, tables, layout.parents, layout.ranks, leaves, full_alike, app_queues, app_users)


def _any_large(asks: Table, clusters: Table) -> bool:
    """Whether any container of the case is large enough for a reservation; if none is, full nodes need no look."""
    for row in clusters:
        memory = -(-asks["memory"] // max(row["increment_memory"], 1)) * max(row["increment_memory"], 1)
        vcores = -(-asks["vcores"] // max(row["increment_vcores"], 1)) * max(row["increment_vcores"], 1)
        memory, vcores = np.maximum(memory, row["minimum_memory"]), np.maximum(vcores, row["minimum_vcores"])
        if ((memory >= row["reservation_memory"]) | (vcores >= row["reservation_vcores"])).any():
            return True
    return False


def _fill_cluster(clusters: Table, i: int, limits: Limits) -> None:
    row = clusters[i]
    if resources := limits.get("cluster-resources"):
        row["memory"], row["vcores"] = resources["memory"], resources["vcores"]
    row["maximum_memory"], row["maximum_vcores"] = UNBOUNDED, _MOST_VCORES
    if size := limits.get("container-size"):
        row["normalise"] = 1
        row["minimum_memory"], row["minimum_vcores"] = size["minimum_mib"], size["minimum_vcores"]
        row["increment_memory"], row["increment_vcores"] = size["increment_mib"], size["increment_vcores"]
    if most := limits.get("maximum-allocation"):
        row["maximum_memory"], row["maximum_vcores"] = most["maximum_mib"], most["maximum_vcores"]
    if multiple := limits.get("assign-multiple"):
        row["multiple"] = 1
        row["dynamic"], row["most_assigned"] = multiple["dynamic_max_assign"], multiple["max_assign"]
    if reservation := limits.get("reservation"):
        row["reserve"], row["most_reserved"] = 1, reservation["nodes"]
        row["reservation_memory"], row["reservation_vcores"] = reservation["least_mib"], reservation["least_vcores"]
    if preemption := limits.get("preemption"):
        row["preempt"] = 1
        row["utilization"] = preemption["utilization"]
        row["wait_before_kill_ms"] = preemption["wait_before_kill_ms"]
        row["next_check_ms"] = preemption["next_check_ms"]
    if step := limits.get("update-step"):
        row["update_interval"] = step["interval_s"]
    row["size_based"] = limits.get("size-based-weight") is not None
    row["placeable"] = limits.get("placeable") is not None


def _fill_queue(queues: Table, row_number: int, path: str, plan: FairPlan) -> None:
    row, limits = queues[row_number], plan.limits
    row["present"] = path in plan.present
    row["weight"], row["policy"] = 1.0, UNORDERED
    row["most_memory"], row["most_vcores"] = UNBOUNDED, _MOST_VCORES
    row["container_memory"], row["container_vcores"] = UNBOUNDED, _MOST_VCORES
    row["most_apps"] = UNBOUNDED
    row["fair_timeout_ms"] = row["min_timeout_ms"] = _NEVER_MS
    row["allow_preemption"] = limits.get("no-preemption", path) is None
    row["am_preemption"] = limits.get("no-am-preemption", path) is None
    if weight := limits.get("weight", path):
        row["weight"] = weight["weight"]
    if order := limits.get("order", path):
        row["policy"] = order["policy"]
    if least := limits.get("min-share", path):
        row["least_memory"], row["least_vcores"] = least["least_memory"], least["least_vcores"]
    if most := limits.get("max-share", path):
        row["most_memory"], row["most_vcores"] = most["most_memory"], most["most_vcores"]
    if largest := limits.get("maximum-allocation", path):
        row["container_memory"], row["container_vcores"] = largest["container_memory"], largest["container_vcores"]
    if apps := limits.get("max-running-apps", path):
        row["most_apps"] = apps["max_apps"]
    if am_share := limits.get("am-share", path):
        row["am_limited"], row["am_share"] = 1, am_share["am_share"]
    if starvation := limits.get("starvation", path):
        row["fair_timeout_ms"], row["min_timeout_ms"] = starvation["fair_timeout_ms"], starvation["min_timeout_ms"]
        row["threshold"] = starvation["threshold"]
