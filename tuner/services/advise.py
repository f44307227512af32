"""Keeps the advice for a job's next submission up to date: after a tuning, and after each production run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict

from tuner.model.advice import Advice, Candidate
from tuner.model.container import Refusal, reservation
from tuner.model.experience import after_failure, after_success
from tuner.model.failures import FailureKind
from tuner.search.objective import Observation, Summary, summarise
from tuner.search.reserve import ReservationModel
from tuner.store import Run, RunState, Store

MOST_CANDIDATES = 12


def advice_from_tuning(
    job_key: str,
    observations: Iterable[Observation],
    best: Summary | None,
    memory: ReservationModel,
    to_set: Callable[[Mapping[str, str]], Mapping[str, str]],
    *,
    default: Mapping[str, str],
    slack: float,
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
        now: seconds since the epoch.

    Returns:
        None where no run has succeeded.
    """
    summaries = summarise(observations)
    if best is None or not summaries:
        return None
    first = _candidate(best, memory, to_set, dict(default), f"best of {len(summaries)} configurations")
    others = [
        _candidate(summary, memory, to_set, dict(default), "tried by the search")
        for summary in sorted(summaries, key=lambda s: s.gib_seconds)
        if dict(summary.configuration) != dict(best.configuration)
    ]
    kept = [each for each in (first, *others) if each is not None][:MOST_CANDIDATES]
    runs = sum(summary.runs for summary in summaries)
    return Advice(
        job_key=job_key,
        made_at=now,
        slack=slack,
        candidates=tuple(kept),
        based_on=f"from {runs} runs of {len(summaries)} configurations",
        limits=asdict(memory.limits),
    )


def learn(store: Store, job_key: str, run: Run, *, now: float) -> None:
    """Takes a finished production run into the advice of its job, where there is one.

    Args:
        store: the store.
        job_key: of the run's job.
        run: as it is in the store.
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
        run_s={held.executors: max(summary.duration_s - summary.wait_s, 0.0)},
        runs=summary.runs,
        reason="the configuration that it has" if own else reason,
    )
