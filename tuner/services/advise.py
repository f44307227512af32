"""Keeps the advice for a job's next submission up to date: after a tuning, and after each production run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace

from tuner.model.advice import Advice, Basis, Candidate
from tuner.model.container import Refusal, reservation
from tuner.model.experience import after_failure, after_look, after_success
from tuner.model.explore import next_to_explore
from tuner.model.failures import FailureKind
from tuner.search.objective import Observation, Summary, summarise
from tuner.search.prior import TimePrior
from tuner.search.reserve import ReservationModel
from tuner.store import Run, RunState, Store

MOST_CANDIDATES = 12


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
    first = _candidate(best, memory, to_set, dict(default), f"best of {len(summaries)} configurations", fitted)
    others = [
        _candidate(summary, memory, to_set, dict(default), "tried by the search", fitted)
        for summary in sorted(summaries, key=lambda s: s.gib_seconds)
        if dict(summary.configuration) != dict(best.configuration)
    ]
    kept = [each for each in (first, *others) if each is not None][:MOST_CANDIDATES]
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
    if run.state is RunState.SUCCEEDED and run.run_s is not None:
        after = after_success(before, run.configuration, run.metrics.get("peak_executors"), run.run_s)
    elif run.state is RunState.FAILED:
        after = after_failure(before, run.configuration, _kinds(run))
    after = after_look(after, basis)
    if after != before:
        store.advice.put(job_key, after.to_json(), now=now)


def _kinds(run: Run) -> list[FailureKind]:
    known = {kind.value for kind in FailureKind}
    return [FailureKind(kind) for kind in run.metrics.get("deaths", ()) if kind in known]


def _candidate(
    summary: Summary,
    memory: ReservationModel,
    to_set: Callable[[Mapping[str, str]], Mapping[str, str]],
    default: Mapping[str, str],
    reason: str,
    prior: TimePrior | None,
) -> Candidate | None:
    conf = {**memory.base, **summary.configuration}
    held = reservation(
        conf, memory.limits, python=memory.python, cluster_mode=memory.cluster_mode, version=memory.version
    )
    if isinstance(held, Refusal) or held.executors < 1:
        return None
    own = dict(summary.configuration) == default
    return Candidate(
        conf={} if own else dict(to_set(summary.configuration)),
        am_mib=held.am.memory_mib,
        executor_mib=held.executor.memory_mib,
        executor_vcores=held.executor.request.vcores,
        executors=held.executors,
        run_s=_times(summary, held.executors, prior),
        runs=summary.runs,
        reason="the configuration that it has" if own else reason,
    )


def _times(summary: Summary, executors: int, prior: TimePrior | None) -> dict[int, float]:
    """Run times by the number of executors: the observed one, and what the model makes of it for fewer."""
    observed_s = max(summary.duration_s - summary.wait_s, 0.0)
    times = {executors: observed_s}
    if prior is None:
        return times
    whole_s = prior.run_with(summary.configuration, executors)
    fewer = executors // 2
    while fewer >= 1:
        # Never faster than with all of them: the model may think so of a cluster on which tasks disturb each other.
        times[fewer] = observed_s * max(1.0, prior.run_with(summary.configuration, fewer) / whole_s)
        fewer //= 2
    return times
