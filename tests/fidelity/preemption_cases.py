"""Cases for preemption between queues of the Capacity Scheduler: one mechanism each, and mixes of all.

Workloads are drawn with a fixed seed for each case, so the cases are the same on every run and machine.
"""

from __future__ import annotations

import random
from typing import Any

from tests.fidelity.capacity_cases import DOMINANT, PREFIX, CaseFile, mixed_case

__all__ = ["PREEMPTION_CASES"]

MONITOR = "yarn.resourcemanager.monitor.capacity.preemption."
_ON = {"yarn.resourcemanager.scheduler.monitor.enable": "true"}
_QUICK = {"natural_termination_factor": "1", "max_wait_before_kill": "4000", "total_preemption_per_round": "1.0"}


def _suffix(name: str) -> str:
    """A property's name from a keyword: two underscores stand for a dot, one for a hyphen but in disable_preemption."""
    return name.replace("__", ".").replace("_", "-").replace("disable-preemption", "disable_preemption")


def _conf(queues: dict[str, str], monitor: dict[str, str], **more: str) -> dict[str, str]:
    """Two levels of queues at most: percentages by path below root."""
    conf = _ON | {f"{MONITOR}{name}": value for name, value in monitor.items()}
    conf["yarn.scheduler.minimum-allocation-mb"] = "512"
    for path, percent in queues.items():
        parent = f"root.{path}".rpartition(".")[0]
        others = conf.get(f"{PREFIX}{parent}.queues")
        name = path.rpartition(".")[2]
        conf[f"{PREFIX}{parent}.queues"] = f"{others},{name}" if others else name
        conf[f"{PREFIX}root.{path}.capacity"] = percent
    conf |= {f"{PREFIX}user-limit-factor": "10", f"{PREFIX}maximum-am-resource-percent": "0.5"}
    return conf | {f"{PREFIX}{_suffix(name)}": value for name, value in more.items()}


def _job(name: str, queue: str, submit: float, tasks: int, duration: float, **other: Any) -> dict[str, Any]:
    each = {"duration": duration, "memory": other.pop("memory", 1024), "vcores": other.pop("vcores", 1)}
    return {
        "id": name,
        "user": name,
        "queue": queue,
        "submit": submit,
        "am_memory": 512,
        "tasks": [each] * tasks,
        **other,
    }


def _case(conf: dict[str, str], jobs: list[dict[str, Any]], nodes: int = 3, **more: Any) -> CaseFile:
    jobs.sort(key=lambda job: float(job["submit"]))
    size = [{"memory": 8192, "vcores": 8}] * nodes
    return {"scheduler": "capacity", "conf": conf, "nodes": size, "jobs": jobs, "horizon": 2500} | more


def _rivals(**other: Any) -> list[dict[str, Any]]:
    """One queue has filled the cluster when the other one's jobs come."""
    return [
        _job("long", "root.a", 0.0, 40, 200.5, **other),
        _job("long2", "root.a", 1.0, 12, 150.25),
        _job("late", "root.b", 40.0, 10, 20.25),
        _job("late2", "root.b", 75.5, 6, 30.0),
    ]


_TWO = {"a": "60", "b": "40"}


def _executors() -> CaseFile:
    stages = [[40.5] * 60, [10.25] * 20]
    wide = {"executors": {"count": 10, "memory": 2048, "vcores": 3}, "stages": stages}
    first = {"id": "wide", "user": "w", "queue": "root.a", "submit": 0.0, "am_memory": 512} | wide
    return _case(_conf(_TWO, _QUICK), [first, *_rivals()[1:]])


def _small_jobs() -> CaseFile:
    """Many AMs, so that some of them have to go as well."""
    draw = random.Random(7)
    small = [_job(f"s{i}", "root.a", 0.7 * i, 1, draw.uniform(100, 200)) for i in range(22)]
    late = [_job(f"b{i}", "root.b", 60.0 + 9.5 * i, 5, 25.5) for i in range(4)]
    conf = _conf(
        {"a": "20", "b": "80"}, _QUICK, maximum_am_resource_percent="0.1", root__a__maximum_am_resource_percent="1"
    )
    return _case(conf, small + late, nodes=2)


