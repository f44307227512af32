"""What the queue tuner brings: windows of real traces, judged by Hadoop's own schedulers.

    python -m benchmarks.queues               # every part that has no result yet, then the report
    python -m benchmarks.queues --part NAME   # one part
    python -m benchmarks.queues --report      # the report alone, of what there is
    python -m benchmarks.queues --fresh       # everything anew

A part's result is kept in the cache folder, so that a run that was stopped goes on where it was; results of another
version of the code are not taken.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from benchmarks.queue_baseline import random_and_local
from benchmarks.queue_report import write_report
from benchmarks.queue_tree import tree_case
from benchmarks.queue_windows import WINDOWS, Window, clock_scheduled, window_case
from rules.backtest.loop import backtest
from rules.estimator import alone_latencies, estimate, warm_up
from rules.forecast.decision import ForecastPlan
from rules.forecast.search import optimizer_search
from rules.optimizer import Optimum, optimize
from rules.optimizer.judge import Judge
from rules.optimizer.optimize import make_space
from rules.optimizer.whole import Whole
from rules.policy import NO_LIMITS, Objective
from tests.oracle.runner import replay
from tuner.settings import Settings
from workloads.trace import Case, case_to_json, parse_case

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("YARNTUNE_TEST_DATA") or ROOT.parent / "shared" / "data")
_HELD_AGAINST = (
    "facebook 7h by team (capacity)",
    "facebook 7h by team, Spark (capacity)",
    "facebook 7h by size (capacity)",
    "facebook 7h by team (fair)",
)
_BASELINE_S = 60.0
_TREES = (50, 100, 200)
_TREE_JOBS = 2000
_TREE_LIMIT_S = 40.0


def parts() -> dict[str, Callable[[], dict[str, Any]]]:
    """Every part of the benchmark by name."""
    found: dict[str, Callable[[], dict[str, Any]]] = {}
    for name, window in WINDOWS.items():
        for scheduler in window.schedulers:
            found[f"{name} ({scheduler})"] = partial(compare_ways, window, scheduler)
    for name in _HELD_AGAINST:
        window, scheduler = WINDOWS[name.rpartition(" (")[0]], name.rpartition("(")[2].rstrip(")")
        found[f"search: {name}"] = partial(compare_searches, window, scheduler)
    for leaves in _TREES:
        found[f"tree: {leaves}"] = partial(grow, leaves)
    return found


def compare_ways(window: Window, scheduler: Any) -> dict[str, Any]:
    """The four ways to run a window, each replayed by Hadoop's scheduler."""
    case = window_case(window, scheduler, DATA)
    warm_up(case)
    best = optimize(case, NO_LIMITS, guard="none", clock=time.process_time)
    policy = msgspec.structs.replace(NO_LIMITS, cool_down_s=0.0)
    plan = ForecastPlan(guarded=False)
    # No limit in seconds, so that the result is the same on every machine and under any load.
    search = optimizer_search(plan, clock=time.process_time, decision_limit_s=math.inf)
    begin = time.process_time()
    loop = backtest(case, window.every_s, policy, plan, search)
    backtest_s = time.process_time() - begin
    ways = {
        "static": case,
        "clock": clock_scheduled(case),
        "optimize": applied(case, best),
        "adaptive": replace(case, updates=loop.updates),
    }
    truth = replay([case_to_json(way) for way in ways.values()])
    return {
        "jobs": len(case.jobs),
        "nodes": len(case.nodes),
        "ways": {name: judged(case, result) for name, result in zip(ways, truth, strict=True)},
        "predicted": best.predicted.summary.mean_latency_s,
        "evaluations": best.evaluations,
        "leaf_evaluations": best.leaf_evaluations,
        "optimize_s": best.elapsed_s,
        "updates": len(loop.updates),
        "backtest_s": backtest_s,
    }


def applied(case: Case, found: Optimum) -> Case:
    """The case under what was found."""
    if found.allocations is not None:
        return replace(case, allocations=found.allocations)
    return replace(case, conf={**case.conf, **found.conf})


