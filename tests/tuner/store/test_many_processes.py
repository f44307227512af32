"""Many processes at once, and processes that die."""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from tests.tuner.store.conftest import NOW, settings_for
from tests.tuner.store.worker import RUNS_EACH, TIMEOUT_S, open_and_write
from tuner.settings import Settings
from tuner.store import (
    Job,
    NewJob,
    NewRun,
    NewStudy,
    RunKind,
    RunState,
    SchemaState,
    Store,
    StudyState,
    open_store,
    schema_status,
)
from tuner.store import connection as store_connection
from tuner.store.connection import connect, create_file

PROCESSES = 20


@pytest.mark.slow
def test_all_may_open_a_new_store_and_write_at_once(settings: Settings) -> None:
    """G3-18: none of twenty sees a half-made schema, a second job of the same key, or "database is locked"."""
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(PROCESSES)
    processes = [
        context.Process(target=open_and_write, args=(settings.database_url, barrier, i)) for i in range(PROCESSES)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(TIMEOUT_S)
    assert [process.exitcode for process in processes] == [0] * PROCESSES
    with open_store(settings) as store:
        (summary,) = store.jobs.summaries()
        assert (summary.runs, summary.succeeded) == (PROCESSES * RUNS_EACH, PROCESSES * RUNS_EACH)
        written = {run.arguments for run in store.runs.list(limit=1000)}
    assert written == {(str(n), str(i)) for n in range(PROCESSES) for i in range(RUNS_EACH)}


def test_threads_share_a_store(store: Store, job: Job, new_run: Callable[..., NewRun]) -> None:
    with ThreadPoolExecutor(8) as pool:
        ids = list(pool.map(lambda _: store.runs.start(new_run()).id, range(64)))
    assert len(set(ids)) == store.runs.count(job.id) == 64


def _child(program: str, settings: Settings) -> subprocess.Popen[str]:
    """Starts a process that prints a line when it is where the test wants it, and then waits to be killed."""
    preamble = (
        "import sys, time\n"
        "from tuner.settings import Settings\n"
        "from tuner.store import *\n"
        "from tuner.store.connection import connect\n"
        "settings = Settings.from_environment()\n"
    )
    ending = "\nprint('ready', flush=True)\ntime.sleep(600)\n"
    return subprocess.Popen(
        [sys.executable, "-c", preamble + program + ending],
        env={**os.environ, "YARNTUNE_DATABASE_URL": settings.database_url},
        stdout=subprocess.PIPE,
        text=True,
    )


def _kill_when_ready(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGKILL)
    process.wait(TIMEOUT_S)
    process.stdout.close()


START = f"""
store = open_store(settings)
job = store.jobs.get_or_create(NewJob(key="k1", name="daily", program="p"), now=1.0)
study = store.studies.start(
    NewStudy(job_id=job.id, space_hash="h", seed=1, slack=0.05, trials_wanted=3, created_at={NOW})
)
run = store.runs.start(
    NewRun(
        job_id=job.id,
        study_id=study.id,
        kind=RunKind.TRIAL,
        configuration={{}},
        arguments=(),
        submitted_at={NOW},
    )
)
"""


def test_what_a_killed_process_left_running_is_swept_and_resumed(settings: Settings) -> None:
    _kill_when_ready(_child(START, settings))
    with open_store(settings) as store:
        job = store.jobs.resolve("daily")
        mine = store.runs.start(
            NewRun(job_id=job.id, kind=RunKind.PRODUCTION, configuration={}, arguments=(), submitted_at=NOW)
        )
        (lost,) = store.runs.list(kinds=[RunKind.TRIAL])
        assert lost.state is RunState.RUNNING
        assert store.studies.find_resumable(job.id, "h") is None

        swept = store.sweep(now=NOW + 5)
        assert swept.runs == (lost.id,)
        found = store.runs.get(lost.id)
        assert found is not None
        assert (found.state, found.finished_at) == (RunState.LOST, NOW + 5)
        assert store.runs.get(mine.id) == mine, "this process is alive"
        study = store.studies.find_resumable(job.id, "h")
        assert study is not None
        assert swept.studies == (study.id,)
        resumed = store.studies.resume(study.id)
        assert resumed is not None
        assert (resumed.state, resumed.owner.pid) == (StudyState.RUNNING, os.getpid())
        assert store.sweep(now=NOW + 6).studies == ()


def test_a_process_id_that_is_used_again_is_not_the_owner(settings: Settings) -> None:
    with open_store(settings) as store:
        job = store.jobs.get_or_create(NewJob(key="k", name="n", program="p"), now=NOW)
        run = store.runs.start(
            NewRun(job_id=job.id, kind=RunKind.TRIAL, configuration={}, arguments=(), submitted_at=NOW)
        )
        with connect(settings.database_url) as database, database.write() as connection:
            connection.execute(sa.text("UPDATE yarntune_run SET owner_started_at = owner_started_at - 1000"))
        assert store.sweep(now=NOW).runs == (run.id,)


@pytest.mark.parametrize(("age_s", "expected"), [(10.0, 0), (101.0, 1)])
def test_what_runs_on_another_host_is_swept_only_when_it_is_old(
    settings: Settings, age_s: float, expected: int
) -> None:
    with open_store(settings) as store:
        job = store.jobs.get_or_create(NewJob(key="k", name="n", program="p"), now=NOW)
        store.runs.start(NewRun(job_id=job.id, kind=RunKind.TRIAL, configuration={}, arguments=(), submitted_at=NOW))
        store.studies.start(
            NewStudy(job_id=job.id, space_hash="h", seed=1, slack=0.05, trials_wanted=3, created_at=NOW)
        )
        with connect(settings.database_url) as database, database.write() as connection:
            for table in ("yarntune_run", "yarntune_study"):
                connection.execute(sa.text(f"UPDATE {table} SET owner_host = 'not-{socket.gethostname()}'"))
        swept = store.sweep(now=NOW + age_s, stale_after_s=100.0)
    assert (len(swept.runs), len(swept.studies)) == (expected, expected)


def test_a_process_killed_within_a_transaction_leaves_nothing_of_it(settings: Settings) -> None:
    program = START + (
        "import sqlalchemy as sa\n"
        "write = connect(settings.database_url).write()\n"
        "connection = write.__enter__()\n"
        "connection.execute(sa.text(\"UPDATE yarntune_run SET state = 'SUCCEEDED'\"))\n"
        "connection.execute(sa.text(\"UPDATE yarntune_study SET state = 'FINISHED'\"))\n"
    )
    _kill_when_ready(_child(program, settings))
    with open_store(settings) as store:
        assert [run.state for run in store.runs.list()] == [RunState.RUNNING]
        assert [study.state for study in store.studies.list()] == [StudyState.RUNNING]
        assert store.sweep(now=NOW).runs == (1,), "and the store can be written again"


def test_a_process_killed_while_it_makes_the_schema_leaves_it_to_the_next(settings: Settings) -> None:
    # Killed when all tables are made and the transaction has not been committed.
    program = (
        "from alembic import command\n"
        "upgrade = command.upgrade\n"
        "def then_stop(*arguments):\n"
        "    upgrade(*arguments)\n"
        "    print('ready', flush=True)\n"
        "    time.sleep(600)\n"
        "command.upgrade = then_stop\n"
        "open_store(settings)"
    )
    _kill_when_ready(_child(program, settings))
    assert schema_status(settings).state is SchemaState.ABSENT
    with open_store(settings) as store:
        assert store.jobs.count() == 0


def test_a_writer_does_not_wait_for_readers(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_connection, "BUSY_TIMEOUT_S", 0.05)
    with open_store(settings) as store, connect(settings.database_url) as other, other.read() as connection:
        count = sa.text("SELECT count(*) FROM yarntune_job")
        assert connection.execute(count).scalar_one() == 0
        store.jobs.get_or_create(NewJob(key="k", name="n", program="p"), now=NOW)
        assert store.jobs.count() == 1


def test_a_writer_that_reads_first_is_not_overtaken(tmp_path: Path) -> None:
    """SQLite tells a reader that turns writer "database is locked" at once, if another one wrote in between."""
    with connect(f"sqlite:///{tmp_path / 'store.db'}") as database, ThreadPoolExecutor(4) as pool:
        create_file(database)
        database.use_write_ahead_log()
        with database.write() as connection:
            connection.execute(sa.text("CREATE TABLE counter (value INTEGER)"))
            connection.execute(sa.text("INSERT INTO counter VALUES (0)"))

        def count_up(_: int) -> None:
            with database.write() as connection:
                value = connection.execute(sa.text("SELECT value FROM counter")).scalar_one()
                connection.execute(sa.text("UPDATE counter SET value = :next"), {"next": value + 1})

        list(pool.map(count_up, range(40)))
        with database.read() as connection:
            assert connection.execute(sa.text("SELECT value FROM counter")).scalar_one() == 40


def test_the_runs_of_a_job_are_found_without_reading_them_all(tmp_path: Path) -> None:
    """With 10,000 runs of other jobs, the plan of each query that has a condition names an index."""
    settings = settings_for(f"sqlite:///{tmp_path / 'store.db'}")
    statements: list[tuple[str, Any]] = []
    with open_store(settings) as store:
        job = store.jobs.get_or_create(NewJob(key="k", name="n", program="p"), now=NOW)
        engine = store._database._engine
        sa.event.listen(
            engine, "before_cursor_execute", lambda _c, _k, sql, values, *_: statements.append((sql, values))
        )
        store.runs.list(job_id=job.id, before_id=5)
        store.runs.list(study_id=1)
        store.runs.by_application("application_1_0001")
        store.runs.count(job.id)
        store.jobs.summaries()
        store.sweep(now=NOW)
        store.studies.list(job_id=job.id)
        store.plans.transitions(1)
        store.audit.list(subject="plan 1")
        queries = [(sql, values) for sql, values in statements if sql.startswith("SELECT")]
        assert len(queries) >= 10
        with connect(settings.database_url) as database, database.read() as connection:
            for sql, values in queries:
                plan = [row.detail for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {sql}", values)]
                scans = [step for step in plan if step.startswith("SCAN") and "USING" not in step]
                assert scans in ([], ["SCAN yarntune_job"]), sql
