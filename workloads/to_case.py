"""From a workload to a case: which jobs, in which queues, on how many nodes, as what kind of containers.

What a case needs and a trace does not tell is chosen here, by :class:`CasePlan`, and nothing else is: the same plan,
seed and window give the same case on every machine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import ceil
from typing import Final, Literal

import numpy as np

from tuner.errors import InputError
from workloads.seeds import job_seed
from workloads.trace import Case, Executors, Job, Node, Task
from workloads.workload import Ending, Tasks, Workload, WorkloadJob

__all__ = ["BY_SIZE", "CasePlan", "CaseSummary", "Queues", "make_case"]

BY_SIZE: Final = (("small", 4), ("medium", 40), ("large", None))
"""Queues by the number of a job's tasks: the name and the most that it takes."""
_BUSIEST_SHARE: Final = 0.6
_USERS_OF_TEAM: Final = 3
_MOST_TASKS: Final = 1_000_000
_HORIZON_WINDOWS: Final = 6
_MIN_ALLOCATION_MIB: Final = 512
_MAX_ALLOCATION: Final = Node(memory_mib=8192, vcores=4)
"""yarn-default.xml's yarn.scheduler.maximum-allocation-mb and -vcores."""
_NOT_RUN: Final = (int(Ending.EVICTED), int(Ending.WITHDRAWN))
_CAPACITY: Final = "yarn.scheduler.capacity."


@dataclass(frozen=True)
class Queues:
    """How jobs are put into queues.

    Attributes:
        kind: ``by-size``: :data:`BY_SIZE`. ``by-team``: mixed jobs of equal teams with three users each; the busiest
            one submits 0.6 of the jobs, and is the first team in the first half of the window and the last team in
            the second. ``recorded``: as the trace has them.
        teams: of ``by-team``.
    """

    kind: Literal["by-size", "by-team", "recorded"] = "by-size"
    teams: int = 3


@dataclass(frozen=True)
class CasePlan:
    """What the trace does not tell.

    Attributes:
        nodes: how many; None: so many that ``load`` is met.
        load: what the jobs ask for, times how long they run, as a share of the nodes over the window; of memory and
            vcores the larger. Application masters are not counted.
        node_memory_mib, node_vcores: of each node.
        spark: jobs hold executors and run stages; else a container per task.
        executor_memory_mib, executor_vcores: of jobs that do not bring executors of their own.
        tasks_per_executor, max_executors: how many such a job asks for.
        am_memory_mib: of jobs of which the trace does not tell it.
        seed: of the division among teams.
    """

    queues: Queues = Queues()
    nodes: int | None = None
    load: float = 0.75
    node_memory_mib: int = 8192
    node_vcores: int = 8
    scheduler: Literal["capacity", "fair"] = "capacity"
    spark: bool = False
    executor_memory_mib: int = 2048
    executor_vcores: int = 2
    tasks_per_executor: int = 8
    max_executors: int = 10
    am_memory_mib: int = 512
    seed: int = 0


@dataclass(frozen=True)
class CaseSummary:
    """What became of a window.

    Attributes:
        jobs, tasks: in the case.
        empty_jobs: left out, as no task of theirs ever ran.
        nodes: in the case; ``load`` is what is offered to them.
        too_large: tasks or executors cut down to a node's size, without which their jobs could never run.
    """

    jobs: int
    tasks: int
    empty_jobs: int
    nodes: int
    load: float
    too_large: int


@dataclass(frozen=True)
class _Work:
    """A job's tasks as they would run on YARN: whole vcores, at most a node's size, one row a task."""

    job: WorkloadJob
    duration_s: list[float]
    memory_mib: list[int]
    vcores: list[int]
    stage: list[int]


