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
    "in_partition",
    "limits_of",
    "look_at_job",
    "look_at_node",
    "make_memory",
    "parked_at",
    "pending_at",
    "person_at",
    "queue_at",
    "ranked_at",
    "request_at",
    "root_of",
    "served_at",
    "stale_at",
    "turn_at",
    "user_at",
    "weight_at",
]

_LIST = columns("row")
CAPACITY_TABLES: Mapping[str, np.dtype[Any]] = {
    # A row for each configuration and partition: what holds for all its nodes; ``whole`` is of all partitions together.
    # Vcores are 0 where the calculator ignores them.
    "clusters": columns(
        "memory vcores whole_memory whole_vcores minimum_memory minimum_vcores maximum_memory maximum_vcores "
        "step_memory step_vcores off_switch_assignments multiple_assignments container_assignments reserve "
        "continue_looking applications asynchronous",
        "round_s",
    ),
    # A row for each configuration and queue. What Hadoop holds as a float is the value of a float32.
    "limits": columns(
        "present rank running guaranteed_memory guaranteed_vcores maximum_memory maximum_vcores configured_memory "
        "configured_vcores ordered by_priority priority fair size_based user_limited applications parallel "
        "user_applications",
        "absolute user_percent user_factor am_fraction user_am_fraction",
    ),
    # A row for each partition and queue, parents before children: what it holds and waits for there. What a leaf has
    # once for all partitions (applications, lists, active users) is in the row of nodes without a label, its ``home``.
    "queues": columns(
        "parent first_child children leaf used_memory used_vcores reserved_memory reserved_vcores pending_memory "
        "pending_vcores am_memory am_vcores current_memory current_vcores first_app active wanting pending stale "
        "first_user users applications running version limit_version limit_memory limit_vcores counted_memory "
        "counted_vcores active_users waiting_users limit_by_factor last_served home partition user_am_memory "
        "user_am_vcores",
        "usage_ratio counted_weight usage held_mib_s held_since",
    ),
    # A row for each partition and pair of a leaf and a user; what does not go by partition is in that of the first.
    "users": columns("used_memory used_vcores am_memory am_vcores active pending counted in_sums", "ratio weight"),
    # A row for each configuration and pair of a leaf and a user.
    "weights": columns("", "weight"),
    # A row for each job, beside the core's; it has what the scheduler knows of the application. ``queue`` and ``user``
    # are those of its partition, ``leaf`` and ``member`` those of the first.
    "apps": columns(
        "queue leaf user member person used_memory used_vcores reserved_memory reserved_vcores reservations "
        "outstanding counted active stale order_used order_demand",
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
    "places": columns("partition"),  # a row for each node
    "turns": _LIST,  # nodes in the order in which asynchronous scheduling goes round them
    "stale": _LIST,  # active applications whose place in the order has to be looked at again
    **PREEMPTION_TABLES,
}

_TABLES = {**CORE_TABLES, **CAPACITY_TABLES}
_COUNTERS = (
    f"{CORE_COUNTERS} {PREEMPTION_COUNTERS} configuration partition partitions person_count parked_apps "
    "scheduled_version generator round_number handed_down"
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
_place_at = rows("places", CAPACITY_TABLES["places"])
parked_at = rows("parked", _LIST)
person_at = rows("persons", CAPACITY_TABLES["persons"])
_cluster_at = rows("clusters", CAPACITY_TABLES["clusters"])
_limits_at = rows("limits", CAPACITY_TABLES["limits"])


@compiled
def cluster_of(state: Any) -> Any:
    """The present configuration's limits for the partition that is looked at."""
    return _cluster_at(state, state.configuration * state.partitions + state.partition)


@compiled
def look_at_job(state: Any, job: int) -> None:
    """The partition of the application is the one that is looked at."""
    state.partition = queue_at(state, app_at(state, job).queue).partition


@compiled
def look_at_node(state: Any, node: int) -> None:
    """The partition of the node is the one that is looked at."""
    state.partition = _place_at(state, node).partition


@compiled
def root_of(state: Any) -> int:
    """Root's row in the partition that is looked at."""
    return int(state.partition * (state.queues_count // state.partitions))


@compiled
def in_partition(state: Any, member: int, partition: int) -> int:
    """The row of a leaf's user in a partition."""
    return int(partition * (state.users_count // state.partitions) + member)


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
    partitions: int,
    app_queues: NDArray[np.int64],
    app_partitions: NDArray[np.int64],
    app_users: NDArray[np.int64],
    persons: Table,
    names: list[str],
    extra: Mapping[str, Table],
) -> Memory:
    """Makes the memory before the first event.

    Tables that go by partition have those of nodes without a label first.

    Args:
        case: for the clock.
        core: the core's tables; asks and nodes are normalised here, to the first configuration's steps.
        clusters: a row for each configuration and partition.
        limits: a row for each configuration, partition and queue.
        parents: for each queue the row of its parent, -1 for root; parents come before children.
        partitions: how many there are.
        app_queues: for each job the row of its leaf in the first partition, -1 where it is refused.
        app_partitions: for each job the partition of its containers.
        app_users: for each job a number for its user.
        persons: a row for each configuration and user.
        names: the users' names, by their numbers.
        extra: the tables of preemption.
    """
    jobs, queue_count = len(core["jobs"]), len(parents)
    configurations = len(clusters) // partitions
    _normalise(core, clusters[0])
    queues = _queue_table(parents, app_queues)
    for amount in ("memory", "vcores"):
        step, most = int(clusters[f"step_{amount}"][0]), limits[f"maximum_{amount}"][:queue_count]
        queues[f"current_{amount}"] = most - most % step if step else most
    queues = _in_each(queues, partitions)
    apps = make_table(CAPACITY_TABLES["apps"], jobs)
    users = _user_table(queues, apps, app_queues, app_partitions, app_users, names, partitions)
    children = make_table(_LIST, queue_count)
    ordered = [q for parent in range(queue_count) for q in range(queue_count) if parents[q] == parent]
    children["row"][: len(ordered)] = ordered
    children = np.tile(children, partitions)
    for partition in range(partitions):
        children["row"][partition * queue_count : (partition + 1) * queue_count] += partition * queue_count
    memory = Memory.of(
        PREEMPTING_STATE if len(extra["monitors"]) > 0 else CAPACITY_STATE,
        {
            **core,
            **extra,
            "clusters": clusters,
            "limits": limits,
            "queues": queues,
            "users": users,
            "weights": np.ones(len(users) // partitions * configurations, CAPACITY_TABLES["weights"]),
            "persons": persons,
            "apps": apps,
            "requests": make_table(CAPACITY_TABLES["requests"], len(core["asks"])),
            "children": children,
            "ranked": children.copy(),
            "served": make_table(_LIST, 2 * jobs + 1),
            "pending": make_table(_LIST, jobs + 1),
            "stale": make_table(_LIST, jobs + 1),
            "places": make_table(CAPACITY_TABLES["places"], len(core["nodes"])),
            "turns": _turns(core["nodes"]),
            "parked": make_table(_LIST, jobs + 1),
        },
    )
    memory.state["partitions"], memory.state["person_count"] = partitions, len(persons) // configurations
    memory.state["monitored"] = len(extra["monitors"]) > 0
    # A monitor acts by itself, and beats of several partitions change each other's limits: see ``has_looked``.
    memory.state["rests"] = partitions == 1 and len(extra["monitors"]) == 0
    memory.state["scheduled_version"] = -1
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


def _in_each(queues: Table, partitions: int) -> Table:
    """The queues once for each partition."""
    count = len(queues)
    found = np.tile(queues, partitions)
    found["home"] = np.tile(np.arange(count), partitions)
    found["partition"] = np.repeat(np.arange(partitions), count)
    for name in ("parent", "first_child"):
        found[name] += np.where(found[name] < 0, 0, found["partition"] * count)
    # The limit that is handed down counts for the AMs on nodes without a label alone.
    found["current_memory"][count:] = found["current_vcores"][count:] = 0
    return found


def _user_table(
    queues: Table,
    apps: Table,
    app_queues: NDArray[np.int64],
    app_partitions: NDArray[np.int64],
    app_users: NDArray[np.int64],
    names: list[str],
    partitions: int,
) -> Table:
    """The users of each leaf, in the order of a HashMap of their names: that in which floats are added up."""
    numbers = {name: number for number, name in enumerate(names)}
    place = {numbers[name]: rank for rank, name in enumerate(hash_map_order(names))}
    pairs = sorted(
        set(zip(app_queues.tolist(), app_users.tolist(), strict=True)), key=lambda pair: (pair[0], place[pair[1]])
    )
    row_of = {pair: row for row, pair in enumerate(pairs)}
    users = make_table(CAPACITY_TABLES["users"], partitions * len(pairs))
    users["weight"] = 1.0
    first = sum(1 for q, _ in pairs if q < 0)
    tree = len(queues) // partitions
    for q in range(tree):
        count = sum(1 for pair in pairs if pair[0] == q)
        for partition in range(partitions):
            row = queues[partition * tree + q]
            row["first_user"], row["users"] = partition * len(pairs) + first, count
        first += count
    apps["leaf"], apps["person"] = app_queues, app_users
    apps["queue"] = np.where(app_queues < 0, app_queues, app_partitions * tree + app_queues)
    apps["member"] = [row_of[pair] for pair in zip(app_queues.tolist(), app_users.tolist(), strict=True)]
    apps["user"] = app_partitions * len(pairs) + apps["member"]
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
