"""What was predicted for each plan, applied or not, against what happened. Pure.

A plan that was applied is held against its prediction for the proposed configuration, one that was not against that
for the present one: what did not happen cannot be measured. Counted are the jobs that the forecast was about: those
open when the plan was made, from then on, and those submitted while it looked ahead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

from rules.lifecycle.states import PlanState
from rules.plan import Plan
from rules.planner import ALL_QUEUES
from tuner.store.history_records import ApplicationRecord, Collection

__all__ = ["Accuracy", "PlanOutcome", "QueueOutcome", "assess", "summarize"]


@dataclass(frozen=True, slots=True)
class QueueOutcome:
    """A queue, or ``all``: predicted and measured mean latency in seconds, over so many jobs."""

    queue: str
    predicted_s: float
    measured_s: float
    jobs: int

    @property
    def error(self) -> float:
        """By how much the prediction was too high, as a fraction of what was measured."""
        return (self.predicted_s - self.measured_s) / max(self.measured_s, 1.0)


@dataclass(frozen=True)
class PlanOutcome:
    """One plan.

    Attributes:
        plan_id: in the store.
        created_at: when it was made.
        state: in the store now.
        applied: whether its configuration was in force while the forecast held.
        queues: all first; empty where nothing can be said, and ``why`` says why.
        why: why nothing can be said, or what to take into account.
    """

    plan_id: int
    created_at: float
    state: str
    applied: bool
    queues: tuple[QueueOutcome, ...] = ()
    why: str = ""


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Over all plans that can be measured.

    Attributes:
        plans: how many.
        median_error: median of the errors' absolute values, of all queues together; None without plans.
        bias: mean of the errors: above 0 where latencies are predicted too high.
    """

    plans: int
    median_error: float | None
    bias: float | None


def assess(
    plan_id: int,
    plan: Plan,
    state: PlanState,
    span_s: float | None,
    applications: Sequence[ApplicationRecord],
    collections: Sequence[Collection],
    now_s: float,
    *,
    start_up_s: float = 0.0,
) -> PlanOutcome:
    """Holds one plan against what happened.

    Args:
        plan_id: in the store.
        plan: the plan.
        state: of the plan now.
        span_s: how far its forecast looked ahead; None where it was made by hand.
        applications: of the store.
        collections: of the store; a gap in the time that counts is told.
        now_s: the clock.
        start_up_s: what the cluster takes to start an application master, which a case leaves out.
    """
    applied = state is PlanState.APPLIED
    outcome = PlanOutcome(plan_id, plan.created_at, state.value, applied)
    if span_s is None or not plan.effects:
        return _without(outcome, "it was not forecast")
    begin_s, end_s = plan.created_at, plan.created_at + span_s
    if now_s < end_s:
        return _without(outcome, f"the time that it was made for lasts {end_s - now_s:.0f} s more")
    jobs = [each for each in applications if _counts(each, begin_s, end_s)]
    ended = [each for each in jobs if each.finished_at is not None and each.state != "LOST"]
    if not ended:
        return _without(outcome, "no job of that time has ended")
    latencies = {each.application_id: _latency_s(each, begin_s) for each in ended}
    queues = []
    for effect in plan.effects:
        own = [each for each in ended if effect.queue in (ALL_QUEUES, each.queue)]
        if own:
            predicted_s = (effect.after_s if applied else effect.before_s) + start_up_s
            measured_s = fmean(latencies[each.application_id] for each in own)
            queues.append(QueueOutcome(effect.queue, predicted_s, measured_s, len(own)))
    notes = []
    if len(ended) < len(jobs):
        notes.append(f"{len(jobs) - len(ended)} of {len(jobs)} jobs have not ended, or were lost")
    if any(made.gap_from is not None and _overlap(made, begin_s, end_s) for made in collections):
        notes.append("jobs may be missing: the record has a gap in that time")
    return PlanOutcome(plan_id, plan.created_at, state.value, applied, tuple(queues), "; ".join(notes))


def summarize(outcomes: Sequence[PlanOutcome]) -> Accuracy:
    """The errors of all plans together."""
    errors = [outcome.queues[0].error for outcome in outcomes if outcome.queues]
    if not errors:
        return Accuracy(0, None, None)
    return Accuracy(len(errors), median(abs(error) for error in errors), fmean(errors))


def _without(outcome: PlanOutcome, why: str) -> PlanOutcome:
    return PlanOutcome(outcome.plan_id, outcome.created_at, outcome.state, outcome.applied, (), why)


def _counts(each: ApplicationRecord, begin_s: float, end_s: float) -> bool:
    open_then = each.submitted_at < begin_s and (each.finished_at is None or each.finished_at > begin_s)
    return open_then or begin_s <= each.submitted_at < end_s


def _latency_s(each: ApplicationRecord, begin_s: float) -> float:
    """As the forecast counts it: of a job that was there already, from the moment of the forecast on."""
    assert each.finished_at is not None
    return each.finished_at - max(each.submitted_at, begin_s)


def _overlap(made: Collection, begin_s: float, end_s: float) -> bool:
    assert made.gap_from is not None
    return made.gap_from < end_s and (made.gap_until or made.at) > begin_s
