"""The tables that every scheduler's simulation works on, and how a workload is laid out in them.

Jobs are in the order of their submission, which is that of their application ids. An ask is a number of equal
containers; the first ask of a job is its AM's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from rules.simulation.memory import Table, columns, make_table, rows
from workloads.trace import Case, Job

__all__ = [
    "CORE_COUNTERS",
    "CORE_FLOATS",
    "CORE_TABLES",
    "ENDED",
    "NEW",
    "PLACED",
    "REJECTED",
    "RUNNING",
    "WAITING",
    "ask_at",
    "bound_at",
    "container_at",
    "gate_at",
    "grant_at",
    "job_at",
    "kept_at",
    "launch_at",
    "lay_out",
    "node_at",
    "ring_at",
    "slot_at",
    "start_clock",
    "task_at",
    "task_end_at",
    "track_containers",
    "update_at",
    "wait_at",
]

# States of a job: not yet submitted; accepted, its AM waits for a container; AM placed; AM runs; ended; refused.
NEW, WAITING, PLACED, RUNNING, ENDED, REJECTED = range(6)

_CONTAINER = columns("node ask container")
CORE_TABLES: Mapping[str, np.dtype[Any]] = {
    "jobs": columns(
        "state rejection executors executor_vcores am_ask ask_end task_begin task_end next_task tasks_done stage "
        "left_in_stage free_slots asked am_node container_begin container_capacity granted collected kept am_container "
        "attempts numbered first_container lost slot_begin slot_head begun",
        "submit am_start first finish waits_since",
    ),
    "asks": columns("job memory vcores count next_task task_end pending asked_memory asked_vcores lost"),
    "tasks": columns("ask stage node run container lost", "duration"),
    "nodes": columns(
        "memory vcores free_memory free_vcores reserved_by reserved_ask reserved_at reserved_number host_rank "
        "idle_version full",
        "next_beat",
    ),
    "grants": _CONTAINER,
    "keeps": _CONTAINER,
    "task_ends": columns("made job task run", "time"),
    "ring": columns("job attempt", "time"),
    "launches": columns("job"),
    "updates": columns("", "time"),
    "waits": columns("rule gate", "since full_s closed_s"),
    "gates": columns("closed rule", "since closed_s"),
    "bound": columns("", "seconds"),
    # Only where containers may be killed: see :mod:`rules.simulation.containers`.
    "containers": columns("job ask node number task standing collected serial next previous marked_ms"),
    "slots": columns("container"),
}
"""``grants``: containers that a job was given and has not collected; ``keeps``: those that it will give back.

``ring``: AMs in the order of their next beats; ``launches``: AMs that were placed and start at the next node beat.
``waits``, ``gates`` and ``bound``: see :mod:`rules.simulation.binding`; the latter has a row for each job and rule.
"""

CORE_COUNTERS = (
    "unfinished pending_task_ends made next_submission next_update next_node ring_head ring_length launched version "
    "reasons full_nodes alone next_alone submissions_end "
    "rests quiet_version quiet_beats outstanding reserved_nodes rounding tracked free_container begun"
)
"""``version`` changes with everything that could make a node's beat come out differently. ``rests``: whether beats may
be left out while it stays the same, which a scheduler says that does nothing by the clock.
``outstanding``: containers asked for and not granted, AMs included. ``beat_shift_s``: to be added to the times of all
nodes' next beats; only jobs that run alone let whole rounds of beats pass at once.
``tracked``: whether every container has a row of its own, because containers may be killed.
``begun``: attempts of all applications so far; a job's own is the number of its present one."""
CORE_FLOATS = "beat_shift_s now horizon node_beat_s am_beat_s full_since full_s horizon_alone next_round"

