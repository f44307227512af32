"""From an event log to the profile of a run, for what-if questions."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from tuner.analysis.facts import Facts
from tuner.model.runtime import RunProfile, StageProfile, corrected
from tuner.spark.eventlog.model import ApplicationLog, StageLog
from tuner.spark.eventlog.tasks import SUCCEEDED, TaskSample

__all__ = ["profile_of"]

_SAME_MOMENT_S: Final = 0.005
"""Two events of a log that are this close are taken for cause and effect."""
_LEAST_TASKS: Final = 2
"""A median of fewer says nothing about what a first task costs."""

Flags = NDArray[np.bool_]


def profile_of(log: ApplicationLog) -> RunProfile | None:
    """The profile of a run.

    Args:
        log: of a run that has ended.

    Returns:
        None where the log does not tell enough: it is not whole, its tasks were sampled, or a job failed.
    """
    facts = Facts(log, increment_mib=1)
    if not facts.whole or not facts.succeeded or log.sampled or log.start_s is None or log.end_s is None:
        return None
    stages = [stage for stage in facts.stages if stage.submitted_s is not None and stage.completed_s is not None]
    if not stages:
        return None
    cold = _cold_tasks(stages, facts.slots)
    cold_s = _cold_cost(stages, cold)
    profile = RunProfile(
        stages=tuple(_stage(facts, stages, i, cold[i], cold_s) for i in range(len(stages))),
        tail_s=max(0.0, log.end_s - max(_end(stage) for stage in stages)),
        executors=max(1, facts.metrics.peak_executors),
        cores=facts.slots * int(facts.value("spark.task.cpus") or 1),
        task_cpus=int(facts.value("spark.task.cpus") or 1),
        heap_mib=float(facts.value("spark.executor.memory") or 0),
        memory_fraction=float(facts.value("spark.memory.fraction") or 0.6),
        peak_unified_mib=facts.metrics.peak_unified_mib,
        partitions=int(facts.value("spark.sql.shuffle.partitions") or 0) or None if facts.sql else None,
        cold_s=cold_s,
        observed_s=log.end_s - log.start_s,
    )
    return corrected(profile)


def _stage(facts: Facts, stages: list[StageLog], place: int, cold: Flags, cold_s: float) -> StageProfile:
    stage = stages[place]
    after = _after(stages, place)
    begin_s = max((_end(stages[i]) for i in after), default=float(facts.log.start_s or 0.0))
    tasks = _ended_well(stage)
    durations = np.maximum(np.nan_to_num(tasks.durations_s) - cold_s * cold, 0.001)
    order = np.argsort(tasks.column("launch_ms"), kind="stable")
    overhead = tasks.durations_s - tasks.column("run_ms") / 1000.0
    totals = stage.totals
    return StageProfile(
        durations_s=durations[order],
        after=after,
        gap_s=max(0.0, float(stage.submitted_s or 0.0) - begin_s),
        shuffle=stage.expected_tasks == facts.value("spark.sql.shuffle.partitions") and bool(totals.shuffle_read_bytes),
        gc_share=min(1.0, totals.gc_s / totals.run_s) if totals.run_s else 0.0,
        fixed_s=max(0.0, float(np.nanmedian(overhead))) if len(overhead) else 0.0,
    )


def _after(stages: list[StageLog], place: int) -> tuple[int, ...]:
    """The stages that a stage had to wait for: its parents in the DAG, else what the driver had finished last."""
    stage = stages[place]
    submitted_s = float(stage.submitted_s or 0.0)
    ended = [i for i, other in enumerate(stages[:place]) if _end(other) <= submitted_s + _SAME_MOMENT_S]
    parents = tuple(i for i in ended if stages[i].stage_id in stage.parents)
    if parents:
        return parents
    return (max(ended, key=lambda i: _end(stages[i])),) if ended else ()


def _cold_tasks(stages: list[StageLog], slots: int) -> list[Flags]:
    """For each stage which of its tasks were the first on a slot of their executor."""
    samples = [_ended_well(stage) for stage in stages]
    executors = np.concatenate([tasks.column("executor") for tasks in samples])
    launches = np.concatenate([tasks.column("launch_ms") for tasks in samples])
    first = np.zeros(len(launches), np.bool_)
    for executor in np.unique(executors):
        own = np.flatnonzero(executors == executor)
        first[own[np.argsort(launches[own], kind="stable")[:slots]]] = True
    bounds = np.cumsum([len(tasks.rows) for tasks in samples])[:-1]
    return [np.asarray(part) for part in np.split(first, bounds)]


def _cold_cost(stages: list[StageLog], cold: list[Flags]) -> float:
    """What a slot's first task takes longer, by the stages that have both kinds; 0 where none tells."""
    extra = []
    for stage, first in zip(stages, cold, strict=True):
        durations = np.nan_to_num(_ended_well(stage).durations_s)
        if first.sum() >= _LEAST_TASKS and (~first).sum() >= _LEAST_TASKS:
            extra.append(float(np.median(durations[first]) - np.median(durations[~first])))
    return max(0.0, float(np.median(extra))) if extra else 0.0


def _ended_well(stage: StageLog) -> TaskSample:
    rows = stage.tasks.rows[stage.tasks.column("status") == SUCCEEDED]
    return TaskSample(rows, len(rows))


def _end(stage: StageLog) -> float:
    return float(stage.completed_s or 0.0)
