"""What every store does, on SQLite and on PostgreSQL."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from tests.tuner.store.conftest import NOW
from tuner.errors import InputError, StoreError
from tuner.settings import Settings
from tuner.store import (
    AuditRow,
    Job,
    NewJob,
    NewPlan,
    NewRun,
    NewStudy,
    PlanTransition,
    RunKind,
    RunOutcome,
    RunState,
    Store,
    StudyState,
    open_store,
)

MakeRun = Callable[..., NewRun]


def new_study(job: Job, **fields: Any) -> NewStudy:
    values: dict[str, Any] = {"space_hash": "h1", "seed": 7, "slack": 0.05, "trials_wanted": 20, "created_at": NOW}
    return NewStudy(job_id=job.id, **(values | fields))


def succeeded(**fields: Any) -> RunOutcome:
    return RunOutcome(state=RunState.SUCCEEDED, finished_at=NOW + 70, **fields)


class TestJobs:
    def test_a_known_key_is_the_same_job_as_it_was_first_seen(self, store: Store, job: Job) -> None:
        again = store.jobs.get_or_create(NewJob(key="k1", name="other", program="other.py"), now=NOW + 9)
        assert again == job
        assert (job.name, job.created_at) == ("daily", NOW)
        assert store.jobs.count() == 1

    def test_a_job_that_another_process_made_just_now_is_the_same_job(
        self, store: Store, job: Job, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(store.jobs, "by_key", lambda _: None)  # looked before the other one had written
        assert store.jobs.get_or_create(NewJob(key="k1", name="late", program="p"), now=NOW) == job

    def test_a_job_is_found_by_key_before_id_before_name(self, store: Store, job: Job) -> None:
        named_as_the_id = store.jobs.get_or_create(NewJob(key="k2", name=str(job.id), program="p"), now=NOW)
        keyed_as_an_id = store.jobs.get_or_create(NewJob(key="2", name="n", program="p"), now=NOW)
        assert store.jobs.resolve("k1") == store.jobs.resolve("daily") == store.jobs.resolve(str(job.id)) == job
        assert named_as_the_id.id == 2
        assert store.jobs.resolve("2") == keyed_as_an_id

    @pytest.mark.parametrize("reference", ["dayly", "9" * 30, "²", ""])
    def test_an_unknown_job_is_an_error_that_names_what_there_is(self, store: Store, job: Job, reference: str) -> None:
        with pytest.raises(InputError) as caught:
            store.jobs.resolve(reference)
        assert repr(reference) in caught.value.message
        assert caught.value.hint == (
            "did you mean daily?" if reference == "dayly" else "`yarntune jobs` lists those that are there"
        )

    def test_a_name_of_several_jobs_is_an_error_that_tells_them_apart(self, store: Store, job: Job) -> None:
        store.jobs.get_or_create(NewJob(key="k2", name="daily", program="b.py"), now=NOW)
        with pytest.raises(InputError) as caught:
            store.jobs.resolve("daily")
        assert caught.value.hint == "name one by its id: 1 (daily.py), 2 (b.py)"

    def test_an_empty_store_says_how_to_begin(self, store: Store) -> None:
        with pytest.raises(InputError) as caught:
            store.jobs.resolve("daily")
        assert "yarntune tune" in caught.value.hint

    def test_summaries_add_up_the_runs_newest_job_first(self, store: Store, job: Job, new_run: MakeRun) -> None:
        study = store.studies.start(new_study(job))
        first = store.runs.start(new_run(study_id=study.id))
        store.runs.finish(first.id, succeeded())
        store.runs.start(new_run(submitted_at=NOW + 5))
        store.studies.set_best(study.id, first.id)
        store.studies.start(new_study(job))  # a newer one, without a best run yet, hides nothing
        idle = store.jobs.get_or_create(NewJob(key="k2", name="idle", program="p"), now=NOW)

        newest, oldest = store.jobs.summaries()
        assert (newest.job, newest.runs, newest.succeeded, newest.last_submitted_at) == (idle, 0, 0, None)
        assert (oldest.job, oldest.runs, oldest.succeeded, oldest.last_submitted_at) == (job, 2, 1, NOW + 5)
        assert (newest.best_run_id, oldest.best_run_id) == (None, first.id)
        assert store.jobs.summaries(limit=1) == [newest]
        assert store.jobs.summaries(before_id=idle.id) == [oldest]


class TestRuns:
    def test_a_run_is_there_before_it_is_submitted(self, store: Store, new_run: MakeRun) -> None:
        run = store.runs.start(new_run(trial_number=3, load={"pending": 2}, input_bytes=2**40, queue="root.a"))
        assert store.runs.get(run.id) == run
        assert run.state is RunState.RUNNING
        assert (run.kind, run.trial_number, run.queue, run.input_bytes) == (RunKind.TRIAL, 3, "root.a", 2**40)
        assert (run.configuration, run.arguments) == ({"spark.executor.memory": "4g"}, ("--date", "2026-11-30"))
        assert (run.load, run.metrics, run.finished_at) == ({"pending": 2}, {}, None)

    def test_an_outcome_is_written_and_leaves_what_it_does_not_know(self, store: Store, new_run: MakeRun) -> None:
        run = store.runs.start(new_run(input_bytes=10, spark_version="4.3.0"))
        store.runs.set_application(run.id, "application_1_0001")
        outcome = succeeded(
            wait_s=10.5, run_s=59.5, duration_s=70, memory_seconds=2**45, vcore_seconds=140, metrics={"gc_s": 0.25}
        )
        ended = store.runs.finish(run.id, outcome)
        assert ended == store.runs.get(run.id) == store.runs.by_application("application_1_0001")
        assert (ended.state, ended.wait_s, ended.run_s, ended.duration_s) == (RunState.SUCCEEDED, 10.5, 59.5, 70.0)
        assert (ended.memory_seconds, ended.vcore_seconds, ended.metrics) == (2**45, 140, {"gc_s": 0.25})
        assert (ended.input_bytes, ended.spark_version) == (10, "4.3.0")

    def test_times_are_floats_however_they_were_given(self, store: Store, new_run: MakeRun) -> None:
        assert type(store.runs.start(new_run(submitted_at=1_800_000_000)).submitted_at) is float

    def test_the_first_answer_stays(self, store: Store, new_run: MakeRun) -> None:
        run = store.runs.start(new_run())
        first = store.runs.finish(run.id, RunOutcome(state=RunState.KILLED, finished_at=NOW, failure="by the user"))
        assert store.runs.finish(run.id, succeeded()) == first
        assert store.runs.get(run.id) == first

    def test_a_lost_run_takes_a_late_answer(self, store: Store, new_run: MakeRun) -> None:
        run = store.runs.start(new_run())
        store.runs.finish(run.id, RunOutcome(state=RunState.LOST, finished_at=NOW))
        assert store.runs.finish(run.id, succeeded()).state is RunState.SUCCEEDED

    def test_what_is_not_there_cannot_be_changed(self, store: Store) -> None:
        with pytest.raises(StoreError, match="no run 77"):
            store.runs.finish(77, succeeded())
        with pytest.raises(StoreError, match="no run 77"):
            store.runs.set_application(77, "application_1_0001")
        assert store.runs.get(77) is None
        assert store.runs.by_application("application_1_0001") is None

    def test_an_outcome_is_not_running(self, store: Store, new_run: MakeRun) -> None:
        run = store.runs.start(new_run())
        with pytest.raises(ValueError, match="RUNNING"):
            store.runs.finish(run.id, RunOutcome(state=RunState.RUNNING, finished_at=NOW))

    def test_a_run_of_no_job_is_refused(self, store: Store, new_run: MakeRun) -> None:
        with pytest.raises(StoreError, match=r"(?i)foreign key"):
            store.runs.start(new_run(job_id=99))

    def test_lists_are_newest_first_and_filtered(self, store: Store, job: Job, new_run: MakeRun) -> None:
        study = store.studies.start(new_study(job))
        other = store.jobs.get_or_create(NewJob(key="k2", name="other", program="p"), now=NOW)
        a = store.runs.start(new_run(study_id=study.id, kind=RunKind.DEFAULT))
        b = store.runs.start(new_run(study_id=study.id))
        c = store.runs.start(new_run(kind=RunKind.PRODUCTION))
        d = store.runs.start(new_run(job_id=other.id))
        store.runs.finish(b.id, succeeded())

        def ids(**how: Any) -> list[int]:
            return [run.id for run in store.runs.list(**how)]

        assert ids() == [d.id, c.id, b.id, a.id]
        assert ids(job_id=job.id) == [c.id, b.id, a.id]
        assert ids(study_id=study.id) == [b.id, a.id]
        assert ids(states=[RunState.SUCCEEDED]) == [b.id]
        assert ids(kinds={RunKind.DEFAULT, RunKind.PRODUCTION}) == [c.id, a.id]
        assert ids(job_id=job.id, limit=2) == [c.id, b.id]
        assert ids(job_id=job.id, before_id=b.id) == [a.id]
        assert (store.runs.count(job.id), store.runs.count(other.id)) == (3, 1)


class TestStudies:
    def test_an_interrupted_study_is_resumed_once(self, store: Store, job: Job) -> None:
        study = store.studies.start(new_study(job, pinned={"spark.executor.cores": "2"}, limits={"memory_mib": 8192}))
        assert store.studies.find_resumable(job.id, "h1") is None, "it is running"
        store.studies.finish(study.id, StudyState.INTERRUPTED, now=NOW + 1)
        found = store.studies.find_resumable(job.id, "h1")
        assert found is not None
        assert (found.id, found.finished_at) == (study.id, NOW + 1)
        assert store.studies.find_resumable(job.id, "another space") is None
        assert store.studies.find_resumable(job.id + 1, "h1") is None

        resumed = store.studies.resume(study.id)
        assert resumed == study
        assert (study.pinned, study.limits) == ({"spark.executor.cores": "2"}, {"memory_mib": 8192})
        assert store.studies.resume(study.id) is None, "it is taken"

    def test_an_older_interrupted_study_is_not_gone_back_to(self, store: Store, job: Job) -> None:
        older = store.studies.start(new_study(job))
        store.studies.finish(older.id, StudyState.INTERRUPTED, now=NOW + 1)
        newer = store.studies.start(new_study(job))
        store.studies.finish(newer.id, StudyState.FINISHED, now=NOW + 2)
        assert store.studies.find_resumable(job.id, "h1") is None

    def test_a_finished_study_stays_finished(self, store: Store, job: Job) -> None:
        study = store.studies.start(new_study(job))
        finished = store.studies.finish(study.id, StudyState.FINISHED, now=NOW + 1)
        assert store.studies.finish(study.id, StudyState.INTERRUPTED, now=NOW + 2) == finished
        assert store.studies.find_resumable(job.id, "h1") is None
        assert store.studies.list(job_id=job.id) == [finished]
        with pytest.raises(StoreError, match="no study 77"):
            store.studies.finish(77, StudyState.FINISHED, now=NOW)

    def test_the_best_run_is_one_of_its_own(self, store: Store, job: Job, new_run: MakeRun) -> None:
        study = store.studies.start(new_study(job))
        own, foreign = store.runs.start(new_run(study_id=study.id)), store.runs.start(new_run())
        store.studies.set_best(study.id, own.id)
        with pytest.raises(StoreError, match=f"run {foreign.id} is not a run of study {study.id}"):
            store.studies.set_best(study.id, foreign.id)
        found = store.studies.get(study.id)
        assert found is not None
        assert found.best_run_id == own.id


class TestPlans:
    def test_every_transition_is_kept_and_only_the_expected_one_is_made(self, store: Store) -> None:
        new = NewPlan(scheduler="rm1", state="PROPOSED", plan={"root.a": "60"}, created_at=NOW, created_by="ann")
        plan = store.plans.create(new)
        step = PlanTransition(plan_id=plan.id, from_state="PROPOSED", to_state="APPLYING", at=NOW + 1, who="bob")
        assert store.plans.transition(step, undo={"root.a": "50"})
        assert not store.plans.transition(step), "it is APPLYING by now"
        found = store.plans.get(plan.id)
        assert found is not None
        assert (found.state, found.updated_at, found.undo) == ("APPLYING", NOW + 1, {"root.a": "50"})
        steps = [(each.from_state, each.to_state, each.who, each.at) for each in store.plans.transitions(plan.id)]
        assert steps == [(None, "PROPOSED", "ann", NOW), ("PROPOSED", "APPLYING", "bob", NOW + 1)]

    def test_lists_are_newest_first_and_filtered(self, store: Store) -> None:
        for scheduler, state in (("rm1", "APPLIED"), ("rm2", "APPLIED"), ("rm1", "PROPOSED")):
            store.plans.create(NewPlan(scheduler=scheduler, state=state, plan={}, created_at=NOW, created_by="a"))
        assert [plan.id for plan in store.plans.list()] == [3, 2, 1]
        assert [plan.id for plan in store.plans.list(scheduler="rm1", states=["APPLIED"])] == [1]
        step = PlanTransition(plan_id=1, from_state="APPLIED", to_state="BACK", at=NOW + 5, who="a")
        assert store.plans.transition(step)
        last = store.plans.latest("rm1", ["BACK", "APPLIED", "PROPOSED"])
        assert last is not None
        assert last.id == 1, "the one that changed last, not the newest"
        assert store.plans.latest("rm1", ["GONE"]) is None
        assert [plan.id for plan in store.plans.made_at("rm1", NOW)] == [
            plan.id for plan in store.plans.list(scheduler="rm1")[::-1]
        ]
        assert store.plans.made_at("rm1", NOW + 1) == []
        assert [plan.id for plan in store.plans.list(limit=1, before_id=3)] == [2]


class TestAudit:
    def test_rows_are_added_and_read_newest_first(self, store: Store) -> None:
        rows = [
            store.audit.append(
                AuditRow(
                    at=NOW + i, who="ann", action="apply-plan", subject=f"plan {i % 2}", outcome="done", detail={"i": i}
                )
            )
            for i in range(4)
        ]
        assert store.audit.list() == rows[::-1]
        assert store.audit.list(subject="plan 1") == [rows[3], rows[1]]
        assert store.audit.list(limit=1, before_id=rows[2].id) == [rows[1]]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
ANY_TEXT = st.text(alphabet=st.characters(exclude_categories=()))


@hypothesis_settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(
    load=st.none() | st.dictionaries(st.text(), JSON, max_size=5),
    arguments=st.lists(ANY_TEXT, max_size=5),
    configuration=st.dictionaries(st.text(), st.text(), max_size=5),
)
def test_json_comes_back_as_it_went(
    store: Store, new_run: MakeRun, load: Any, arguments: list[str], configuration: dict[str, str]
) -> None:
    run = store.runs.start(new_run(load=load, arguments=tuple(arguments), configuration=configuration))
    found = store.runs.get(run.id)
    assert found is not None
    assert (found.load, found.arguments, found.configuration) == (load, tuple(arguments), configuration)
    assert list(found.configuration) == list(configuration), "in the order given"


@hypothesis_settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(text=ANY_TEXT)
def test_any_text_can_be_stored(store: Store, new_run: MakeRun, text: str) -> None:
    run = store.runs.start(new_run())
    ended = store.runs.finish(run.id, RunOutcome(state=RunState.FAILED, finished_at=NOW, failure=text))
    plain = text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00")
    assert ended.failure == plain


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_what_is_not_a_number_is_refused(store: Store, new_run: MakeRun, bad: float) -> None:
    run = store.runs.start(new_run())
    with pytest.raises(StoreError, match="cannot be stored"):
        store.runs.finish(run.id, succeeded(duration_s=bad))
    with pytest.raises(StoreError, match="cannot be stored"):
        store.runs.finish(run.id, succeeded(metrics={"gc_s": bad}))
    assert store.runs.get(run.id) == run


def test_what_was_stored_is_there_when_opened_again(settings: Settings) -> None:
    with open_store(settings) as store:
        job = store.jobs.get_or_create(NewJob(key="k1", name="daily", program="daily.py"), now=NOW)
    with open_store(settings) as store:
        assert store.jobs.get(job.id) == job
