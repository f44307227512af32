"""`yarntune jobs`, `history` and `db`, as a user calls them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from tuner.cli import cli
from tuner.settings import Settings
from tuner.store import NewJob, NewRun, NewStudy, RunKind, RunOutcome, RunState, open_store, schema_status
from tuner.store.connection import connect
from tuner.store.migration import upgrade

GOLDEN = Path(__file__).parent / "golden"
START = 1_796_000_000.0  # 2026-11-29 23:33:20 UTC


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch, yarntune_home: Path) -> None:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()


@pytest.fixture
def filled() -> None:
    with open_store(Settings.from_environment()) as store:
        job = store.jobs.get_or_create(
            NewJob(
                key="3f2a",
                name="daily-report",
                program="report.py",
                queue="root.batch",
                arguments_shape="--day #",
            ),
            now=START,
        )
        store.jobs.get_or_create(NewJob(key="9c1d", name="weekly", program="weekly.jar", main_class="W"), now=START)
        study = store.studies.start(
            NewStudy(job_id=job.id, space_hash="h", seed=1, slack=0.05, trials_wanted=3, created_at=START)
        )
        outcomes = [
            RunOutcome(
                state=RunState.SUCCEEDED,
                finished_at=START + 312,
                wait_s=12.25,
                run_s=300,
                duration_s=312.25,
                memory_seconds=3_000_000,
            ),
            RunOutcome(state=RunState.FAILED, finished_at=START + 400, failure="exit status 1: OutOfMemoryError"),
        ]
        for number, (kind, outcome) in enumerate(zip([RunKind.DEFAULT, RunKind.TRIAL], outcomes, strict=True)):
            run = store.runs.start(
                NewRun(
                    job_id=job.id,
                    study_id=study.id,
                    trial_number=number,
                    kind=kind,
                    configuration={"spark.executor.memory": "4g"},
                    arguments=("a",),
                    submitted_at=START + 360 * number,
                )
            )
            store.runs.set_application(run.id, f"application_1796000000000_000{number + 1}")
            store.runs.finish(run.id, outcome)
        store.studies.set_best(study.id, 1)


def run_command(*arguments: str) -> str:
    result = CliRunner().invoke(cli, arguments, catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize(
    ("arguments", "golden"), [(["jobs"], "jobs.txt"), (["history", "daily-report"], "history.txt")]
)
def test_what_people_read(arguments: list[str], golden: str) -> None:
    assert run_command(*arguments) == (GOLDEN / golden).read_text()


@pytest.mark.usefixtures("filled")
def test_what_machines_read() -> None:
    listed = json.loads(run_command("jobs", "--json"))
    assert listed["total"] == 2
    assert listed["jobs"][1] == {
        "key": "3f2a",
        "name": "daily-report",
        "program": "report.py",
        "main_class": None,
        "arguments_shape": "--day #",
        "queue": "root.batch",
        "id": 1,
        "created_at": START,
        "runs": 2,
        "succeeded": 1,
        "last_submitted_at": START + 360,
        "best_run_id": 1,
    }
    told = json.loads(run_command("history", "1", "--json"))
    assert told["job"]["key"] == "3f2a"
    assert [run["state"] for run in told["runs"]] == ["FAILED", "SUCCEEDED"]
    assert told["runs"][1]["configuration"] == {"spark.executor.memory": "4g"}
    assert told["studies"][0]["best_run_id"] == 1


@pytest.mark.usefixtures("filled")
def test_what_is_left_out_is_said_apart_from_the_data() -> None:
    result = CliRunner().invoke(cli, ["history", "1", "--limit", "1", "--json"])
    assert len(json.loads(result.stdout)["runs"]) == 1
    assert result.stderr == "1 of 2 runs; --limit 2 shows all\n"


def test_a_store_without_jobs_says_how_to_begin() -> None:
    assert "`yarntune tune APP`" in run_command("jobs")
    assert json.loads(run_command("jobs", "--json")) == {"jobs": [], "total": 0}


@pytest.mark.usefixtures("filled")
def test_a_job_without_runs_says_so() -> None:
    assert run_command("history", "weekly") == "weekly (job 2): weekly.jar\nIt has no runs yet.\n"


@pytest.mark.usefixtures("filled")
def test_a_job_that_is_not_there_is_an_error_without_a_traceback() -> None:
    result = subprocess.run(
        [sys.executable, "-m", "tuner.cli", "history", "daily-raport"],
        capture_output=True,
        text=True,
        timeout=60,
        env=dict(os.environ),
        check=False,
    )
    assert result.returncode == 1
    assert result.stdout == ""
    assert result.stderr == "error: there is no job 'daily-raport' in the store\nhint: did you mean daily-report?\n"


def test_the_way_from_an_older_store_to_an_up_to_date_one(yarntune_home: Path) -> None:
    assert json.loads(run_command("db", "status", "--json"))["state"] == "absent"
    assert not (yarntune_home / "data").exists()
    with connect(Settings.from_environment().database_url) as database:
        upgrade(database, "0001")
    url = f"sqlite:///{yarntune_home}/data/yarntune.db"
    head = schema_status(Settings.from_environment()).head
    assert run_command("db", "status") == f"{url}\n0001, older than {head}: run `yarntune db upgrade`\n"
    assert run_command("db", "upgrade") == f"{url} went from 0001 to {head}\n"
    assert run_command("db", "upgrade") == f"{url} is up to date: {head}\n"
    assert json.loads(run_command("db", "upgrade", "--json")) == {"url": url, "from": head, "to": head}
    assert run_command("db", "status") == f"{url}\nup to date: {head}\n"
