"""A small, busy workload, and a search that needs no optimizer, for the tests of the closed loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from rules.estimator import estimate
from rules.forecast.decision import Search
from rules.model import PropertyChange
from rules.optimizer.result import Optimum, Outcome
from rules.policy import Policy
from workloads.trace import Case, Executors, Job, Node, Task

PREFIX = "yarn.scheduler.capacity."
TEAMS = ("a", "b")
CONF: Mapping[str, str | None] = {
    f"{PREFIX}root.queues": ",".join(TEAMS),
    **{f"{PREFIX}root.{team}.capacity": "50" for team in TEAMS},
    "yarn.scheduler.minimum-allocation-mb": "512",
}


def busy_case(seed: int = 3, jobs: int = 140, *, executors: bool = False, span_s: float = 900.0) -> Case:
    """Two teams on two nodes, mostly small jobs and a few large ones; their default AM share is what binds."""
    random = np.random.default_rng(seed)
    found = []
    for number, submit_s in enumerate(np.sort(random.uniform(0, span_s, jobs)).round(1)):
        count = int(random.choice([1, 2, 3, 30], p=[0.4, 0.3, 0.2, 0.1]))
        durations = random.lognormal(2.5, 0.4, count).round(1).tolist()
        team = TEAMS[int(random.random() < 0.3)]
        kind = (
            {"executors": Executors(max(count // 4, 1), 2048, 2), "stages": (tuple(durations),)}
            if executors
            else {"tasks": tuple(Task(duration_s) for duration_s in durations)}
        )
        found.append(Job(f"job{number}", team, float(submit_s), f"{team}{number % 3}", 512, **kind))  # type: ignore[arg-type]
    return Case((Node(8192, 8),) * 2, tuple(found), conf=CONF, horizon_s=6 * span_s)


def change(share: str, order: str, factor: str = "5") -> dict[str, str | None]:
    """The same settings for every team."""
    found: dict[str, str | None] = {}
    for team in TEAMS:
        found[f"{PREFIX}root.{team}.maximum-am-resource-percent"] = share
        found[f"{PREFIX}root.{team}.ordering-policy"] = order
        found[f"{PREFIX}root.{team}.user-limit-factor"] = factor
    return found


CHOICES = tuple(change(share, order) for share in ("0.1", "0.3", "0.5") for order in ("fifo", "fair"))


def search_among(choices: Sequence[Mapping[str, str | None]] = CHOICES) -> Search:
    """Tries each choice on all draws: deterministic, and as good as the choices are."""

    def search(draws: Sequence[Case], policy: Policy, seed: int) -> Optimum:
        def cost(choice: Mapping[str, str | None]) -> tuple[int, float]:
            found = [
                estimate(replace(case, conf={**case.conf, **choice}), alone_s=np.ones(len(case.jobs))) for case in draws
            ]
            return sum(each.summary.unfinished for each in found), sum(each.summary.mean_latency_s for each in found)

        best = min(choices, key=cost, default={})
        present = draws[0].conf
        changes = tuple(
            PropertyChange(name, present.get(name), value) for name, value in best.items() if present.get(name) != value
        )
        return optimum(changes, evaluations=len(choices) * len(draws))

    return search


def optimum(changes: tuple[PropertyChange, ...], evaluations: int = 0, allocations: str | None = None) -> Optimum:
    """A result of which only the changes count here."""
    nothing = Outcome(None, {}, 0.0)  # type: ignore[arg-type]
    return Optimum(changes, allocations, nothing, nothing, None, evaluations, 0, 0.0)  # type: ignore[arg-type]
