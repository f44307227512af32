"""What a change by hand should bring: the same forecast that the tuner decides by, for a change that is given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rules.daemon.observe import observe_history, observe_live
from rules.daemon.run import FORECAST_ACTION
from rules.estimator import Estimate, estimate
from rules.forecast.decision import Change, Decision, ForecastPlan, Search, decide
from rules.forecast.draw import draw_cases
from rules.forecast.observation import ClusterFacts, Observation
from rules.lifecycle.context import Context
from rules.live.model import LiveCluster
from rules.policy import Policy
from tuner.store import AuditRow

__all__ = ["Outlook", "read_outlook", "record_forecast"]

_HISTORY_S = 14 * 86_400.0
_MOST_HISTORY = 5_000


@dataclass(frozen=True)
class Outlook:
    """What can be seen of a cluster's work.

    Attributes:
        seen: what runs and waits now.
        facts: the cluster and its present configuration.
        history: what ended before, from the store.
    """

    seen: Observation
    facts: ClusterFacts
    history: Observation

    def decide(self, policy: Policy, forecast: ForecastPlan, search: Search) -> Decision:
        """The best change within a policy, if one is better beyond doubt."""
        return decide(self.seen, self.facts, policy, forecast, search, history=self.history)

    def pairs_of(
        self, forecast: ForecastPlan, *, conf: Mapping[str, str | None], allocations: str | None
    ) -> tuple[tuple[Estimate, Estimate], ...]:
        """How each of some draws of the future goes without and with a change; nothing where no job is in sight.

        Args:
            forecast: how far to look ahead, and how many draws.
            conf: changed properties of the Capacity Scheduler.
            allocations: the Fair Scheduler's new allocation file.

        Raises:
            InputError: the ResourceManager would not start with it.
        """
        change = Change(conf, allocations)
        draws = draw_cases(
            self.seen,
            self.facts,
            draws=forecast.check_draws,
            seed=forecast.seed,
            span_s=forecast.span_s,
            history=self.history,
        )
        return tuple((estimate(case), estimate(change.of(case))) for case in draws if case.jobs)


def read_outlook(context: Context, live: LiveCluster) -> Outlook:
    """What can be seen now, and in the store.

    Raises:
        YarnError: the scheduler's configuration cannot be seen.
    """
    since = live.time_s - _HISTORY_S
    records = context.store.history.applications(context.cluster.id, submitted_since=since, limit=_MOST_HISTORY)
    collections = context.store.history.collections(context.cluster.id, since=since, limit=_MOST_HISTORY)
    seen, facts = observe_live(live)
    return Outlook(seen, facts, observe_history(records, collections, live.time_s))


def record_forecast(context: Context, plan_id: int, forecast: ForecastPlan) -> None:
    """Writes how far a plan's prediction looked ahead, so that ``accuracy`` can hold it against what happens."""
    detail = {"span_s": forecast.span_s, "draws": forecast.check_draws, "seed": forecast.seed, "candidates": []}
    context.store.audit.append(
        AuditRow(
            at=context.clock(),
            who=context.who,
            action=FORECAST_ACTION,
            subject=f"plan {plan_id}",
            outcome="done",
            detail=detail,
        )
    )
