"""Cases for the Capacity Scheduler: random mixes of its mechanisms, and one case for each that a mix may miss.

Workloads are drawn with a fixed seed for each case, so the cases are the same on every run and machine.
"""

from __future__ import annotations

import random
from typing import Any

__all__ = [
    "DOMINANT",
    "MECHANISM_CASES",
    "MINIMUM_MB",
    "PARALLEL_CASES",
    "PREFIX",
    "RANDOM_CASES",
    "UPDATE_CASES",
    "CaseFile",
    "mixed_case",
    "parallel_case",
    "update_case",
]

CaseFile = dict[str, Any]

PREFIX = "yarn.scheduler.capacity."
DOMINANT = "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator"
MINIMUM_MB = "yarn.scheduler.minimum-allocation-mb"

_LEAF_CHOICES: dict[str, tuple[float, tuple[str, ...]]] = {
    "user-limit-factor": (0.7, ("0.5", "2", "3.5", "10", "-1")),
    "minimum-user-limit-percent": (0.5, ("10", "25", "33", "50")),
    "maximum-am-resource-percent": (0.7, ("0.2", "0.5", "0.7", "1")),
    "ordering-policy": (0.5, ("fair",)),
    "ordering-policy.fair.enable-size-based-weight": (0.25, ("true",)),
}


def _nodes(count: int, memory: int = 8192, vcores: int = 8) -> list[dict[str, int]]:
    return [{"memory": memory, "vcores": vcores} for _ in range(count)]


def _jobs(draw: random.Random, leaves: list[str], count: int, *, mixed: bool) -> list[dict[str, Any]]:
    jobs, now = [], 0.0
    for i in range(count):
        now += draw.expovariate(1 / draw.choice([2, 8, 20]))
        job: dict[str, Any] = {
            "id": f"j{i}",
            "user": f"u{draw.randint(0, 3)}",
            "queue": draw.choice(leaves),
            "submit": round(now, 2),
            "am_memory": draw.choice([512, 1024, 1500]),
        }
        most = draw.choice([1, 3, 8, 20])
        if draw.random() < 0.35:
            job["executors"] = {
                "count": draw.randint(1, 6),
                "memory": draw.choice([1024, 2048, 3000]),
                "vcores": draw.choice([1, 2, 3]),
            }
            job["stages"] = [
                [round(draw.uniform(1, 30), 3) for _ in range(draw.randint(0 if stage else 1, most))]
                for stage in range(draw.randint(1, 3))
            ]
        else:
            job["tasks"] = [
                {
                    "duration": round(draw.uniform(1, 40), 3),
                    "memory": draw.choice([512, 1024, 2048, 4000]) if mixed else 1024,
                    "vcores": draw.choice([1, 1, 2]) if mixed else 1,
                }
                for _ in range(most)
            ]
        jobs.append(job)
    return jobs


def _shares(draw: random.Random, count: int) -> list[float]:
    weights = [draw.randint(1, 9) for _ in range(count)]
    shares = [round(100 * weight / sum(weights), 2) for weight in weights]
    shares[-1] = round(100 - sum(shares[:-1]), 2)
    return shares


