"""The observation of a live cluster: what runs and waits now, and the applications of its past.

YARN tells of an application its containers, not its tasks, so each is taken to hold its containers to its end, as
Spark's executors do. Of a past application the number and size of containers are those that were seen while it ran, or
else as many as its memory and vcores times time come to on average.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from rules.forecast.observation import ClusterFacts, Observation, SeenContainers, SeenJob
from rules.live.case import to_case
from rules.live.model import LiveApplication, LiveCluster
from rules.model import Resources
from tuner.store.history_records import ApplicationRecord, Collection

__all__ = ["observe_history", "observe_live", "recurring_name"]

_DEFAULT_AM_MIB = 1024
_MASTER_ALONE = 0.05
"""Below this share of memory times time, what is not the application master's is rounding."""
_CHANGING = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|\d+")


def recurring_name(name: str, user: str, queue: str) -> str:
    """What the runs of one recurring application have in common: its name without dates, counters and ids."""
    return f"{queue}/{user}/{_CHANGING.sub('#', name)}"


def observe_live(live: LiveCluster) -> tuple[Observation, ClusterFacts]:
    """What is visible now.

    Raises:
        YarnError: the scheduler's configuration cannot be seen.
    """
    case = to_case(live, (), 0.0)
    facts = ClusterFacts(
        case.scheduler, case.nodes, case.conf, case.allocations, case.node_heartbeat_s, case.am_heartbeat_s
    )
    jobs = sorted((_seen(each, live.time_s) for each in live.applications), key=lambda job: job.submit_s)
    return Observation(live.time_s, tuple(jobs), live.time_s), facts


def observe_history(
    records: Sequence[ApplicationRecord], collections: Sequence[Collection], now_s: float
) -> Observation:
    """The applications of the past that ended.

    Args:
        records: of the store, in the order of their submissions.
        collections: of the store: arrivals are taken from after the last gap only.
        now_s: the clock.
    """
    jobs = tuple(job for record in records if record.finished_at is not None and (job := _past(record)) is not None)
    since_s = min((job.submit_s for job in jobs), default=now_s)
    gaps = [made.gap_until for made in collections if made.gap_until is not None]
    return Observation(now_s, jobs, max([since_s, *gaps]))


def _seen(each: LiveApplication, now_s: float) -> SeenJob:
    masters = [container for container in each.containers if container.is_am]
    others = [container for container in each.containers if not container.is_am]
    waiting = {ask.resources: ask.count for ask in each.asks} if each.am_started else {}
    am_mib = masters[0].resources.memory_mib if masters else _DEFAULT_AM_MIB
    if not masters and each.asks:
        am_mib = each.asks[0].resources.memory_mib
    sizes = Counter[Resources](container.resources for container in others)
    sizes.update(waiting)
    containers: tuple[SeenContainers, ...] = ()
    if sizes:
        # A job that holds its containers has one size of them in a case: the most frequent one.
        size = sizes.most_common(1)[0][0]
        held_s = tuple(max(now_s - container.started_s, 0.0) for container in others)
        count = sum(waiting.values())
        containers = (SeenContainers(size.memory_mib, max(size.vcores, 1), running_s=held_s, waiting=count),)
    return SeenJob(
        id=each.id,
        queue=each.queue,
        user=each.user,
        submit_s=each.submitted_s,
        am_memory_mib=am_mib,
        name=recurring_name(each.name, each.user, each.queue),
        holds=True,
        containers=containers,
        am_start_s=masters[0].started_s if masters else None,
    )


def _past(record: ApplicationRecord) -> SeenJob | None:
    """None for an application that never ran, which says nothing about durations."""
    begin_s = record.launched_at if record.launched_at is not None else record.submitted_at
    assert record.finished_at is not None
    run_s = record.finished_at - begin_s
    if run_s <= 0 or not record.memory_seconds:
        return None
    am_mib = record.am_mib or _DEFAULT_AM_MIB
    rest_mib_s = max(record.memory_seconds - am_mib * run_s, 0.0)
    if not record.containers and rest_mib_s < _MASTER_ALONE * record.memory_seconds:
        # All is done in the application master; a case has no such job, so a container stands for what it does.
        count, mib, vcores, rest_mib_s = 1, am_mib, 1, am_mib * run_s
    elif record.containers and record.container_mib:
        count, mib, vcores = record.containers, record.container_mib, record.container_vcores or 1
    else:
        count = max(round((record.vcore_seconds or 0) / run_s) - 1, 1)
        mib, vcores = max(round(rest_mib_s / run_s / count), 1), 1
    # As long as they were held on average, so that memory times time is what the ResourceManager counted.
    held_s = min(max(rest_mib_s / (count * mib), 1.0), run_s)
    return SeenJob(
        id=record.application_id,
        queue=record.queue,
        user=record.user,
        submit_s=record.submitted_at,
        am_memory_mib=am_mib,
        name=recurring_name(record.name, record.user, record.queue),
        holds=True,
        containers=(SeenContainers(mib, vcores, ended_s=(held_s,) * count),),
        am_start_s=begin_s,
        end_s=record.finished_at,
    )
