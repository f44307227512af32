"""What is kept of a cluster's past, on SQLite and on PostgreSQL."""

from __future__ import annotations

from dataclasses import replace

from tests.tuner.store.conftest import NOW
from tuner.store import ApplicationRecord, Collection, QueueSample, Store

CLUSTER = "rm.example.com:8088"


def application(number: int, **fields: object) -> ApplicationRecord:
    values: dict[str, object] = {
        "cluster": CLUSTER, "application_id": f"application_1_{number:04}", "name": "etl", "user": "ann",
        "queue": "root.a", "type": "SPARK", "state": "RUNNING", "submitted_at": NOW + number, "seen_at": NOW + 100,
    }  # fmt: skip
    return ApplicationRecord(**(values | fields))  # type: ignore[arg-type]


def ended(number: int, **fields: object) -> ApplicationRecord:
    values = {
        "state": "FINISHED",
        "final_status": "SUCCEEDED",
        "finished_at": NOW + number + 50,
        "memory_seconds": 2**40,
    }
    return application(number, **(values | fields))


def collection(at: float = NOW + 100, **fields: object) -> Collection:
    values: dict[str, object] = {
        "cluster": CLUSTER, "at": at, "rm_started_at": NOW, "new_applications": 0, "open_applications": 0,
    }  # fmt: skip
    return Collection(**(values | fields))  # type: ignore[arg-type]


def sample(at: float, queue: str = "root.a") -> QueueSample:
    return QueueSample(cluster=CLUSTER, at=at, queue=queue, used_mib=2**33, used_vcores=8, pending_mib=1024)


def test_a_second_reading_of_the_same_makes_no_doubles(store: Store) -> None:
    rows = [ended(1), ended(2), application(3)]
    first = store.history.record(collection(), rows, [sample(NOW)])
    again = store.history.record(collection(NOW + 200), rows, [sample(NOW)])
    assert (first.new_applications, again.new_applications) == (2, 0)
    assert store.history.applications(CLUSTER) == rows
    assert store.history.queue_samples(CLUSTER, since=0) == [sample(NOW)]
    assert store.history.collections(CLUSTER) == [again, first]


def test_an_open_application_is_brought_up_to_date_until_it_ends_and_keeps_what_was_learnt(store: Store) -> None:
    shape = {"containers": 8, "container_mib": 2048, "container_vcores": 2, "am_mib": 1024}
    store.history.record(collection(), [application(1, first_container_at=NOW + 9, **shape)], [])
    store.history.record(
        collection(), [application(1, containers=3, container_mib=512, first_container_at=NOW + 20)], []
    )
    last = store.history.record(collection(), [ended(1)], [])
    store.history.record(collection(), [application(1)], [])  # a late answer of a slower reader
    (found,) = store.history.applications(CLUSTER)
    assert last.new_applications == 1
    assert found == ended(1, first_container_at=NOW + 9, **shape)


def test_applications_that_were_forgotten_while_open_are_lost_and_come_back_when_they_are_seen_again(
    store: Store,
) -> None:
    store.history.record(collection(), [application(1), application(2)], [])
    store.history.record(collection(), [application(2, seen_at=NOW + 200)], [])
    assert store.history.mark_lost(CLUSTER, seen_before=NOW + 200, now=NOW + 200) == 1
    lost, kept = store.history.applications(CLUSTER)
    assert (lost.state, lost.finished_at, kept.state) == ("LOST", NOW + 100, "RUNNING")
    assert store.history.last_finished_at(CLUSTER) is None
    store.history.record(collection(), [ended(1)], [])
    assert store.history.applications(CLUSTER)[0].state == "FINISHED"
    assert store.history.last_finished_at(CLUSTER) == NOW + 51


def test_more_rows_than_one_statement_takes(store: Store) -> None:
    rows = [ended(number) for number in range(1201)]
    assert store.history.record(collection(), rows, []).new_applications == 1201
    assert store.history.applications(CLUSTER, limit=2) == rows[-2:]
    assert len(store.history.applications(CLUSTER, finished_since=NOW + 1200)) == 51
    assert len(store.history.applications(CLUSTER, submitted_since=NOW + 1200)) == 1


def test_clusters_are_kept_apart(store: Store) -> None:
    other = replace(ended(1), cluster="other:8088")
    store.history.record(collection(), [ended(1), other], [])
    assert store.history.applications("other:8088") == [other]
    assert store.history.collections("other:8088") == []
    assert store.history.first_collected_at("other:8088") is None
    assert store.history.first_collected_at(CLUSTER) == NOW + 100


def test_what_is_old_is_forgotten_but_what_the_next_collection_goes_on_from(store: Store) -> None:
    store.history.record(collection(NOW), [ended(1), application(2)], [sample(NOW), sample(NOW + 10)])
    last = store.history.record(collection(NOW + 1), [ended(100)], [])
    gone = store.history.forget(CLUSTER, applications_before=NOW + 100, samples_before=NOW + 10)
    assert gone == 3
    assert store.history.applications(CLUSTER) == [application(2), ended(100)]
    assert store.history.queue_samples(CLUSTER, since=0) == [sample(NOW + 10)]
    assert store.history.collections(CLUSTER) == [last]
