"""The closed loop: look, forecast, decide, reconfigure, go on; and what it came to against doing nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rules.backtest.replay import Replay
from rules.estimator import Estimate, alone_latencies, estimate
from rules.forecast.decision import Decision, ForecastPlan, Search, decide
from rules.policy import Policy
from workloads.trace import Case, Update

__all__ = ["Backtest", "Moment", "backtest"]


@dataclass(frozen=True)
class Moment:
    """A time at which the policy decided, and what."""

    time_s: float
    decision: Decision


@dataclass(frozen=True)
class Backtest:
    """What a policy would have done to a workload.

    Attributes:
        case: the case with the updates on top of its own.
        updates: those that the policy made.
        moments: every decision, also those to change nothing.
        static: the case as it is.
        adaptive: the same with the updates.
    """

    case: Case
    updates: tuple[Update, ...]
    moments: tuple[Moment, ...]
    static: Estimate
    adaptive: Estimate

    @property
    def evaluations(self) -> int:
        """Whole-cluster simulations of all decisions together."""
        return sum(moment.decision.evaluations for moment in self.moments)


def backtest(
    case: Case,
    every_s: float,
    policy: Policy,
    plan: ForecastPlan,
    search: Search,
    *,
    progress: Callable[[float], None] = lambda _: None,
) -> Backtest:
    """Runs a policy over a case in virtual time: first decision at ``every_s``, then at each multiple of it.

    A decision at a time sees what had happened before it, and nothing of the case that comes later: its workload, its
    own updates to come and its horizon are not used. Deterministic, if the search is.

    Args:
        case: the workload, the cluster and the configuration at the beginning.
        every_s: the interval of decisions.
        policy: bounds, guard, least gain and cool-down; quiet hours and mode do not hold in virtual time.
        plan: how each decision looks ahead.
        search: finds candidates.
        progress: is told the virtual time of each decision.

    Raises:
        ValueError: the interval is not above 0.
        InputError: the configuration cannot be read.
    """
    if not every_s > 0:
        raise ValueError(f"the interval {every_s} is not above 0")
    replay = Replay(case)
    beginning = replay.cluster()
    moments: list[Moment] = []
    last_change_s: float | None = None
    number = 1
    while (now_s := number * every_s) <= case.horizon_s:
        number += 1
        replay.advance(now_s)
        if replay.finished:
            break
        if last_change_s is not None and now_s - last_change_s < policy.cool_down_s:
            continue
        progress(now_s)
        decision = decide(replay.observe(), replay.cluster(), policy, plan, search, beginning=beginning)
        moments.append(Moment(now_s, decision))
        if decision.change is not None:
            replay.reconfigure(Update(now_s, decision.change.conf, decision.change.allocations))
            last_change_s = now_s
    alone_s = alone_latencies(case)
    return Backtest(
        case=replay.case,
        updates=replay.updates,
        moments=tuple(moments),
        static=estimate(case, alone_s=alone_s),
        adaptive=estimate(replay.case, alone_s=alone_s),
    )
