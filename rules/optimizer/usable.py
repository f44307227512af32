"""What each leaf could use of the cluster over time, from one run of the whole: all that the others did not hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from rules.estimator import JobTimes
from rules.optimizer.space import Usable
from workloads.trace import Case, Job

__all__ = ["usable_by_leaf"]

_STEPS = 20
"""Fractions are rounded to this many steps, so that a small change of the others leaves a leaf's tables as they are."""


def usable_by_leaf(case: Case, paths: Sequence[str], times: JobTimes, spans: int) -> Mapping[str, Usable]:
    """What each leaf could have used, in equal spans of time from the first submission to the last.

    A job's use is taken to be even from its first container to its end: its tasks' work, or its executors.

    Args:
        case: cluster and workload.
        paths: the leaf of each job.
        times: how the whole went.
        spans: how many; with one it is the mean over time.
    """
    edges = _edges(case, spans)
    held = _held(case, paths, times, edges)
    together = sum(held.values(), np.zeros(spans))
    found = {}
    for path, own in held.items():
        free = np.maximum(1.0 - np.round((together - own) * _STEPS) / _STEPS, 1.0 / _STEPS)
        new = np.append(True, free[1:] != free[:-1])
        found[path] = tuple(zip(edges[:-1][new].tolist(), free[new].tolist(), strict=True))
    return found


def _edges(case: Case, spans: int) -> NDArray[np.float64]:
    submits_s = [job.submit_s for job in case.jobs]
    first_s, last_s = min(submits_s, default=0.0), max(submits_s, default=0.0)
    edges = np.linspace(first_s, max(last_s, first_s + 1.0), spans + 1)
    edges[0] = 0.0
    return edges


def _held(
    case: Case, paths: Sequence[str], times: JobTimes, edges: NDArray[np.float64]
) -> dict[str, NDArray[np.float64]]:
    """The fraction of the cluster's memory that each leaf held in each span."""
    whole_mib = max(sum(node.memory_mib for node in case.nodes), 1)
    finish_s = np.where(times.finish_s >= 0, times.finish_s, case.horizon_s)
    first_s = np.where(times.first_s >= 0, times.first_s, case.horizon_s)
    lasts_s = np.maximum(finish_s - first_s, 1e-9)
    mean_mib = np.array([_work_mib_s(job, last_s) for job, last_s in zip(case.jobs, lasts_s, strict=True)]) / lasts_s
    begin, end = edges[:-1, None], edges[1:, None]
    overlap_s = np.clip(np.minimum(finish_s, end) - np.maximum(first_s, begin), 0.0, None)
    share = overlap_s * mean_mib / (end - begin) / whole_mib
    found: dict[str, NDArray[np.float64]] = {}
    for place, path in enumerate(paths):
        found[path] = found.get(path, np.zeros(len(edges) - 1)) + share[:, place]
    return found


def _work_mib_s(job: Job, lasts_s: float) -> float:
    """Memory times seconds that a job holds from its first container to its end, its AM's included."""
    if job.executors is not None:
        work = job.executors.count * job.executors.memory_mib * lasts_s
    else:
        work = sum(task.duration_s * task.memory_mib for task in job.tasks)
    return work + job.am_memory_mib * lasts_s