class _Mix:
    """Draws a configuration and a workload."""

    def __init__(self, seed: int, mode: str, *, jobs: int) -> None:
        self.draw = draw = random.Random(f"{mode}-{seed}")
        self.mode = mode
        kinds = [draw.choice([4096, 8192, 12288]) for _ in range(draw.choice([1, 2, 3, 5, 7]))]
        self.nodes = [
            {"memory": kind, "vcores": 8} for kind in (kinds if draw.random() < 0.4 else kinds[:1] * len(kinds))
        ]
        self.conf: dict[str, str] = {MINIMUM_MB: draw.choice(["256", "512", "1024"])}
        if draw.random() < 0.6:
            self.conf[f"{PREFIX}resource-calculator"] = DOMINANT
        if draw.random() < 0.3:
            self.conf[f"{PREFIX}per-node-heartbeat.maximum-offswitch-assignments"] = draw.choice(["2", "5", "100"])
        if draw.random() < 0.15:
            self.conf[f"{PREFIX}reservations-continue-look-all-nodes"] = "false"
        self.tree = {"root": ["a", "b", "c"]}
        if draw.random() < 0.5:
            self.tree |= {"root.a": ["x", "y"], "root.b": ["z", "w"]}
        self.leaves: list[str] = []
        memory, vcores = (sum(node[amount] for node in self.nodes) for amount in ("memory", "vcores"))
        self._divide("root", memory, vcores)
        for leaf in self.leaves:
            for suffix, (chance, values) in _LEAF_CHOICES.items():
                if draw.random() < chance:
                    self.conf[f"{PREFIX}{leaf}.{suffix}"] = draw.choice(values)
        self.jobs = _jobs(draw, self.leaves, jobs, mixed=draw.random() < 0.5)

    def _divide(self, path: str, memory: int, vcores: int) -> None:
        children = self.tree.get(path)
        if children is None:
            self.leaves.append(path)
            return
        self.conf[f"{PREFIX}{path}.queues"] = ",".join(children)
        for name, share in zip(children, _shares(self.draw, len(children)), strict=True):
            queue, maximum = f"{path}.{name}", f"{PREFIX}{path}.{name}.maximum-capacity"
            own_memory, own_vcores = int(memory * share / 100), max(1, int(vcores * share / 100))
            self.conf[f"{PREFIX}{queue}.capacity"] = {
                "percent": str(share),
                "weight": f"{max(1, round(share / 10))}w",
                "absolute": f"[memory={own_memory},vcores={own_vcores}]",
            }[self.mode]
            if self.draw.random() < 0.4:
                self.conf[maximum] = str(min(100.0, share + self.draw.choice([0, 20, 60])))
                if self.mode == "absolute":
                    self.conf[maximum] = f"[memory={min(memory, 2 * own_memory)},vcores={min(vcores, 2 * own_vcores)}]"
            self._divide(queue, own_memory, own_vcores)

    def case(self) -> CaseFile:
        horizon = self.jobs[-1]["submit"] + self.draw.choice([300, 3000])
        return {"scheduler": "capacity", "conf": self.conf, "nodes": self.nodes, "jobs": self.jobs, "horizon": horizon}

    def updates(self) -> list[dict[str, Any]]:
        draw, found = self.draw, []
        for _ in range(draw.randint(1, 4)):
            conf: dict[str, str] = {}
            for leaf in self.leaves:
                for suffix, values in (
                    ("user-limit-factor", ("1", "2", "10")),
                    ("maximum-am-resource-percent", ("0.3", "0.6", "1")),
                    ("ordering-policy", ("fair", "fifo")),
                    ("minimum-user-limit-percent", ("25", "50", "100")),
                ):
                    if draw.random() < 0.4:
                        conf[f"{PREFIX}{leaf}.{suffix}"] = draw.choice(values)
            for name, share in zip("abc", _shares(draw, 3), strict=True):
                conf[f"{PREFIX}root.{name}.capacity"] = str(share)
                conf[f"{PREFIX}root.{name}.maximum-capacity"] = "100"
            found.append({"time": round(draw.uniform(5, self.jobs[-1]["submit"]), 1), "conf": conf})
        return found

    def limit_parallel(self) -> None:
        draw = self.draw
        for leaf in self.leaves:
            if draw.random() < 0.6:
                self.conf[f"{PREFIX}{leaf}.max-parallel-apps"] = str(draw.randint(1, 4))
            if draw.random() < 0.3:
                self.conf[f"{PREFIX}{leaf}.maximum-applications"] = str(draw.randint(3, 8))
        self.conf[f"{PREFIX}user.max-parallel-apps"] = str(draw.randint(2, 5))


def mixed_case(seed: int, mode: str, *, jobs: int) -> CaseFile:
    """A random mix; ``mode`` is percent, weight or absolute."""
    return _Mix(seed, mode, jobs=jobs).case()


def update_case(seed: int) -> CaseFile:
    """A random mix whose configuration is changed while it runs."""
    mix = _Mix(seed, "percent", jobs=60)
    return {**mix.case(), "updates": mix.updates()}


def parallel_case(seed: int) -> CaseFile:
    """A random mix with limits on parallel applications."""
    mix = _Mix(seed, "percent", jobs=60)
    mix.limit_parallel()
    return mix.case()


RANDOM_CASES: dict[str, CaseFile] = {
    f"{mode}-{seed}": _Mix(seed, mode, jobs=60).case()
    for mode, seeds in (("percent", 16), ("weight", 6), ("absolute", 6))
    for seed in range(seeds)
}
UPDATE_CASES: dict[str, CaseFile] = {f"update-{seed}": update_case(seed) for seed in range(10)}
PARALLEL_CASES: dict[str, CaseFile] = {f"parallel-{seed}": parallel_case(seed) for seed in (*range(6), 163, 179)}
"""Exact too, as the replay keeps submissions a millisecond apart. In the last two a user's last application ends and
makes place for another one of the same user."""


def _two_queues(conf: dict[str, str], jobs: list[dict[str, Any]], nodes: list[dict[str, int]]) -> CaseFile:
    base = {
        f"{PREFIX}root.queues": "a,b",
        f"{PREFIX}root.a.capacity": "50",
        f"{PREFIX}root.b.capacity": "50",
        MINIMUM_MB: "512",
    }
    named = {key if key.startswith("yarn.") else f"{PREFIX}{key}": value for key, value in conf.items()}
    return {"scheduler": "capacity", "conf": base | named, "nodes": nodes, "jobs": jobs, "horizon": 3000}


