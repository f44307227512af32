"""What a change of the configuration would do to all: the estimator on a case made of the present state."""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean, median_low

import numpy as np

from rules.estimator import Estimate, estimate
from rules.explain.model import Effect, QueueEffect
from rules.explain.replay import Setting
from rules.live.case import to_case
from rules.live.model import LiveApplication, LiveCluster
from rules.model import Resources
from workloads.trace import Case, Job, Task

__all__ = ["effect_of"]

_HORIZON_S = 86_400.0
_LEAST_DURATION_S = 10.0
_LATER_S = 1.0
_MOST_CONTAINERS = 100_000


def effect_of(live: LiveCluster, before: Setting, after: Setting) -> Effect | None:
    """The applications' mean time to the end by queue, under both settings.

    Args:
        live: the cluster; only its present applications are looked at, none that may come.
        before: the present configuration.
        after: the changed one.

    Returns:
        None where there is nothing to simulate, or too much (100,000 containers).
    """
    typical = _Typical(live)
    jobs = tuple(
        _job(each, typical, live.time_s, i * 1e-3 if each.am_started else _LATER_S + i * 1e-3)
        for i, each in enumerate(live.applications)
    )
    if not jobs or sum(len(job.tasks) for job in jobs) > _MOST_CONTAINERS:
        return None
    case = to_case(live, jobs, horizon_s=_HORIZON_S)
    first, second = _estimate(case, before), _estimate(case, after)
    paths = dict.fromkeys(job.path for job in first.jobs)
    return Effect(tuple(_queue_effect(path, first, second) for path in paths), typical.assumptions())


def _queue_effect(path: str, before: Estimate, after: Estimate) -> QueueEffect:
    pairs = [(a, b) for a, b in zip(before.jobs, after.jobs, strict=True) if a.path == path]
    ended = [(a, b) for a, b in pairs if a.finish_s >= 0 and b.finish_s >= 0]
    return QueueEffect(
        path,
        len(pairs),
        fmean([a.finish_s - a.submit_s for a, _ in ended] or [0.0]),
        fmean([b.finish_s - b.submit_s for _, b in ended] or [0.0]),
        sum(a.finish_s < 0 for a, _ in pairs),
        sum(b.finish_s < 0 for _, b in pairs),
    )


def _estimate(case: Case, setting: Setting) -> Estimate:
    # Slowdown is not asked for, so that no job need be simulated alone.
    alone_s = np.ones(len(case.jobs))
    return estimate(replace(case, conf=setting.conf, allocations=setting.allocations), alone_s=alone_s)


class _Typical:
    """What to expect of an application of which nothing is known yet: what those that run have."""

    def __init__(self, live: LiveCluster) -> None:
        tasks = {each.id: [c for c in each.containers if not c.is_am] for each in live.applications}
        ages_s = [live.time_s - c.started_s for found in tasks.values() for c in found]
        self.duration_s = max(median_low(ages_s), _LEAST_DURATION_S) if ages_s else 60.0
        self._sizes = {
            each.queue: [c.resources for c in tasks[each.id]] for each in live.applications if tasks[each.id]
        }
        self._known = bool(self._sizes)

    def containers(self, application: LiveApplication) -> list[Resources]:
        """The containers that an application whose master still waits will ask for."""
        own = self._sizes.get(application.queue) or next(iter(self._sizes.values()), None)
        return own or [application.asks[0].resources if application.asks else Resources(1024, 1)]

    def assumptions(self) -> tuple[str, ...]:
        """What was assumed, in sentences."""
        will = "ask for as many containers as one that runs" if self._known else "ask for one container more"
        return (
            "a container that runs goes on for as long as it has run so far (at least 10 s)",
            f"applications whose master waits will {will}, for {self.duration_s:.0f} s each",
            "an application that has its master alone has one small container of work",
            "no further application comes",
        )


def _job(found: LiveApplication, typical: _Typical, now_s: float, submit_s: float) -> Job:
    masters = [each.resources for each in found.containers if each.is_am] or [ask.resources for ask in found.asks]
    am_mib = masters[0].memory_mib if masters else 1024
    tasks = [
        _task(each.resources, max(now_s - each.started_s, _LEAST_DURATION_S))
        for each in found.containers
        if not each.is_am
    ]
    if found.am_started:
        tasks += [_task(ask.resources, typical.duration_s) for ask in found.asks for _ in range(ask.count)]
        if not tasks:  # only its master runs
            age_s = max((now_s - each.started_s for each in found.containers), default=0.0)
            tasks = [_task(Resources(1, 1), max(age_s, _LEAST_DURATION_S))]
    else:
        tasks = [_task(size, typical.duration_s) for size in typical.containers(found)]
    return Job(found.id, found.queue, submit_s, found.user, max(am_mib, 1), tasks=tuple(tasks))


def _task(size: Resources, duration_s: float) -> Task:
    return Task(duration_s, max(size.memory_mib, 1), max(size.vcores, 1))