def make_case(workload: Workload, start_s: float, end_s: float, plan: CasePlan) -> tuple[Case, CaseSummary]:
    """Makes a case of the jobs submitted in a window.

    Rows of evicted runs are left out (the run that came after stands for the task), and so are tasks that were
    withdrawn before they ran. Requests below 1 MiB or 1 vcore become 1.

    Args:
        workload: any; it is cut to the window here.
        start_s: of the window, in seconds of the workload's clock; it is the case's zero.
        end_s: of the window, which does not hold it.
        plan: see :class:`CasePlan`.

    Raises:
        InputError: there is no job to run in the window, or so many tasks that the case would not be usable.
    """
    if not end_s > start_s:
        raise InputError(f"the window {start_s:g}:{end_s:g} is empty", "the end must be after the start")
    window = workload.window(start_s, end_s)
    works, too_large = _works(window, plan)
    if not works:
        first, last = workload.span_s
        raise InputError(
            f"no job that runs was submitted from {start_s:g} to {end_s:g} s",
            f"the jobs of {workload.name} were submitted from {first:g} to {last:g} s",
        )
    seconds = end_s - start_s
    nodes = plan.nodes or _nodes_for(works, seconds, plan)
    placed = _PLACES[plan.queues.kind](works, seconds, plan)
    jobs = tuple(_job(work, queue, user, plan) for work, (queue, user) in zip(works, placed, strict=True))
    conf, allocations = _configuration(_queue_names(placed, plan.queues), _largest(jobs), plan)
    case = Case(
        nodes=(Node(plan.node_memory_mib, plan.node_vcores),) * nodes,
        jobs=jobs,
        scheduler=plan.scheduler,
        conf=conf,
        allocations=allocations,
        horizon_s=_HORIZON_WINDOWS * seconds,
    )
    tasks = sum(len(work.duration_s) for work in works)
    load = _demand(works, plan) / (seconds * nodes)
    return case, CaseSummary(len(jobs), tasks, len(window.jobs) - len(works), nodes, load, too_large)


# --- tasks -----------------------------------------------------------------------------------------------------------


def _works(window: Workload, plan: CasePlan) -> tuple[list[_Work], int]:
    tasks = window.tasks
    runs = ~np.isin(tasks.ending, _NOT_RUN)
    total = int(tasks.count[runs].sum())
    if total > _MOST_TASKS:
        raise InputError(
            f"the window has {total} tasks, more than the {_MOST_TASKS} that a case can hold",
            "choose a shorter --window",
        )
    works: list[_Work] = []
    too_large = 0
    for job in window.jobs:
        own = window.tasks_of(job)
        work, cut = _work(job, own.take(~np.isin(own.ending, _NOT_RUN)), plan)
        too_large += cut
        if work.duration_s:
            works.append(work)
    return works, too_large


def _work(job: WorkloadJob, tasks: Tasks, plan: CasePlan) -> tuple[_Work, int]:
    repeat = tasks.count
    memory_mib, vcores = np.maximum(tasks.memory_mib, 1), np.maximum(np.ceil(tasks.cores), 1).astype(np.int64)
    too_large = (memory_mib > plan.node_memory_mib) | (vcores > plan.node_vcores)
    work = _Work(
        job,
        np.repeat(tasks.duration_s, repeat).tolist(),
        np.repeat(np.minimum(memory_mib, plan.node_memory_mib), repeat).tolist(),
        np.repeat(np.minimum(vcores, plan.node_vcores), repeat).tolist(),
        np.repeat(tasks.stage, repeat).tolist(),
    )
    return work, int(repeat[too_large].sum())


def _demand(works: list[_Work], plan: CasePlan) -> float:
    """Seconds of a whole node that the tasks need; of memory and vcores the larger."""
    memory = sum(
        duration_s * memory_mib
        for work in works
        for duration_s, memory_mib in zip(work.duration_s, work.memory_mib, strict=True)
    )
    vcores = sum(
        duration_s * vcores for work in works for duration_s, vcores in zip(work.duration_s, work.vcores, strict=True)
    )
    return max(memory / plan.node_memory_mib, vcores / plan.node_vcores)


def _nodes_for(works: list[_Work], seconds: float, plan: CasePlan) -> int:
    return max(1, round(_demand(works, plan) / (seconds * plan.load)))


def _job(work: _Work, queue: str, user: str, plan: CasePlan) -> Job:
    job = work.job
    am_memory_mib = min(job.am_memory_mib or plan.am_memory_mib, plan.node_memory_mib)
    if plan.spark:
        return Job(
            id=job.id,
            queue=queue,
            submit_s=job.submit_s,
            user=user,
            am_memory_mib=am_memory_mib,
            name=job.name,
            executors=_executors(work, plan),
            stages=_stages(work),
        )
    tasks = zip(work.duration_s, work.memory_mib, work.vcores, strict=True)
    return Job(
        id=job.id,
        queue=queue,
        submit_s=job.submit_s,
        user=user,
        am_memory_mib=am_memory_mib,
        name=job.name,
        tasks=tuple(Task(duration_s, memory_mib, vcores) for duration_s, memory_mib, vcores in tasks),
    )


def _executors(work: _Work, plan: CasePlan) -> Executors:
    own = work.job.executors
    if own is not None:
        return Executors(own.count, min(own.memory_mib, plan.node_memory_mib), min(own.vcores, plan.node_vcores))
    count = min(ceil(len(work.duration_s) / plan.tasks_per_executor), plan.max_executors)
    return Executors(count, plan.executor_memory_mib, plan.executor_vcores)


