"""The Capacity Scheduler's own tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rules.simulation.capacity.preemption_tables import PREEMPTION_COUNTERS, PREEMPTION_TABLES
from rules.simulation.compiled import compiled
from rules.simulation.java import hash_map_order
from rules.simulation.memory import Memory, Table, columns, make_table, rows, state_columns
from rules.simulation.tables import CORE_COUNTERS, CORE_FLOATS, CORE_TABLES, start_clock
from workloads.trace import Case

__all__ = [
    "CAPACITY_STATE",
    "CAPACITY_TABLES",
    "PREEMPTING_STATE",
    "app_at",
    "child_at",
    "cluster_of",
    "limits_of",
    "make_memory",
    "parked_at",
    "pending_at",
    "person_at",
    "queue_at",
    "ranked_at",
    "request_at",
    "served_at",
    "stale_at",
    "turn_at",
    "user_at",
    "weight_at",
]

_LIST = columns("row")
CAPACITY_TABLES: Mapping[str, np.dtype[Any]] = {
    # A row for each configuration: what holds for the whole cluster. Vcores are 0 where the calculator ignores them.
    # ``labelled``: the nodes are the partition of a node label.
    "clusters": columns(
        "memory vcores minimum_memory minimum_vcores maximum_memory maximum_vcores step_memory step_vcores "
        "off_switch_assignments multiple_assignments container_assignments reserve continue_looking applications "
        "asynchronous labelled",
        "round_s",
    ),
    # A row for each configuration and queue. What Hadoop holds as a float is the value of a float32.
    "limits": columns(
        "present rank running guaranteed_memory guaranteed_vcores maximum_memory maximum_vcores configured_memory "
        "configured_vcores ordered by_priority priority fair size_based user_limited applications parallel "
        "user_applications",
        "absolute user_percent user_factor am_fraction user_am_fraction",
    ),
    # A row for each queue, parents before children: what it holds and waits for.
    "queues": columns(
        "parent first_child children leaf used_memory used_vcores reserved_memory reserved_vcores pending_memory "
        "pending_vcores am_memory am_vcores current_memory current_vcores first_app active wanting pending stale "
        "first_user users applications running version limit_version limit_memory limit_vcores counted_memory "
        "counted_vcores active_users waiting_users limit_by_factor last_served",
        "usage_ratio counted_weight usage held_mib_s held_since",
    ),
    # A row for each pair of a leaf and a user.
    "users": columns("used_memory used_vcores am_memory am_vcores active pending counted in_sums", "ratio weight"),
    # A row for each configuration and row of ``users``.
    "weights": columns("", "weight"),
    # A row for each job, beside the core's; it has what the scheduler knows of the application.
    "apps": columns(
        "queue user person used_memory used_vcores reserved_memory reserved_vcores reservations outstanding counted "
        "active stale order_used order_demand",
        "order_key",
    ),
    # A row for each ask, beside the core's.
    "requests": columns("reserved re_reservations buckets"),
    # A row for each configuration and user, whatever the queue; what they hold is in the first configuration's.
    "persons": columns("running parallel"),
    "children": _LIST,  # the queues' children, in the order of ties
    "ranked": _LIST,  # the same, as last sorted
    # Applications of each leaf in the order in which they are served: first all active ones, then (from row
    # ``jobs_count`` on) those of them that ask for something.
    "served": _LIST,
    "pending": _LIST,  # applications of each leaf that wait for activation, oldest first
    "parked": _LIST,  # applications that may not run beside those that do, oldest first
    "turns": _LIST,  # nodes in the order in which asynchronous scheduling goes round them
    "stale": _LIST,  # active applications whose place in the order has to be looked at again
    **PREEMPTION_TABLES,
}

_TABLES = {**CORE_TABLES, **CAPACITY_TABLES}
_COUNTERS = (
    f"{CORE_COUNTERS} {PREEMPTION_COUNTERS} configuration person_count parked_apps scheduled_version generator "
    "round_number"
)
CAPACITY_STATE = state_columns(_TABLES, _COUNTERS, CORE_FLOATS)
PREEMPTING_STATE = state_columns(_TABLES, f"{_COUNTERS} preempting", CORE_FLOATS)
"""The same of a type of its own, so that only who preempts waits until the monitor is compiled."""

queue_at = rows("queues", CAPACITY_TABLES["queues"])
user_at = rows("users", CAPACITY_TABLES["users"])
weight_at = rows("weights", CAPACITY_TABLES["weights"])
app_at = rows("apps", CAPACITY_TABLES["apps"])
request_at = rows("requests", CAPACITY_TABLES["requests"])
child_at = rows("children", _LIST)
ranked_at = rows("ranked", _LIST)
served_at = rows("served", _LIST)
pending_at = rows("pending", _LIST)
stale_at = rows("stale", _LIST)
turn_at = rows("turns", _LIST)
parked_at = rows("parked", _LIST)
person_at = rows("persons", CAPACITY_TABLES["persons"])
_cluster_at = rows("clusters", CAPACITY_TABLES["clusters"])
_limits_at = rows("limits", CAPACITY_TABLES["limits"])


@compiled
def cluster_of(state: Any) -> Any:
    """The present configuration's limits for the whole cluster."""
    return _cluster_at(state, state.configuration)


@compiled
def limits_of(state: Any, q: int) -> Any:
    """The present configuration's limits for a queue."""
    return _limits_at(state, state.configuration * state.queues_count + q)


