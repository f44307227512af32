"""The Fair Scheduler's own tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rules.simulation.compiled import compiled
from rules.simulation.java import node_id_hash
from rules.simulation.memory import Memory, Table, columns, make_table, rows, state_columns
from rules.simulation.tables import CORE_COUNTERS, CORE_FLOATS, CORE_TABLES, start_clock, track_containers
from workloads.trace import Case

__all__ = [
    "DRF",
    "FAIR",
    "FAIR_STATE",
    "FAIR_TABLES",
    "FIFO",
    "NOT_RUNNING",
    "RUNNABLE",
    "UNBOUNDED",
    "UNORDERED",
    "WAITING_TO_RUN",
    "app_at",
    "claim_at",
    "cluster_of",
    "heap_at",
    "held_at",
    "host_at",
    "kill_at",
    "leaf_at",
    "make_memory",
    "most_apps_of",
    "node_order_at",
    "plan_of",
    "queue_at",
    "running_at",
    "starved_at",
    "user_at",
    "waiting_at",
    "wanting_at",
]

# Scheduling policies; UNORDERED is what is left where no rule gives an order: by name and by age.
FAIR, FIFO, DRF, UNORDERED = range(4)

# Whether a job's application counts among those that run.
NOT_RUNNING, WAITING_TO_RUN, RUNNABLE = range(3)

UNBOUNDED = 2**63 - 1

_LIST = columns("row")
FAIR_TABLES: Mapping[str, np.dtype[Any]] = {
    # A row for each configuration: what holds for the whole cluster.
    "clusters": columns(
        "memory vcores minimum_memory minimum_vcores maximum_memory maximum_vcores increment_memory increment_vcores "
        "normalise multiple dynamic most_assigned reserve reservation_memory reservation_vcores most_reserved "
        "size_based preempt wait_before_kill_ms next_check_ms placeable",
        "update_interval utilization",
    ),
    # A row for each configuration and queue: its limits.
    "plans": columns(
        "present policy least_memory least_vcores most_memory most_vcores container_memory container_vcores most_apps "
        "am_limited fair_timeout_ms min_timeout_ms allow_preemption am_preemption",
        "weight am_share threshold",
    ),
    "user_plans": columns("most_apps"),  # a row for each configuration and user
    # A row for each queue, parents before children and children of one parent together: what it holds, demands, is due.
    "queues": columns(
        "parent rank first_child children first_app running apps used_memory used_vcores demand_memory demand_vcores "
        "share_memory share_vcores am_memory am_vcores left gathered at_min_share_ms wanting last_served",
        "held_mib_s held_since",
    ),
    "users": columns("running"),
    # A row for each job, beside the core's: what the scheduler knows of the application.
    "apps": columns(
        "queue user standing am_running am_memory am_vcores used_memory used_vcores demand_memory demand_vcores "
        "share_memory share_vcores pending_memory pending_vcores reservations fair_starved_memory fair_starved_vcores "
        "min_starved_memory min_starved_vcores at_fair_share_ms next_check_ms in_line marked_memory marked_vcores "
        "chosen_memory chosen_vcores start_ms listed place large",
        "weight",
    ),
    "running": _LIST,  # runnable applications of each leaf, from its ``first_app`` on
    "wanting": _LIST,  # those of them that ask for something, in no order; their ``place`` is counted from 1
    "waiting": _LIST,  # applications that may not run yet, of all queues, oldest first
    # Room for sorting while assigning: stretches as in ``running``, then (from row ``jobs_count`` on) one for the
    # children of each queue.
    "heap": _LIST,
    # For preemption only. Beside each container its place on its node, for each node what runs there; what applications
    # will get on them; what is killed next (a ring); nodes in the order in which Hadoop looks through them; leaves in
    # the order of their making; starved applications (a heap).
    "held": columns("hash made next chosen"),
    "hosts": columns("first_worker first_am containers buckets claimed_memory claimed_vcores"),
    "claim_rows": columns("job node memory vcores"),
    "kill_rows": columns("row serial time_ms"),
    "node_order": _LIST,
    "leaves": _LIST,
    "starved": _LIST,
}

FAIR_STATE = state_columns(
    {**CORE_TABLES, **FAIR_TABLES},
    f"{CORE_COUNTERS} fair_scheduler configuration free_memory free_vcores changed waiting_apps assigned_memory "
    "assigned_vcores claims first_kill kills starving clock_ms listings full_alike loosened full_version full_memory "
    "full_vcores",
    f"{CORE_FLOATS} next_step",
)
"""``free_memory``, ``free_vcores``: as the metrics of root have them; ``changed``: anything since the last update.