def _stages(work: _Work) -> tuple[tuple[float, ...], ...]:
    stages: dict[int, list[float]] = {}
    for stage, duration_s in zip(work.stage, work.duration_s, strict=True):
        stages.setdefault(stage, []).append(duration_s)
    return tuple(tuple(stages[stage]) for stage in sorted(stages))


# --- queues ----------------------------------------------------------------------------------------------------------

_Placed = list[tuple[str, str]]


def _by_size(works: list[_Work], _seconds: float, _plan: CasePlan) -> _Placed:
    return [
        (next(name for name, most in BY_SIZE if most is None or len(work.duration_s) <= most), work.job.user or "user")
        for work in works
    ]


def _by_team(works: list[_Work], seconds: float, plan: CasePlan) -> _Placed:
    teams = plan.queues.teams
    shares = np.full(teams, (1 - _BUSIEST_SHARE) / max(teams - 1, 1))
    shares[0] = _BUSIEST_SHARE if teams > 1 else 1.0
    placed: _Placed = []
    for position, work in enumerate(works):
        first_half = work.job.submit_s < seconds / 2
        random = np.random.default_rng(job_seed(plan.seed, work.job.id))
        team = int(random.choice(teams, p=shares if first_half else shares[::-1])) + 1
        placed.append((f"team{team}", f"team{team}-{position % _USERS_OF_TEAM}"))
    return placed


def _recorded(works: list[_Work], _seconds: float, _plan: CasePlan) -> _Placed:
    return [(_leaf(work.job.queue), work.job.user or "user") for work in works]


def _leaf(queue: str) -> str:
    """A queue's own name, fit to be one: the hierarchy above it is not in the trace."""
    name = queue.rpartition(".")[2]
    return "".join(char if char.isalnum() or char in "-_" else "-" for char in name) or "default"


_PLACES: Final[Mapping[str, Callable[[list[_Work], float, CasePlan], _Placed]]] = {
    "by-size": _by_size,
    "by-team": _by_team,
    "recorded": _recorded,
}


def _queue_names(placed: _Placed, queues: Queues) -> list[str]:
    """All queues, also those that no job is in, so that windows of one workload have the same ones."""
    if queues.kind == "by-size":
        return [name for name, _ in BY_SIZE]
    if queues.kind == "by-team":
        return [f"team{number}" for number in range(1, queues.teams + 1)]
    return sorted({queue for queue, _ in placed})


def _largest(jobs: tuple[Job, ...]) -> tuple[int, int]:
    """The most memory and the most vcores that any container asks for."""
    asked = [(job.am_memory_mib, 1) for job in jobs]
    asked += [(task.memory_mib, task.vcores) for job in jobs for task in job.tasks]
    asked += [(job.executors.memory_mib, job.executors.vcores) for job in jobs if job.executors is not None]
    return max(memory_mib for memory_mib, _ in asked), max(vcores for _, vcores in asked)


def _configuration(names: list[str], largest: tuple[int, int], plan: CasePlan) -> tuple[dict[str, str | None], str]:
    """Equal shares and otherwise the scheduler's defaults; both resources count."""
    minimum: dict[str, str | None] = {"yarn.scheduler.minimum-allocation-mb": str(_MIN_ALLOCATION_MIB)}
    # Hadoop's default for the largest container does not look at what the nodes have.
    if largest[0] > _MAX_ALLOCATION.memory_mib:
        minimum["yarn.scheduler.maximum-allocation-mb"] = str(plan.node_memory_mib)
    if largest[1] > _MAX_ALLOCATION.vcores:
        minimum["yarn.scheduler.maximum-allocation-vcores"] = str(plan.node_vcores)
    if plan.scheduler == "fair":
        queues = "".join(f'<queue name="{name}"><weight>1</weight></queue>' for name in names)
        return minimum | {"yarn.scheduler.fair.preemption": "false"}, f"<allocations>{queues}</allocations>"
    return (
        {
            f"{_CAPACITY}root.queues": ",".join(names),
            **{
                f"{_CAPACITY}root.{name}.capacity": share
                for name, share in zip(names, _shares(len(names)), strict=True)
            },
            f"{_CAPACITY}resource-calculator": "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator",
            **minimum,
        },
        "<allocations/>",
    )


def _shares(count: int) -> list[str]:
    """Percentages with two digits that add up to 100, as the Capacity Scheduler wants; the last takes the rest."""
    each = 10_000 // count
    hundredths = [each] * (count - 1) + [10_000 - each * (count - 1)]
    return [f"{value / 100:.2f}" for value in hundredths]
