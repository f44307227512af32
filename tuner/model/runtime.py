"""What-if: how long a run would have taken with other executors, cores, partitions and memory.

From one run's event log: its stages with their tasks, the order that the driver and the DAG force on them, and the
gaps in between, in which only the driver works. The tasks are put on the slots of the supposed configuration in the
order of Spark's FIFO scheduler (list scheduling, Graham 1966); sparklens does the same by waves.

What it assumes, since a log does not say: a task takes as long on another executor; the work of a shuffle is divided
evenly by another number of partitions; garbage collection costs in inverse proportion to the free heap; unified memory
that is short costs up to the task's time again (:data:`SPILL_COST`). Where executors and tasks that run side by side
are in each other's way (too few real cores, one disk), :class:`Contention` says how much; it is fitted to other runs.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tuner.model.memory import unified_memory_mib

__all__ = [
    "Contention",
    "Prediction",
    "RunProfile",
    "StageProfile",
    "WhatIf",
    "corrected",
    "fit_contention",
    "predict",
]

Times = NDArray[np.float64]

SPILL_COST: Final = 1.0
"""What a task's time grows by when none of the unified memory that it used is left: a guess, held by the runs."""
_GC_BOUNDS: Final = (0.25, 8.0)
_LEAST_LEFT: Final = 0.2
"""Of a run's time, when fewer executors start: what is learnt of starts says nothing about the rest."""
_MOST_TASKS: Final = 2000
"""Tasks of a stage that are scheduled one by one; of more, so many stand for all."""
_START_GRID: Final = (0.0, *np.geomspace(0.25, 32.0, 22).tolist())
_CONTENTION_GRID: Final = (float("inf"), 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 64.0, 128.0)


@dataclass(frozen=True, eq=False)
class StageProfile:
    """One stage of the observed run.

    Attributes:
        durations_s: of its tasks, in the order of their launch, shape (tasks,).
        after: positions of the stages that must have ended before it starts.
        gap_s: from their end (or from the application's start) to this stage's submission.
        shuffle: whether its number of tasks follows ``spark.sql.shuffle.partitions``.
        gc_share: part of its tasks' time that is garbage collection.
        fixed_s: part of each task's time that does not shrink with its data.
    """

    durations_s: Times
    after: tuple[int, ...]
    gap_s: float
    shuffle: bool
    gc_share: float
    fixed_s: float


@dataclass(frozen=True)
class RunProfile:
    """An observed run, ready for what-if questions.

    Attributes:
        stages: in the order of their submission.
        tail_s: from the last stage's end to the application's.
        executors, cores: that it had at most, and cores of each; `task_cpus`: what a task takes of them.
        heap_mib, memory_fraction: of an executor.
        peak_unified_mib: largest execution and storage memory of one executor; None where it was not sampled.
        partitions: ``spark.sql.shuffle.partitions`` of the run; None where it has no SQL.
        cold_s: what a slot's first task takes longer than its next ones.
        observed_s: from start to end.
        correction: observed time over the time that the same model gives for the same configuration; what the model
            leaves out is taken to grow with the rest.
    """

    stages: Sequence[StageProfile]
    tail_s: float
    executors: int
    cores: int
    task_cpus: int
    heap_mib: float
    memory_fraction: float
    peak_unified_mib: float | None
    partitions: int | None
    cold_s: float
    observed_s: float
    correction: float = 1.0


@dataclass(frozen=True)
class WhatIf:
    """A supposed configuration; None leaves a thing as it was observed."""

    executors: int
    cores: int
    heap_mib: float | None = None
    memory_fraction: float | None = None
    partitions: int | None = None


@dataclass(frozen=True)
class Contention:
    """How much executors and tasks that run side by side are in each other's way.

    Args:
        tasks: that many run at full speed; of more, each is slowed in proportion.
        start_s: what each executor more adds to the run, since its start takes cores that the rest would use.
    """

    tasks: float = float("inf")
    start_s: float = 0.0

    def slowdown(self, running: float) -> float:
        """By what each task's time is multiplied when so many run."""
        return max(1.0, running / self.tasks)

    def to_json(self) -> dict[str, float | None]:
        """As it is kept with an advice; JSON has no infinity."""
        return {"tasks": None if math.isinf(self.tasks) else self.tasks, "start_s": self.start_s}

    @classmethod
    def from_json(cls, value: Mapping[str, float | None]) -> Contention:
        """Reads :meth:`to_json`.

        Raises:
            KeyError: it is none.
        """
        tasks = value["tasks"]
        return cls(float("inf") if tasks is None else tasks, value["start_s"] or 0.0)


@dataclass(frozen=True)
class Prediction:
    """Seconds from the application's start to its end, and what they consist of.

    Attributes:
        run_s: all of it.
        driver_s: gaps in which no task runs, on the longest path.
        task_s: the rest.
    """

    run_s: float
    driver_s: float
    task_s: float


