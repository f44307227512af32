"""Cases for the Capacity Scheduler's other modes: asynchronous, vectors (legacy mode off), users' weights, labels.

Each is a random mix of :mod:`tests.fidelity.capacity_cases` with one thing changed.
"""

from __future__ import annotations

import random
from typing import Any

from tests.fidelity.capacity_cases import MINIMUM_MB, PREFIX, CaseFile, mixed_case, parallel_case, update_case

__all__ = [
    "ASYNCHRONOUS_CASES",
    "LABEL_CASES",
    "LONG_CASES",
    "USER_WEIGHT_CASES",
    "VECTOR_CASES",
]

_ASYNCHRONOUS = f"{PREFIX}schedule-asynchronously."


def _asynchronous(seed: int) -> CaseFile:
    case = mixed_case(seed, "percent", jobs=60)
    case["conf"][f"{_ASYNCHRONOUS}enable"] = "true"
    if seed % 3 == 1:
        case["conf"][f"{_ASYNCHRONOUS}scheduling-interval-ms"] = "50"
    if seed % 3 == 2:
        case["conf"][f"{_ASYNCHRONOUS}maximum-threads"] = "3"
    return case


def _one_job() -> CaseFile:
    tasks = [{"duration": 20.25, "memory": 1024, "vcores": 1}] * 30
    conf = {
        f"{PREFIX}root.queues": "a,b",
        f"{PREFIX}root.a.capacity": "50",
        f"{PREFIX}root.b.capacity": "50",
        f"{_ASYNCHRONOUS}enable": "true",
        MINIMUM_MB: "512",
    }
    job = {"id": "j", "queue": "a", "submit": 1, "am_memory": 512, "tasks": tasks}
    return {"conf": conf, "nodes": [{"memory": 8192, "vcores": 8}] * 2, "jobs": [job], "horizon": 3000}


def _vector(seed: int) -> CaseFile:
    """Capacities of every kind side by side, on two levels."""
    case, draw = mixed_case(seed, "percent", jobs=60), random.Random(f"vector-{seed}")
    conf: dict[str, str] = case["conf"]
    conf[f"{PREFIX}legacy-queue-mode.enabled"] = "false"
    memory, vcores = (sum(node[amount] for node in case["nodes"]) for amount in ("memory", "vcores"))
    for name in [name for name in conf if name.startswith(f"{PREFIX}root.")]:
        if name.endswith(".capacity"):
            deep = 1 if name.count(".") == 5 else 2
            percent = round(float(conf[name]))
            amount = max(512, int(memory * percent / 100 / deep * draw.uniform(0.5, 1.1)))
            cores = max(1, int(vcores * percent / 100 / deep))
            conf[name] = draw.choice(
                (
                    conf[name],
                    f"{draw.randint(1, 5)}w",
                    f"[memory={amount},vcores={cores}]",
                    f"[memory={percent}%,vcores={draw.randint(1, 4)}w]",
                    f"[memory={amount},vcores={percent}%]",
                    f"[memory={draw.randint(1, 4)}w,vcores={cores}]",
                )
            )
        elif name.endswith(".maximum-capacity"):
            most = memory * 3 // 4
            written = conf[name]
            conf[name] = draw.choice(
                (written, f"[memory={most},vcores={vcores}]", f"[memory={most},vcores={written}%]")
            )
    return case


def _user_weights(seed: int) -> CaseFile:
    """Weights on leaves and on a parent, within what the minimum percent allows."""
    case, draw = mixed_case(seed, "percent", jobs=60), random.Random(f"weights-{seed}")
    conf: dict[str, str] = case["conf"]
    names = [name for name in conf if name.endswith(".capacity") and name.startswith(f"{PREFIX}root.")]
    for path in (name.removesuffix(".capacity") for name in names):
        most = 100 / float(conf.get(f"{path}.minimum-user-limit-percent", "100"))
        if f"{path}.queues" in conf:
            conf[f"{path}.user-settings.u0.weight"] = "0.5"
            continue
        for user in range(1, 4):
            if draw.random() < 0.5:
                conf[f"{path}.user-settings.u{user}.weight"] = str(min(draw.choice([0.3, 0.7, 1.5, 3.3]), most))
    return case


