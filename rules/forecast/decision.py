"""Whether to reconfigure now, and to what: what is visible in, a change and its reasons out.

The search sees some draws of the future; what it finds is then held against the present configuration, and against
the one that was there at the beginning, on other draws that it has not seen. It is taken only if it is better there by
more than the spread of the paired differences, so that noise is not taken for gain and nothing flaps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from rules.estimator import Estimate, Summary, estimate
from rules.forecast.draw import draw_cases
from rules.forecast.flood import bounded_policy, flood_case, survives
from rules.forecast.observation import ClusterFacts, Observation
from rules.optimizer.result import Optimum
from rules.policy import Objective, Policy
from workloads.trace import Case

__all__ = ["Candidate", "Change", "Decision", "ForecastPlan", "Search", "decide"]


_BEYOND = 1.5
"""How many standard errors a gain has to be above, to be more than chance."""
_RETREAT = 0.1
"""What may be given up for all together (a logarithm), to let go of a configuration that the guard does not allow."""


@dataclass(frozen=True)
class Change:
    """A change of the configuration.

    Attributes:
        conf: changed properties of the Capacity Scheduler by full name; None unsets.
        allocations: the Fair Scheduler's new allocation file.
        properties: what is changed, one by one, named as plans name it: the Fair Scheduler's as ``root.a.weight``.
    """

    conf: Mapping[str, str | None] = field(default_factory=dict)
    allocations: str | None = None
    properties: Mapping[str, str | None] = field(default_factory=dict)

    def of(self, case: Case) -> Case:
        """The case under the changed configuration."""
        allocations = case.allocations if self.allocations is None else self.allocations
        return replace(case, conf={**case.conf, **self.conf}, allocations=allocations)


Search = Callable[[Sequence[Case], Policy, int], Optimum]
"""Finds the best configuration for some draws of a workload within a policy; the number is a seed."""


@dataclass(frozen=True)
class ForecastPlan:
    """How a decision looks ahead.

    Attributes:
        seed: of all that is drawn.
        span_s: for how long jobs arrive in a draw.
        search_draws: draws that the search sees.
        check_draws: further draws that what it found is judged by.
        objective: what is to become small.
        guarded: whether the policy's bound on a queue's loss holds.
    """

    seed: int = 0
    span_s: float = 900.0
    search_draws: int = 4
    check_draws: int = 6
    objective: Objective = Objective.MEAN
    guarded: bool = True


@dataclass(frozen=True)
class Candidate:
    """A configuration that was judged.

    Attributes:
        name: where it comes from: ``present``, ``beginning`` or ``search``.
        change: relative to the present configuration.
        gain: by how much it is better than the present one: the mean over the draws of the logarithm of the ratio of
            their objectives, so that one crowded draw does not outweigh all others.
        spread: standard error of ``gain``.
        unfinished: jobs without an end, in all draws together.
        forbidden: why the guard does not let it pass; empty where it does.
    """

    name: str
    change: Change
    gain: float
    spread: float
    unfinished: int
    forbidden: str = ""


@dataclass(frozen=True)
class Decision:
    """What to do now.

    Attributes:
        change: what to change; None to leave everything as it is.
        reason: why, in a sentence.
        candidates: what was judged, the present configuration first.
        pairs: for each check draw how it goes without and with the change; empty where there is none.
        evaluations: whole-cluster simulations.
    """

    change: Change | None
    reason: str
    candidates: tuple[Candidate, ...] = ()
    pairs: tuple[tuple[Estimate, Estimate], ...] = ()
    evaluations: int = 0


@dataclass(frozen=True)
class _Judged:
    """A configuration's outcome on each draw."""

    change: Change
    value: NDArray[np.float64]
    unfinished: NDArray[np.float64]
    found: tuple[Estimate, ...]