def _reserving() -> CaseFile:
    """The queue that has too much has nodes reserved, too."""
    jobs = [
        *_rivals(),
        _job("large", "root.a", 12.0, 5, 60.5, memory=6144),
        _job("large2", "root.b", 55.0, 3, 20.5, memory=5120),
    ]
    return _case(_conf(_TWO, _QUICK), jobs)


def _nested() -> CaseFile:
    queues = {"a": "50", "b": "50", "a.x": "30", "a.y": "70", "b.z": "50", "b.w": "50"}
    jobs = [
        _job("x1", "root.a.x", 0.0, 40, 180.5),
        _job("z1", "root.b.z", 20.5, 14, 90.25),
        _job("y1", "root.a.y", 45.0, 12, 40.5),
        _job("w1", "root.b.w", 70.0, 8, 30.25),
    ]
    return _case(_conf(queues, _QUICK | {"max_ignored_over_capacity": "0"}), jobs)


def _changed() -> CaseFile:
    updates = [
        {"time": 50.0, "conf": {f"{MONITOR}natural_termination_factor": "1", f"{MONITOR}max_wait_before_kill": "6000"}},
        {"time": 90.0, "conf": {f"{PREFIX}root.a.disable_preemption": "true"}},
    ]
    return _case(_conf(_TWO, {"total_preemption_per_round": "0.5"}), _rivals(), updates=updates)


def _mix(seed: int, mode: str) -> CaseFile:
    """A random mix of all mechanisms, with a busy cluster and preemption."""
    case = mixed_case(seed, mode, jobs=60)
    draw = random.Random(f"preemption-{seed}")
    monitor = {
        "natural_termination_factor": draw.choice(["0.2", "0.5", "1"]),
        "max_wait_before_kill": draw.choice(["3000", "6000", "15000"]),
        "total_preemption_per_round": draw.choice(["0.1", "0.3", "1.0"]),
        "max_ignored_over_capacity": draw.choice(["0", "0.1", "0.3"]),
        "monitoring_interval": draw.choice(["1000", "3000", "2500"]),
    }
    case["conf"] = case["conf"] | _ON | {f"{MONITOR}{name}": value for name, value in monitor.items()}
    if draw.random() < 0.5:
        case["conf"][f"{PREFIX}root.{draw.choice('abc')}.disable_preemption"] = "true"
    return case


PREEMPTION_CASES: dict[str, CaseFile] = {
    "preempts with defaults": _case(_conf(_TWO, {}), _rivals()),
    "preempts at once": _case(_conf(_TWO, _QUICK), _rivals()),
    "a part in a round": _case(_conf(_TWO, _QUICK | {"total_preemption_per_round": "0.05"}), _rivals()),
    "dead zone": _case(_conf(_TWO, _QUICK | {"max_ignored_over_capacity": "0.5"}), _rivals()),
    "observes only": _case(_conf(_TWO, _QUICK | {"observe_only": "true"}), _rivals()),
    "preemption disabled": _case(_conf(_TWO, _QUICK, root__a__disable_preemption="true"), _rivals()),
    "user limits of those who ask": _case(
        _conf(_TWO, _QUICK, user_limit_factor="1", root__a__user_limit_factor="3"), _rivals()
    ),
    "preempted executors": _executors(),
    "preempted AMs": _small_jobs(),
    "preempted reservations": _reserving(),
    "preemption on two levels": _nested(),
    "preemption of vcores": _case(_conf(_TWO, _QUICK, resource_calculator=DOMINANT), _rivals(vcores=2, memory=512)),
    "preemption changed while running": _changed(),
    **{
        f"preemption-{mode}-{seed}": _mix(seed, mode)
        for mode, seed in (("percent", 101), ("percent", 102), ("weight", 205), ("absolute", 205), ("percent", 105))
    },
}
