"""A large hierarchy of queues, to see how the optimizer's time grows with their number."""

from __future__ import annotations

import random
from typing import Any

__all__ = ["tree_case"]

_PREFIX = "yarn.scheduler.capacity."
_LEAVES_OF_PARENT = 10
_PARENTS_OF_TOP = 4


def tree_case(leaves: int, jobs: int, seed: int = 1) -> dict[str, Any]:
    """A case with so many leaf queues in three levels of equal parts, and jobs of very unequal queues."""
    draw = random.Random(seed)
    conf: dict[str, str] = {"yarn.scheduler.minimum-allocation-mb": "512"}
    paths: list[str] = []
    parents = max(leaves // _LEAVES_OF_PARENT, 1)
    tops = max(parents // _PARENTS_OF_TOP, 1)
    below = {f"root.t{top}": [f"p{parent}" for parent in range(top, parents, tops)] for top in range(tops)}
    _divide(conf, "root", [f"t{top}" for top in range(tops)])
    for top, names in below.items():
        _divide(conf, top, names)
        for name in names:
            number = int(name[1:])
            own = [f"q{number}-{leaf}" for leaf in range(leaves // parents + (number < leaves % parents))]
            _divide(conf, f"{top}.{name}", own)
            paths += [f"{top}.{name}.{leaf}" for leaf in own]
    demand = [draw.paretovariate(1.2) for _ in paths]
    found = []
    for i in range(jobs):
        queue = draw.choices(paths, demand)[0]
        count = draw.choice([1, 2, 4, 8, 30])
        tasks = [{"duration": max(1.0, draw.lognormvariate(3.0, 0.6)), "memory": 1024} for _ in range(count)]
        job = {"id": f"j{i}", "user": f"{queue}-{draw.randrange(3)}", "queue": queue, "submit": draw.uniform(0, 3600)}
        found.append({**job, "am_memory": 512, "tasks": tasks})
    work = sum(task["duration"] for job in found for task in job["tasks"])
    nodes = max(round(work / 3600 / 8 / 0.75), leaves // 8, 1)
    return {"conf": conf, "nodes": [{"memory": 8192, "vcores": 8}] * nodes, "jobs": found, "horizon": 21600}


def _divide(conf: dict[str, str], parent: str, names: list[str]) -> None:
    """Equal parts in hundredths of a percent; the last takes the rest."""
    conf[f"{_PREFIX}{parent}.queues"] = ",".join(names)
    each = 10_000 // len(names)
    for i, name in enumerate(names):
        part = each if i < len(names) - 1 else 10_000 - each * (len(names) - 1)
        conf[f"{_PREFIX}{parent}.{name}.capacity"] = f"{part / 100:.2f}"