def decide(
    seen: Observation,
    cluster: ClusterFacts,
    policy: Policy,
    plan: ForecastPlan,
    search: Search,
    *,
    beginning: ClusterFacts | None = None,
    history: Observation | None = None,
) -> Decision:
    """Decides about one moment.

    Args:
        seen: what is visible.
        cluster: the cluster with its present configuration.
        policy: the least gain and the guard.
        plan: how far and how often to look ahead.
        search: finds a candidate; it keeps to the policy's bounds by itself.
        beginning: the configuration that nothing may be worse than, and that can be gone back to; the present one
            where it is not given.
        history: further jobs that ended earlier.
    """
    draws = draw_cases(
        seen, cluster, draws=plan.search_draws + plan.check_draws, seed=plan.seed, span_s=plan.span_s, history=history
    )
    if not draws or not any(case.jobs for case in draws):
        return Decision(None, "there is no job to look ahead to")
    checks = [case for case in draws[plan.search_draws :] if case.jobs]
    searched = [case for case in draws[: plan.search_draws] if case.jobs]
    jobs = [job for case in draws for job in case.jobs]
    optimum = search(searched, bounded_policy(policy, cluster, jobs), plan.seed)
    changes = {"present": Change()}
    if beginning is not None and (beginning.conf, beginning.allocations) != (cluster.conf, cluster.allocations):
        changes["beginning"] = _back_to(beginning, cluster)
    if optimum.found:
        changes["search"] = Change(
            optimum.conf, optimum.allocations, {made.property: made.after for made in optimum.changes}
        )
    if len(changes) == 1 or not checks:
        return Decision(None, "nothing better was found", evaluations=optimum.evaluations)
    judged = {name: _judge(change, checks, plan.objective, policy) for name, change in changes.items()}
    first = judged.get("beginning", judged["present"])
    loss = policy.most_queue_loss_percent if plan.guarded else None
    flood = flood_case(cluster, jobs)
    if flood is not None and not survives(flood):
        flood = None  # the administrator lives with that risk already, and it is not for us to insist
    candidates = tuple(_candidate(name, each, judged["present"], first, loss, flood) for name, each in judged.items())
    evaluations = optimum.evaluations + len(judged) * len(checks)
    chosen, reason = _choose(candidates, policy.least_gain_percent / 100.0)
    if chosen is None:
        return Decision(None, reason, candidates, evaluations=evaluations)
    pairs = tuple(zip(judged["present"].found, judged[chosen.name].found, strict=True))
    return Decision(chosen.change, reason, candidates, pairs, evaluations)


def _back_to(beginning: ClusterFacts, present: ClusterFacts) -> Change:
    names = dict.fromkeys([*beginning.conf, *present.conf])
    conf = {name: beginning.conf.get(name) for name in names if beginning.conf.get(name) != present.conf.get(name)}
    same = beginning.allocations == present.allocations
    return Change(conf, None if same else beginning.allocations, conf)


def _judge(change: Change, draws: Sequence[Case], objective: Objective, policy: Policy) -> _Judged:
    found = [
        estimate(change.of(case), alone_s=None if objective is Objective.SLOWDOWN else _ones(case)) for case in draws
    ]
    values = [_objective(each.by_queue, objective, policy) for each in found]
    if objective is Objective.TARGET_MISS:
        values = [
            _misses(each.latencies_s(case.horizon_s), [job.path for job in each.jobs], policy)
            for each, case in zip(found, draws, strict=True)
        ]
    return _Judged(
        change,
        np.array(values),
        np.array([each.summary.unfinished for each in found], np.float64),
        tuple(found),
    )


def _ones(case: Case) -> NDArray[np.float64]:
    """Stands for latencies alone where no slowdown is asked for: finding them takes as long as the simulation."""
    return np.ones(len(case.jobs))


