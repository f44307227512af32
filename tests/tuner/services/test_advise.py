"""What a finished run in the store does to its job's advice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.tuner.submit.test_decision import ADVICE, LARGE, SMALL
from tuner.model.advice import Advice, Basis
from tuner.services.advise import learn
from tuner.settings import Settings
from tuner.store import NewJob, NewRun, Run, RunKind, RunOutcome, RunState, Store, open_store

MINE = {**LARGE.conf, "spark.executor.cores": "1"}
"""What a run had whose user had pinned the cores."""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(Settings.from_environment({"YARNTUNE_DATA_DIR": str(tmp_path)})) as opened:
        opened.advice.put("key", ADVICE.to_json(), now=0.0)
        yield opened


def ended(store: Store, state: RunState, metrics: Mapping[str, Any]) -> Run:
    job = store.jobs.get_or_create(NewJob(key="key", name="n", program="p.py"), now=0.0)
    new = NewRun(job_id=job.id, kind=RunKind.PRODUCTION, configuration=MINE, arguments=(), submitted_at=0.0)
    run = store.runs.start(new)
    return store.runs.finish(run.id, RunOutcome(state=state, finished_at=90.0, run_s=80.0, metrics=metrics))


def learnt(store: Store, run: Run) -> Advice:
    learn(store, "key", run, Basis(), now=1.0)
    document = store.advice.get("key")
    assert document is not None
    return Advice.from_json(document)


def test_a_failure_counts_also_where_the_user_had_set_a_part_of_it(store: Store) -> None:
    """Else it would be advised again and again."""
    after = learnt(store, ended(store, RunState.FAILED, {"deaths": {"heap": 2}, "advised": dict(LARGE.conf)}))
    assert [each.failures for each in after.candidates] == [1]
    assert "raised from 3686m" in after.candidates[0].reason


def test_a_success_counts_there_too(store: Store) -> None:
    after = learnt(store, ended(store, RunState.SUCCEEDED, {"peak_executors": 4, "advised": dict(LARGE.conf)}))
    assert after.candidates[0].runs == LARGE.runs + 1
    assert after.candidates[1] == SMALL


def test_a_run_that_nothing_was_advised_for_is_known_by_all_that_it_has(store: Store) -> None:
    after = learnt(store, ended(store, RunState.FAILED, {"deaths": {"heap": 2}}))
    assert after.candidates == ADVICE.candidates
