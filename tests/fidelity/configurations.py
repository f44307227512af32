"""Configurations to be told apart: the same workload under a dozen settings that differ in what they change."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

__all__ = ["alternatives", "contended_case"]

CaseFile = dict[str, Any]
PREFIX = "yarn.scheduler.capacity."

# Settings of every leaf (or global ones), alone and together. More is not always better: AMs can fill the cluster.
_CAPACITY: Mapping[str, Mapping[str, str]] = {
    "as it is": {},
    "factor 2": {"user-limit-factor": "2"},
    "factor 10": {"user-limit-factor": "10"},
    "fair order": {"ordering-policy": "fair"},
    "AM share 0.5": {"maximum-am-resource-percent": "0.5"},
    "factor 10, fair": {"user-limit-factor": "10", "ordering-policy": "fair"},
    "factor 10, AM share 0.3": {"user-limit-factor": "10", "maximum-am-resource-percent": "0.3"},
    "factor 10, fair, AM share 0.5": {
        "user-limit-factor": "10",
        "ordering-policy": "fair",
        "maximum-am-resource-percent": "0.5",
    },
    "factor 10, fair, AM share 0.7": {
        "user-limit-factor": "10",
        "ordering-policy": "fair",
        "maximum-am-resource-percent": "0.7",
    },
    "factor 10, fair, AM share 0.9": {
        "user-limit-factor": "10",
        "ordering-policy": "fair",
        "maximum-am-resource-percent": "0.9",
    },
    "factor 10, fair, AM share 0.5, minimum 33": {
        "user-limit-factor": "10",
        "ordering-policy": "fair",
        "maximum-am-resource-percent": "0.5",
        "minimum-user-limit-percent": "33",
    },
    "factor 10, capped at 60": {"user-limit-factor": "10", "maximum-capacity": "60"},
    "factor 10, fair, capped at 40": {"user-limit-factor": "10", "ordering-policy": "fair", "maximum-capacity": "40"},
}
_SHARES = ((60, 20, 20), (20, 20, 60))
_FAIR: Mapping[str, str] = {
    "as it is": "",
    "fifo": "<schedulingPolicy>fifo</schedulingPolicy>",
    "AM share 0.2": "<maxAMShare>0.2</maxAMShare>",
    "AM share 0.8": "<maxAMShare>0.8</maxAMShare>",
    "no AM limit": "<maxAMShare>-1</maxAMShare>",
    "2 applications": "<maxRunningApps>2</maxRunningApps>",
    "6 applications": "<maxRunningApps>6</maxRunningApps>",
    "at most 40 %": "<maxResources>40%</maxResources>",
    "at most 60 %, fifo": "<maxResources>60%</maxResources><schedulingPolicy>fifo</schedulingPolicy>",
    "fifo, 4 applications": "<schedulingPolicy>fifo</schedulingPolicy><maxRunningApps>4</maxRunningApps>",
}


def alternatives(case: CaseFile) -> dict[str, CaseFile]:
    """The case under at least 12 configurations, by what they are; its queues are children of root."""
    return dict(_of_fair(case) if case.get("scheduler") == "fair" else _of_capacity(case))


def _of_capacity(case: CaseFile) -> Iterator[tuple[str, CaseFile]]:
    queues = case["conf"][f"{PREFIX}root.queues"].split(",")
    for name, settings in _CAPACITY.items():
        conf = {f"{PREFIX}root.{queue}.{key}": value for queue in queues for key, value in settings.items()}
        yield name, case | {"conf": case["conf"] | conf}
    for shares in _SHARES:
        conf = {f"{PREFIX}root.{queue}.capacity": str(share) for queue, share in zip(queues, shares, strict=True)}
        yield f"shares {shares}", case | {"conf": case["conf"] | conf}


def _of_fair(case: CaseFile) -> Iterator[tuple[str, CaseFile]]:
    queues = sorted({job["queue"] for job in case["jobs"]})

    def allocations(settings: str, weights: Sequence[int]) -> str:
        elements = (
            f'<queue name="{queue.rpartition(".")[2]}"><weight>{weight}</weight>{settings}</queue>'
            for queue, weight in zip(queues, weights, strict=True)
        )
        return f"<allocations>{''.join(elements)}</allocations>"

    for name, settings in _FAIR.items():
        yield name, case | {"allocations": allocations(settings, [1] * len(queues))}
    for weights in ((6, 2, 2), (1, 1, 8)):
        yield f"weights {weights}", case | {"allocations": allocations("", weights)}


def contended_case(scheduler: str, seed: int) -> CaseFile:
    """A synthetic hour of three queues on a cluster that is too small for its peaks."""
    draw = random.Random(seed)
    queues = ("etl", "adhoc", "bi")
    jobs, now = [], 0.0
    for i in range(120):
        now += draw.expovariate(1 / 20)
        queue = draw.choices(queues, (0.6, 0.2, 0.2) if now < 1200 else (0.2, 0.2, 0.6))[0]
        job: dict[str, Any] = {"id": f"j{i}", "user": f"{queue}{draw.randrange(3)}", "queue": queue, "submit": now}
        job["am_memory"] = 512
        count = draw.choice([1, 3, 8, 40])
        durations = [max(1.0, draw.lognormvariate(2.5, 0.5)) for _ in range(count)]
        if i % 4 == 0:
            job["executors"] = {"count": max(1, count // 4), "memory": 2048, "vcores": 2}
            job["stages"] = [durations, durations[: count // 2 + 1]]
        else:
            job["tasks"] = [{"duration": duration, "memory": 1024, "vcores": 1} for duration in durations]
        jobs.append(job)
    case: CaseFile = {"scheduler": scheduler, "nodes": [{"memory": 8192, "vcores": 8}] * 3, "jobs": jobs}
    case |= {"horizon": 20000, "conf": {"yarn.scheduler.minimum-allocation-mb": "512"}}
    if scheduler == "fair":
        return case | {
            "allocations": "<allocations>" + "".join(f'<queue name="{q}"/>' for q in queues) + "</allocations>"
        }
    shares = zip(queues, ("33.33", "33.33", "33.34"), strict=True)
    conf = {f"{PREFIX}root.queues": ",".join(queues)} | {f"{PREFIX}root.{q}.capacity": share for q, share in shares}
    return case | {"conf": case["conf"] | conf}
