"""How near the scheduler model is to Hadoop, and how fast: ``python -m benchmarks.fidelity`` (``make bench-fidelity``).

Every case of ``tests/fidelity`` goes through Hadoop's own scheduler (``tests/oracle``) and through the estimator, in
one run on one machine; ``benchmarks/fidelity.md`` has the result. Needs a JDK and Maven. Cases of real traces are left
out, and said to be, where the data is not there.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.fidelity_report import Agreement, Growth, Ordering, write_report
from rules.estimator import Estimate, estimate, warm_up
from tests.fidelity import capacity_cases, capacity_modes, fair_cases, preemption_cases
from tests.fidelity.configurations import alternatives, contended_case
from tests.fidelity.trace_cases import trace_cases
from tests.oracle.runner import replay
from workloads.trace import Case, parse_case

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("YARNTUNE_TEST_DATA") or ROOT.parent / "shared" / "data")
CaseFile = dict[str, Any]
_EXACT_S = 1e-6
_REPEATS = 5
_GROWTH_JOBS = 47
_WARM_UP = ("weights", "percent-1")
_ORDERED = ("facebook 7h, by size (capacity)", "facebook 7h, by team (capacity)", "facebook 7h, by team (fair)")
_ORDERED_EXECUTORS = "facebook 7h, by team, executors (capacity)"


def groups() -> dict[str, dict[str, CaseFile]]:
    """All cases, by what they are for."""
    found: dict[str, dict[str, CaseFile]] = {
        "Capacity: one mechanism each": capacity_cases.MECHANISM_CASES,
        **{
            f"Capacity: random mixes, {mode}": {
                name: case
                for name, case in (capacity_cases.RANDOM_CASES | capacity_modes.LONG_CASES).items()
                if name.startswith(mode)
            }
            for mode in ("percent", "weight", "absolute")
        },
        "Capacity: users' weights": capacity_modes.USER_WEIGHT_CASES,
        "Capacity: vectors and mixed modes": capacity_modes.VECTOR_CASES,
        "Capacity: asynchronous": capacity_modes.ASYNCHRONOUS_CASES,
        "Capacity: node labels": capacity_modes.LABEL_CASES,
        "Capacity: preemption": preemption_cases.PREEMPTION_CASES,
        "Capacity: changed while running": capacity_cases.UPDATE_CASES,
        "Capacity: parallel applications": capacity_cases.PARALLEL_CASES,
        "Fair: mechanisms and mixes": {name: make() for name, make in fair_cases.FAIR_CASES.items()},
        "Fair: preemption": {name: make() for name, make in fair_cases.PREEMPTION_CASES.items()},
    }
    if DATA.is_dir():
        traces = trace_cases(DATA)
        for scheduler in ("capacity", "fair"):
            chosen = {name: case for name, case in traces.items() if name.endswith(f"({scheduler})")}
            found[f"{scheduler.capitalize()}: windows of real traces"] = chosen
    return found


def count_tasks(case: Case) -> int:
    return sum(len(job.tasks) + sum(len(stage) for stage in job.stages) for job in case.jobs)


def timed(case: Case) -> tuple[Estimate, float, float]:
    """The estimate, and the best wall and CPU seconds of several."""
    best = best_cpu = np.inf
    for _ in range(_REPEATS):
        begin, begin_cpu = time.perf_counter(), time.process_time()
        found = estimate(case)
        best_cpu = min(best_cpu, time.process_time() - begin_cpu)
        best = min(best, time.perf_counter() - begin)
    return found, best, best_cpu


def agree(group: str, name: str, case_file: CaseFile, truth: Mapping[str, Any]) -> Agreement:
    case = parse_case(case_file)
    found, estimate_s, estimate_cpu_s = timed(case)
    true = truth["jobs"]
    differing = sum(
        bool(np.abs(np.array(times) - [job["am_start"], job["first"], job["finish"]]).max() > _EXACT_S)
        or (mine.rejected is not None) != ("rejected" in job)
        for mine, job in zip(found.jobs, true, strict=True)
        for times in [(mine.am_start_s, mine.first_s, mine.finish_s)]
    )
    ends = np.array([job["finish"] if job["finish"] >= 0 else case.horizon_s for job in true])
    latencies_s = ends - [job["submit"] for job in true]
    return Agreement(
        group=group,
        name=name,
        jobs=len(true),
        tasks=count_tasks(case),
        differing=differing,
        errors_s=np.abs(found.latencies_s(case.horizon_s) - latencies_s),
        latencies_s=latencies_s,
        utilisation=found.utilisation.get("root", 0.0),
        mean_latency_s=(float(latencies_s.mean()), found.summary.mean_latency_s),
        oracle_s=truth["wall_seconds"],
        oracle_cpu_s=truth["cpu_seconds"],
        replay_s=truth["replay_seconds"],
        estimate_s=estimate_s,
        estimate_cpu_s=estimate_cpu_s,
    )


def agreements(cached: bool) -> list[Agreement]:
    """All cases; the oracle's batch begins with some that only warm it up."""
    cases = [(group, name, case) for group, found in groups().items() for name, case in found.items()]
    first = [case for _, name, case in cases if name in _WARM_UP]
    for scheduler in ("capacity", "fair"):
        warm_up(parse_case(contended_case(scheduler, 1)))
    # The same case twice in a batch is replayed once: horizons of their own make the warm-up cases others.
    warming = [case | {"horizon": float(case["horizon"]) + 1 + i} for case in first for i in range(3)]
    results = replay([*warming, *(case for _, _, case in cases)], cached=cached)[len(warming) :]
    return [agree(*case, result) for case, result in zip(cases, results, strict=True)]


