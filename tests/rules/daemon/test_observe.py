"""What a live cluster and its past look like to the forecast."""

from __future__ import annotations

from rules.daemon.observe import observe_history, observe_live, recurring_name
from rules.forecast.observation import SeenContainers
from tests.rules.live.clusters import NOW_S, application, capacity_cluster
from tuner.store import ApplicationRecord, Collection

QUEUES = {"root.queues": "a", "root.a.capacity": "100"}


def record(**fields: object) -> ApplicationRecord:
    values: dict[str, object] = {
        "cluster": "rm", "application_id": "a1", "name": "etl-2026-11-30", "user": "ann", "queue": "root.a",
        "type": "SPARK", "state": "FINISHED", "submitted_at": 900.0, "launched_at": 1000.0, "finished_at": 1100.0,
        "seen_at": 1200.0, "memory_seconds": 100 * (1024 + 4 * 2048), "vcore_seconds": 100 * 9, "am_mib": 1024,
    }  # fmt: skip
    return ApplicationRecord(**(values | fields))  # type: ignore[arg-type]


def test_what_runs_and_what_waits() -> None:
    running, waiting = application(2, "root.a", containers=3, asks=2), application(1, "root.a", asks=1)
    seen, facts = observe_live(capacity_cluster(QUEUES, running, waiting))
    first, second = seen.jobs
    assert (first.id, first.am_start_s, first.containers, first.am_memory_mib) == (
        "application_1_0001", None, (), 1024,
    )  # fmt: skip
    assert second.containers == (SeenContainers(1024, 1, running_s=(100.0, 100.0), waiting=2),)
    assert (second.am_start_s, second.holds, second.queue) == (NOW_S - 100.0, True, "root.a")
    assert (facts.scheduler, len(facts.nodes), facts.node_heartbeat_s) == ("capacity", 2, 1.0)
    assert facts.conf["yarn.scheduler.capacity.root.queues"] == "a"


def test_of_a_past_run_the_containers_that_were_seen_are_held_as_long_as_was_counted() -> None:
    (job,) = observe_history([record(containers=8, container_mib=2048, container_vcores=2)], [], 5_000.0).jobs
    assert job.containers == (SeenContainers(2048, 2, ended_s=(50.0,) * 8),)
    assert (job.am_start_s, job.end_s) == (1000.0, 1100.0)


def test_where_none_were_seen_there_are_as_many_as_vcores_on_average() -> None:
    (job,) = observe_history([record()], [], 5_000.0).jobs
    assert job.containers == (SeenContainers(1024, 1, ended_s=(100.0,) * 8),)


def test_an_application_that_was_its_master_alone_keeps_its_length() -> None:
    (job,) = observe_history([record(memory_seconds=100 * 1024)], [], 5_000.0).jobs
    assert job.containers == (SeenContainers(1024, 1, ended_s=(100.0,)),)


def test_what_never_ran_and_what_has_not_ended_says_nothing() -> None:
    never = record(memory_seconds=0)
    assert observe_history([never, record(finished_at=None)], [], 5_000.0).jobs == ()


def test_arrivals_are_taken_from_after_the_last_gap() -> None:
    whole = observe_history([record()], [], 5_000.0)
    gap = Collection(
        cluster="rm", at=2_000.0, rm_started_at=0.0, new_applications=0, open_applications=0, gap_from=1_000.0,
        gap_until=1_500.0,
    )  # fmt: skip
    assert (whole.since_s, observe_history([record()], [gap], 5_000.0).since_s) == (900.0, 1_500.0)


def test_runs_of_one_job_have_one_name() -> None:
    names = {
        recurring_name(f"etl {date} 3f2a8c1e-1111-2222-3333-444455556666", "ann", "q")
        for date in ("2026-11-30", "2026-12-01")
    }
    assert names == {"q/ann/etl #-#-# #"}
    assert recurring_name("etl", "bob", "q") != recurring_name("etl", "ann", "q")
