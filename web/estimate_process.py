"""The process that estimates: a question on each line of stdin, its answer on a line of stdout."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rules.estimator import Estimate, Summary, alone_latencies, estimate
from rules.explain.model import Explanation
from rules.rulesets.capacity_case import check_capacity
from tuner.errors import YarntuneError
from workloads.trace import Case, parse_case

_MOST_JOBS = 200
_MOST_EXPLAINED = 50


def answer(question: Mapping[str, Any]) -> dict[str, Any]:
    """Estimates the workload under both configurations and compares them, queue by queue and job by job.

    Raises:
        InputError: one of the cases is not one that the ResourceManager would start with.
    """
    before, after = parse_case(question["before"]), parse_case(question["after"])
    for case in (before, after):
        if case.scheduler == "capacity":
            check_capacity(case)
    began_s = time.perf_counter()
    alone_s = alone_latencies(before)
    first = estimate(before, alone_s=alone_s)
    second = estimate(after, alone_s=alone_s)
    return {
        "elapsed_s": time.perf_counter() - began_s,
        "queues": _queues(before, first, second),
        "rules": _rules(first, second),
        "jobs": _jobs(before, first, second),
        "utilisation": {"before": first.utilisation.get("root"), "after": second.utilisation.get("root")},
    }


def reasons() -> dict[str, Any]:
    """Why each application of the live cluster waits, and what would free it.

    Raises:
        YarntuneError: the cluster is not there or does not answer.
    """
    from rules.explain.explain import explain
    from rules.live.read import connect, read_cluster
    from tuner.settings import Settings

    client, target = connect(Settings.from_environment())
    with client:
        live = read_cluster(client, target, time.time())
    waiting = [application for application in live.applications if application.waiting][:_MOST_EXPLAINED]
    return {"reasons": [_reason(each) for each in explain(live, waiting, effects=False)]}


def _reason(found: Explanation) -> dict[str, str | None]:
    frees = found.no_remedy or None
    if found.remedy is not None:
        frees = "; ".join(
            f"{each.property}: {each.before or 'not set'} → {each.after or 'not set'}" for each in found.remedy.changes
        )
    return {"application": found.application.id, "rule": found.rule, "why": found.reason, "frees": frees}


def _queues(case: Case, first: Estimate, second: Estimate) -> list[dict[str, Any]]:
    changes_s = second.latencies_s(case.horizon_s) - first.latencies_s(case.horizon_s)
    paths = [job.path for job in second.jobs]
    rows = [_queue("all", first.summary, second.summary, changes_s)]
    for path in sorted({*first.by_queue, *second.by_queue}):
        mine = np.array([each == path for each in paths])
        rows.append(_queue(path, first.by_queue.get(path), second.by_queue.get(path), changes_s[mine]))
    return rows


def _queue(path: str, first: Summary | None, second: Summary | None, changes_s: Any) -> dict[str, Any]:
    row: dict[str, Any] = {"queue": path, "jobs": len(changes_s)}
    for name, summary in (("before", first), ("after", second)):
        row |= {
            f"mean_{name}_s": None if summary is None else summary.mean_latency_s,
            f"p95_{name}_s": None if summary is None else summary.p95_latency_s,
            f"slowdown_{name}": None if summary is None else summary.mean_slowdown,
            f"unfinished_{name}": None if summary is None else summary.unfinished,
        }
    return row | _bounds(changes_s)


def _bounds(changes_s: Any) -> dict[str, Any]:
    """Mean change of the jobs' latencies, and two standard errors around it (about 95 % where jobs are many)."""
    if len(changes_s) == 0:
        return {"change_s": None, "low_s": None, "high_s": None}
    mean_s = float(changes_s.mean())
    if len(changes_s) == 1:
        return {"change_s": mean_s, "low_s": None, "high_s": None}
    spread_s = 2 * float(changes_s.std(ddof=1)) / float(np.sqrt(len(changes_s)))
    return {"change_s": mean_s, "low_s": mean_s - spread_s, "high_s": mean_s + spread_s}


def _rules(first: Estimate, second: Estimate) -> list[dict[str, Any]]:
    before, after = _waits(first), _waits(second)
    rows = [
        {"rule": rule, "before_s": before.get(rule, 0.0), "after_s": after.get(rule, 0.0)}
        for rule in {**before, **after}
    ]
    return sorted(rows, key=lambda row: -max(row["before_s"], row["after_s"]))


def _waits(found: Estimate) -> dict[str, float]:
    waits: dict[str, float] = {}
    for job in found.jobs:
        for binding in job.binding:
            waits[binding.rule] = waits.get(binding.rule, 0.0) + binding.seconds
    return waits


def _jobs(case: Case, first: Estimate, second: Estimate) -> list[dict[str, Any]]:
    """The jobs that change most."""
    before_s, after_s = first.latencies_s(case.horizon_s), second.latencies_s(case.horizon_s)
    order: Sequence[int] = np.argsort(-np.abs(after_s - before_s), kind="stable")[:_MOST_JOBS].tolist()
    return [
        {
            "job": second.jobs[i].id,
            "queue": second.jobs[i].path,
            "before_s": float(before_s[i]),
            "after_s": float(after_s[i]),
            "finishes": second.jobs[i].finish_s >= 0,
            "binding": second.jobs[i].rejected or (second.jobs[i].binding[0].rule if second.jobs[i].binding else None),
        }
        for i in order
    ]


def main() -> None:
    """Answers until stdin ends."""
    for line in sys.stdin:
        try:
            question = json.loads(line)
            value: dict[str, Any] = {"result": reasons() if "explain" in question else answer(question)}
        except YarntuneError as error:
            value = {"problem": error.message, "hint": error.hint}
        except Exception as error:
            # What the caller shows must be a sentence; what it was is for the server's log.
            print(f"estimate failed: {type(error).__name__}: {error}", file=sys.stderr)
            value = {"problem": "the estimator failed on this case", "hint": "the server's log says why"}
        print(json.dumps(value, allow_nan=False), flush=True)


if __name__ == "__main__":
    main()
