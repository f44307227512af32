"""A cluster's past, collected into the store: what forecasts draw from, and what predictions are held against.

Collected at each run, so that the ResourceManager's short memory is enough. It forgets ended applications above
``yarn.resourcemanager.max-completed-applications`` (1000), and all of them when it restarts without recovery. Where
something may be missing the collection says so: a gap is stated, never passed over.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import quantiles
from typing import TYPE_CHECKING

from rules.live.model import LiveApplication, LiveCluster, LiveContainer
from tuner.errors import YarnError
from tuner.store.history_records import ApplicationRecord, Collection, QueueSample
from tuner.yarn.client import ResourceManagerClient
from tuner.yarn.model import FINAL_STATES, Application, SchedulerInfo

if TYPE_CHECKING:
    from tuner.store import Store

__all__ = ["KEEP_APPLICATIONS_S", "KEEP_SAMPLES_S", "StartUp", "collect", "start_up"]

KEEP_APPLICATIONS_S = 60 * 86_400.0
"""Weeks of recommendations are judged by it, and recurring monthly jobs are seen twice."""
KEEP_SAMPLES_S = 14 * 86_400.0
_MAX_COMPLETED = "yarn.resourcemanager.max-completed-applications"
_RECOVERY = "yarn.resourcemanager.recovery.enabled"
_DEFAULT_MAX_COMPLETED = 1000
"""Of yarn-default.xml; Hadoop before 3 kept 10,000."""
_OVERLAP_S = 60.0
"""An application may be listed as ended some time after the end that it names; asking again makes no doubles."""
_ENOUGH = 5


def collect(
    store: Store,
    client: ResourceManagerClient,
    live: LiveCluster,
    cluster: str,
    rm_started_at_s: float,
    *,
    keep_applications_s: float = KEEP_APPLICATIONS_S,
    keep_samples_s: float = KEEP_SAMPLES_S,
) -> Collection:
    """Reads into the store what has ended since the last time, and what is there now.

    Args:
        store: where to.
        client: of the cluster.
        live: the cluster as it was read just now.
        cluster: how the store names it.
        rm_started_at_s: when the ResourceManager had started.
        keep_applications_s: ended applications older than this are deleted.
        keep_samples_s: likewise, samples of the queues.

    Returns:
        What was read, and whether anything may be missing.

    Raises:
        YarnError: the ResourceManager does not answer; nothing was written.
        StoreError: the store cannot be written; nothing was written.
    """
    now_s = live.time_s
    last = next(iter(store.history.collections(cluster, limit=1)), None)
    last_end_s = store.history.last_finished_at(cluster)
    since_s = max(last_end_s - _OVERLAP_S, 0.0) if last_end_s is not None else 0.0
    ended = client.applications(states=FINAL_STATES, finished_since_s=since_s)
    gap = _gap(client, last, ended, rm_started_at_s)
    rows = [_of_ended(each, cluster, live.queues, now_s) for each in ended]
    rows += [_of_open(each, cluster, now_s) for each in live.applications]
    made = store.history.record(
        Collection(
            cluster=cluster,
            at=now_s,
            rm_started_at=rm_started_at_s,
            new_applications=0,
            open_applications=len(live.applications),
            gap_from=gap.from_s if gap else None,
            gap_until=gap.until_s if gap else None,
            gap_reason=gap.reason if gap else "",
        ),
        rows,
        _samples(live, cluster),
    )
    store.history.mark_lost(cluster, seen_before=now_s, now=now_s)
    store.history.forget(
        cluster, applications_before=now_s - keep_applications_s, samples_before=now_s - keep_samples_s
    )
    return made


@dataclass(frozen=True, slots=True)
class StartUp:
    """How long a cluster takes to start things, from its own applications.

    Attributes:
        am_s: from an application master's container to the first one that it was given: the JVM's start, its
            registration, and a heartbeat or two. The lower quartile, since above it applications waited for room too.
        applications: from how many.
    """

    am_s: float
    applications: int


def start_up(records: Sequence[ApplicationRecord]) -> StartUp | None:
    """Calibrates the start of application masters; None where too few applications tell it."""
    delays_s = [
        record.first_container_at - record.launched_at
        for record in records
        if record.first_container_at is not None
        and record.launched_at is not None
        and record.first_container_at >= record.launched_at
    ]
    if len(delays_s) < _ENOUGH:
        return None
    return StartUp(quantiles(delays_s, n=4)[0], len(delays_s))


@dataclass(frozen=True, slots=True)
class _Gap:
    from_s: float
    until_s: float
    reason: str


def _gap(
    client: ResourceManagerClient, last: Collection | None, ended: Sequence[Application], rm_started_at_s: float
) -> _Gap | None:
    """What may be missing since the last collection; there is nothing before the first one to miss."""
    if last is None:
        return None
    settings = _settings(client)
    if abs(rm_started_at_s - last.rm_started_at) > 1.0 and settings.get(_RECOVERY, "false").strip() != "true":
        reason = f"the ResourceManager was restarted and does not recover ({_RECOVERY} is false)"
        return _Gap(last.at, rm_started_at_s, reason)
    try:
        most = int(settings.get(_MAX_COMPLETED, ""))
    except ValueError:
        most = _DEFAULT_MAX_COMPLETED
    # It forgets those that ended first. If it had forgotten one that we ask for, all that it still knows are ours.
    if len(ended) < most:
        return None
    oldest_s = min(each.finished_at_s or last.at for each in ended)
    if oldest_s <= last.at:
        return None
    return _Gap(
        last.at, oldest_s, f"more applications ended than the ResourceManager remembers ({_MAX_COMPLETED} {most})"
    )


def _settings(client: ResourceManagerClient) -> Mapping[str, str]:
    try:
        return client.configuration()
    except YarnError:  # ACLs are on and we are no administrator: Hadoop's defaults are the best guess
        return {}


def _of_ended(each: Application, cluster: str, queues: SchedulerInfo, now_s: float) -> ApplicationRecord:
    queue = queues.queue(each.queue)
    return ApplicationRecord(
        cluster=cluster,
        application_id=each.id,
        name=each.name,
        user=each.user,
        queue=queue.path if queue else each.queue,
        type=each.type,
        state=each.state,
        final_status=each.final_status,
        submitted_at=each.started_at_s,
        launched_at=each.launched_at_s or None,
        finished_at=each.finished_at_s if each.finished_at_s is not None else now_s,
        memory_seconds=each.memory_seconds,
        vcore_seconds=each.vcore_seconds,
        seen_at=now_s,
    )


def _of_open(each: LiveApplication, cluster: str, now_s: float) -> ApplicationRecord:
    masters, others = _masters_first(each)
    sizes = Counter({container.resources: 0 for container in others})
    sizes.update(container.resources for container in others)
    if each.am_started:
        for ask in each.asks:
            sizes[ask.resources] += ask.count
    size = sizes.most_common(1)[0][0] if sizes else None
    am_mib = masters[0].resources.memory_mib if masters else None
    if am_mib is None and each.asks and not each.am_started:
        am_mib = each.asks[0].resources.memory_mib
    return ApplicationRecord(
        cluster=cluster,
        application_id=each.id,
        name=each.name,
        user=each.user,
        queue=each.queue,
        type=each.type,
        state=each.state,
        submitted_at=each.submitted_s,
        launched_at=masters[0].started_s if masters and each.containers_known else None,
        am_mib=am_mib,
        containers=sum(sizes.values()) or None,
        container_mib=size.memory_mib if size else None,
        container_vcores=size.vcores if size else None,
        first_container_at=min(c.started_s for c in others) if others and each.containers_known else None,
        seen_at=now_s,
    )


def _masters_first(each: LiveApplication) -> tuple[list[LiveContainer], list[LiveContainer]]:
    masters = [container for container in each.containers if container.is_am]
    return masters, [container for container in each.containers if not container.is_am]


def _samples(live: LiveCluster, cluster: str) -> list[QueueSample]:
    found = []
    for queue in live.queues.root.walk():
        use = live.snapshot.use[queue.path]
        found.append(
            QueueSample(
                cluster=cluster,
                at=live.time_s,
                queue=queue.path,
                used_mib=use.used.memory_mib,
                used_vcores=use.used.vcores,
                pending_mib=None if queue.pending is None else use.pending.memory_mib,
                pending_vcores=None if queue.pending is None else use.pending.vcores,
                running_applications=use.running_applications,
                pending_applications=use.pending_applications,
                guaranteed_mib=None if queue.guaranteed is None else queue.guaranteed.memory_mib,
            )
        )
    return found
