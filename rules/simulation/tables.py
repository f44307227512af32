"""The tables that every scheduler's simulation works on, and how a workload is laid out in them.

A row per job, ask, task, node; jobs are in the order of their submission, which is that of their application ids.
An ask is a number of equal containers; the first ask of a job is its AM's.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloads.trace import Case, Job

__all__ = ["ENDED", "NEW", "PLACED", "REJECTED", "RUNNING", "WAITING", "Core", "Table", "build_core", "table"]

Table = NDArray[Any]
"""A structured array: a row for each thing, a name for each column."""

# States of a job: not yet submitted; accepted, its AM waits for a container; AM placed; AM runs; ended; refused.
NEW, WAITING, PLACED, RUNNING, ENDED, REJECTED = range(6)


def table(length: int, integers: str, floats: str = "") -> Table:
    """A table of zeros with the named columns, 64 bits wide each.

    At least one row, so that a table without rows keeps its type.
    """
    columns = [(name, np.int64) for name in integers.split()] + [(name, np.float64) for name in floats.split()]
    return np.zeros(max(length, 1), dtype=np.dtype(columns))


class Core(NamedTuple):
    """What the event loop and the jobs need; see :func:`build_core` for the columns."""

    clock: Table
    jobs: Table
    asks: Table
    tasks: Table
    nodes: Table
    granted: Table
    kept: Table
    task_ends: Table
    am_ring: NDArray[np.int64]
    launched: NDArray[np.int64]
    update_times_s: NDArray[np.float64]


def build_core(case: Case) -> tuple[Core, list[int]]:
    """Lays out a case's workload and nodes.

    Sizes are as asked: the scheduler normalises ``memory`` and ``vcores`` of ``asks`` when it makes its state.

    Returns:
        The tables, and for each row of ``jobs`` the job's place in ``case.jobs``.
    """
    order = sorted(range(len(case.jobs)), key=lambda i: case.jobs[i].submit_s)
    in_order = [case.jobs[i] for i in order]
    jobs, asks, tasks = _lay_out_jobs(in_order)
    containers = int(asks["count"].sum()) + 2 * len(in_order)
    clock = table(
        1,
        "unfinished task_ends made next_submission next_update next_node ring_head ring_length launched version",
        "now horizon node_beat_s am_beat_s",
    )
    clock["unfinished"], clock["horizon"] = len(in_order), case.horizon_s
    clock["node_beat_s"], clock["am_beat_s"] = case.node_heartbeat_s, case.am_heartbeat_s
    core = Core(
        clock=clock,
        jobs=jobs,
        asks=asks,
        tasks=tasks,
        nodes=_lay_out_nodes(case),
        granted=table(containers, "node ask"),
        kept=table(containers, "node ask"),
        task_ends=table(len(tasks), "made job task", "time"),
        am_ring=np.zeros(len(in_order) + 1, np.int64),
        launched=np.zeros(len(in_order) + 1, np.int64),
        update_times_s=np.array([update.time_s for update in case.updates] or [np.inf], np.float64),
    )
    return core, order


def _lay_out_nodes(case: Case) -> Table:
    nodes = table(
        len(case.nodes), "memory vcores free_memory free_vcores reserved_by reserved_ask reserved_at", "next_beat"
    )
    nodes["memory"] = nodes["free_memory"] = [node.memory_mib for node in case.nodes]
    nodes["vcores"] = nodes["free_vcores"] = [node.vcores for node in case.nodes]
    nodes["reserved_by"] = nodes["reserved_ask"] = -1
    count = len(case.nodes)
    nodes["next_beat"] = [case.node_heartbeat_s * i / count for i in range(count)]
    return nodes


def _lay_out_jobs(jobs_in_order: list[Job]) -> tuple[Table, Table, Table]:
    """Rows of jobs, asks and tasks; the tasks of an ask (or the stages of a job) stand together, in their order."""
    ask_rows: list[tuple[int, int, int, int, int]] = []  # job, memory, vcores, count, first task
    task_rows: list[tuple[int, int, float]] = []  # ask, stage, duration
    jobs = table(
        len(jobs_in_order),
        "state rejection executors executor_vcores am_ask ask_end task_begin task_end next_task tasks_done stage "
        "left_in_stage free_slots asked am_node container_begin container_capacity granted collected kept",
        "submit am_start first finish next_beat",
    )
    containers = 0
    for row, job in enumerate(jobs_in_order):
        out = jobs[row]
        out["submit"], out["am_start"], out["first"], out["finish"] = job.submit_s, -1, -1, -1
        out["am_ask"], out["task_begin"], out["next_task"] = len(ask_rows), len(task_rows), len(task_rows)
        ask_rows.append((row, job.am_memory_mib, 1, 1, -1))
        if job.executors is not None:
            stages = [stage for stage in job.stages if stage]
            out["executors"], out["executor_vcores"] = job.executors.count, job.executors.vcores
            out["left_in_stage"] = len(stages[0])
            ask_rows.append((row, job.executors.memory_mib, job.executors.vcores, job.executors.count, -1))
            for number, stage in enumerate(stages):
                task_rows += [(len(ask_rows) - 1, number, duration_s) for duration_s in stage]
        else:
            sizes: dict[tuple[int, int], list[float]] = {}
            for task in job.tasks:
                sizes.setdefault((task.memory_mib, task.vcores), []).append(task.duration_s)
            for memory, vcores in sorted(sizes):
                durations = sizes[memory, vcores]
                ask_rows.append((row, memory, vcores, len(durations), len(task_rows)))
                task_rows += [(len(ask_rows) - 1, 0, duration_s) for duration_s in durations]
        out["ask_end"], out["task_end"] = len(ask_rows), len(task_rows)
        out["container_begin"], out["container_capacity"] = containers, 2 + sum(a[3] for a in ask_rows[out["am_ask"] :])
        containers += int(out["container_capacity"])
    return jobs, _ask_table(ask_rows), _task_table(task_rows)


def _ask_table(rows: list[tuple[int, int, int, int, int]]) -> Table:
    asks = table(len(rows), "job memory vcores count next_task task_end pending asked_memory asked_vcores")
    if rows:
        columns = np.array(rows, np.int64).T
        for name, column in zip(("job", "memory", "vcores", "count", "next_task"), columns, strict=True):
            asks[name] = column
        asks["asked_memory"], asks["asked_vcores"] = asks["memory"], asks["vcores"]
        asks["task_end"] = np.where(asks["next_task"] >= 0, asks["next_task"] + asks["count"], -1)
    return asks


def _task_table(rows: list[tuple[int, int, float]]) -> Table:
    tasks = table(len(rows), "ask stage node", "duration")
    if rows:
        tasks["ask"], tasks["stage"], tasks["duration"] = zip(*rows, strict=True)
    return tasks
