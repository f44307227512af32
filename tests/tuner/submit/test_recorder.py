"""How a production run is said to have ended: a ResourceManager that says other things than spark-submit's status."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from tests.fakes.resource_manager import Answer, FakeResourceManager
from tests.tuner.services.test_application import APPLICATION, application, applications
from tuner.settings import Settings
from tuner.store import Run, RunState, open_store
from tuner.submit import recorder

ONE = f"/apps/{APPLICATION['app']['id']}"


def recorded(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, fake: FakeResourceManager, status: int | None,
    configuration: dict[str, str] | None = None,
) -> Run:  # fmt: skip
    """The run that the recorder has written, told of spark-submit's end by its status, or by silence."""
    environ = {"YARNTUNE_DATA_DIR": str(tmp_path), "YARNTUNE_STATE_DIR": str(tmp_path), "YARNTUNE_RM_URL": fake.url}
    monkeypatch.setattr(recorder, "POLL_S", 0.02)
    monkeypatch.setattr(recorder, "SLOW_POLL_S", 0.02)
    for name in [name for name in os.environ if name.startswith(("YARNTUNE_", "HADOOP_", "YARN_"))]:
        monkeypatch.delenv(name)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    record = {
        "key": "k", "name": "daily", "program": "job.py", "main_class": None, "arguments": [], "arguments_shape": "",
        "queue": "default", "configuration": configuration or {}, "advised": {}, "load": {}, "submitted_at": 1.0,
        "tag": "yarntune-1",
    }  # fmt: skip
    read_end, write_end = os.pipe()
    with os.fdopen(write_end, "w") as pipe:
        pipe.write(json.dumps(record) + "\n")
        if status is not None:
            pipe.write(json.dumps({"exit_status": status, "ended_at": time.time()}) + "\n")
    with os.fdopen(read_end) as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        recorder.main()
    with open_store(Settings.from_environment(environ)) as store:
        (run,) = store.runs.list()
    return run


@pytest.mark.parametrize("status", [0, 1, None])
@pytest.mark.parametrize(
    ("final_status", "expected"),
    [("SUCCEEDED", RunState.SUCCEEDED), ("FAILED", RunState.FAILED), ("KILLED", RunState.KILLED)],
)
def test_success_is_the_resource_managers_word(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, status: int | None, final_status: str, expected: RunState
) -> None:
    """G1-16: a client whose application was killed ends with 0; and one may fail beside one that goes on without it."""
    state = "KILLED" if final_status == "KILLED" else "FINISHED"
    body = application(state=state, finalStatus=final_status, diagnostics="the cause\nmore")
    with FakeResourceManager() as fake:
        fake.answers["GET", "/apps"] = Answer(applications(body))
        fake.answers["GET", ONE] = Answer(body)
        run = recorded(monkeypatch, tmp_path, fake, status, {"spark.submit.deployMode": "cluster"})
    assert run.state is expected
    assert run.application_id == APPLICATION["app"]["id"]
    assert run.failure == (None if expected is RunState.SUCCEEDED else "the cause")


@pytest.mark.parametrize(
    ("status", "expected"),
    [(0, RunState.SUCCEEDED), (None, RunState.SUCCEEDED), (1, RunState.FAILED), (143, RunState.KILLED)],
)
def test_a_driver_in_the_client_may_fail_although_its_application_succeeds(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, status: int | None, expected: RunState
) -> None:
    """G1-16: of such a driver YARN knows no more than that it went away."""
    body = application(state="FINISHED", finalStatus="SUCCEEDED", diagnostics="")
    with FakeResourceManager() as fake:
        fake.answers["GET", "/apps"] = Answer(applications(body))
        fake.answers["GET", ONE] = Answer(body)
        run = recorded(monkeypatch, tmp_path, fake, status)
    assert run.state is expected
    assert run.failure == (f"the driver ended with status {status}" if status else None)


def test_a_submission_that_does_not_wait_is_followed_to_its_end(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """G1-16: with spark.yarn.submit.waitAppCompletion=false spark-submit ends with 0 while all is still to come."""
    running = application(state="RUNNING", finalStatus="UNDEFINED", finishedTime=0)
    failed = application(state="FINISHED", finalStatus="FAILED", diagnostics="no input")
    with FakeResourceManager() as fake:
        fake.answers["GET", "/apps"] = Answer(applications(running))
        fake.answers["GET", ONE] = [Answer(running), Answer(running), Answer(failed)]
        run = recorded(monkeypatch, tmp_path, fake, 0)
    assert (run.state, run.failure) == (RunState.FAILED, "no input")
