"""Totals over jobs and runs, and tokens, on both kinds of database."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.tuner.store.conftest import NOW
from tuner.errors import InputError
from tuner.store import NewJob, NewRun, NewStudy, NewToken, Role, Run, RunKind, RunOutcome, RunState, Store, StudyState

Make = Callable[..., NewRun]


def _ended(store: Store, new: NewRun, memory_seconds: int | None, state: RunState = RunState.SUCCEEDED) -> Run:
    run = store.runs.start(new)
    return store.runs.finish(
        run.id, RunOutcome(state=state, finished_at=NOW + 60, duration_s=50.0, memory_seconds=memory_seconds)
    )


def _study(store: Store, job_id: int, at: float) -> int:
    new = NewStudy(job_id=job_id, space_hash="s", seed=1, slack=0.05, trials_wanted=3, created_at=at)
    return store.studies.start(new).id


def test_runs_are_counted_by_state_and_kind(store: Store, new_run: Make) -> None:
    _ended(store, new_run(), 1)
    _ended(store, new_run(kind=RunKind.PRODUCTION), 1, RunState.FAILED)
    store.runs.start(new_run())
    assert store.statistics.run_states() == {RunState.SUCCEEDED: 1, RunState.FAILED: 1, RunState.RUNNING: 1}
    assert store.statistics.run_kinds()[RunKind.PRODUCTION, RunState.FAILED] == 1


def test_what_was_saved_is_against_the_default_of_the_newest_search(store: Store, new_run: Make) -> None:
    job_id = new_run().job_id
    old = _study(store, job_id, NOW - 100)
    store.studies.set_best(old, _ended(store, new_run(study_id=old, kind=RunKind.DEFAULT), 9_000_000).id)
    study = _study(store, job_id, NOW)
    _ended(store, new_run(study_id=study, kind=RunKind.DEFAULT), 1000)
    best = _ended(store, new_run(study_id=study), 400)
    store.studies.set_best(study, best.id)
    for at, cost, state in (
        (NOW + 1, 500, RunState.SUCCEEDED),
        (NOW + 2, 1300, RunState.SUCCEEDED),
        (NOW + 3, 7, RunState.FAILED),
        (NOW + 4, None, RunState.SUCCEEDED),
        (NOW - 1, 7, RunState.SUCCEEDED),
    ):
        _ended(store, new_run(kind=RunKind.PRODUCTION, submitted_at=at), cost, state)
    (found,) = store.statistics.savings()
    assert (found.study_id, found.best_run_id, found.per_run) == (study, best.id, 600.0)
    assert (found.production_runs, found.production_memory_seconds) == (2, 1800.0)
    assert found.realised == 200.0
    assert store.statistics.savings(job_ids=[job_id]) == [found]
    assert store.statistics.savings(job_ids=[job_id + 1]) == []


def test_a_job_without_a_best_run_or_without_a_default_has_saved_nothing(store: Store, new_run: Make) -> None:
    study = _study(store, new_run().job_id, NOW)
    assert store.statistics.savings() == []
    store.studies.set_best(study, _ended(store, new_run(study_id=study), 400).id)
    assert store.statistics.savings() == []


def test_jobs_are_listed_with_their_totals(store: Store, new_run: Make) -> None:
    _ended(store, new_run(), 1)
    _ended(store, new_run(submitted_at=NOW + 9), 1, RunState.KILLED)
    other = store.jobs.get_or_create(NewJob(key="k2", name="Hourly_50%", program="h.py", queue="root.a"), now=NOW)
    _study(store, other.id, NOW)
    rows, total = store.statistics.jobs()
    assert total == 2
    first, second = rows
    assert (first.job.name, first.runs, first.succeeded, first.failed) == ("daily", 2, 1, 1)
    assert (first.last_submitted_at, first.tuning) == (NOW + 9, False)
    assert (second.job.name, second.runs, second.last_submitted_at, second.tuning) == ("Hourly_50%", 0, None, True)


@pytest.mark.parametrize(
    ("search", "names"),
    [("HOUR", ["Hourly_50%"]), ("root.a", ["Hourly_50%"]), ("%", ["Hourly_50%"]), ("_", ["Hourly_50%"]), ("x", [])],
)
def test_a_search_is_for_text_without_wildcards(store: Store, job: object, search: str, names: list[str]) -> None:
    store.jobs.get_or_create(NewJob(key="k2", name="Hourly_50%", program="h.py", queue="root.a"), now=NOW)
    rows, total = store.statistics.jobs(search=search)
    assert ([row.job.name for row in rows], total) == (names, len(names))


def test_pages_of_jobs(store: Store) -> None:
    for i in range(5):
        store.jobs.get_or_create(NewJob(key=f"k{i}", name=f"job {i}", program="p"), now=NOW)
    pages = [[row.job.name for row in store.statistics.jobs(sort="name", limit=2, offset=at)[0]] for at in (0, 2, 4)]
    assert pages == [["job 0", "job 1"], ["job 2", "job 3"], ["job 4"]]


def test_studies_and_plans_are_counted(store: Store, job: object, new_run: Make) -> None:
    study = _study(store, new_run().job_id, NOW)
    assert store.statistics.study_states() == {StudyState.RUNNING: 1}
    store.studies.finish(study, StudyState.FINISHED, now=NOW)
    assert store.statistics.study_states() == {StudyState.FINISHED: 1}
    assert store.statistics.plan_states() == {}


def test_tokens_are_found_by_digest_and_end_when_revoked_or_too_old(store: Store) -> None:
    def make(digest: str, **more: object) -> int:
        new = NewToken(name="ann", role=Role.OPERATOR, digest=digest, created_at=NOW, created_by="ops", **more)  # type: ignore[arg-type]
        return store.tokens.create(new).id

    first, second = make("a" * 64), make("b" * 64, expires_at=NOW + 10)
    found = store.tokens.by_digest("a" * 64)
    assert found is not None
    assert (found.id, found.role, found.valid(NOW)) == (first, Role.OPERATOR, True)
    assert store.tokens.by_digest("c" * 64) is None
    limited = store.tokens.get(second)
    assert limited is not None
    assert (limited.valid(NOW + 9), limited.valid(NOW + 10)) == (True, False)
    assert store.tokens.revoke(first, now=NOW + 1).revoked_at == NOW + 1
    assert store.tokens.revoke(first, now=NOW + 2).revoked_at == NOW + 1, "the first time counts"
    store.tokens.touch(second, now=NOW + 3)
    assert [(each.id, each.last_used_at) for each in store.tokens.list()] == [(second, NOW + 3), (first, None)]
    with pytest.raises(InputError, match="no token 99"):
        store.tokens.revoke(99, now=NOW)