job_at = rows("jobs", CORE_TABLES["jobs"])
ask_at = rows("asks", CORE_TABLES["asks"])
task_at = rows("tasks", CORE_TABLES["tasks"])
node_at = rows("nodes", CORE_TABLES["nodes"])
grant_at = rows("grants", CORE_TABLES["grants"])
kept_at = rows("keeps", CORE_TABLES["keeps"])
task_end_at = rows("task_ends", CORE_TABLES["task_ends"])
ring_at = rows("ring", CORE_TABLES["ring"])
launch_at = rows("launches", CORE_TABLES["launches"])
update_at = rows("updates", CORE_TABLES["updates"])
wait_at = rows("waits", CORE_TABLES["waits"])
gate_at = rows("gates", CORE_TABLES["gates"])
bound_at = rows("bound", CORE_TABLES["bound"])
container_at = rows("containers", CORE_TABLES["containers"])
slot_at = rows("slots", CORE_TABLES["slots"])


def lay_out(case: Case, rules: int = 1, gates: int = 1) -> tuple[dict[str, Table], list[int]]:
    """Lays out a case's workload and nodes.

    Sizes are as asked: the scheduler normalises ``memory`` and ``vcores`` of the asks.

    Args:
        case: the workload and the nodes.
        rules: number of rules that waiting times are put down to.
        gates: number of queues that can be closed for all jobs in them.

    Returns:
        The core tables by name, and for each row of ``jobs`` the job's place in ``case.jobs``.
    """
    workload = _lay_out_workload(_Same(case.jobs))
    order = list(workload.order)
    jobs, asks, tasks = workload.jobs.copy(), workload.asks.copy(), workload.tasks.copy()
    containers = int(asks["count"].sum()) + 2 * len(order)
    lengths = {
        "grants": containers,
        "keeps": containers,
        "task_ends": len(tasks) + 1,
        "ring": len(order) + 1,
        "launches": len(order) + 1,
        "updates": len(case.updates),
        "waits": len(order),
        "gates": gates,
        "bound": len(order) * rules,
        "containers": 0,
        "slots": 0,
    }
    tables = {name: make_table(CORE_TABLES[name], length) for name, length in lengths.items()}
    tables["waits"]["rule"] = tables["waits"]["gate"] = -1
    tables["updates"]["time"] = [update.time_s for update in case.updates]
    return {**tables, "jobs": jobs, "asks": asks, "tasks": tasks, "nodes": _lay_out_nodes(case)}, order


def track_containers(core: dict[str, Table]) -> None:
    """Gives the core's tables what they need where containers may be killed; the state has to say so, too.

    Ends of tasks that were killed stay in the heap of ends until their time, and so do the beats of AMs in their ring;
    there is room for a good number of them.
    """
    jobs, count = core["jobs"], len(core["grants"])
    core["containers"] = make_table(CORE_TABLES["containers"], count)
    core["containers"]["next"] = np.arange(2, count + 2)
    slots = jobs["executors"] * jobs["executor_vcores"]
    jobs["slot_begin"] = np.cumsum(slots) - slots
    core["slots"] = make_table(CORE_TABLES["slots"], int(slots.sum()))
    core["task_ends"] = make_table(CORE_TABLES["task_ends"], 2 * len(core["tasks"]) + 64)
    core["ring"] = make_table(CORE_TABLES["ring"], 2 * len(jobs) + 64)


def start_clock(state: Table, case: Case) -> None:
    """Sets a state's counters to the beginning."""
    state["unfinished"], state["horizon"] = len(case.jobs), case.horizon_s
    state["reasons"] = state["bound_count"] // max(len(case.jobs), 1)
    state["horizon_alone"], state["next_round"] = case.horizon_s, np.inf
    state["node_beat_s"], state["am_beat_s"] = case.node_heartbeat_s, case.am_heartbeat_s
    state["tracked"], state["free_container"] = state["containers_count"] > 0, 1


@dataclass(frozen=True)
class _Same:
    """Jobs that are equal only to themselves: comparing them one by one would take longer than what it saves."""

    jobs: tuple[Job, ...]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.jobs is other.jobs

    def __hash__(self) -> int:
        return id(self.jobs)


@dataclass(frozen=True)
class _Workload:
    order: tuple[int, ...]
    jobs: Table
    asks: Table
    tasks: Table


@lru_cache(maxsize=4)
def _lay_out_workload(same: _Same) -> _Workload:
    """The tables of a workload; kept, since one workload is tried under many configurations."""
    order = sorted(range(len(same.jobs)), key=lambda i: same.jobs[i].submit_s)
    jobs, asks, tasks = _lay_out_jobs([same.jobs[i] for i in order])
    return _Workload(tuple(order), jobs, asks, tasks)


