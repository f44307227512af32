"""Cases for the Fair Scheduler: one mechanism each, and mixes of them.

Workloads are drawn with a fixed seed for each case, so the cases are the same on every run and machine.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["FAIR_CASES", "PREEMPTION_CASES"]

CaseFile = dict[str, Any]

FAIR = "yarn.scheduler.fair."


def _queue(name: str, *inside: str, **properties: object) -> str:
    """A queue element; what is given in ``properties`` becomes its child elements."""
    elements = "".join(f"<{key}>{value}</{key}>" for key, value in properties.items())
    return f'<queue name="{name}">{elements}{"".join(inside)}</queue>'


def _allocations(*elements: str) -> str:
    return f"<allocations>{''.join(elements)}</allocations>"


def _nodes(count: int, memory: int = 8192, vcores: int = 8) -> list[dict[str, int]]:
    return [{"memory": memory, "vcores": vcores} for _ in range(count)]


def _map_job(draw: random.Random, sizes: list[tuple[int, int]], most: int) -> dict[str, Any]:
    tasks = []
    for _ in range(draw.randint(1, most)):
        memory, vcores = draw.choice(sizes)
        tasks.append({"duration": draw.uniform(1.0, 30.0), "memory": memory, "vcores": vcores})
    return {"tasks": tasks}


def _spark_job(draw: random.Random, sizes: list[tuple[int, int]], most: int) -> dict[str, Any]:
    memory, vcores = draw.choice(sizes)
    executors = {"count": draw.randint(1, max(1, most // 3)), "memory": memory, "vcores": vcores}
    stages = [[draw.uniform(1.0, 15.0) for _ in range(draw.randint(1, most))] for _ in range(draw.randint(1, 3))]
    return {"executors": executors, "stages": stages}


def _jobs(
    seed: int,
    count: int,
    queues: list[str],
    *,
    span_s: float = 200.0,
    sizes: list[tuple[int, int]] | None = None,
    most: int = 12,
    users: int = 3,
    am_memory: int = 1024,
    spark: float = 0.3,
) -> list[dict[str, Any]]:
    """Jobs of both kinds, submitted over a span of time to queues drawn evenly."""
    draw = random.Random(seed)
    jobs = []
    for number in range(count):
        kind = _spark_job if draw.random() < spark else _map_job
        job = {
            "id": f"job{number}",
            "user": f"user{draw.randrange(users)}",
            "queue": draw.choice(queues),
            "submit": round(draw.uniform(0.0, span_s), 2),
            "am_memory": am_memory,
        }
        jobs.append(job | kind(draw, sizes or [(1024, 1)], most))
    return sorted(jobs, key=lambda job: float(job["submit"]))


def _case(allocations: str, jobs: list[dict[str, Any]], **fields: Any) -> CaseFile:
    case = {"scheduler": "fair", "allocations": allocations, "nodes": _nodes(3), "jobs": jobs, "horizon": 4000.0}
    return case | fields


MIXED = [(1024, 1), (2048, 1), (3072, 2)]
LARGE = [(1024, 1), (4096, 1), (6144, 2)]


def _one_queue() -> CaseFile:
    return _case(_allocations(_queue("a")), _jobs(1, 30, ["root.a"]))


def _weights() -> CaseFile:
    queues = _queue("a", weight=3), _queue("b", weight=1), _queue("c", weight=0.5)
    return _case(_allocations(*queues), _jobs(2, 60, ["root.a", "root.b", "root.c"]))


def _weight_zero() -> CaseFile:
    queues = _queue("a", weight=1), _queue("b", weight=0, minResources="3072 mb,3 vcores"), _queue("c", weight=0)
    return _case(_allocations(*queues), _jobs(3, 40, ["root.a", "root.b", "root.c"]))


def _min_shares() -> CaseFile:
    queues = (
        _queue("a", minResources="12288 mb,8 vcores"),
        _queue("b", minResources="6144 mb,4 vcores", weight=2),
        _queue("c"),
    )
    return _case(_allocations(*queues), _jobs(4, 60, ["root.a", "root.b", "root.c"], sizes=MIXED))


def _max_shares() -> CaseFile:
    queues = _queue("a", maxResources="7168 mb,6 vcores"), _queue("b", maxResources="30%"), _queue("c")
    return _case(_allocations(*queues), _jobs(5, 60, ["root.a", "root.b", "root.c"], sizes=MIXED))


def _fifo() -> CaseFile:
    queues = _queue("a", schedulingPolicy="fifo"), _queue("b", weight=2)
    return _case(_allocations(*queues), _jobs(6, 60, ["root.a", "root.b"], sizes=MIXED))


def _am_share() -> CaseFile:
    queues = _queue("a", maxAMShare=0.15), _queue("b", maxAMShare=-1), _queue("c", maxAMShare=0.3, weight=2)
    default = "<queueMaxAMShareDefault>0.25</queueMaxAMShareDefault>"
    return _case(_allocations(*queues, _queue("d"), default), _jobs(7, 90, ["a", "b", "c", "d"], span_s=60))


def _max_running_apps() -> CaseFile:
    queues = (
        _queue("a", maxRunningApps=2),
        _queue("b", _queue("x", maxRunningApps=3), _queue("y"), maxRunningApps=4),
        "<queueMaxAppsDefault>5</queueMaxAppsDefault>",
        "<userMaxAppsDefault>6</userMaxAppsDefault>",
        '<user name="user1"><maxRunningApps>3</maxRunningApps></user>',
    )
    return _case(_allocations(*queues), _jobs(8, 80, ["root.a", "root.b.x", "root.b.y", "root.c"], span_s=250, most=20))


def _increments() -> CaseFile:
    conf = {
        "yarn.scheduler.minimum-allocation-mb": "512",
        "yarn.scheduler.increment-allocation-mb": "512",
        "yarn.scheduler.increment-allocation-vcores": "2",
    }
    sizes = [(700, 1), (1300, 1), (2100, 3)]
    jobs = _jobs(9, 40, ["root.a", "root.b"], sizes=sizes, am_memory=300)
    return _case(_allocations(_queue("a"), _queue("b", weight=2)), jobs, conf=conf)


def _assign_multiple() -> CaseFile:
    conf = {FAIR + "assignmultiple": "true"}
    jobs = _jobs(10, 60, ["root.a", "root.b"], sizes=MIXED, span_s=120)
    return _case(_allocations(_queue("a"), _queue("b", weight=2)), jobs, conf=conf)


def _max_assign() -> CaseFile:
    conf = {FAIR + "assignmultiple": "true", FAIR + "dynamic.max.assign": "false", FAIR + "max.assign": "3"}
    jobs = _jobs(11, 60, ["root.a", "root.b"], sizes=MIXED, span_s=120)
    return _case(_allocations(_queue("a"), _queue("b", weight=2)), jobs, conf=conf)


def _reservations() -> CaseFile:
    conf = {FAIR + "reservable-nodes": "0.4"}
    jobs = _jobs(12, 50, ["root.a", "root.b"], sizes=LARGE, span_s=150)
    return _case(_allocations(_queue("a"), _queue("b", weight=3)), jobs, conf=conf, nodes=_nodes(4))


def _size_based_weight() -> CaseFile:
    conf = {FAIR + "sizebasedweight": "true"}
    jobs = _jobs(13, 50, ["root.a", "root.b"], sizes=LARGE, span_s=120, most=30)
    return _case(_allocations(_queue("a"), _queue("b", weight=2)), jobs, conf=conf)


def _uneven_nodes() -> CaseFile:
    nodes = _nodes(1, 3072, 2) + _nodes(2, 8192, 4) + _nodes(1, 5000, 16)
    jobs = _jobs(14, 50, ["root.a", "root.b"], sizes=[*LARGE, (7168, 3)], span_s=200)
    return _case(_allocations(_queue("a"), _queue("b", weight=2)), jobs, nodes=nodes)


def _drf() -> CaseFile:
    root = _queue("root", _queue("a", weight=2), _queue("b"), schedulingPolicy="drf")
    default = "<defaultQueueSchedulingPolicy>drf</defaultQueueSchedulingPolicy>"
    sizes = [(1024, 2), (3072, 1), (1024, 1), (2048, 4)]
    return _case(
        _allocations(root, default), _jobs(15, 60, ["root.a", "root.b"], sizes=sizes), nodes=_nodes(3, 8192, 6)
    )


def _drf_min_shares() -> CaseFile:
    inside = (
        _queue("a", schedulingPolicy="drf", minResources="4096 mb,6 vcores"),
        _queue("b", schedulingPolicy="fair", minResources="6144 mb,2 vcores"),
        _queue("c", schedulingPolicy="fifo", maxResources="6144 mb,9 vcores"),
    )
    root = _queue("root", *inside, schedulingPolicy="drf")
    sizes = [(1024, 2), (3072, 1), (1024, 1), (2048, 4)]
    return _case(
        _allocations(root), _jobs(16, 60, ["root.a", "root.b", "root.c"], sizes=sizes), nodes=_nodes(3, 8192, 6)
    )


def _nested() -> CaseFile:
    prod = _queue("prod", _queue("etl", weight=3), _queue("bi", schedulingPolicy="fifo"), weight=3)
    dev = _queue("dev", _queue("x"), _queue("y", _queue("y1"), _queue("y2", weight=2)), maxResources="60%")
    queues = ["root.prod.etl", "root.prod.bi", "root.dev.x", "root.dev.y.y1", "root.dev.y.y2"]
    return _case(_allocations(prod, dev), _jobs(17, 80, queues, sizes=MIXED), nodes=_nodes(5))


def _nested_min_shares() -> CaseFile:
    prod = _queue(
        "prod",
        _queue("etl", minResources="8192 mb,4 vcores"),
        _queue("bi", maxResources="5120 mb,5 vcores"),
        minResources="16384 mb,8 vcores",
    )
    dev = _queue("dev", _queue("x", minResources="4096 mb,4 vcores"), _queue("y"), weight=2)
    queues = ["root.prod.etl", "root.prod.bi", "root.dev.x", "root.dev.y"]
    return _case(_allocations(prod, dev), _jobs(18, 80, queues, sizes=MIXED), nodes=_nodes(4))


def _undeclared_queues() -> CaseFile:
    teams = _queue("teams", maxChildResources="4096 mb,4 vcores")
    teams = teams.replace('name="teams"', 'name="teams" type="parent"')
    queues = ["teams.a", "teams.b", "ad_hoc", "default", "root.teams"]
    return _case(_allocations(teams, _queue("known", weight=2)), _jobs(19, 50, [*queues, "known"]))


def _placement() -> CaseFile:
    policy = (
        "<queuePlacementPolicy><rule name='specified' create='false'/>"
        "<rule name='nestedUserQueue' create='true'><rule name='default' queue='pool' create='false'/></rule>"
        "<rule name='reject'/></queuePlacementPolicy>"
    )
    pool = _queue("pool", weight=1).replace('name="pool"', 'name="pool" type="parent"')
    return _case(_allocations(pool, _queue("known", weight=2), policy), _jobs(20, 40, ["known", "other", "default"]))


def _updates() -> CaseFile:
    def plan(a: int, b: int, **more: object) -> str:
        return _allocations(_queue("a", weight=a, **more), _queue("b", weight=b), _queue("c"))

    updates = [
        {"time": 40.0, "allocations": plan(5, 1, maxRunningApps=3)},
        {"time": 80.5, "allocations": plan(1, 4, schedulingPolicy="fifo", maxAMShare=0.2)},
        {"time": 120.25, "allocations": plan(2, 2, maxResources="8192 mb,8 vcores", minResources="2048 mb,2 vcores")},
        {"time": 200.0, "allocations": plan(1, 1, schedulingPolicy="fair")},
    ]
    jobs = _jobs(21, 80, ["root.a", "root.b", "root.c"], sizes=MIXED, span_s=220)
    return _case(plan(1, 1), jobs, updates=updates)


def _nested_updates() -> CaseFile:
    def plan(prod: float, etl: float, **more: object) -> str:
        return _allocations(
            _queue("prod", _queue("etl", weight=etl), _queue("bi"), weight=prod, **more),
            _queue("dev", _queue("x"), _queue("y", weight=2), maxRunningApps=6),
        )

    updates = [
        {"time": 50.0, "allocations": plan(4, 2)},
        {"time": 100.0, "allocations": plan(0.5, 3, maxResources="40%"), "conf": {}},
        {"time": 130.0, "allocations": "<allocations><queue"},
        {"time": 150.0, "allocations": plan(2, 0.5, minResources="10240 mb,5 vcores")},
    ]
    queues = ["root.prod.etl", "root.prod.bi", "root.dev.x", "root.dev.y"]
    return _case(plan(1, 1), _jobs(22, 80, queues, sizes=MIXED), updates=updates, nodes=_nodes(4))


def _queue_maximum_allocation() -> CaseFile:
    queues = _queue("a", maxContainerAllocation="3072 mb,2 vcores"), _queue("b", weight=2)
    jobs = _jobs(23, 40, ["root.a", "root.b"], sizes=[(1024, 1), (2500, 2), (3500, 1)])
    return _case(_allocations(*queues), jobs, conf={"yarn.scheduler.maximum-allocation-mb": "6144"})


def _maximum_allocation() -> CaseFile:
    jobs = _jobs(27, 40, ["root.a", "root.b"], sizes=[(1024, 1), (3000, 2), (2048, 3)], most=3)
    conf = {"yarn.scheduler.maximum-allocation-mb": "2048"}
    updates = [
        {"time": 60.0, "conf": {"yarn.scheduler.maximum-allocation-mb": "4096"}},
        {"time": 140.0, "conf": {"yarn.scheduler.maximum-allocation-vcores": "2"}},
    ]
    return _case(_allocations(_queue("a"), _queue("b", weight=2)), jobs, conf=conf, updates=updates)


def _preemption(allocations: str, seed: int, **conf: str) -> CaseFile:
    """Long jobs fill the cluster; others come later and are starved. AMs are not preempted."""
    draw = random.Random(seed)
    jobs: list[dict[str, Any]] = []
    for i in range(6):
        tasks = [{"duration": draw.uniform(200.0, 400.0)} for _ in range(20)]
        jobs.append({"id": f"long{i}", "queue": "root.a", "submit": float(i), "tasks": tasks})
    for i in range(14):
        tasks = [{"duration": draw.uniform(5.0, 40.0)} for _ in range(draw.randint(2, 8))]
        queue = draw.choice(["root.b", "root.c"])
        jobs.append({"id": f"short{i}", "queue": queue, "submit": round(draw.uniform(30, 200), 2), "tasks": tasks})
    keys = {"preemption": "true", "am.preemption": "false", "waitTimeBeforeKill": "5000"} | conf
    return _case(allocations, jobs, conf={FAIR + key: value for key, value in keys.items()}, nodes=_nodes(4))


def _fair_share_preemption() -> CaseFile:
    defaults = (
        "<defaultFairSharePreemptionTimeout>10</defaultFairSharePreemptionTimeout>"
        "<defaultFairSharePreemptionThreshold>0.9</defaultFairSharePreemptionThreshold>"
    )
    return _preemption(_allocations(_queue("a"), _queue("b", weight=2), _queue("c"), defaults), 28)


def _min_share_preemption() -> CaseFile:
    queues = (
        _queue("a"),
        _queue("b", minResources="8192 mb,4 vcores", minSharePreemptionTimeout=5),
        _queue("c", minResources="4096 mb,4 vcores", minSharePreemptionTimeout=20),
    )
    return _preemption(_allocations(*queues), 29, waitTimeBeforeNextStarvationCheck="2000")


def _no_preemption_from() -> CaseFile:
    queues = _queue("a", allowPreemptionFrom="false"), _queue("b", fairSharePreemptionTimeout=5), _queue("c")
    return _preemption(_allocations(*queues), 30)


def _preempting(allocations: str, jobs: list[dict[str, Any]], nodes: list[dict[str, int]], **conf: str) -> CaseFile:
    keys = {"preemption": "true", "waitTimeBeforeKill": "4000", "waitTimeBeforeNextStarvationCheck": "3000"} | conf
    return _case(allocations, jobs, conf={FAIR + key: value for key, value in keys.items()}, nodes=nodes)


def _am_preemption() -> CaseFile:
    """Jobs with large AMs and small tasks, of which a starved application gets room by AMs alone."""
    draw = random.Random(31)
    jobs: list[dict[str, Any]] = []
    for i in range(30):
        tasks = [{"duration": draw.uniform(60.0, 150.0)} for _ in range(draw.randint(1, 2))]
        jobs.append({"id": f"s{i}", "queue": "root.a", "submit": float(i), "am_memory": 3072, "tasks": tasks})
    for i in range(6):
        tasks = [{"duration": draw.uniform(5.0, 40.0), "memory": 5120} for _ in range(4)]
        jobs.append({"id": f"large{i}", "queue": "root.b", "submit": 40.0 + 25.5 * i, "tasks": tasks})
    queues = _queue("a", maxAMShare=-1), _queue("b", weight=3, fairSharePreemptionTimeout=5, maxAMShare=-1)
    return _preempting(_allocations(*queues), jobs, _nodes(3))


def _no_am_preemption() -> CaseFile:
    """The same, but AMs of queue a are safe."""
    case = _am_preemption()
    return case | {"conf": case["conf"] | {FAIR + "am.preemption.root.a": "false"}}


def _preempted_executors() -> CaseFile:
    """Executors with several slots each are killed in the middle of stages."""
    draw = random.Random(32)
    jobs = _jobs(33, 14, ["root.a", "root.b"], span_s=150.0, sizes=[(2048, 2), (1024, 1)], most=30, spark=1.0)
    for i in range(4):
        stages = [[draw.uniform(20.0, 60.0) for _ in range(40)], [draw.uniform(5.0, 9.0) for _ in range(10)]]
        executors = {"count": 10, "memory": 2048, "vcores": 2}
        jobs.append({"id": f"wide{i}", "queue": "root.a", "submit": 0.5 * i, "executors": executors, "stages": stages})
    defaults = "<defaultFairSharePreemptionTimeout>6</defaultFairSharePreemptionTimeout>"
    queues = _queue("a"), _queue("b", weight=4, minResources="8192 mb,8 vcores", minSharePreemptionTimeout=3)
    jobs.sort(key=lambda job: float(job["submit"]))
    return _preempting(_allocations(*queues, defaults), jobs, _nodes(4), **{"am.preemption": "false"})


def _preemption_mix() -> CaseFile:
    """Two levels, mixed sizes, reservations, both kinds of job, AMs too, and a change while running."""

    def plan(etl: float) -> str:
        inside = _queue("etl", weight=etl, minResources="6144 mb,4 vcores"), _queue("bi", schedulingPolicy="fifo")
        defaults = (
            "<defaultFairSharePreemptionTimeout>8</defaultFairSharePreemptionTimeout>"
            "<defaultMinSharePreemptionTimeout>4</defaultMinSharePreemptionTimeout>"
            "<defaultFairSharePreemptionThreshold>0.8</defaultFairSharePreemptionThreshold>"
        )
        prod = _queue("prod", *inside, weight=3)
        return _allocations(prod, _queue("dev", _queue("x"), _queue("y", allowPreemptionFrom="false")), defaults)

    queues = ["root.prod.etl", "root.prod.bi", "root.dev.x", "root.dev.y", "root.new"]
    jobs = _jobs(34, 70, queues, sizes=[*LARGE, (2048, 2)], span_s=200, most=25)
    case = _preempting(plan(2), jobs, _nodes(5), **{"reservable-nodes": "0.4"})
    return case | {"updates": [{"time": 90.0, "allocations": plan(0.5)}], "node_heartbeat": 0.9}


def _drf_preemption() -> CaseFile:
    root = _queue("root", _queue("a"), _queue("b", weight=3), _queue("c"), schedulingPolicy="drf")
    defaults = (
        "<defaultQueueSchedulingPolicy>drf</defaultQueueSchedulingPolicy>"
        "<defaultFairSharePreemptionTimeout>5</defaultFairSharePreemptionTimeout>"
    )
    sizes = [(1024, 2), (3072, 1), (1024, 1), (2048, 4)]
    jobs = _jobs(35, 60, ["root.a", "root.b", "root.c"], sizes=sizes, span_s=150, most=25)
    return _preempting(_allocations(root, defaults), jobs, _nodes(4, 8192, 8))


def _mix() -> CaseFile:
    prod = _queue(
        "prod",
        _queue("etl", weight=2, minResources="6144 mb,3 vcores", maxAMShare=0.3),
        _queue("bi", schedulingPolicy="fifo", maxRunningApps=4),
        weight=3,
        minResources="12288 mb,6 vcores",
    )
    dev = _queue("dev", _queue("x", maxRunningApps=3), _queue("y", maxAMShare=0.2), maxResources="60% memory, 80% cpu")
    rest = "<userMaxAppsDefault>8</userMaxAppsDefault><queueMaxAMShareDefault>0.4</queueMaxAMShareDefault>"
    conf = {FAIR + "assignmultiple": "true", FAIR + "reservable-nodes": "0.5", FAIR + "sizebasedweight": "true"}
    queues = ["root.prod.etl", "root.prod.bi", "root.dev.x", "root.dev.y", "root.other"]
    jobs = _jobs(24, 120, queues, sizes=LARGE, span_s=240, users=5)
    return _case(_allocations(prod, dev, rest), jobs, conf=conf, nodes=_nodes(6), node_heartbeat=0.7, am_heartbeat=1.3)


def _drf_mix() -> CaseFile:
    prod = _queue(
        "prod",
        _queue("etl", schedulingPolicy="drf", weight=2, minResources="6144 mb,6 vcores"),
        _queue("bi", schedulingPolicy="fifo"),
        schedulingPolicy="drf",
        weight=2,
    )
    dev = _queue(
        "dev", _queue("x"), _queue("y", weight=3), schedulingPolicy="fair", maxResources="vcores=70%,memory-mb=60%"
    )
    root = _queue("root", prod, dev, schedulingPolicy="drf")
    conf = {FAIR + "reservable-nodes": "0.5"}
    sizes = [(1024, 3), (4096, 1), (1024, 1), (6144, 2), (2048, 4)]
    queues = ["root.prod.etl", "root.prod.bi", "root.dev.x", "root.dev.y"]
    return _case(_allocations(root), _jobs(25, 90, queues, sizes=sizes), conf=conf, nodes=_nodes(5, 8192, 10))


def _small_update_effects() -> CaseFile:
    """Many short tasks on slow heartbeats: who asks between two update steps matters."""
    draw = random.Random(26)
    jobs = [
        {
            "id": f"job{i}",
            "queue": draw.choice(["root.a", "root.b"]),
            "submit": round(draw.uniform(0, 60), 3),
            "tasks": [{"duration": draw.uniform(0.1, 2.0)} for _ in range(draw.randint(1, 8))],
        }
        for i in range(70)
    ]
    queues = _queue("a", schedulingPolicy="fifo"), _queue("b")
    return _case(_allocations(*queues), jobs, node_heartbeat=0.3, am_heartbeat=0.4)


FAIR_CASES: Mapping[str, Callable[[], CaseFile]] = {
    "one-queue": _one_queue,
    "weights": _weights,
    "weight-zero": _weight_zero,
    "min-shares": _min_shares,
    "max-shares": _max_shares,
    "fifo": _fifo,
    "am-share": _am_share,
    "max-running-apps": _max_running_apps,
    "increments": _increments,
    "assign-multiple": _assign_multiple,
    "max-assign": _max_assign,
    "reservations": _reservations,
    "size-based-weight": _size_based_weight,
    "uneven-nodes": _uneven_nodes,
    "drf": _drf,
    "drf-min-shares": _drf_min_shares,
    "nested": _nested,
    "nested-min-shares": _nested_min_shares,
    "undeclared-queues": _undeclared_queues,
    "placement": _placement,
    "updates": _updates,
    "nested-updates": _nested_updates,
    "queue-maximum-allocation": _queue_maximum_allocation,
    "maximum-allocation": _maximum_allocation,
    "mix": _mix,
    "drf-mix": _drf_mix,
    "update-steps": _small_update_effects,
}

PREEMPTION_CASES: Mapping[str, Callable[[], CaseFile]] = {
    "fair-share-preemption": _fair_share_preemption,
    "min-share-preemption": _min_share_preemption,
    "no-preemption-from": _no_preemption_from,
    "am-preemption": _am_preemption,
    "no-am-preemption": _no_am_preemption,
    "preempted-executors": _preempted_executors,
    "preemption-mix": _preemption_mix,
    "drf-preemption": _drf_preemption,
}
"""Preemption goes by the clock and by threads of its own, so a replay has to make both virtual to be repeatable."""