def _objective(by_queue: Mapping[str, Summary], objective: Objective, policy: Policy) -> float:
    weights = {path: policy.queue(path).weight * each.jobs for path, each in by_queue.items()}
    total = sum(weights.values())
    values = {
        path: each.mean_slowdown if objective is Objective.SLOWDOWN else each.mean_latency_s
        for path, each in by_queue.items()
    }
    return sum(weights[path] * values[path] for path in values) / total if total else 0.0


def _misses(latencies_s: NDArray[np.float64], paths: Sequence[str], policy: Policy) -> float:
    """The share of jobs above their queue's target; the mean latency breaks ties."""
    targets = {path: policy.queue(path).target_latency_s for path in set(paths)}
    target_s = np.array([np.inf if targets[path] is None else targets[path] for path in paths], np.float64)
    return float((latencies_s > target_s).mean() + 1e-6 * latencies_s.mean())


def _candidate(
    name: str, each: _Judged, present: _Judged, first: _Judged, loss_percent: float | None, flood: Case | None
) -> Candidate:
    ratios = np.log(np.maximum(present.value, 1e-9) / np.maximum(each.value, 1e-9))
    spread = float(ratios.std(ddof=1) / np.sqrt(len(ratios))) if len(ratios) > 1 else 0.0
    forbidden = ""
    if each is not first and loss_percent is not None:
        # Twice as much for what is in force already: a queue near the bound would have it come and go.
        forbidden = _guard(each, first, 2.0 * loss_percent if each is present else loss_percent)
    if each is not present and flood is not None and not survives(each.change.of(flood)):
        forbidden = "application masters alone could fill the cluster"
    return Candidate(name, each.change, float(ratios.mean()), spread, int(each.unfinished.sum()), forbidden)


def _guard(each: _Judged, first: _Judged, loss_percent: float) -> str:
    if each.unfinished.sum() > first.unfinished.sum():
        return "more jobs would not end"
    for path in sorted({path for each_draw in first.found for path in each_draw.by_queue}):
        pairs = [
            (before.by_queue[path], after.by_queue[path])
            for before, after in zip(first.found, each.found, strict=True)
            if path in before.by_queue and path in after.by_queue
        ]
        jobs = np.array([before.jobs for before, _ in pairs], np.float64)
        before_s = np.array([before.mean_latency_s for before, _ in pairs])
        allowed_s = before_s * (1.0 + loss_percent / 100.0)
        # By how much the queue's jobs are late together in each draw; a queue of few jobs loses by chance in some.
        late_s = jobs * (np.array([after.mean_latency_s for _, after in pairs]) - allowed_s)
        spread_s = float(late_s.std(ddof=1) / np.sqrt(len(late_s))) if len(late_s) > 1 else 0.0
        if late_s.mean() > spread_s + 1e-6:
            lost = float((late_s.sum() + (jobs * allowed_s).sum()) / max((jobs * before_s).sum(), 1e-9)) - 1.0
            return f"{path} would lose {100.0 * lost:.0f} %"
    return ""


def _choose(candidates: Sequence[Candidate], least_gain: float) -> tuple[Candidate | None, str]:
    """The best that is allowed, if it beats the present one beyond the spread; the present one comes first."""
    present, *others = candidates
    allowed = [each for each in others if not each.forbidden]
    if not allowed:
        return None, f"what was found is not allowed: {others[0].forbidden}"
    best = min(allowed, key=lambda each: (each.unfinished, -each.gain))
    if best.unfinished < present.unfinished:
        return best, f"{present.unfinished - best.unfinished} more jobs would end, by the draws together"
    if best.unfinished > present.unfinished or best.gain <= -_RETREAT:
        return None, "nothing better was found"
    if present.forbidden:
        return best, f"the present configuration is not allowed any more: {present.forbidden}"
    words = f"{100.0 * (1.0 - np.exp(-best.gain)):.1f} % better than now, spread {100.0 * best.spread:.1f}"
    if best.gain <= max(_BEYOND * best.spread, least_gain, 1e-9):
        return None, f"the best that was found is {words}: not beyond doubt"
    return best, words
