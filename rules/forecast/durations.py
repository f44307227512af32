"""How long containers that have not ended will take, and what jobs that have not asked will ask for.

Both are taken from jobs that look alike: runs of the same recurring job, or else jobs of a similar number of
containers. A container that still runs is a lower bound of its duration: it stands for the longer ones among its like
(Efron's redistribution to the right, which is the Kaplan-Meier estimator), so that the short ones, which end first, do
not pass for all. A whole job is taken as the model of another one, not single containers of many, since the containers
of one job are alike.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from rules.forecast.observation import SeenContainers, SeenJob

__all__ = ["DurationModel", "Shape", "ShapePart"]

_ENOUGH_MODELS = 3
"""Jobs that a class must have before it is preferred to a wider one."""
_ENOUGH_OWN = 4
"""Ended containers of a job after which they alone say how long its others take."""
_MOST_MODELS = 400
"""The latest jobs only, so that a long history costs no more than a short one."""
_UNKNOWN_S = 30.0
"""Before anything has ended and nothing runs: about a task of a MapReduce or Spark job."""


@dataclass(frozen=True, slots=True)
class ShapePart:
    """Containers of one size with the time that each is to be held, in seconds."""

    memory_mib: int
    vcores: int
    durations_s: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Shape:
    """What a job asks for, drawn or known; ``holds`` as in :class:`~rules.forecast.observation.SeenJob`."""

    parts: tuple[ShapePart, ...]
    holds: bool


class DurationModel:
    """Draws durations and shapes from the jobs that were seen.

    Args:
        jobs: every job that is known, in the order of their submissions.
    """

    def __init__(self, jobs: Iterable[SeenJob]) -> None:
        self._by_class: dict[tuple[object, ...], list[SeenJob]] = defaultdict(list)
        asked = [job for job in jobs if job.containers]
        for job in asked[-_MOST_MODELS:]:
            for key in _classes(job):
                self._by_class[key].append(job)

    def whole(self, job: SeenJob, random: np.random.Generator) -> Shape:
        """All that a job asks for, as if it began now: what of it is known as it was, the rest drawn."""
        if not job.containers:
            return self._unknown(job, random)
        parts = [
            ShapePart(
                each.memory_mib,
                each.vcores,
                (*each.ended_s, *self._beyond(job, each, random), *self._waiting(job, each, random)),
            )
            for each in job.containers
        ]
        return Shape(tuple(parts), job.holds)

    def remaining(self, job: SeenJob, random: np.random.Generator) -> Shape:
        """What a job that has not ended still needs: what runs, for the rest of its time, and what waits."""
        if not job.containers:
            return self._unknown(job, random)
        parts = []
        for each in job.containers:
            beyond_s = self._beyond(job, each, random)
            rest_s = [whole_s - held_s for whole_s, held_s in zip(beyond_s, each.running_s, strict=True)]
            durations_s = (*rest_s, *self._waiting(job, each, random))
            if durations_s:
                parts.append(ShapePart(each.memory_mib, each.vcores, durations_s))
        return Shape(tuple(parts), job.holds)

    def _unknown(self, job: SeenJob, random: np.random.Generator) -> Shape:
        models = self._models(_anonymous_classes(job))
        if not models:
            return Shape((ShapePart(job.am_memory_mib, 1, (_UNKNOWN_S,)),), job.holds)
        return self.whole(models[int(random.integers(len(models)))], random)

    def _beyond(self, job: SeenJob, each: SeenContainers, random: np.random.Generator) -> tuple[float, ...]:
        """Durations of the containers that run, each longer than it has been running."""
        if not each.running_s:
            return ()
        if job.holds:  # all of them end with the job
            whole_s = self._longer(job, max(each.running_s), random)
            return tuple(whole_s - max(each.running_s) + held_s for held_s in each.running_s)
        return tuple(self._longer(job, held_s, random) for held_s in each.running_s)

    def _waiting(self, job: SeenJob, each: SeenContainers, random: np.random.Generator) -> tuple[float, ...]:
        if not each.waiting:
            return ()
        if job.holds:
            # Those that came too late to be given are not needed once the job has ended.
            if job.end_s is not None:
                return (max(each.ended_s, default=_UNKNOWN_S),) * each.waiting
            rest_s = [whole - held for whole, held in zip(self._beyond(job, each, random), each.running_s, strict=True)]
            return ((max(rest_s) if rest_s else self._longer(job, 0.0, random)),) * each.waiting
        pool = self._pool(job, random)
        if pool.knows:
            return tuple(pool.draw(0.0, random) for _ in range(each.waiting))
        return tuple(_lindy(0.0, random) for _ in range(each.waiting))

    def _longer(self, job: SeenJob, than_s: float, random: np.random.Generator) -> float:
        """A duration of a container like the job's own, longer than it has been running already."""
        pool = self._pool(job, random, than_s)
        return pool.draw(than_s, random)

    def _pool(self, job: SeenJob, random: np.random.Generator, than_s: float = 0.0) -> _Pool:
        own = _Pool.of(job)
        if len(own.ended_s) >= _ENOUGH_OWN and not job.holds:
            return own
        models = [model for model in self._models(_classes(job)) if model.id != job.id and _Pool.of(model).knows]
        models = [model for model in models if _Pool.of(model).longest_s > than_s] or models
        if not models:
            return own
        model = _Pool.of(models[int(random.integers(len(models)))])
        return model if job.holds else _Pool((*own.ended_s, *model.ended_s), (*own.running_s, *model.running_s))

    def _models(self, classes: Sequence[tuple[object, ...]]) -> list[SeenJob]:
        """The jobs of the narrowest class that has enough of them, or else of the widest."""
        found: list[SeenJob] = []
        for key in classes:
            found = self._by_class.get(key, [])
            if len(found) >= _ENOUGH_MODELS:
                return found
        return found


