"""The optimizer as a decision uses it: several draws in, a candidate out, within a share of the time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rules.forecast.decision import ForecastPlan, Search
from rules.optimizer import optimize
from rules.optimizer.result import Optimum
from rules.policy import Policy
from workloads.trace import Case

__all__ = ["optimizer_search"]

_EVALUATIONS = 80
"""Of each search: near enough to what more of them find, since the draws are a guess anyway. Deciding twice as often
with half the search brings more than the other way round (benchmarks/queues.md)."""
_SHARE_OF_REST = 0.2
"""How many decisions follow is not known: each takes a fifth of the time that is left, so there is always some."""


def optimizer_search(
    plan: ForecastPlan,
    *,
    clock: Callable[[], float],
    decision_limit_s: float,
    total_limit_s: float | None = None,
) -> Search:
    """Makes the search of a decision.

    Args:
        plan: the objective, and whether the guard holds.
        clock: seconds from any zero.
        decision_limit_s: the most that one search takes.
        total_limit_s: the most that all searches take together, from now on.
    """
    begin_s = clock()

    def search(draws: Sequence[Case], policy: Policy, seed: int) -> Optimum:
        limit_s = decision_limit_s
        if total_limit_s is not None:
            limit_s = min(limit_s, max(_SHARE_OF_REST * (begin_s + total_limit_s - clock()), 0.05))
        return optimize(
            draws,
            policy,
            objective=plan.objective,
            guard="default" if plan.guarded else "none",
            seed=seed,
            time_limit_s=limit_s,
            evaluations=_EVALUATIONS,
            clock=clock,
        )

    return search
