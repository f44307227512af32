"""The windows of real traces that the queue tuner is measured on, and what an administrator with a clock would do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal

from rules.dialects.capacity_values import percentages
from workloads.importers.options import ImportOptions
from workloads.importers.registry import import_workload
from workloads.to_case import CasePlan, Queues, make_case
from workloads.trace import Case, Job, Update
from workloads.workload import Workload

__all__ = ["WINDOWS", "Window", "clock_scheduled", "window_case"]

Scheduler = Literal["capacity", "fair"]
BOTH: tuple[Scheduler, ...] = ("capacity", "fair")
CAPACITY: tuple[Scheduler, ...] = ("capacity",)
_PREFIX = "yarn.scheduler.capacity."
_LEAST_PERCENT = 10.0
_GOOGLE_NODE = {"node_memory_mib": 65536, "node_vcores": 32}


@dataclass(frozen=True)
class Window:
    """A stretch of a trace as a case.

    Attributes:
        trace: ``facebook`` (SWIM's 2009 sample) or ``google`` (2011).
        begin_s, end_s: of the trace.
        queues: ``by-team``, ``by-size`` or ``recorded``.
        spark: jobs hold executors; else a container per task.
        schedulers: that it is measured under.
        every_s: seconds between the decisions of the closed loop.
    """

    trace: Literal["facebook", "google"]
    begin_s: float
    end_s: float
    queues: Literal["by-size", "by-team", "recorded"]
    spark: bool
    schedulers: tuple[Scheduler, ...]
    every_s: float


def _hour(hour: int, queues: Literal["by-size", "by-team"], spark: bool, schedulers: tuple[Scheduler, ...]) -> Window:
    return Window("facebook", 3600.0 * hour, 3600.0 * (hour + 1), queues, spark, schedulers, 120.0)


WINDOWS: Mapping[str, Window] = {
    "facebook 7h by team": _hour(7, "by-team", False, BOTH),
    "facebook 20h by team": _hour(20, "by-team", False, BOTH),
    "facebook 3h by team": _hour(3, "by-team", False, CAPACITY),
    "facebook 7h by team, Spark": _hour(7, "by-team", True, BOTH),
    "facebook 16h by team, Spark": _hour(16, "by-team", True, CAPACITY),
    "facebook 7h by size": _hour(7, "by-size", False, BOTH),
    "facebook 14h by size, Spark": _hour(14, "by-size", True, CAPACITY),
    "google 3000 s by team": Window("google", 3000, 3300, "by-team", False, BOTH, 60.0),
    "google 1200 s by priority": Window("google", 1200, 1500, "recorded", False, CAPACITY, 60.0),
    "google 4200 s by size, Spark": Window("google", 4200, 4500, "by-size", True, BOTH, 60.0),
}


@cache
def _workload(trace: str, data: Path) -> Workload:
    if trace == "facebook":
        return import_workload([data / "swim" / "FB-2009_samples_24_times_1hr_0.tsv"], ImportOptions("facebook"))
    tables = ("task_events-part-00000-of-00500.csv.gz", "job_events-part-00000-of-00500.csv")
    return import_workload([data / "google" / table for table in tables], ImportOptions("google"))


def window_case(window: Window, scheduler: Scheduler, data: Path) -> Case:
    """The window as a case, on as many nodes as make the offered load 0.75."""
    plan = CasePlan(queues=Queues(window.queues), load=0.75, spark=window.spark, scheduler=scheduler, seed=5)
    if window.trace == "google":
        plan = replace(plan, **_GOOGLE_NODE)  # type: ignore[arg-type]
    return make_case(_workload(window.trace, data), window.begin_s, window.end_s, plan)[0]


def clock_scheduled(case: Case) -> Case:
    """The case with capacities set by the clock, four times: in proportion to the work that then comes in.

    What an administrator does who knows how the day goes: with hindsight, but with nothing but capacities; each queue
    keeps 10 % at least.
    """
    last_s = max(job.submit_s for job in case.jobs)
    names = sorted({job.queue for job in case.jobs})
    if len(names) < 2:
        return case
    updates = []
    for quarter in range(4):
        begin_s, end_s = last_s * quarter / 4, last_s * (quarter + 1) / 4 + (quarter == 3)
        work = {name: sum(_work(job) for job in case.jobs if job.queue == name and begin_s <= job.submit_s < end_s)
                for name in names}  # fmt: skip
        updates.append(_update(case, begin_s, work))
    return replace(case, updates=tuple(updates))


def _work(job: Job) -> float:
    if job.executors is not None:
        return sum(sum(stage) for stage in job.stages)
    return sum(task.duration_s * task.memory_mib for task in job.tasks)


def _update(case: Case, time_s: float, work: Mapping[str, float]) -> Update:
    least = min(_LEAST_PERCENT, 100.0 / len(work) / 2)
    whole = sum(work.values()) or 1.0
    others = [name for name in _all_queues(case) if name not in work]
    free = 100.0 - least * (len(work) + len(others))
    wanted = {name: least + free * own / whole for name, own in work.items()} | dict.fromkeys(others, least)
    parts = dict(zip(wanted, percentages(list(wanted.values()), 2), strict=True))
    if case.scheduler == "fair":
        queues = "".join(f'<queue name="{name}"><weight>{part}</weight></queue>' for name, part in parts.items())
        return Update(time_s, allocations=f"<allocations>{queues}</allocations>")
    return Update(time_s, {f"{_PREFIX}root.{name}.capacity": str(part) for name, part in parts.items()})


def _all_queues(case: Case) -> list[str]:
    """All that are configured, also those that no job is in."""
    if case.scheduler == "fair":
        return [part.partition('"')[0] for part in case.allocations.split('<queue name="')[1:]]
    return (case.conf[f"{_PREFIX}root.queues"] or "").split(",")
