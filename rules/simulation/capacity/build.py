"""From a case and the limits of its configurations to the state that the simulation starts with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rules.limits import Limit, Limits
from rules.model import ROOT, QueueTree
from rules.rulesets.capacity import RULES
from rules.rulesets.capacity_facts import user_place
from rules.simulation.capacity.preemption_tables import lay_out_preemption
from rules.simulation.capacity.rounds import SEED
from rules.simulation.capacity.scheduler import ABOVE_MAXIMUM, NOT_A_LEAF, UNKNOWN_QUEUE
from rules.simulation.capacity.state import CAPACITY_TABLES, make_memory
from rules.simulation.java import hash_map_order, node_id_hash
from rules.simulation.memory import Memory, Table, make_table
from rules.simulation.tables import lay_out
from workloads.trace import Case

__all__ = ["build"]

_HUGE = 2**40
"""Where no rule limits an amount; large enough for any cluster, small enough to add up."""


def build(
    case: Case,
    trees: Sequence[QueueTree],
    limits: Sequence[Sequence[Limits]],
    node_partitions: Sequence[int] | None = None,
    job_partitions: Sequence[int] | None = None,
) -> tuple[Memory, list[int], list[str]]:
    """Makes the memory.

    Args:
        case: nodes and workload.
        trees: the configuration at the start and after each update.
        limits: for each partition, that of nodes without a label first, the limits of each of them.
        node_partitions: the partition of each node; the first where there is no other.
        job_partitions: the partition of each job's containers, likewise.

    Returns:
        The memory before the first event, for each row of its jobs the job's place in the case, and the paths of the
        queues in the order of their rows, in each partition the same.
    """
    paths = _all_paths(trees)
    core, order = lay_out(case, rules=len(RULES), gates=len(limits) * len(paths))
    rows = {path: row for row, path in enumerate(paths)}
    parents = [rows[path.rpartition(".")[0]] if "." in path else -1 for path in paths]
    clusters = make_table(CAPACITY_TABLES["clusters"], len(trees) * len(limits))
    plans = make_table(CAPACITY_TABLES["limits"], len(trees) * len(limits) * len(paths))
    shape = plans.reshape(len(trees), len(limits), len(paths))
    whole = sum(node.memory_mib for node in case.nodes), sum(node.vcores for node in case.nodes)
    for number, tree in enumerate(trees):
        for partition, of_partition in enumerate(limits):
            found, cluster = of_partition[number], clusters[number * len(limits) + partition]
            _fill_cluster(cluster, found, *whole)
            for row, path in enumerate(paths):
                if path in tree:
                    _fill_queue(shape[number, partition, row], path, found, cluster)
    for name in ("applications", "user_applications"):  # of all partitions the largest number counts
        shape[name] = shape[name].max(axis=1, keepdims=True)
    _fill_ranks(shape, paths, trees)
    numbers: dict[str, int] = {}
    for place in order:
        numbers.setdefault(case.jobs[place].user, len(numbers))
    app_queues = _place_jobs(case, order, trees[0], rows, core["jobs"])
    app_users = np.array([numbers[case.jobs[place].user] for place in order], np.int64)
    _refuse_large_ams(core["jobs"], core["asks"], clusters[0])
    core["nodes"]["host_rank"] = [node_id_hash(i) for i in range(len(case.nodes))]
    persons = _persons(numbers, limits[0])
    extra = lay_out_preemption(core, limits[0], paths, [queue.path for queue in trees[0] if queue.is_leaf])
    app_partitions = np.array([job_partitions[place] if job_partitions else 0 for place in order], np.int64)
    memory = make_memory(
        case, core, clusters, plans, parents, len(limits), app_queues, app_partitions, app_users, persons,
        list(numbers), extra,
    )  # fmt: skip
    memory.state["generator"] = SEED
    if node_partitions:
        memory["places"]["partition"] = node_partitions
    _set_weights(memory, paths, numbers, limits[0])
    return memory, order, paths


def _all_paths(trees: Sequence[QueueTree]) -> list[str]:
    """The queues of all configurations, parents before children, siblings in the order in which they appear."""
    paths: dict[str, None] = {}
    for tree in trees:
        for queue in tree:
            paths.setdefault(queue.path)
    return list(paths)


def _fill_cluster(row: Any, limits: Limits, whole_memory_mib: int, whole_vcores: int) -> None:
    resources, calculator = limits.get("cluster-resources"), limits.get("calculator")
    vcores_count = calculator is not None and calculator["vcores_count"] > 0
    row["memory"] = resources["memory_mib"] if resources else _HUGE
    row["vcores"] = (resources["vcores"] if resources else _HUGE) if vcores_count else 0
    row["whole_memory"] = whole_memory_mib if resources else _HUGE
    row["whole_vcores"] = (whole_vcores if resources else _HUGE) if vcores_count else 0
    steps = limits.get("normalization")
    row["minimum_memory"] = row["step_memory"] = steps["memory_mib"] if steps else 0
    row["minimum_vcores"] = row["step_vcores"] = steps["vcores"] if steps and vcores_count else 0
    largest = limits.get("maximum-allocation")
    row["maximum_memory"] = largest["memory_mib"] if largest else 0
    row["maximum_vcores"] = largest["vcores"] if largest else 0
    per_beat = limits.get("assignments")
    row["off_switch_assignments"] = per_beat["off_switch"] if per_beat else _HUGE
    row["multiple_assignments"] = per_beat["multiple"] if per_beat else 1
    row["container_assignments"] = per_beat["containers"] if per_beat else -1
    most = limits.get("system-applications")
    row["applications"] = most["applications"] if most else _HUGE
    rounds = limits.get("asynchronous")
    row["asynchronous"], row["round_s"] = rounds is not None, rounds["round_s"] if rounds else 0
    row["reserve"] = limits.get("reservation") is not None
    row["continue_looking"] = limits.get("continue-looking") is not None


def _fill_queue(row: Any, path: str, limits: Limits, cluster: Any) -> None:
    row["present"] = 1
    row["running"] = limits.get("queue-state", path) is None
    guarantee, maximum = limits.get("guarantee", path), limits.get("maximum", path)
    if guarantee:
        row["absolute"] = guarantee["absolute"]
        row["guaranteed_memory"], row["guaranteed_vcores"] = guarantee["memory_mib"], guarantee["vcores"]
        row["configured_memory"] = guarantee["configured_memory_mib"]
        row["configured_vcores"] = guarantee["configured_vcores"]
    row["maximum_memory"] = maximum["memory_mib"] if maximum else cluster["memory"]
    row["maximum_vcores"] = maximum["vcores"] if maximum else cluster["vcores"]
    if not cluster["vcores"]:
        row["guaranteed_vcores"] = row["maximum_vcores"] = 0
    row["ordered"] = limits.get("queue-order", path) is not None
    priority = limits.get("queue-priority", path)
    row["priority"] = priority["priority"] if priority else 0
    row["by_priority"] = priority["children_by_priority"] if priority else 0
    am, user_am = limits.get("am-limit", path), limits.get("user-am-limit", path)
    row["am_fraction"] = am["fraction"] if am else -1
    row["user_am_fraction"] = user_am["fraction"] if user_am else -1
    user, factor = limits.get("user-limit", path), limits.get("user-limit-factor", path)
    row["user_percent"] = user["minimum_percent"] if user else 100
    row["user_limited"] = user is not None or factor is not None
    row["user_factor"] = factor["factor"] if factor else -1
    order = limits.get("application-order", path)
    row["fair"] = order["fair"] if order else 0
    row["size_based"] = limits.get("size-based-weight", path) is not None
    parallel = limits.get("parallel", path)
    row["parallel"] = parallel["applications"] if parallel else _HUGE
    _fill_applications(row, path, limits)


def _fill_applications(row: Any, path: str, limits: Limits) -> None:
    """How many applications a leaf takes, in all and of one user (``AbstractLeafQueue#getMaxApplications``)."""
    row["applications"] = row["user_applications"] = _HUGE
    most, of_user = limits.get("maximum-applications", path), limits.get("user-applications", path)
    if most:
        row["applications"] = _applications(most, row)
    if of_user:
        row["user_applications"] = min(int(row["applications"]), int(_applications(of_user, row) * of_user["part"]))


def _applications(limit: Limit, row: Any) -> int:
    configured = int(limit["applications"])
    return configured if configured >= 0 else int(limit["of_all_applications"] * float(row["absolute"]))


def _persons(numbers: Mapping[str, int], limits: Sequence[Limits]) -> Table:
    """How many applications of each user may run beside each other, in each configuration."""
    persons = make_table(CAPACITY_TABLES["persons"], len(numbers) * len(limits))
    for number, found in enumerate(limits):
        for user, row in numbers.items():
            limit = found.get("parallel", user_place("", user)) or found.get("parallel", user_place("", ""))
            persons[number * len(numbers) + row]["parallel"] = limit["applications"] if limit else _HUGE
    return persons


def _fill_ranks(plans: Any, paths: list[str], trees: Sequence[QueueTree]) -> None:
    """The order of ties: as configured at the start; after a refresh that of the HashMap of the children's paths."""
    rows = {path: row for row, path in enumerate(paths)}
    present: dict[str, list[str]] = {}
    for number, tree in enumerate(trees):
        for queue in tree:
            children = list(queue.children)
            if number:
                known = [path for path in present.get(queue.path, []) if path in children]
                children = hash_map_order(known + [path for path in children if path not in known])
            present[queue.path] = children
            for rank, path in enumerate(children):
                plans[number, :, rows[path]]["rank"] = rank


def _place_jobs(case: Case, order: list[int], tree: QueueTree, rows: dict[str, int], jobs: Any) -> NDArray[np.int64]:
    """The leaf of each job; a job whose queue is none is marked as refused."""
    queues = np.full(len(jobs), -1, np.int64)
    known: dict[str, tuple[int, int]] = {}
    for row, place in enumerate(order):
        name = case.jobs[place].queue
        if name not in known:
            known[name] = _leaf(tree, rows, name)
        queues[row], jobs[row]["rejection"] = known[name]
    return queues


def _leaf(tree: QueueTree, rows: Mapping[str, int], name: str) -> tuple[int, int]:
    """The row of the leaf that a job names, or -1 and why it is refused."""
    path = tree.resolve(name)
    if path is None:
        return -1, UNKNOWN_QUEUE
    return (rows[path], 0) if tree[path].is_leaf and path != ROOT else (-1, NOT_A_LEAF)


def _set_weights(memory: Memory, paths: Sequence[str], numbers: Mapping[str, int], limits: Sequence[Limits]) -> None:
    """The weights of users in their leaves, in each configuration."""
    names, weights = list(numbers), memory["weights"]["weight"]
    users = len(weights) // len(limits)
    for number, found in enumerate(limits):
        if not any(limit.kind == "weight" for limit in found):
            continue
        for app in memory["apps"]:
            if app["leaf"] >= 0:
                weight = found.get("weight", user_place(paths[app["leaf"]], names[app["person"]]))
                weights[number * users + app["member"]] = weight["weight"] if weight else 1.0
    memory["users"]["weight"] = np.resize(weights[:users], len(memory["users"]))


def _refuse_large_ams(jobs: Any, asks: Any, cluster: Any) -> None:
    too_large = (cluster["maximum_memory"] > 0) & (asks["memory"][jobs["am_ask"]] > cluster["maximum_memory"])
    jobs["rejection"][too_large & (jobs["rejection"] == 0)] = ABOVE_MAXIMUM
