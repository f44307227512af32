"""Cases of real traces: windows of a Facebook trace (SWIM) and of Google's of 2011, made where the data is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from workloads.importers.options import ImportOptions
from workloads.importers.registry import import_workload
from workloads.to_case import CasePlan, Queues, make_case
from workloads.trace import case_to_json
from workloads.workload import Workload

__all__ = ["GOOGLE_WINDOWS", "SWIM_WINDOWS", "trace_cases"]

CaseFile = dict[str, Any]
Window = tuple[float, float, CasePlan]
BY_TEAM = Queues("by-team")
_GOOGLE: dict[str, Any] = {"node_memory_mib": 65536, "node_vcores": 32}

# Hours of the trace, and what is done with them. The Capacity and the Fair Scheduler get each.
SWIM_WINDOWS: Mapping[str, Window] = {
    "facebook 7h, by size": (7, 8, CasePlan(nodes=5)),
    "facebook 7h, by team": (7, 8, CasePlan(nodes=5, queues=BY_TEAM, seed=5)),
    "facebook 7h, by team, executors": (7, 8, CasePlan(nodes=5, queues=BY_TEAM, seed=5, spark=True)),
    "facebook 14h, by size, heavy load": (14, 15, CasePlan(load=1.1)),
    "facebook 20h, by team, light load": (20, 20.5, CasePlan(load=0.3, queues=BY_TEAM, seed=2)),
}
# Seconds of the trace. Requests are fractions of the largest machine: several sizes, many of them far below a GiB.
GOOGLE_WINDOWS: Mapping[str, Window] = {
    "google 1200 s, by priority": (1200, 1500, CasePlan(nodes=6, queues=Queues("recorded"), **_GOOGLE)),
    "google 3000 s, by team": (3000, 3120, CasePlan(nodes=30, queues=BY_TEAM, **_GOOGLE)),
    "google 4500 s, by size": (4500, 4560, CasePlan(nodes=20, **_GOOGLE)),
}


def trace_cases(data: Path) -> dict[str, CaseFile]:
    """All windows under both schedulers, by name."""
    swim = import_workload([data / "swim" / "FB-2009_samples_24_times_1hr_0.tsv"], ImportOptions("facebook"))
    hours = {name: (3600 * begin, 3600 * end, plan) for name, (begin, end, plan) in SWIM_WINDOWS.items()}
    tables = ("task_events-part-00000-of-00500.csv.gz", "job_events-part-00000-of-00500.csv")
    google = import_workload([data / "google" / table for table in tables], ImportOptions("google"))
    return _cases(swim, hours) | _cases(google, GOOGLE_WINDOWS)


def _cases(workload: Workload, windows: Mapping[str, Window]) -> dict[str, CaseFile]:
    schedulers: tuple[Literal["capacity", "fair"], ...] = ("capacity", "fair")
    found = {}
    for name, (begin_s, end_s, plan) in windows.items():
        for scheduler in schedulers:
            case, _ = make_case(workload, begin_s, end_s, replace(plan, scheduler=scheduler))
            found[f"{name} ({scheduler})"] = case_to_json(case)
    return found
