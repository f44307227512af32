"""What earlier searches in the store are good for in a new one: similar jobs, and what is known of the cluster."""

from __future__ import annotations

from tuner.model.limits import ClusterLimits
from tuner.model.runtime import Contention
from tuner.search.transfer import PastJob
from tuner.store import RunKind, RunState, Store

MOST_JOBS = 200
"""Newest jobs that are looked through."""
_SAME_SIZE = 0.1
"""Nodes whose memory and vcores differ by no more than this part are taken for the same kind."""


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


def known_contention(store: Store, limits: ClusterLimits) -> Contention:
    """How much executors and tasks are in each other's way on such nodes, by the newest search.

    Args:
        store: the store.
        limits: of the cluster now.

    Returns:
        None at all where no search on nodes of about this size has found any.
    """
    for _, _, document in reversed(store.advice.made_since(0.0)):
        known, on = document.get("contention"), document.get("limits")
        if known and on and _alike(ClusterLimits(**on), limits):
            return Contention.from_json(known)
    return Contention()


def _alike(one: ClusterLimits, other: ClusterLimits) -> bool:
    """Whether the nodes of two clusters are of about one size: what is in whose way is a matter of a node."""
    sizes = [(each.total_memory_mib / each.nodes, each.total_vcores / each.nodes) for each in (one, other)]
    return all(abs(a - b) <= _SAME_SIZE * max(a, b) for a, b in zip(*sizes, strict=True))