``full_alike``: whether all full nodes of one size are alike, since all that can happen there is a reservation for a
large container, and no maximum and no limit of AMs has a say in it. Then ``loosened`` changes with all that could make
one possible, and a full node needs no look where it is ``full_version``, at which another one had none.
"""

queue_at = rows("queues", FAIR_TABLES["queues"])
user_at = rows("users", FAIR_TABLES["users"])
app_at = rows("apps", FAIR_TABLES["apps"])
running_at = rows("running", _LIST)
wanting_at = rows("wanting", _LIST)
waiting_at = rows("waiting", _LIST)
heap_at = rows("heap", _LIST)
held_at = rows("held", FAIR_TABLES["held"])
host_at = rows("hosts", FAIR_TABLES["hosts"])
claim_at = rows("claim_rows", FAIR_TABLES["claim_rows"])
kill_at = rows("kill_rows", FAIR_TABLES["kill_rows"])
node_order_at = rows("node_order", _LIST)
leaf_at = rows("leaves", _LIST)
starved_at = rows("starved", _LIST)
_cluster_at = rows("clusters", FAIR_TABLES["clusters"])
_plan_at = rows("plans", FAIR_TABLES["plans"])
_user_plan_at = rows("user_plans", FAIR_TABLES["user_plans"])


@compiled
def cluster_of(state: Any) -> Any:
    """What holds for the whole cluster, in the present configuration."""
    return _cluster_at(state, state.configuration)


@compiled
def plan_of(state: Any, q: int) -> Any:
    """A queue's limits in the present configuration."""
    return _plan_at(state, state.configuration * state.queues_count + q)


@compiled
def most_apps_of(state: Any, user: int) -> Any:
    """How many applications of a user may run, in the present configuration."""
    return _user_plan_at(state, state.configuration * state.users_count + user).most_apps


def make_memory(
    case: Case,
    core: Mapping[str, Table],
    plans: Mapping[str, Table],
    parents: list[int],
    ranks: list[int],
    leaves: list[int],
    full_alike: bool,
    app_queues: NDArray[np.int64],
    app_users: NDArray[np.int64],
) -> Memory:
    """Makes the state before the first event.

    Args:
        case: the case.
        core: the workload and the nodes, as :func:`rules.simulation.tables.lay_out` gives them.
        plans: ``clusters``, ``plans`` and ``user_plans``, filled in for each configuration.
        parents: for each queue the row of its parent, -1 for root; parents before children, siblings together.
        ranks: for each queue its place in the order of full names.
        leaves: rows of the leaves in the order of their making.
        full_alike: whether full nodes of one size are alike (see :data:`FAIR_STATE`).
        app_queues: for each job the row of its leaf, or minus the reason for which it is refused.
        app_users: for each job the row of its user.
    """
    jobs, count = len(app_queues), len(parents)
    queues, apps = make_table(FAIR_TABLES["queues"], count), make_table(FAIR_TABLES["apps"], jobs)
    queues["parent"], queues["rank"], queues["last_served"] = parents, ranks, -1
    parent_rows = np.array(parents)
    first_app = 0
    for q in range(count):
        below = np.flatnonzero(parent_rows == q)
        queues[q]["children"], queues[q]["first_child"] = len(below), below[0] if len(below) else 0
        queues[q]["first_app"], queues[q]["apps"] = first_app, np.count_nonzero(app_queues == q)
        first_app += int(queues[q]["apps"])
    apps["queue"], apps["user"] = app_queues, app_users
    users = len(plans["user_plans"]) // len(plans["clusters"])
    preempts = bool(plans["clusters"][0]["preempt"])
    core = dict(core)
    if preempts:
        track_containers(core)
    tables = {
        **core,
        **plans,
        "queues": queues,
        "users": make_table(FAIR_TABLES["users"], users),
        "apps": apps,
        "running": make_table(_LIST, jobs),
        "wanting": make_table(_LIST, jobs),
        "waiting": make_table(_LIST, jobs),
        "heap": make_table(_LIST, jobs + count),
        **_preemption_tables(core, leaves if preempts else []),
    }
    memory = Memory.of(FAIR_STATE, tables)
    start_clock(memory.state, case)
    memory.state["free_memory"], memory.state["free_vcores"] = (
        plans["clusters"][0]["memory"],
        plans["clusters"][0]["vcores"],
    )
    memory.state["changed"] = 1
    memory.state["full_alike"], memory.state["full_version"] = full_alike, -1
    return memory


def _preemption_tables(core: Mapping[str, Table], leaves: list[int]) -> dict[str, Table]:
    """The tables for preemption, without rows where there are no leaves, as the configuration has none."""
    nodes, containers, jobs = len(core["nodes"]), len(core["containers"]), len(core["jobs"])
    order, leaf_rows = make_table(_LIST, nodes), make_table(_LIST, len(leaves))
    buckets = 16
    while 4 * nodes > 3 * buckets:
        buckets *= 2
    order["row"] = sorted(range(nodes), key=lambda node: node_id_hash(node) & (buckets - 1))
    leaf_rows["row"] = leaves
    hosts = make_table(FAIR_TABLES["hosts"], nodes)
    hosts["buckets"] = 16
    return {
        "held": make_table(FAIR_TABLES["held"], containers),
        "hosts": hosts,
        "claim_rows": make_table(FAIR_TABLES["claim_rows"], containers),
        "kill_rows": make_table(FAIR_TABLES["kill_rows"], containers),
        "node_order": order,
        "leaves": leaf_rows,
        "starved": make_table(_LIST, jobs if leaves else 0),
    }
