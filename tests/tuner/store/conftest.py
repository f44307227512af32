"""A store on each kind of database: the same tests run on all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.postgres import postgres_server  # noqa: F401
from tuner.settings import Settings
from tuner.store import Job, NewJob, NewRun, RunKind, Store, open_store

NOW = 1_800_000_000.0


def settings_for(url: str) -> Settings:
    return Settings.from_environment({"YARNTUNE_DATABASE_URL": url})


@pytest.fixture(params=["sqlite", "postgresql"])
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    """Settings that name a database of the test's own, with nothing in it."""
    if request.param == "sqlite":
        return settings_for(f"sqlite:///{tmp_path / 'data' / 'store.db'}")
    return settings_for(request.getfixturevalue("postgres_server").create_database())


@pytest.fixture
def store(settings: Settings) -> Iterator[Store]:
    with open_store(settings) as opened:
        yield opened


@pytest.fixture
def job(store: Store) -> Job:
    return store.jobs.get_or_create(NewJob(key="k1", name="daily", program="daily.py"), now=NOW)


@pytest.fixture
def new_run(job: Job) -> Callable[..., NewRun]:
    def make(**fields: object) -> NewRun:
        values: dict[str, object] = {
            "job_id": job.id,
            "kind": RunKind.TRIAL,
            "configuration": {"spark.executor.memory": "4g"},
            "arguments": ("--date", "2026-11-30"),
            "submitted_at": NOW,
        }
        return NewRun(**(values | fields))  # type: ignore[arg-type]

    return make
