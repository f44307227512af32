"""What the API, the metrics and the webhooks ask of the store, on both kinds of database."""

from __future__ import annotations

import numpy as np
import pytest

from tests.tuner.store.conftest import NOW
from tuner.store import ApplicationRecord, Collection, NewJob, NewPlan, PlanTransition, Store


def _plan(store: Store, scheduler: str = "rm:8088") -> int:
    new = NewPlan(scheduler=scheduler, state="PROPOSED", plan={}, created_at=NOW, created_by="ann")
    return store.plans.create(new).id


def test_the_steps_of_all_plans_follow_one_another(store: Store) -> None:
    assert store.plans.last_step_id() == 0
    first = _plan(store)
    seen = store.plans.last_step_id()
    second = _plan(store)
    step = PlanTransition(plan_id=first, from_state="PROPOSED", to_state="CHECKING", at=NOW, who="ann")
    assert store.plans.transition(step)
    found = store.plans.steps_after(seen)
    assert [(each.plan_id, each.to_state) for each in found] == [(second, "PROPOSED"), (first, "CHECKING")]
    assert [each.id for each in store.plans.steps_after(seen, limit=1)] == [found[0].id]
    assert found[-1].id == store.plans.last_step_id()
    assert store.plans.steps_after(store.plans.last_step_id()) == []


def test_advice_that_was_made_since_comes_oldest_first(store: Store) -> None:
    for key, at in (("k3", NOW + 3), ("k1", NOW + 1), ("k2", NOW + 2)):
        store.advice.put(key, {"warning": key}, now=at)
    assert store.advice.made_since(NOW + 1) == [("k2", NOW + 2, {"warning": "k2"}), ("k3", NOW + 3, {"warning": "k3"})]
    store.advice.put("k1", {"warning": ""}, now=NOW + 9)
    assert [key for key, _, _ in store.advice.made_since(NOW + 3)] == ["k1"]


def test_the_clusters_of_plans_are_named_once(store: Store) -> None:
    for name in ("b:1", "a:1", "b:1"):
        _plan(store, name)
    assert store.statistics.clusters() == ["a:1", "b:1"]


def test_latencies_are_those_of_what_succeeded_lately(store: Store) -> None:
    def ended(number: int, latency_s: float, at: float, status: str = "SUCCEEDED") -> ApplicationRecord:
        return ApplicationRecord(
            cluster="rm:8088", application_id=f"a{number}", name="n", user="u", queue="root.q", type="SPARK",
            state="FINISHED", final_status=status, submitted_at=at - latency_s, finished_at=at, seen_at=at,
        )  # fmt: skip

    latencies = [10.0, 30.0, 20.0, 70.0]
    rows = [ended(i, value, NOW) for i, value in enumerate(latencies)]
    rows += [ended(10, 999.0, NOW, "FAILED"), ended(11, 999.0, NOW - 100)]
    collection = Collection(cluster="rm:8088", at=NOW, rm_started_at=1.0, new_applications=0, open_applications=0)
    store.history.record(collection, rows, [])
    (found,) = store.statistics.latencies(finished_since=NOW - 50)
    assert (found.cluster, found.queue, found.applications) == ("rm:8088", "root.q", 4)
    assert found.median_s == pytest.approx(float(np.percentile(latencies, 50)))
    assert found.p95_s == pytest.approx(float(np.percentile(latencies, 95)))


def test_jobs_go_on_below_the_last_one_of_the_page_before(store: Store) -> None:
    ids = [store.jobs.get_or_create(NewJob(key=f"k{i}", name=f"j{i}", program="p"), now=NOW).id for i in range(4)]
    found, total = store.statistics.jobs(sort="id", limit=2, before_id=ids[3])
    assert [each.job.id for each in found] == [ids[2], ids[1]]
    assert total == 4