def predict(profile: RunProfile, what: WhatIf, contention: Contention | None = None) -> Prediction:
    """Predicts a run.

    Args:
        profile: the observed run.
        what: the supposed configuration.
        contention: of the cluster; none where not given.

    Raises:
        ValueError: there is no executor, or a task takes more cores than one has.
    """
    slots = what.executors * (what.cores // profile.task_cpus)
    if slots < 1:
        raise ValueError(f"{what.executors} executors of {what.cores} cores have no slot for a task")
    contention = contention or Contention()
    factor = _memory_factor(profile, what) * _contention_factor(profile, slots, contention)
    free = [0.0] * slots
    cold = [profile.cold_s] * slots
    ends: list[float] = []
    for stage in profile.stages:
        ready_s = max((ends[i] for i in stage.after), default=0.0) + stage.gap_s
        durations = _divided(stage, profile, what) * factor * _gc_factor(stage, profile, what)
        ends.append(_schedule(durations, ready_s, free, cold))
    run_s = (max(ends, default=0.0) + profile.tail_s) * profile.correction
    run_s = _with_starts(run_s, what.executors - profile.executors, contention.start_s)
    driver_s = (sum(stage.gap_s for stage in profile.stages) + profile.tail_s) * profile.correction
    return Prediction(run_s, min(driver_s, run_s), max(0.0, run_s - driver_s))


def fit_contention(profile: RunProfile, runs: Sequence[tuple[WhatIf, float]]) -> Contention:
    """How far executors and tasks are in each other's way, from other runs of the same job.

    Args:
        profile: one observed run.
        runs: configurations with their observed seconds.

    Returns:
        The values with the least squared error of log time; none at all where no run speaks for them.
    """
    seen = [(what, seconds) for what, seconds in runs if seconds > 0]
    best, least = Contention(), float("inf")
    for tasks in _CONTENTION_GRID:
        expected = [predict(profile, what, Contention(tasks)).run_s for what, _ in seen]
        for start_s in _START_GRID:
            error = sum(
                math.log(_with_starts(run_s, what.executors - profile.executors, start_s) / seconds) ** 2
                for run_s, (what, seconds) in zip(expected, seen, strict=True)
            )
            if error < least - 1e-9:
                best, least = Contention(tasks, start_s), error
    return best


def _with_starts(run_s: float, more_executors: int, start_s: float) -> float:
    """A run with so many executors more, or fewer, which may not take all of its time away."""
    return max(run_s + more_executors * start_s, _LEAST_LEFT * run_s)


def _schedule(durations: Times, ready_s: float, free: list[float], cold: list[float]) -> float:
    """Puts a stage's tasks on the slots that are free first; returns when the last one ends.

    Args:
        durations: shape (tasks,), in launch order.
        ready_s: when they may start.
        free: when each slot is free; brought up to date.
        cold: what the first task of each slot takes longer; used up in the order in which slots are first taken.
    """
    slots = [(max(at, ready_s), i) for i, at in enumerate(free)]
    heapq.heapify(slots)
    kept = _few(durations)
    # Each kept task stands for several: they follow each other, as they would on one slot in the long run.
    weight = len(durations) / len(kept) if len(kept) else 1.0
    end_s = ready_s
    for duration in kept.tolist():
        at, i = heapq.heappop(slots)
        done = at + duration * weight + cold[i]
        cold[i] = 0.0
        free[i] = done
        end_s = max(end_s, done)
        heapq.heappush(slots, (done, i))
    return end_s


def _few(durations: Times) -> Times:
    if len(durations) <= _MOST_TASKS:
        return durations
    return durations[np.linspace(0, len(durations) - 1, _MOST_TASKS).astype(np.int64)]


def _divided(stage: StageProfile, profile: RunProfile, what: WhatIf) -> Times:
    """The stage's tasks with another number of partitions: the same work, evenly among them."""
    if not stage.shuffle or what.partitions is None or profile.partitions is None:
        return stage.durations_s
    ratio = profile.partitions / what.partitions
    tasks = max(1, round(len(stage.durations_s) / ratio))
    work_s = np.maximum(stage.durations_s - stage.fixed_s, 0.0)
    places = np.minimum((np.arange(tasks) * len(work_s)) // tasks, len(work_s) - 1)
    spread = work_s[places]
    total = float(spread.sum())
    scaled = spread * (float(work_s.sum()) / total) if total > 0 else spread
    return np.asarray(scaled + np.minimum(stage.fixed_s, stage.durations_s[places]))


def _gc_factor(stage: StageProfile, profile: RunProfile, what: WhatIf) -> float:
    if what.heap_mib is None or not stage.gc_share:
        return 1.0
    live_mib = profile.peak_unified_mib or 0.0
    before = max(1.0, profile.heap_mib - live_mib)
    after = max(1.0, what.heap_mib - live_mib)
    growth = min(max(before / after, _GC_BOUNDS[0]), _GC_BOUNDS[1])
    return 1.0 + stage.gc_share * (growth - 1.0)


def _memory_factor(profile: RunProfile, what: WhatIf) -> float:
    """What spilling costs where a slot has less unified memory than the run used."""
    if profile.peak_unified_mib is None or what.heap_mib is None:
        return 1.0
    fraction = profile.memory_fraction if what.memory_fraction is None else what.memory_fraction
    room = unified_memory_mib(what.heap_mib, fraction) / max(1, what.cores)
    used = profile.peak_unified_mib / max(1, profile.cores)
    return 1.0 + SPILL_COST * max(0.0, 1.0 - room / used) if used > 0 else 1.0


def _contention_factor(profile: RunProfile, slots: int, contention: Contention) -> float:
    observed = profile.executors * max(1, profile.cores // profile.task_cpus)
    return contention.slowdown(slots) / contention.slowdown(observed)


def corrected(profile: RunProfile) -> RunProfile:
    """The profile with the correction that makes the model give its own observed time."""
    own = predict(profile, WhatIf(profile.executors, profile.cores)).run_s
    return replace(profile, correction=profile.correction * profile.observed_s / own) if own > 0 else profile