def rank(case: CaseFile, jobs: Sequence[Mapping[str, Any]]) -> tuple[int, float]:
    """Jobs without an end, then the mean latency, of the oracle's result."""
    ends = [job["finish"] if job["finish"] >= 0 else case["horizon"] for job in jobs]
    waits = [end - job["submit"] for end, job in zip(ends, jobs, strict=True)]
    return sum(job["finish"] < 0 for job in jobs), round(sum(waits) / len(waits), 6)


def orderings(cached: bool) -> list[Ordering]:
    """Workloads under a dozen configurations each."""
    bases = {f"synthetic ({scheduler})": contended_case(scheduler, 1) for scheduler in ("capacity", "fair")}
    if DATA.is_dir():
        traces = trace_cases(DATA)
        bases |= {name: traces[name] for name in (*_ORDERED, _ORDERED_EXECUTORS)}
    else:
        more = [(kind, seed) for kind in ("capacity", "fair") for seed in (2, 3)]
        bases |= {f"synthetic {seed} ({kind})": contended_case(kind, seed) for kind, seed in more}
    return [order(name, alternatives(base), cached=cached) for name, base in bases.items()]


def order(name: str, cases: Mapping[str, CaseFile], *, cached: bool) -> Ordering:
    results = replay(list(cases.values()), cached=cached)
    true = {label: rank(cases[label], result["jobs"]) for label, result in zip(cases, results, strict=True)}
    found = {}
    for label, case in cases.items():
        summary = estimate(parse_case(case)).summary
        found[label] = (summary.unfinished, round(summary.mean_latency_s, 6))
    labels = list(cases)
    pairs = [(a, b) for i, a in enumerate(labels) for b in labels[:i]]
    return Ordering(
        name=name,
        configurations=len(cases),
        distinct=len(set(true.values())),
        same_order=sorted(labels, key=true.__getitem__) == sorted(labels, key=found.__getitem__),
        discordant=sum((true[a] < true[b]) != (found[a] < found[b]) for a, b in pairs if true[a] != true[b]),
        best=(min(labels, key=true.__getitem__), min(labels, key=found.__getitem__)),
        unfinished=(max(rank[0] for rank in true.values()), max(rank[0] for rank in found.values())),
    )


_COMPILE = """
import time
begin = time.perf_counter(), time.process_time()
from rules.estimator import warm_up
from tests.fidelity.configurations import contended_case
from workloads.trace import parse_case
case = parse_case(contended_case({scheduler!r}, 1))
imported = time.perf_counter(), time.process_time()
warm_up(case)
print(imported[0] - begin[0], time.perf_counter() - imported[0], time.process_time() - imported[1])
"""


def compile_times(scheduler: str) -> dict[str, list[float]]:
    """Imports, then wall and CPU seconds of the first call, without and with the code on the disk."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
        # As on any machine, Python keeps what it has compiled of its libraries; only ours is compiled anew here.
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        found = {}
        for start in ("cold", "disk"):
            program = _COMPILE.format(scheduler=scheduler)
            done = subprocess.run(
                [sys.executable, "-c", program],
                check=True,
                capture_output=True,
                text=True,
                env=environment,
                cwd=ROOT,
                timeout=600,
            )
            found[start] = [float(part) for part in done.stdout.split()]
        return found


def growth() -> list[Growth]:
    """A part of the synthetic hour, on more nodes with as many more jobs: the load of a node stays the same."""
    found = []
    for scheduler in ("capacity", "fair"):
        base = contended_case(scheduler, 1)
        base["jobs"] = base["jobs"][:_GROWTH_JOBS]
        for times in (3, 10, 33, 100, 334):
            case = parse_case(scaled(base, times))
            begin = time.process_time()
            estimate(case)
            spent = time.process_time() - begin
            found.append(Growth(scheduler, len(case.nodes), len(case.jobs), count_tasks(case), spent))
    return found


def scaled(case: CaseFile, times: int) -> CaseFile:
    """Each job several times, submitted a little apart; users stay in proportion."""
    jobs = [
        job | {"id": f"{job['id']}-{i}", "submit": job["submit"] + 20 * i / times, "user": f"{job['user']}-{i % 10}"}
        for job in case["jobs"]
        for i in range(times)
    ]
    return case | {"nodes": case["nodes"] * times, "jobs": jobs}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "benchmarks" / "fidelity.md")
    parser.add_argument("--cached", action="store_true", help="take what the oracle knows; its times are then old ones")
    options = parser.parse_args()
    cases = agreements(options.cached)
    ordered = orderings(cached=True)
    compiling = {scheduler: compile_times(scheduler) for scheduler in ("capacity", "fair")}
    write_report(options.output, cases, ordered, compiling, growth(), traces=DATA.is_dir())


if __name__ == "__main__":
    main()