def _lay_out_nodes(case: Case) -> Table:
    nodes = make_table(CORE_TABLES["nodes"], len(case.nodes))
    nodes["memory"] = nodes["free_memory"] = [node.memory_mib for node in case.nodes]
    nodes["vcores"] = nodes["free_vcores"] = [node.vcores for node in case.nodes]
    nodes["reserved_by"] = nodes["reserved_ask"] = -1
    count = len(case.nodes)
    nodes["next_beat"] = [case.node_heartbeat_s * i / count for i in range(count)]
    return nodes


def _lay_out_jobs(jobs_in_order: Sequence[Job]) -> tuple[Table, Table, Table]:
    """Rows of jobs, asks and tasks; the tasks of an ask (or the stages of a job) stand together, in their order."""
    asks: list[tuple[int, int, int, int, int]] = []  # job, memory, vcores, count, first task
    task_asks: list[int] = []
    task_stages: list[int] = []
    durations_s: list[float] = []
    rows_of_jobs: list[tuple[float, ...]] = []
    containers = 0
    for row, job in enumerate(jobs_in_order):
        first_ask, first_task, first_stage = len(asks), len(durations_s), 0
        asks.append((row, job.am_memory_mib, 1, 1, -1))
        if job.executors is not None:
            stages = [stage for stage in job.stages if stage]
            first_stage = len(stages[0])
            asks.append((row, job.executors.memory_mib, job.executors.vcores, job.executors.count, -1))
            for number, stage in enumerate(stages):
                durations_s += stage
                task_stages += [number] * len(stage)
        else:
            for memory, vcores in sorted({(task.memory_mib, task.vcores) for task in job.tasks}):
                of_size = [t.duration_s for t in job.tasks if t.memory_mib == memory and t.vcores == vcores]
                asks.append((row, memory, vcores, len(of_size), len(durations_s)))
                task_asks += [len(asks) - 1] * len(of_size)
                durations_s += of_size
        task_stages += [0] * (len(durations_s) - len(task_stages))
        task_asks += [first_ask + 1] * (len(durations_s) - len(task_asks))
        capacity = 2 + sum(ask[3] for ask in asks[first_ask:])
        executors, vcores = (job.executors.count, job.executors.vcores) if job.executors else (0, 0)
        rows_of_jobs.append(
            (job.submit_s, executors, vcores, first_ask, len(asks), first_task, len(durations_s), first_stage,
             containers, capacity)
        )  # fmt: skip
        containers += capacity
    tasks = make_table(CORE_TABLES["tasks"], len(durations_s))
    tasks["ask"], tasks["stage"], tasks["duration"] = task_asks, task_stages, durations_s
    return _job_table(rows_of_jobs), _ask_table(asks), tasks


def _job_table(rows_of_jobs: list[tuple[float, ...]]) -> Table:
    jobs = make_table(CORE_TABLES["jobs"], len(rows_of_jobs))
    names = (
        "submit executors executor_vcores am_ask ask_end task_begin task_end left_in_stage container_begin "
        "container_capacity"
    )
    if rows_of_jobs:
        for name, column in zip(names.split(), zip(*rows_of_jobs, strict=True), strict=True):
            jobs[name] = column
    jobs["next_task"] = jobs["task_begin"]
    jobs["am_start"] = jobs["first"] = jobs["finish"] = -1
    jobs["waits_since"] = jobs["submit"]
    return jobs


def _ask_table(rows_of_asks: list[tuple[int, int, int, int, int]]) -> Table:
    asks = make_table(CORE_TABLES["asks"], len(rows_of_asks))
    if rows_of_asks:
        for name, column in zip(
            ("job", "memory", "vcores", "count", "next_task"), zip(*rows_of_asks, strict=True), strict=True
        ):
            asks[name] = column
        asks["asked_memory"], asks["asked_vcores"] = asks["memory"], asks["vcores"]
        asks["task_end"] = np.where(asks["next_task"] >= 0, asks["next_task"] + asks["count"], -1)
    return asks