def _map_job(name: str, queue: str, submit: float, tasks: int, **other: Any) -> dict[str, Any]:
    memory, vcores = other.pop("memory", 1024), other.pop("vcores", 1)
    each = {"duration": 20.25, "memory": memory, "vcores": vcores}
    return {"id": name, "queue": queue, "submit": submit, "am_memory": 512, "tasks": [each] * tasks, **other}


MECHANISM_CASES: dict[str, CaseFile] = {
    "container above the maximum": _two_queues(
        {}, [_map_job("large", "a", 1, 2, memory=9000), _map_job("small", "a", 2, 2)], _nodes(2)
    ),
    "unknown queue, parent, stopped queue": _two_queues(
        {"root.b.state": "STOPPED"},
        [_map_job("lost", "nowhere", 1, 1), _map_job("stopped", "b", 3, 1), _map_job("good", "a", 4, 1)],
        _nodes(1),
    ),
    "full queue": _two_queues(
        {"root.a.maximum-applications": "2"}, [_map_job(f"j{i}", "a", i, 4) for i in range(5)], _nodes(1)
    ),
    "user has too many": _two_queues(
        {"root.a.maximum-applications": "4", "root.a.minimum-user-limit-percent": "50"},
        [_map_job(f"j{i}", "a", i, 4, user=f"u{i % 5 // 3}") for i in range(8)],
        _nodes(1),
    ),
    "full cluster": _two_queues(
        {"maximum-applications": "3", "root.a.maximum-applications": "9", "root.b.maximum-applications": "9"},
        [_map_job(f"j{i}", "ab"[i % 2], i, 4) for i in range(6)],
        _nodes(1),
    ),
    "parallel in a queue": _two_queues(
        {"root.a.max-parallel-apps": "1"}, [_map_job(f"j{i}", "a", 2 * i, 2) for i in range(4)], _nodes(2)
    ),
    "parallel of a user": _two_queues(
        {"user.max-parallel-apps": "1", "user.v.max-parallel-apps": "2", "root.a.maximum-am-resource-percent": "1"},
        [_map_job(f"j{i}", "a", 2 * i, 2, user="uv"[i % 2]) for i in range(8)],
        _nodes(2),
    ),
    "weighted user": _two_queues(
        {
            "root.a.user-settings.u.weight": "2",
            "root.a.minimum-user-limit-percent": "10",
            "root.a.user-limit-factor": "5",
            "root.a.maximum-am-resource-percent": "1",
        },
        [_map_job(f"j{i}", "a", i, 30, user=f"{'uvw'[i]}") for i in range(3)],
        _nodes(2),
    ),
    "queue priority": _two_queues(
        {
            "root.ordering-policy": "priority-utilization",
            "root.b.priority": "5",
            "root.a.user-limit-factor": "2",
            "root.b.user-limit-factor": "2",
        },
        [_map_job("first", "a", 1, 30), _map_job("second", "b", 1.5, 30)],
        _nodes(2),
    ),
    "large container needs a reservation": _two_queues(
        {"root.a.user-limit-factor": "2", "root.a.maximum-am-resource-percent": "1"},
        [_map_job("small", "a", 0, 24), _map_job("large", "a", 2, 3, memory=6144), _map_job("late", "b", 4, 40)],
        _nodes(2),
    ),
    "reservation without looking on": _two_queues(
        {
            "reservations-continue-look-all-nodes": "false",
            "root.a.user-limit-factor": "2",
            "root.a.maximum-am-resource-percent": "1",
        },
        [_map_job("small", "a", 0, 24), _map_job("large", "a", 2, 3, memory=6144), _map_job("late", "b", 4, 40)],
        _nodes(3),
    ),
    "vcores run out first": _two_queues(
        {"resource-calculator": DOMINANT, "root.a.user-limit-factor": "2"},
        [_map_job("wide", "a", 0, 20, vcores=3, memory=512), _map_job("other", "b", 3, 10)],
        _nodes(2),
    ),
    "an AM placed by another job's end": _two_queues({}, [_map_job(f"j{i}", "a", i, 2) for i in range(5)], _nodes(1)),
    "several containers in a heartbeat": _two_queues(
        {"per-node-heartbeat.maximum-offswitch-assignments": "3", "root.a.user-limit-factor": "2"},
        [_map_job("j", "a", 1, 30)],
        _nodes(2),
    ),
}
"""Exact, like the random ones."""
