"""The jobs in the store that were tuned before, for searches of similar ones."""

from __future__ import annotations

from tuner.search.transfer import PastJob
from tuner.store import RunKind, RunState, Store

MOST_JOBS = 200
"""Newest jobs that are looked through."""


def past_jobs(store: Store, but_not: int) -> list[PastJob]:
    """Every tuned job with its first run's metrics and its best configuration.

    Args:
        store: the store.
        but_not: id of the job that is being tuned.
    """
    found = []
    for summary in store.jobs.summaries(limit=MOST_JOBS):
        if summary.job.id == but_not or summary.best_run_id is None:
            continue
        best = store.runs.get(summary.best_run_id)
        first = store.runs.list(job_id=summary.job.id, kinds=[RunKind.DEFAULT], states=[RunState.SUCCEEDED], limit=1)
        if best is not None and first and first[0].metrics:
            found.append(PastJob(summary.job.name, first[0].metrics, best.configuration))
    return found