def with_labels(case: CaseFile, seed: int, *, shared: bool) -> CaseFile:
    """Half of the nodes have a label; each leaf uses one partition, or jobs of every leaf use both (``shared``)."""
    draw = random.Random(f"label-{seed}")
    conf: dict[str, str] = case["conf"]
    count = max(2, len(case["nodes"])) + 2
    case["nodes"] = [dict(case["nodes"][i % len(case["nodes"])]) for i in range(count)]
    for node in case["nodes"][count // 2 :]:
        node["labels"] = ["gpu"]
    conf[f"{PREFIX}root.accessible-node-labels"] = "*"
    conf[f"{PREFIX}root.accessible-node-labels.gpu.capacity"] = "100"
    for parent in [name.removesuffix(".queues") for name in conf if name.endswith(".queues")]:
        names = conf[f"{parent}.queues"].split(",")
        weights = [draw.randint(1, 9) for _ in names]
        shares = [round(100 * weight / sum(weights), 2) for weight in weights]
        shares[-1] = round(100 - sum(shares[:-1]), 2)
        for name, share in zip(names, shares, strict=True):
            path = f"{parent}.{name}.accessible-node-labels"
            conf[path], conf[f"{path}.gpu.capacity"] = "gpu", str(share)
            if draw.random() < 0.3:
                conf[f"{path}.gpu.maximum-capacity"] = str(min(100, share + 30))
    leaves = sorted({job["queue"] for job in case["jobs"]})
    for leaf in leaves[:1] if shared else leaves[::2]:
        conf[f"{PREFIX}{leaf}.default-node-label-expression"] = "gpu"
    for job in case["jobs"]:
        if shared and draw.random() < 0.35:
            job["label"] = "gpu"
    return case


ASYNCHRONOUS_CASES: dict[str, Any] = {"asynchronous": _one_job()} | {
    f"asynchronous-{seed}": _asynchronous(seed) for seed in range(5)
}
VECTOR_CASES: dict[str, Any] = {f"vector-{seed}": _vector(seed) for seed in range(8)}
USER_WEIGHT_CASES: dict[str, Any] = {f"user-weights-{seed}": _user_weights(seed) for seed in range(5)}
LABEL_CASES: dict[str, Any] = {
    **{f"label-{seed}": with_labels(mixed_case(seed, "percent", jobs=60), seed, shared=False) for seed in range(6)},
    **{
        f"shared-label-{seed}": with_labels(mixed_case(seed, "percent", jobs=60), seed, shared=True)
        for seed in range(10)
    },
    "shared-label-102, longer": {
        **with_labels(mixed_case(102, "percent", jobs=80), 102, shared=True),
        "horizon": 800,
    },
    "shared-label-173, longer": with_labels(mixed_case(173, "percent", jobs=80), 173, shared=True),
    **{f"shared-label-weights-{seed}": with_labels(_user_weights(seed), seed, shared=True) for seed in range(2)},
    **{
        f"shared-label-asynchronous-{seed}": with_labels(_asynchronous(seed), seed, shared=True)
        for seed in (0, 1, 102, 108)
    },
    **{f"shared-label-parallel-{seed}": with_labels(parallel_case(seed), seed, shared=True) for seed in range(2)},
    **{f"shared-label-update-{seed}": with_labels(update_case(seed), seed, shared=True) for seed in range(2)},
}
"""``shared``: users of a leaf are active in both partitions at once. In the first of the longer ones, and in
the last of the asynchronous, a look at a node of another partition, in which nothing is given out, changes an AM limit;
in the second the shares that decide are those of the whole cluster."""
LONG_CASES: dict[str, Any] = {
    f"percent-{seed}, longer": mixed_case(seed, "percent", jobs=80) for seed in (105, 117, 151, 175, 235, 304)
}
"""Mixes that a rounding, or a container asked for again at its job's end, once made come out otherwise."""
