"""Watching an application: a spark-submit of ours and a ResourceManager that misbehaves, to bring about faults."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.resource_manager import Answer, FakeResourceManager
from tuner.services.application import Ending, ResourceManagerLostError, Submission, run_application
from tuner.yarn.auth import SimpleAuth
from tuner.yarn.client import ResourceManagerClient

TAG = "yarntune-test"
# A body of Hadoop 3.5, as recorded; the fields that a test needs are replaced.
APPLICATION = json.loads((Path(__file__).parent / "application.json").read_text())


def application(**changes: object) -> str:
    return json.dumps({"app": {**APPLICATION["app"], **changes}})


def applications(*bodies: str) -> str:
    return json.dumps({"apps": {"app": [json.loads(body)["app"] for body in bodies]}})


def script(folder: Path, text: str) -> tuple[str, ...]:
    program = folder / "spark-submit"
    program.write_text(f"#!{sys.executable}\nimport os, signal, sys, time\n{text}\n")
    program.chmod(0o755)
    return (str(program),)


def submission(folder: Path, text: str, cap_s: float | None = None) -> Submission:
    return Submission(script(folder, text), dict(os.environ), TAG, folder, cap_s)


def client(fake: FakeResourceManager, timeout_s: float = 1.0) -> ResourceManagerClient:
    return ResourceManagerClient(fake.url, SimpleAuth("tester"), timeout_s)


def test_what_never_reaches_yarn_has_failed_with_its_own_words(tmp_path: Path) -> None:
    text = "print('Exception in thread \"main\" SparkException: no such class Foo', file=sys.stderr); sys.exit(1)"
    with FakeResourceManager() as fake:
        fake.answers["GET", "/apps"] = Answer('{"apps":{}}')
        finished = run_application(submission(tmp_path, text), client(fake), lost_after_s=5)
    assert finished.ending is Ending.FAILED
    assert finished.application is None
    assert finished.failure.endswith("no such class Foo")


def test_a_python_drivers_exception_is_more_telling_than_javas(tmp_path: Path) -> None:
    text = (
        "print('Traceback (most recent call last):')\nprint('  File \"job.py\", line 1')\n"
        "print('ValueError: no input')\n"
        "print('SparkUserAppException: User application exited with 1', file=sys.stderr); sys.exit(1)"
    )
    with FakeResourceManager() as fake:
        fake.answers["GET", "/apps"] = Answer('{"apps":{}}')
        finished = run_application(submission(tmp_path, text), client(fake), lost_after_s=5)
    assert finished.failure == "ValueError: no input"


def test_success_is_the_resource_managers_word_and_not_the_exit_status(tmp_path: Path) -> None:
    """G1-16: a client whose application was killed ends with 0."""
    killed = application(state="KILLED", finalStatus="KILLED", diagnostics="Application killed by user.\nmore")
    with FakeResourceManager() as fake:
        fake.answers["GET", "/apps"] = Answer(applications(killed))
        fake.answers["GET", f"/apps/{APPLICATION['app']['id']}"] = Answer(killed)
        finished = run_application(submission(tmp_path, "sys.exit(0)"), client(fake), lost_after_s=5)
    assert finished.ending is Ending.FAILED
    assert finished.failure == "Application killed by user."


def test_a_finished_application_has_the_resource_managers_figures(tmp_path: Path) -> None:
    body = application(
        state="FINISHED", finalStatus="SUCCEEDED", startedTime=1_000_000, launchTime=1_002_500,
        finishedTime=1_030_000, memorySeconds=61_440, vcoreSeconds=60,
    )  # fmt: skip
    with FakeResourceManager() as fake:
        fake.answers["GET", "/apps"] = Answer(applications(body))
        fake.answers["GET", f"/apps/{APPLICATION['app']['id']}"] = Answer(body)
        text = "print('rows=3'); print('checksum=42')"
        finished = run_application(submission(tmp_path, text), client(fake), lost_after_s=5)
    assert finished.ending is Ending.SUCCEEDED
    assert (finished.duration_s, finished.wait_s) == (30.0, 2.5)
    assert (finished.memory_seconds, finished.vcore_seconds) == (61_440, 60)
    assert finished.checksums == ("checksum=42",)


def test_an_overdue_application_is_killed_at_the_resource_manager(tmp_path: Path) -> None:
    running = application(state="RUNNING", finalStatus="UNDEFINED", finishedTime=0, elapsedTime=99_000)
    killed = application(state="KILLED", finalStatus="KILLED", diagnostics="killed")
    one = f"/apps/{APPLICATION['app']['id']}"
    with FakeResourceManager() as fake:
        fake.answers["GET", "/apps"] = Answer(applications(running))
        fake.answers["GET", one] = Answer(killed)
        fake.answers["PUT", f"{one}/state"] = Answer('{"state":"KILLED"}')
        finished = run_application(submission(tmp_path, "time.sleep(60)", cap_s=50), client(fake), lost_after_s=5)
        kills = fake.sent("PUT")
    assert finished.ending is Ending.STOPPED
    assert [json.loads(request.body) for request in kills] == [{"state": "KILLED"}]


def test_a_silent_resource_manager_ends_the_watch_and_the_process(tmp_path: Path) -> None:
    text = f"open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid())); time.sleep(60)"
    with FakeResourceManager() as fake:
        fake.answers["GET", "/apps"] = Answer(silent=True)
        with pytest.raises(ResourceManagerLostError, match="has not answered for 1 s"):
            run_application(submission(tmp_path, text), client(fake, timeout_s=0.2), lost_after_s=1)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_an_application_that_is_forgotten_means_a_new_resource_manager(tmp_path: Path) -> None:
    running = application(state="RUNNING", finalStatus="UNDEFINED", finishedTime=0)
    forgotten = Answer('{"RemoteException":{"exception":"NotFoundException","message":"app not found"}}', 404)
    with FakeResourceManager() as fake:
        fake.answers["GET", "/apps"] = Answer(applications(running))
        fake.answers["GET", f"/apps/{APPLICATION['app']['id']}"] = forgotten
        with pytest.raises(ResourceManagerLostError, match="no longer knows application_"):
            run_application(submission(tmp_path, "time.sleep(60)"), client(fake), lost_after_s=5)


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Ctrl-C as at a terminal: a shell's background jobs, and so a test run among them, ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_kills_the_application_and_is_passed_on(tmp_path: Path) -> None:
    running = application(state="RUNNING", finalStatus="UNDEFINED", finishedTime=0)
    one = f"/apps/{APPLICATION['app']['id']}"

    def interrupt_once_watched(fake: FakeResourceManager) -> None:
        while not any(request.path == one for request in fake.requests):
            time.sleep(0.02)
        fake.answers["GET", one] = Answer(application(state="KILLED", finalStatus="KILLED"))
        os.kill(os.getpid(), signal.SIGINT)

    with FakeResourceManager() as fake:
        fake.answers["GET", "/apps"] = Answer(applications(running))
        fake.answers["GET", one] = Answer(running)
        fake.answers["PUT", f"{one}/state"] = Answer('{"state":"KILLED"}')
        thread = threading.Thread(target=interrupt_once_watched, args=(fake,))
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            run_application(submission(tmp_path, "time.sleep(60)"), client(fake), lost_after_s=5)
        thread.join()
        assert [request.path for request in fake.sent("PUT")] == [f"{one}/state"]
    assert subprocess.run(["pgrep", "-f", str(tmp_path / "spark-submit")], check=False).returncode == 1
