"""``yarntune tune`` as a user runs it: real Spark applications on a real YARN."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tuner.model.advice import Advice
from tuner.settings import Settings
from tuner.spark.conf import read_properties
from tuner.store import RunKind, RunState, StudyState, open_store
from tuner.yarn.auth import SimpleAuth
from tuner.yarn.client import ResourceManagerClient
from workloads.cluster.lifecycle import start, stop
from workloads.cluster.shell import environment
from workloads.cluster.spec import ClusterSpec, RunningCluster

pytestmark = [pytest.mark.cluster, pytest.mark.slow]
PROGRAMS = Path(__file__).resolve().parents[3] / "workloads" / "programs"


def tune_command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "tuner.cli", "tune", *arguments]


def environ(cluster: RunningCluster, home: Path) -> dict[str, str]:
    own = {"YARNTUNE_DATA_DIR": str(home / "data"), "YARNTUNE_STATE_DIR": str(home / "state")}
    return {**os.environ, **environment(cluster), **own}


def settings(env: dict[str, str]) -> Settings:
    return Settings.from_environment(env)


def client_of(cluster: RunningCluster) -> ResourceManagerClient:
    return ResourceManagerClient(cluster.rm_url, SimpleAuth("tester"), 10)


def test_a_job_is_tuned_from_start_to_end(yarn_cluster: RunningCluster, tmp_path: Path) -> None:
    env = environ(yarn_cluster, tmp_path)
    output = tmp_path / "best conf.properties"
    command = tune_command(
        "--trials", "2", "--slack", "1", "--final-runs", "1", "--pin", "spark.sql.shuffle.partitions=8",
        "--json", "-o", str(output), str(PROGRAMS / "word_count.py"), "--size", "tiny", "--seed", "3",
    )  # fmt: skip
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)

    default, trial = result["trials"]
    assert (default["kind"], trial["kind"]) == ("default", "trial")
    assert {row["state"] for row in result["trials"] + result["finals"]} == {"SUCCEEDED"}
    assert default["configuration"]["spark.executor.memory"] == "1024m"
    assert "spark.sql.shuffle.partitions" not in trial["configuration"], "a pinned property is never tuned"
    assert trial["gib_seconds"] > 0
    assert trial["duration_s"] == pytest.approx(trial["wait_s"] + trial["run_s"])

    # What the container model says is what YARN charged: memory-seconds are at most reserved memory x time.
    with client_of(yarn_cluster) as client:
        for row in result["trials"]:
            application = client.application(row["application_id"])
            assert application is not None
            assert application.final_status == "SUCCEEDED"
            assert row["gib_seconds"] == pytest.approx((application.memory_seconds or 0) / 1024)
            assert row["gib_seconds"] <= row["reserved_mib"] / 1024 * (row["duration_s"] + 2)

    with open_store(settings(env)) as store:
        (summary,) = store.jobs.summaries()
        runs = store.runs.list(job_id=summary.job.id)
        assert [run.state for run in runs] == [RunState.SUCCEEDED] * 4
        assert [run.kind for run in reversed(runs)] == [
            RunKind.DEFAULT, RunKind.TRIAL, RunKind.FINAL, RunKind.FINAL,
        ]  # fmt: skip
        assert all(run.load and run.load["total_memory_mib"] == 16384 for run in runs)
        assert all(run.metrics["tasks"] > 0 for run in runs), "the event log was read"
        assert runs[0].arguments == ("--size", "tiny", "--seed", "3")
        (study,) = store.studies.list(job_id=summary.job.id)
        assert study.state is StudyState.FINISHED

    if result["conf"]:
        written = read_properties(output)
        assert written["spark.sql.shuffle.partitions"] == "8"
        assert written["spark.eventLog.enabled"] == "true", "the user's spark-defaults are in it"
        assert result["conf"].items() <= written.items()


def test_a_job_is_tuned_whose_driver_is_on_the_cluster(yarn_cluster: RunningCluster, tmp_path: Path) -> None:
    env = environ(yarn_cluster, tmp_path)
    options = ("--deploy-mode", "cluster", "--trials", "2", "--slack", "1", "--json")
    command = tune_command(*options, str(PROGRAMS / "word_count.py"), "--size", "tiny", "--seed", "3")
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    trials = json.loads(done.stdout)["trials"]
    assert [row["state"] for row in trials] == ["SUCCEEDED", "SUCCEEDED"]
    # The driver has a container of its own, 1024m + 384m, beside two executors of the same size.
    assert trials[0]["reserved_mib"] == 3 * 2048
    with open_store(settings(env)) as store:
        (summary,) = store.jobs.summaries()
        runs = store.runs.list(job_id=summary.job.id)
        document = store.advice.get(summary.job.key)
    assert all(run.metrics["tasks"] > 0 for run in runs), "the event log was read"
    assert document is not None
    advice = Advice.from_json(document)
    assert [each.am_mib for each in advice.candidates if not each.conf] == [2048]
    with client_of(yarn_cluster) as client:
        for row in trials:
            application = client.application(row["application_id"])
            assert application is not None
            assert application.final_status == "SUCCEEDED"


def test_a_program_that_fails_is_told_in_one_sentence(yarn_cluster: RunningCluster, tmp_path: Path) -> None:
    program = tmp_path / "broken.py"
    program.write_text("raise ValueError('no input today')\n")
    done = subprocess.run(
        tune_command(str(program)), env=environ(yarn_cluster, tmp_path), capture_output=True, text=True, timeout=300,
        check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "error: the application fails with the configuration that it has: ValueError: no input today" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.fixture
def own_cluster(tmp_path: Path) -> Iterator[tuple[ClusterSpec, Settings]]:
    own = Settings.from_environment({**os.environ, "YARNTUNE_STATE_DIR": str(tmp_path / "state")})
    spec = ClusterSpec(name="mine", nodes=1, node_memory_mib=6144, node_vcores=4)
    yield spec, own
    stop(spec.name, own, purge=True)


def in_foreground(command: list[str], env: dict[str, str]) -> subprocess.Popen[str]:
    """A process that Ctrl-C reaches, also where the test run itself is a background job, which ignores it."""
    return subprocess.Popen(
        command,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def wait_for_runs(env: dict[str, str], ended: int, process: subprocess.Popen[str]) -> None:
    """Until so many runs have ended and another one has its application."""
    deadline = time.monotonic() + 400
    while time.monotonic() < deadline:
        assert process.poll() is None, process.communicate()
        if (Path(env["YARNTUNE_DATA_DIR"]) / "yarntune.db").exists():
            with open_store(settings(env)) as store:
                runs = [run for job in store.jobs.summaries() for run in store.runs.list(job_id=job.job.id)]
            done = [run for run in runs if run.state is RunState.SUCCEEDED]
            going = [run for run in runs if run.state is RunState.RUNNING and run.application_id]
            if len(done) >= ended and going:
                return
        time.sleep(0.3)
    pytest.fail("the tuning did not get as far as it should")


def test_ctrl_c_and_a_dead_resource_manager_lose_nothing(
    own_cluster: tuple[ClusterSpec, Settings], tmp_path: Path
) -> None:
    spec, own = own_cluster
    cluster = start(spec, own)
    env = environ(cluster, tmp_path)
    command = tune_command("--trials", "4", str(PROGRAMS / "word_count.py"), "--size", "tiny")

    # Ctrl-C in the second run: its application is killed, the first stays.
    process = in_foreground(command, env)
    wait_for_runs(env, 1, process)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert "interrupted; the same command with --resume goes on. So far:" in out
    with open_store(settings(env)) as store:
        (job,) = store.jobs.summaries()
        killed, first = store.runs.list(job_id=job.job.id)
    assert (first.state, killed.state) == (RunState.SUCCEEDED, RunState.KILLED)
    with client_of(cluster) as client:
        application = client.application(killed.application_id or "")
    assert application is not None
    assert application.state == "KILLED"

    # The ResourceManager dies in the next one: one sentence, and the finished trials are kept.
    process = in_foreground(resume(command), env)
    wait_for_runs(env, 2, process)
    (pid,) = [each.pid for each in cluster.processes if each.role == "resourcemanager"]
    psutil.Process(pid).kill()
    out, err = process.communicate(timeout=180)
    assert process.returncode == 1, err
    errors = [line for line in err.splitlines() if line.startswith("error:")]
    assert len(errors) == 1
    assert "the ResourceManager has not answered for 15 s" in errors[0]
    assert "2 finished trials are in the store" in err
    assert "--resume" in err
    assert "Traceback" not in err

    # A new cluster of the same size: the search goes on and ends.
    stop(spec.name, own)
    cluster = start(spec, own)
    env = environ(cluster, tmp_path)
    done = subprocess.run(resume(command, "--json"), env=env, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert len(result["trials"]) == 2, "two were in the store"
    assert result["default"]["runs"] == 1
    with open_store(settings(env)) as store:
        runs = store.runs.list(job_id=job.job.id)
        (study,) = store.studies.list(job_id=job.job.id)
    states = [run.state for run in reversed(runs)]
    assert states == [
        RunState.SUCCEEDED, RunState.KILLED, RunState.SUCCEEDED, RunState.LOST, RunState.SUCCEEDED, RunState.SUCCEEDED,
    ]  # fmt: skip
    assert study.state is StudyState.FINISHED


def resume(command: list[str], *more: str) -> list[str]:
    at = command.index("tune") + 1
    return [*command[:at], "--resume", *more, *command[at:]]
