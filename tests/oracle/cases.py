"""Random cases of the oracle's own tests: Capacity Scheduler mixes, and small ones of both schedulers."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

PREFIX = "yarn.scheduler.capacity."
DOMINANT = "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator"
Sizes = Sequence[tuple[int, int]]


def random_jobs(draw: random.Random, count: int, queues: Sequence[str], sizes: Sizes, span_s: float) -> list[Any]:
    """Jobs of both kinds; some stages are empty."""
    jobs = []
    for i in range(count):
        job: dict[str, Any] = {
            "id": f"j{i}",
            "user": f"u{draw.randrange(4)}",
            "queue": draw.choice(queues),
            "submit": round(draw.uniform(0, span_s), 2),
            "am_memory": draw.choice([512, 1024, 2048]),
        }
        if draw.random() < 0.35:
            memory, vcores = draw.choice(sizes)
            job["executors"] = {"count": draw.randint(1, 6), "memory": memory, "vcores": vcores}
            job["stages"] = [[round(draw.uniform(1, 20), 3) for _ in range(draw.randint(0, 14))] for _ in range(3)]
            job["stages"].append([1.5])
        else:
            chosen = [draw.choice(sizes) for _ in range(draw.randint(1, 25))]
            job["tasks"] = [{"duration": round(draw.uniform(1, 30), 3), "memory": m, "vcores": v} for m, v in chosen]
        jobs.append(job)
    return jobs


def random_capacity_case(seed: int, count: int = 60) -> dict[str, Any]:
    """Two levels of queues, each with settings of its own; odd seeds are reconfigured twice while they run."""
    draw = random.Random(seed)
    leaves = ["a", "b.x", "b.y", "c"]
    capacities = {"a": 30, "b": 50, "c": 20, "b.x": 60, "b.y": 40}
    conf = {
        PREFIX + "root.queues": "a,b,c",
        PREFIX + "root.b.queues": "x,y",
        PREFIX + "maximum-am-resource-percent": draw.choice(["0.1", "0.3", "0.6"]),
        "yarn.scheduler.minimum-allocation-mb": draw.choice(["512", "1024"]),
    }
    conf |= {f"{PREFIX}root.{queue}.capacity": str(percent) for queue, percent in capacities.items()}
    if draw.random() < 0.5:
        conf[PREFIX + "resource-calculator"] = DOMINANT
    if draw.random() < 0.5:
        conf[PREFIX + "per-node-heartbeat.maximum-offswitch-assignments"] = "4"
    for leaf in leaves:
        conf[f"{PREFIX}root.{leaf}.user-limit-factor"] = draw.choice(["1", "2", "10"])
        conf[f"{PREFIX}root.{leaf}.minimum-user-limit-percent"] = draw.choice(["100", "50", "25"])
        conf[f"{PREFIX}root.{leaf}.ordering-policy"] = draw.choice(["fifo", "fair"])
        if draw.random() < 0.3:
            conf[f"{PREFIX}root.{leaf}.maximum-capacity"] = "80"
    nodes = [{"memory": draw.choice([8192, 12288]), "vcores": 8} for _ in range(max(2, count // 15))]
    sizes = [(1024, 1), (2048, 1), (3072, 2), (4096, 2)]
    jobs = random_jobs(draw, count, ["root." + leaf for leaf in leaves], sizes, 4.0 * count)
    jobs.append({"id": "no-queue", "queue": "nope", "submit": 3.5, "tasks": [{"duration": 1}]})
    jobs.append({"id": "too-large", "queue": "a", "submit": 4.5, "tasks": [{"duration": 1, "memory": 20000}]})
    case: dict[str, Any] = {"scheduler": "capacity", "conf": conf, "nodes": nodes, "jobs": jobs, "horizon": 5000}
    if seed % 2:
        more = {PREFIX + "root.a.capacity": "50", PREFIX + "root.c.capacity": "0"}
        less = {PREFIX + "root.a.capacity": "10", PREFIX + "root.c.capacity": "40"}
        case["updates"] = [
            {"time": 1.3 * count, "conf": more | {PREFIX + "root.b.x.ordering-policy": "fair"}},
            {"time": 2.5 * count + 0.5, "conf": less},
        ]
    return case


def random_fair_case(seed: int, count: int = 20) -> dict[str, Any]:
    """Weights, policies, shares and limits on two levels; odd seeds are reconfigured while they run."""
    draw = random.Random(seed)

    def queue(name: str, inside: str = "") -> str:
        settings = [f"<weight>{draw.choice([1, 2, 3])}</weight>"]
        if not inside:
            settings.append(f"<schedulingPolicy>{draw.choice(['fair', 'fifo'])}</schedulingPolicy>")
            settings.append(f"<maxAMShare>{draw.choice([-1, 0.3, 0.5])}</maxAMShare>")
        if draw.random() < 0.4:
            settings.append("<minResources>4096 mb,4 vcores</minResources>")
        if draw.random() < 0.4:
            settings.append(f"<maxRunningApps>{draw.randint(2, 5)}</maxRunningApps>")
        return f'<queue name="{name}">{"".join(settings)}{inside}</queue>'

    def allocations() -> str:
        return f"<allocations>{queue('a')}{queue('b', queue('x') + queue('y'))}</allocations>"

    conf = {"yarn.scheduler.fair.assignmultiple": draw.choice(["true", "false"])}
    nodes = [{"memory": 8192, "vcores": 8} for _ in range(3)]
    sizes = [(1024, 1), (2048, 1), (4096, 2)]
    jobs = random_jobs(draw, count, ["root.a", "root.b.x", "root.b.y"], sizes, 4.0 * count)
    case = {"scheduler": "fair", "conf": conf, "allocations": allocations(), "nodes": nodes, "jobs": jobs}
    if seed % 2:
        case["updates"] = [{"time": 2.0 * count, "allocations": allocations()}]
    return case | {"horizon": 4000}