def make_memory(
    case: Case,
    core: Mapping[str, Table],
    clusters: Table,
    limits: Table,
    parents: list[int],
    app_queues: NDArray[np.int64],
    app_users: NDArray[np.int64],
    persons: Table,
    names: list[str],
    extra: Mapping[str, Table],
) -> Memory:
    """Makes the memory before the first event.

    Args:
        case: for the clock.
        core: the core's tables; asks and nodes are normalised here, to the first configuration's steps.
        clusters: a row for each configuration.
        limits: a row for each configuration and queue.
        parents: for each queue the row of its parent, -1 for root; parents come before children.
        app_queues: for each job the row of its leaf, -1 where it is refused.
        app_users: for each job a number for its user.
        persons: a row for each configuration and user.
        names: the users' names, by their numbers.
        extra: the tables of preemption.
    """
    jobs, queue_count = len(core["jobs"]), len(parents)
    _normalise(core, clusters[0])
    queues = _queue_table(parents, app_queues)
    for amount in ("memory", "vcores"):
        step, most = int(clusters[f"step_{amount}"][0]), limits[f"maximum_{amount}"][:queue_count]
        queues[f"current_{amount}"] = most - most % step if step else most
    apps = make_table(CAPACITY_TABLES["apps"], jobs)
    users = _user_table(queues, apps, app_queues, app_users, names)
    children = make_table(_LIST, queue_count)
    ordered = [q for parent in range(queue_count) for q in range(queue_count) if parents[q] == parent]
    children["row"][: len(ordered)] = ordered
    memory = Memory.of(
        PREEMPTING_STATE if len(extra["monitors"]) > 0 else CAPACITY_STATE,
        {
            **core,
            **extra,
            "clusters": clusters,
            "limits": limits,
            "queues": queues,
            "users": users,
            "weights": np.ones(len(users) * len(clusters), CAPACITY_TABLES["weights"]),
            "persons": persons,
            "apps": apps,
            "requests": make_table(CAPACITY_TABLES["requests"], len(core["asks"])),
            "children": children,
            "ranked": children.copy(),
            "served": make_table(_LIST, 2 * jobs + 1),
            "pending": make_table(_LIST, jobs + 1),
            "stale": make_table(_LIST, jobs + 1),
            "turns": _turns(core["nodes"]),
            "parked": make_table(_LIST, jobs + 1),
        },
    )
    memory.state["person_count"] = len(persons) // len(clusters)
    memory.state["monitored"] = len(extra["monitors"]) > 0
    memory.state["rests"], memory.state["scheduled_version"] = True, -1
    if len(extra["monitors"]) > 0:
        memory.state["rests"] = False
    start_clock(memory.state, case)
    if clusters["asynchronous"][0]:  # heartbeats are of no account then
        core["nodes"]["next_beat"] = np.inf
    return memory


def _turns(nodes: Table) -> Table:
    """The order of a HashMap of the nodes."""
    buckets = 16
    while len(nodes) > buckets * 3 // 4:
        buckets *= 2
    turns = make_table(_LIST, len(nodes))
    turns["row"] = np.argsort(nodes["host_rank"] & (buckets - 1), kind="stable")
    return turns


def _queue_table(parents: list[int], app_queues: NDArray[np.int64]) -> Table:
    queues = make_table(CAPACITY_TABLES["queues"], len(parents))
    queues["parent"], queues["limit_version"], queues["last_served"] = parents, -1, -1
    first_child = first_app = 0
    for q in range(len(parents)):
        children = parents.count(q)
        queues[q]["first_child"], queues[q]["children"], queues[q]["leaf"] = first_child, children, children == 0
        queues[q]["first_app"] = first_app
        first_child += children
        first_app += int(np.count_nonzero(app_queues == q))
    return queues


def _user_table(
    queues: Table, apps: Table, app_queues: NDArray[np.int64], app_users: NDArray[np.int64], names: list[str]
) -> Table:
    """The users of each leaf, in the order of a HashMap of their names: that in which floats are added up."""
    numbers = {name: number for number, name in enumerate(names)}
    place = {numbers[name]: rank for rank, name in enumerate(hash_map_order(names))}
    pairs = sorted(
        set(zip(app_queues.tolist(), app_users.tolist(), strict=True)), key=lambda pair: (pair[0], place[pair[1]])
    )
    row_of = {pair: row for row, pair in enumerate(pairs)}
    users = make_table(CAPACITY_TABLES["users"], len(pairs))
    users["weight"] = 1.0
    first = sum(1 for q, _ in pairs if q < 0)
    for q in range(len(queues)):
        count = sum(1 for pair in pairs if pair[0] == q)
        queues[q]["first_user"], queues[q]["users"] = first, count
        first += count
    apps["queue"], apps["person"] = app_queues, app_users
    apps["user"] = [row_of[pair] for pair in zip(app_queues.tolist(), app_users.tolist(), strict=True)]
    return users


def _normalise(core: Mapping[str, Table], cluster: Any) -> None:
    """Rounds the asks up (``AbstractYarnScheduler.getNormalizedResource``); a calculator without vcores sees none."""
    asks, nodes = core["asks"], core["nodes"]
    for amount in ("memory", "vcores"):
        step, maximum = int(cluster[f"step_{amount}"]), int(cluster[f"maximum_{amount}"])
        asked = np.maximum(asks[amount], cluster[f"minimum_{amount}"])
        if step:
            asked = -(-asked // step) * step
        asks[amount] = np.minimum(asked, maximum) if maximum else asked
    if not cluster["vcores"]:
        nodes["vcores"] = nodes["free_vcores"] = asks["vcores"] = 0
