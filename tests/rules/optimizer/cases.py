"""Small cases for the optimizer's tests."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from workloads.trace import Case, parse_case

PREFIX = "yarn.scheduler.capacity."
DOMINANT = "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator"


def capacities(**parts: str) -> dict[str, str]:
    """Capacities by path, ``__`` for a dot; ``queues`` of the parents follow from them."""
    by_path = {f"root.{name.replace('__', '.')}": text for name, text in parts.items()}
    children: dict[str, list[str]] = {}
    for path in by_path:
        parent, _, name = path.rpartition(".")
        children.setdefault(parent, []).append(name)
    conf = {f"{PREFIX}{parent}.queues": ",".join(names) for parent, names in children.items()}
    return conf | {f"{PREFIX}{path}.capacity": text for path, text in by_path.items()}


CONFIGURATIONS: Mapping[str, dict[str, str]] = {
    "percent": capacities(a="33.33", b="33.33", c="33.34"),
    "nested": capacities(a="40", b="60", a__x="50", a__y="50", b__z="12.5", b__w="87.5"),
    "weights": capacities(a="1w", b="3w", c="4w"),
    "absolute": capacities(
        a="[memory=8192,vcores=8]",
        b="[memory=16384,vcores=16]",
        a__x="[memory=2048,vcores=2]",
        a__y="[memory=6144,vcores=6]",
        b__z="[memory=8192,vcores=4]",
        b__w="[memory=8192,vcores=12]",
    ),
}
ALLOCATIONS = """<?xml version="1.0"?>
<!-- kept -->
<allocations>
  <queue name="a"><weight>2.0</weight></queue>
  <queue name="b">
    <queue name="z"><maxAMShare>0.3</maxAMShare></queue>
    <queue name="w"><schedulingPolicy>fifo</schedulingPolicy></queue>
  </queue>
  <user name="ann"><maxRunningApps>5</maxRunningApps></user>
</allocations>
"""


def contended(conf: Mapping[str, str], leaves: list[str], *, jobs: int = 40, seed: int = 1, **more: Any) -> Case:
    """Jobs that come in faster than three nodes can serve them, most of them in the first leaf."""
    draw = random.Random(seed)
    found = []
    for i in range(jobs):
        queue = leaves[0] if draw.random() < 0.6 else draw.choice(leaves)
        tasks = [{"duration": draw.uniform(5, 40), "memory": 1024} for _ in range(draw.choice([1, 4, 20]))]
        job = {"id": f"j{i}", "user": f"u{draw.randrange(3)}", "queue": queue, "submit": draw.uniform(0, 300)}
        found.append({**job, "am_memory": 512, "tasks": tasks})
    site = {"yarn.scheduler.minimum-allocation-mb": "512", f"{PREFIX}resource-calculator": DOMINANT}
    nodes = [{"memory": 8192, "vcores": 8}] * 3
    return parse_case({"conf": {**site, **conf}, "nodes": nodes, "jobs": found, "horizon": 8000, **more})


def case_of(kind: str, **more: Any) -> Case:
    """A contended case in one of the modes, or under the Fair Scheduler."""
    if kind == "fair":
        leaves = ["root.a", "root.b.z", "root.b.w"]
        return contended({}, leaves, scheduler="fair", allocations=ALLOCATIONS, **more)
    flat = kind in ("percent", "weights")
    leaves = ["root.a", "root.b", "root.c"] if flat else ["root.a.x", "root.a.y", "root.b.z", "root.b.w"]
    return contended(CONFIGURATIONS[kind], leaves, **more)