@dataclass(frozen=True, slots=True)
class _Pool:
    """Durations that ended, and lower bounds of those that did not."""

    ended_s: tuple[float, ...]
    running_s: tuple[float, ...]

    @classmethod
    def of(cls, job: SeenJob) -> _Pool:
        ended = tuple(held_s for each in job.containers for held_s in each.ended_s)
        running = tuple(held_s for each in job.containers for held_s in each.running_s)
        return cls(ended, running)

    @property
    def knows(self) -> bool:
        return bool(self.ended_s or self.running_s)

    @property
    def longest_s(self) -> float:
        return max(*self.ended_s, *self.running_s, 0.0, 0.0)

    def draw(self, than_s: float, random: np.random.Generator) -> float:
        """A duration longer than ``than_s``: one that ended, or one beyond a lower bound."""
        ended = [held_s for held_s in self.ended_s if held_s > than_s]
        running = [held_s for held_s in self.running_s if held_s > than_s]
        if not ended and not running:
            return _lindy(than_s, random)
        place = int(random.integers(len(ended) + len(running)))
        return ended[place] if place < len(ended) else self.draw(running[place - len(ended)], random)


def _lindy(than_s: float, random: np.random.Generator) -> float:
    """Nothing like it has taken as long: as long again, give or take (a Pareto tail of index 1, cut at 8 times)."""
    return max(than_s, _UNKNOWN_S / 2) * min(1.0 / (1.0 - float(random.random())), 8.0) + 1e-3


def _classes(job: SeenJob) -> tuple[tuple[object, ...], ...]:
    """What a job belongs to, the narrowest first."""
    size = int(math.log2(job.asked)) if job.asked else 0
    return (
        ("name and size", job.holds, job.name, size),
        ("queue and size", job.holds, job.queue, size),
        ("size", job.holds, size),
        *_anonymous_classes(job),
    )


def _anonymous_classes(job: SeenJob) -> tuple[tuple[object, ...], ...]:
    """The same where its number of containers is not known."""
    return (
        ("name", job.holds, job.name),
        ("queue", job.holds, job.queue),
        ("kind", job.holds),
    )
