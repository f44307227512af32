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
        if job.holds:
            return self._held(job, self._mean_hold_s(job, random))
        parts = [
            ShapePart(
                each.memory_mib,
                each.vcores,
                (*each.ended_s, *self._beyond(job, each, random), *self._waiting(job, each, random)),
            )
            for each in job.containers
        ]
        return Shape(tuple(parts), holds=False)

    def remaining(self, job: SeenJob, random: np.random.Generator) -> Shape:
        """What a job that has not ended still needs: what runs, for the rest of its time, and what waits."""
        if not job.containers:
            return self._unknown(job, random)
        if job.holds:
            return self._held(job, self._mean_hold_s(job, random) - _mean_so_far_s(job))
        parts = []
        for each in job.containers:
            beyond_s = self._beyond(job, each, random)
            rest_s = [whole_s - held_s for whole_s, held_s in zip(beyond_s, each.running_s, strict=True)]
            durations_s = (*rest_s, *self._waiting(job, each, random))
            if durations_s:
                parts.append(ShapePart(each.memory_mib, each.vcores, durations_s))
        return Shape(tuple(parts), holds=False)

    def _unknown(self, job: SeenJob, random: np.random.Generator) -> Shape:
        models = self._models(_anonymous_classes(job))
        if not models:
            return Shape((ShapePart(job.am_memory_mib, 1, (_UNKNOWN_S,)),), job.holds)
        return self.whole(models[int(random.integers(len(models)))], random)

    def _held(self, job: SeenJob, mean_s: float) -> Shape:
        """Equal times for all containers that a job asked for: its work, if it had them all from the beginning."""
        parts = (ShapePart(each.memory_mib, each.vcores, (mean_s,) * each.asked) for each in job.containers)
        return Shape(tuple(part for part in parts if part.durations_s), holds=True)

    def _mean_hold_s(self, job: SeenJob, random: np.random.Generator) -> float:
        """For how long a job that holds its containers needs each, on average over those that it asked for.

        Container time by containers asked for, not the time from first to last: a job that got few of its containers
        took longer with each, and would not have with all of them.
        """
        so_far_s = _mean_so_far_s(job)
        return so_far_s if job.end_s is not None else self._pool(job, random, so_far_s).draw(so_far_s, random)

    def _beyond(self, job: SeenJob, each: SeenContainers, random: np.random.Generator) -> tuple[float, ...]:
        """Durations of the containers that run, each longer than it has been running."""
        return tuple(self._pool(job, random, held_s).draw(held_s, random) for held_s in each.running_s)

    def _waiting(self, job: SeenJob, each: SeenContainers, random: np.random.Generator) -> tuple[float, ...]:
        if not each.waiting:
            return ()
        pool = self._pool(job, random)
        return tuple(pool.draw(0.0, random) for _ in range(each.waiting))

    def _pool(self, job: SeenJob, random: np.random.Generator, than_s: float = 0.0) -> _Pool:
        """Durations of a job's own containers and of one like it, if possible with some longer than ``than_s``."""
        own = _Pool.of(job)
        if len(own.ended_s) >= _ENOUGH_OWN and not job.holds:
            return own
        pools = [_Pool.of(model) for model in self._models(_classes(job)) if model.id != job.id]
        pools = [pool for pool in pools if pool.longest_s > than_s] or [pool for pool in pools if pool.longest_s > 0]
        if not pools:
            return own
        model = pools[int(random.integers(len(pools)))]
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
        """A job that holds its containers counts as one, by their mean."""
        if job.holds:
            mean = (_mean_so_far_s(job),) if job.asked else ()
            return cls(mean, ()) if job.end_s is not None else cls((), mean)
        ended = tuple(held_s for each in job.containers for held_s in each.ended_s)
        running = tuple(held_s for each in job.containers for held_s in each.running_s)
        return cls(ended, running)

    @property
    def longest_s(self) -> float:
        return max(*self.ended_s, *self.running_s, 0.0, 0.0)

    def draw(self, than_s: float, random: np.random.Generator) -> float:
        """A duration longer than ``than_s``: one that ended, or one beyond a lower bound."""
        ended = [held_s for held_s in self.ended_s if held_s > than_s]
        running = [held_s for held_s in self.running_s if held_s > than_s]
        if not ended and not running:
            return _longer(than_s, random)
        place = int(random.integers(len(ended) + len(running)))
        return ended[place] if place < len(ended) else self.draw(running[place - len(ended)], random)


def _mean_so_far_s(job: SeenJob) -> float:
    """Container time so far by the number of containers asked for."""
    return sum(sum(each.ended_s) + sum(each.running_s) for each in job.containers) / max(job.asked, 1)


def _longer(than_s: float, random: np.random.Generator) -> float:
    """Nothing like it has taken as long: about half as long again (a Pareto tail of index 2, cut at 4 times)."""
    return max(than_s, _UNKNOWN_S / 2) * min(1.0 / math.sqrt(1.0 - float(random.random())), 4.0) + 1e-3


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
