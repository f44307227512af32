"""Keeps the advice for a job's next submission up to date: after a tuning, and after each production run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace

from tuner.model.advice import Advice, Basis
from tuner.model.experience import after_failure, after_look, after_success
from tuner.model.explore import next_to_explore
from tuner.model.failures import FailureKind
from tuner.search.candidates import CandidateMaker, with_busy_ones
from tuner.search.objective import Observation, Summary, summarise
from tuner.search.prior import TimePrior
from tuner.search.reserve import ReservationModel
from tuner.store import Run, RunState, Store

MOST_CANDIDATES = 12
"""Of those that have run."""


def advice_from_tuning(
    job_key: str,
    observations: Sequence[Observation],
    best: Summary | None,
    memory: ReservationModel,
    to_set: Callable[[Mapping[str, str]], Mapping[str, str]],
    *,
    default: Mapping[str, str],
    slack: float,
    basis: Basis,
    prior: TimePrior | None,
    now: float,
) -> Advice | None:
    """The advice that a search gives: its best configuration, and what else may be the best one under load.

    Args:
        job_key: of the job.
        observations: every run of the search.
        best: the configuration that won; None where nothing ran.
        memory: the container model.
        to_set: what has to be set to get a configuration.
        default: the configuration that the job has.
        slack: of the search.
        basis: what the runs were runs of.
        prior: the what-if model, for times with fewer executors than a configuration asks for; None where there is
            none, and they are taken to be in inverse proportion.
        now: seconds since the epoch.

    Returns:
        None where no run has succeeded.
    """
    summaries = summarise(observations)
    if best is None or not summaries:
        return None
    fitted = prior.fitted(observations) if prior else None
    maker = CandidateMaker(memory, to_set, default, fitted)
    first = maker.ran(best, f"best of {len(summaries)} configurations")
    others = [
        maker.ran(summary, "tried by the search")
        for summary in sorted(summaries, key=lambda s: s.gib_seconds)
        if dict(summary.configuration) != dict(best.configuration)
    ]
    kept = [each for each in (first, *others) if each is not None][:MOST_CANDIDATES]
    if kept:
        kept = with_busy_ones(kept, maker, summaries, memory.limits, slack)
    runs = sum(summary.runs for summary in summaries)
    advice = Advice(
        job_key=job_key,
        made_at=now,
        slack=slack,
        candidates=tuple(kept),
        based_on=f"from {runs} runs of {len(summaries)} configurations",
        limits=asdict(memory.limits),
        contention=fitted.contention.to_json() if fitted else None,
        basis=basis,
    )
    return replace(advice, explore=next_to_explore(advice))


def learn(store: Store, job_key: str, run: Run, basis: Basis, *, now: float) -> None:
    """Takes a finished production run into the advice of its job, where there is one.

    Args:
        store: the store.
        job_key: of the run's job.
        run: as it is in the store.
        basis: what the run was a run of.
        now: seconds since the epoch.
    """
    document = store.advice.get(job_key)
    if document is None:
        return
    try:
        before = Advice.from_json(document)
    except (KeyError, TypeError, ValueError):
        # Another version's; the next tuning writes a new one.
        return
    after = before
    # What gave way to the user's own properties was chosen all the same: a failure with the rest must not come again.
    had = {**run.configuration, **run.metrics.get("advised", {})}
    if run.state is RunState.SUCCEEDED and run.run_s is not None:
        after = after_success(before, had, run.metrics.get("peak_executors"), run.run_s)
    elif run.state is RunState.FAILED:
        after = after_failure(before, had, _kinds(run))
    after = after_look(after, basis)
    if after != before:
        store.advice.put(job_key, after.to_json(), now=now)


def _kinds(run: Run) -> list[FailureKind]:
    known = {kind.value for kind in FailureKind}
    return [FailureKind(kind) for kind in run.metrics.get("deaths", ()) if kind in known]
