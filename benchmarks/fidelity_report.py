"""What ``benchmarks/fidelity.py`` found, as Markdown."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

__all__ = ["Agreement", "Growth", "Ordering", "write_report"]

MECHANISMS = {
    "Capacity: parallel applications": "which waiting application is let run next",
    "Capacity: preemption": "which containers the preemption monitor picks, and when",
    "Fair: preemption": "which containers preemption picks, and when",
    "Capacity: asynchronous": "the order of the rounds over the nodes",
}
"""What differs in a case that is not exact, by its group."""


@dataclass(frozen=True)
class Agreement:
    """One case: the model against Hadoop.

    Attributes:
        group, name: which.
        jobs, tasks: in it.
        differing: jobs of which the AM's start, the first task or the end is more than 1e-6 s off, or of which only
            one of the two refuses.
        errors_s: absolute errors of the latencies.
        latencies_s: Hadoop's latencies.
        utilisation: share of the cluster's memory that is held between the first submission and the last end.
        mean_latency_s: Hadoop's and the model's.
        oracle_s, oracle_cpu_s: the replay, warm, with the start of its ResourceManager.
        replay_s: the same without that start.
        estimate_s, estimate_cpu_s: the estimate from the parsed case, the best of five.
    """

    group: str
    name: str
    jobs: int
    tasks: int
    differing: int
    errors_s: NDArray[np.float64]
    latencies_s: NDArray[np.float64]
    utilisation: float
    mean_latency_s: tuple[float, float]
    oracle_s: float
    oracle_cpu_s: float
    replay_s: float
    estimate_s: float
    estimate_cpu_s: float

    @property
    def cpu_ratio(self) -> float:
        """The replay's CPU time by the estimate's."""
        return self.oracle_cpu_s / self.estimate_cpu_s


@dataclass(frozen=True)
class Ordering:
    """One workload under many configurations: pairs of them that the model puts the other way round than Hadoop.

    ``unfinished`` is the most jobs that any of the configurations leaves without an end: Hadoop's and the model's.
    """

    name: str
    configurations: int
    distinct: int
    same_order: bool
    discordant: int
    best: tuple[str, str]
    unfinished: tuple[int, int]


@dataclass(frozen=True)
class Growth:
    """An estimate of a large cluster, in CPU seconds."""

    scheduler: str
    nodes: int
    jobs: int
    tasks: int
    estimate_s: float


def write_report(
    path: Path,
    cases: Sequence[Agreement],
    ordered: Sequence[Ordering],
    compiling: Mapping[str, Mapping[str, Sequence[float]]],
    grown: Sequence[Growth],
    *,
    traces: bool,
) -> None:
    """Writes the report, whole or not at all."""
    sections = [
        _head(cases, ordered, traces=traces),
        _goals(cases, ordered, compiling, grown),
        _groups(cases),
        _inexact(cases),
        _orders(ordered),
    ]
    sections += [_speed(cases), _compiling(compiling), _growth(grown), _all(cases)]
    part = path.with_suffix(f".{os.getpid()}")
    part.write_text("\n".join(line for section in sections for line in (*section, "")).rstrip() + "\n")
    part.replace(path)


def _table(head: str, rows: Iterable[Sequence[object]]) -> list[str]:
    """Numbers to the right, the first column to the left."""
    columns = head.split("|")
    marks = ["---"] + ["---:"] * (len(columns) - 1)
    return [f"| {' | '.join(map(str, row))} |" for row in ([c.strip() for c in columns], marks, *rows)]


def _head(cases: Sequence[Agreement], ordered: Sequence[Ordering], *, traces: bool) -> list[str]:
    exact = sum(case.differing == 0 for case in cases)
    same = sum(order.same_order for order in ordered)
    lines = [
        "# Fidelity of the scheduler model",
        "",
        "Written by `make bench-fidelity`. The truth is Hadoop 3.4.2's own scheduler under a virtual clock",
        "([the oracle](../docs/oracle.md)). *Exact*: of every job the start of the AM, the first task and the end are",
        "Hadoop's to 1e-6 s, and the same jobs are refused.",
        "",
        f"- {exact} of {len(cases)} cases are exact.",
        f"- In {same} of {len(ordered)} workloads, a dozen configurations and more are in Hadoop's order.",
        f"- {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}; "
        f"load average {os.getloadavg()[0]:.1f} at the end of the run.",
    ]
    return lines if traces else [*lines, "- Without the cases of real traces, whose data was not there."]


def _goals(
    cases: Sequence[Agreement],
    ordered: Sequence[Ordering],
    compiling: Mapping[str, Mapping[str, Sequence[float]]],
    grown: Sequence[Growth],
) -> list[str]:
    """Each goal with its figure; one that is missed says so."""
    exact, same = sum(case.differing == 0 for case in cases), sum(order.same_order for order in ordered)
    cpu = np.array([case.cpu_ratio for case in cases])
    fewest = min(sum(case.group.startswith(kind) for case in cases) for kind in ("Capacity", "Fair"))
    endless = [order for order in ordered if order.unfinished[0]]
    agreed = sum(order.unfinished[0] == order.unfinished[1] for order in endless)
    cold, disk = (max(starts[start][2] for starts in compiling.values()) for start in ("cold", "disk"))
    least = min(max(growth.tasks for growth in grown if growth.scheduler == kind) for kind in ("capacity", "fair"))
    goals: list[tuple[str, str, bool]] = [
        ("every case exact", f"{exact} of {len(cases)}", exact == len(cases)),
        ("40 cases of each scheduler", f"{fewest} at least", fewest >= 40),
        ("configurations in Hadoop's order, 6 workloads", f"{same} of {len(ordered)}", same == len(ordered) >= 6),
        ("jobs that never end: as many as in Hadoop", f"{agreed} of {len(endless)}", agreed == len(endless) > 0),
        ("CPU time, oracle / estimator: median 100", f"{np.median(cpu):.0f}", bool(np.median(cpu) >= 100)),
        ("CPU time, oracle / estimator: worst 30", f"{cpu.min():.0f}", bool(cpu.min() >= 30)),
        ("first call, nothing compiled: 15 s of CPU", f"{cold:.1f} s", cold <= 15),
        ("first call, from the disk: 0.5 s of CPU", f"{disk:.2f} s", disk <= 0.5),
        ("200,000 tasks on 1,000 nodes, both schedulers", f"{least} tasks", least >= 200_000),
    ]
    return ["## Goals", "", *_table("goal|figure|met", ((*row, "yes" if met else "**no**") for *row, met in goals))]


def _groups(cases: Sequence[Agreement]) -> list[str]:
    rows = []
    for group in dict.fromkeys(case.group for case in cases):
        own = [case for case in cases if case.group == group]
        errors_s = np.concatenate([case.errors_s for case in own])
        jobs = len(errors_s)
        right = jobs - sum(case.differing for case in own)
        exact = sum(case.differing == 0 for case in own)
        parts = np.concatenate([case.errors_s / np.maximum(case.latencies_s, 1e-9) for case in own])
        means = max(abs(case.mean_latency_s[1] / case.mean_latency_s[0] - 1) for case in own)
        percents = (f"{100 * value:.2f} %" for value in (means, np.median(parts), np.percentile(parts, 95)))
        rows.append((group, len(own), exact, jobs, right, *percents, *_errors(errors_s)))
    head = "cases|number|exact|jobs|exact|worst mean latency|jobs' error, median|p95|mean s|median s|p95 s|largest s"
    return ["## Agreement", "", *_table(head, rows)]


def _errors(errors_s: NDArray[np.float64]) -> tuple[str, ...]:
    values = errors_s.mean(), np.median(errors_s), np.percentile(errors_s, 95), errors_s.max()
    return tuple("0" if value <= 1e-6 else f"{value:.2f}" for value in values)


def _inexact(cases: Sequence[Agreement]) -> list[str]:
    rows = []
    for case in cases:
        if case.differing:
            mechanism = MECHANISMS.get(case.group, case.group)
            rows.append((case.name, mechanism, case.jobs, case.differing, *_errors(case.errors_s), *_means(case)))
    head = "case|what differs|jobs|differ|error of latency, mean s|median s|p95 s|largest s|mean, Hadoop s|model s"
    return ["## Cases that are not exact", "", *(_table(head, rows) if rows else ["None."])]


def _means(case: Agreement) -> tuple[str, ...]:
    return tuple(f"{mean:.1f}" for mean in case.mean_latency_s)


def _orders(ordered: Sequence[Ordering]) -> list[str]:
    rows = [
        (
            order.name,
            order.configurations,
            order.distinct,
            "yes" if order.same_order else "no",
            order.discordant,
            order.best[0],
            order.best[1],
            f"{order.unfinished[0]}, {order.unfinished[1]}",
        )
        for order in ordered
    ]
    head = "workload|configurations|different outcomes|same order|pairs the wrong way|Hadoop's best|the model's best"
    head += "|most jobs without an end"
    intro = ["Configurations are ordered by jobs without an end, then by mean latency.", ""]
    return ["## Order of configurations", "", *intro, *_table(head, rows)]


def _speed(cases: Sequence[Agreement]) -> list[str]:
    wall = np.array([case.oracle_s / case.estimate_s for case in cases])
    replay = np.array([case.replay_s / case.estimate_s for case in cases])
    cpu = np.array([case.cpu_ratio for case in cases])
    rows = [
        (name, f"{np.median(ratios):.0f}", f"{ratios.min():.0f}", cases[int(ratios.argmin())].name)
        for name, ratios in (
            ("wall time of the replay", wall),
            ("wall time without the start of the ResourceManager", replay),
            ("CPU time of the replay, all threads, by CPU time", cpu),
        )
    ]
    intro = [
        "One run: the oracle in one warm JVM, the estimator in one process with its code compiled, from the parsed",
        f"case to the result (limits derived anew, alone-latencies included), the best of five. {len(cases)} cases.",
        "",
    ]
    return ["## Speed", "", *intro, *_table("oracle's time / estimator's|median|worst|of", rows)]


def _compiling(compiling: Mapping[str, Mapping[str, Sequence[float]]]) -> list[str]:
    rows = [
        (f"{scheduler}, {'nothing compiled' if start == 'cold' else 'from the disk'}", *(f"{t:.2f}" for t in times))
        for scheduler, starts in compiling.items()
        for start, times in starts.items()
    ]
    return ["## Compiling", "", *_table("first call of a process|imports s|call, wall s|call, CPU s", rows)]


def _growth(grown: Sequence[Growth]) -> list[str]:
    rows = []
    for growth in grown:
        each_us = 1e6 * growth.estimate_s / growth.tasks
        rows.append(
            (growth.scheduler, growth.nodes, growth.jobs, growth.tasks, f"{growth.estimate_s:.3f}", f"{each_us:.0f}")
        )
    head = "scheduler|nodes|jobs|tasks|estimate, CPU s|for each task, microseconds"
    exponents = []
    for scheduler in dict.fromkeys(growth.scheduler for growth in grown):
        own = [growth for growth in grown if growth.scheduler == scheduler]
        logs = np.log([[growth.tasks, growth.estimate_s] for growth in own])
        exponents.append(f"{scheduler} {np.polyfit(logs[:, 0], logs[:, 1], 1)[0]:.2f}")
    closing = ["", f"Time grows with tasks (and nodes with them) to the power of: {', '.join(exponents)}."]
    return ["## Growth", "", "The load of a node stays the same.", "", *_table(head, rows), *closing]


def _all(cases: Sequence[Agreement]) -> list[str]:
    rows = [
        (
            case.name,
            case.group,
            case.jobs,
            case.tasks,
            "yes" if case.differing == 0 else f"{case.differing} jobs differ",
            f"{case.utilisation:.0%}",
            f"{np.median(case.latencies_s):.1f}",
            f"{np.percentile(case.latencies_s, 95):.1f}",
            f"{case.oracle_s:.2f}",
            f"{1000 * case.estimate_s:.1f}",
            f"{case.oracle_s / case.estimate_s:.0f}",
        )
        for case in cases
    ]
    return [
        "## All cases",
        "",
        *_table("case|of|jobs|tasks|exact|memory held|median latency s|p95 s|oracle s|estimator ms|ratio", rows),
    ]