def judged(case: Case, result: Mapping[str, Any]) -> dict[str, Any]:
    """Mean, median and 95th percentile of what the oracle says."""
    if "error" in result:
        return {"error": result["error"]}
    ends = np.array([job["finish"] if job["finish"] >= 0 else case.horizon_s for job in result["jobs"]])
    latencies_s = ends - [job["submit"] for job in result["jobs"]]
    return {
        "unfinished": sum(job["finish"] < 0 for job in result["jobs"]),
        "mean": float(latencies_s.mean()),
        "median": float(np.median(latencies_s)),
        "p95": float(np.percentile(latencies_s, 95)),
    }


def compare_searches(window: Window, scheduler: Any) -> dict[str, Any]:
    """The optimizer against 60 seconds (of CPU) of random and local search over the same estimator and knobs."""
    case = window_case(window, scheduler, DATA)
    warm_up(case)
    best = optimize(case, NO_LIMITS, guard="none", clock=time.process_time)
    space = make_space(case, NO_LIMITS)
    paths = [[job.path for job in estimate(case).jobs]]
    judge = Judge([case], paths, [alone_latencies(case)], NO_LIMITS, Objective.MEAN, guarded=False)
    whole = Whole(space, [case], judge)
    _, score = random_and_local(space, whole, _BASELINE_S, seed=0)
    return {
        "default": best.baseline.cost,
        "optimize": best.predicted.cost,
        "optimize_unfinished": best.predicted.summary.unfinished,
        "evaluations": best.evaluations,
        "leaf_evaluations": best.leaf_evaluations,
        "seconds": best.elapsed_s,
        "baseline": score.cost,
        "baseline_unfinished": score.unfinished,
        "baseline_evaluations": whole.evaluations,
        "baseline_seconds": _BASELINE_S,
    }


def grow(leaves: int) -> dict[str, Any]:
    """A tree of so many leaves: with the limit that the command has, and to the end of the search."""
    case = parse_case(tree_case(leaves, _TREE_JOBS))
    warm_up(case)
    found, whole = (
        optimize(case, NO_LIMITS, guard="none", clock=time.process_time, time_limit_s=limit_s)
        for limit_s in (_TREE_LIMIT_S, math.inf)
    )
    return {
        "leaves": leaves,
        "jobs": len(case.jobs),
        "nodes": len(case.nodes),
        "seconds": found.elapsed_s,
        "evaluations": found.evaluations,
        "leaf_evaluations": found.leaf_evaluations,
        "before": found.baseline.cost,
        "after": found.predicted.cost,
        "unfinished": [found.baseline.summary.unfinished, found.predicted.summary.unfinished],
        "whole_seconds": whole.elapsed_s,
        "whole_after": whole.predicted.cost,
        "whole_evaluations": whole.evaluations,
        "whole_leaf_evaluations": whole.leaf_evaluations,
    }


def _version() -> str:
    """What the results depend on: the sources of the model, the optimizer and this benchmark."""
    digest = hashlib.sha256()
    for source in sorted([*(ROOT / "rules").rglob("*.py"), *(ROOT / "benchmarks").glob("queue*.py")]):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "benchmarks" / "queues.md")
    parser.add_argument("--part", help="this part alone, anew")
    parser.add_argument("--list", action="store_true", help="the names of the parts")
    parser.add_argument("--report", action="store_true", help="write the report of what there is")
    parser.add_argument("--fresh", action="store_true", help="forget all results first")
    options = parser.parse_args()
    folder = Settings.from_environment().cache_dir / "bench-queues" / _version()
    folder.mkdir(parents=True, exist_ok=True)
    files = {name: folder / f"{name.replace(' ', '-').replace(':', '')}.json" for name in parts()}
    if options.list:
        print("\n".join(files))
        return
    if options.fresh:
        for file in files.values():
            file.unlink(missing_ok=True)
    for name, make in parts().items():
        if options.report or options.part not in (None, name) or (files[name].is_file() and options.part is None):
            continue
        begin = time.perf_counter()
        scratch = files[name].with_suffix(".part")
        scratch.write_text(json.dumps(make()))
        scratch.replace(files[name])
        print(f"{name}: {time.perf_counter() - begin:.0f} s", flush=True)
    found = {name: json.loads(file.read_text()) for name, file in files.items() if file.is_file()}
    write_report(options.output, found, list(files))


if __name__ == "__main__":
    main()
