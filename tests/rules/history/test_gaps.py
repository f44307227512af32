"""What may be missing is stated: a ResourceManager that forgets, and one that was restarted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from rules.history import collect, start_up
from rules.live.model import LiveCluster
from tests.rules.live.clusters import NOW_S, application, capacity_cluster
from tuner.settings import Settings
from tuner.store import ApplicationRecord, Collection, Store, open_store
from tuner.yarn.client import ResourceManagerClient
from tuner.yarn.errors import YarnTimeoutError
from tuner.yarn.model import Application, Resource

CLUSTER = "rm:8088"
STARTED_S = NOW_S - 10_000.0
QUEUES = {"root.queues": "a", "root.a.capacity": "100"}


def ended(number: int, finished_s: float) -> Application:
    return Application(
        id=f"application_1_{number:04}", name="etl", user="ann", queue="a", type="SPARK", tags=(), state="FINISHED",
        final_status="SUCCEEDED", progress_percent=100.0, priority=0, started_at_s=finished_s - 60,
        launched_at_s=finished_s - 50, finished_at_s=finished_s, elapsed_s=60.0, memory_seconds=100_000,
        vcore_seconds=100, allocated=None, running_containers=None, preempted=Resource(0, 0), preempted_containers=0,
        preempted_memory_seconds=0, diagnostics="", tracking_url="", am_host="",
    )  # fmt: skip


class ForgetfulManager:
    """Remembers the last so many ended applications, as the ResourceManager does; may fail when it is asked."""

    def __init__(self, most: int = 1000, recovery: bool = False) -> None:
        self.settings = {
            "yarn.resourcemanager.max-completed-applications": str(most),
            "yarn.resourcemanager.recovery.enabled": str(recovery).lower(),
        }
        self.known: list[Application] = []
        self.most, self.fails = most, False

    def finish(self, *ones: Application) -> None:
        self.known = [*self.known, *ones][-self.most :]

    def applications(self, *, states: Any, finished_since_s: float) -> tuple[Application, ...]:
        if self.fails:
            raise YarnTimeoutError("no answer")
        return tuple(each for each in self.known if (each.finished_at_s or 0) >= finished_since_s)

    def configuration(self) -> Mapping[str, str]:
        return self.settings


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    url = f"sqlite:///{tmp_path / 'store.db'}"
    with open_store(Settings.from_environment({"YARNTUNE_DATABASE_URL": url})) as opened:
        yield opened


def read(
    store: Store, manager: ForgetfulManager, now_s: float, live: LiveCluster | None = None, started_s: float = STARTED_S
) -> Collection:
    live = replace(live or capacity_cluster(QUEUES), time_s=now_s)
    return collect(store, cast(ResourceManagerClient, manager), live, CLUSTER, started_s)


def ids(store: Store) -> list[str]:
    return [record.application_id[-4:] for record in store.history.applications(CLUSTER)]


def test_each_application_is_there_once_however_often_it_is_read(store: Store) -> None:
    manager = ForgetfulManager()
    manager.finish(ended(1, NOW_S - 100), ended(2, NOW_S - 90))
    first = read(store, manager, NOW_S)
    manager.finish(ended(3, NOW_S + 5), ended(4, NOW_S - 95))  # listed late
    second, third = read(store, manager, NOW_S + 10), read(store, manager, NOW_S + 20)
    assert [made.new_applications for made in (first, second, third)] == [2, 2, 0]
    assert ids(store) == ["0001", "0004", "0002", "0003"]
    assert all(made.gap_from is None for made in (first, second, third))


def test_more_ends_than_the_manager_remembers_are_a_gap(store: Store) -> None:
    manager = ForgetfulManager(most=3)
    manager.finish(ended(1, NOW_S - 100))
    read(store, manager, NOW_S)
    manager.finish(*(ended(number, NOW_S + number) for number in range(2, 7)))
    made = read(store, manager, NOW_S + 10)
    assert ids(store) == ["0001", "0004", "0005", "0006"]
    assert (made.gap_from, made.gap_until) == (NOW_S, NOW_S + 4)
    assert made.gap_reason == (
        "more applications ended than the ResourceManager remembers (yarn.resourcemanager.max-completed-applications 3)"
    )


def test_exactly_as_many_as_it_remembers_with_one_known_before_are_none(store: Store) -> None:
    manager = ForgetfulManager(most=3)
    manager.finish(ended(1, NOW_S - 10))
    read(store, manager, NOW_S)
    manager.finish(ended(2, NOW_S + 1), ended(3, NOW_S + 2))
    assert read(store, manager, NOW_S + 10).gap_from is None


@pytest.mark.parametrize("recovery", [False, True])
def test_a_restart_is_a_gap_unless_the_manager_recovers(store: Store, recovery: bool) -> None:
    manager = ForgetfulManager(recovery=recovery)
    read(store, manager, NOW_S)
    made = read(store, manager, NOW_S + 100, started_s=NOW_S + 50)
    assert made.gap_from == (None if recovery else NOW_S)
    assert made.gap_until == (None if recovery else NOW_S + 50)


def test_an_application_that_is_gone_without_an_end_is_lost(store: Store) -> None:
    manager = ForgetfulManager()
    read(store, manager, NOW_S, capacity_cluster(QUEUES, application(1, "root.a", containers=3, asks=2)))
    (record,) = store.history.applications(CLUSTER)
    assert (record.containers, record.container_mib, record.am_mib) == (4, 1024, 1024)
    read(store, manager, NOW_S + 10)
    assert [each.state for each in store.history.applications(CLUSTER)] == ["LOST"]


def test_what_cannot_be_read_writes_nothing(store: Store) -> None:
    manager = ForgetfulManager()
    manager.fails = True
    with pytest.raises(YarnTimeoutError):
        read(store, manager, NOW_S)
    assert store.history.collections(CLUSTER) == []


def test_old_records_go(store: Store) -> None:
    manager = ForgetfulManager()
    manager.finish(ended(1, NOW_S - 61 * 86_400), ended(2, NOW_S - 59 * 86_400))
    read(store, manager, NOW_S)
    assert ids(store) == ["0002"]
    assert store.history.queue_samples(CLUSTER, since=0)[0].queue == "root"


def test_the_start_of_masters_is_calibrated_from_those_that_did_not_wait() -> None:
    delays_s = [4.0, 4.0, 5.0, 6.0, 60.0, 90.0, 300.0]
    records = [
        ApplicationRecord(
            cluster=CLUSTER, application_id=str(number), name="n", user="u", queue="q", type="t", state="FINISHED",
            submitted_at=0.0, seen_at=0.0, launched_at=100.0, first_container_at=100.0 + delay_s,
        )
        for number, delay_s in enumerate(delays_s)
    ]  # fmt: skip
    found = start_up(records)
    assert found is not None
    assert (found.am_s, found.applications) == (4.0, 7)
    assert start_up(records[:4]) is None
