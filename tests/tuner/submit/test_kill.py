"""A signal to the wrapper while its driver runs on the cluster: the application is ended over REST."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import types
from pathlib import Path

import pytest
import requests

from tests.fakes.resource_manager import Answer, FakeResourceManager
from tests.tuner.services.test_application import APPLICATION, application, applications
from tests.tuner.submit.test_wrapper import LINE, WRAPPER, environ  # noqa: F401
from tests.tuner.yarn.test_locate import write_xml
from tuner.submit import wrapper
from tuner.submit.wrapper import Prepared, _kill

ID = APPLICATION["app"]["id"]
ONE = f"/apps/{ID}"
RUNNING = application(state="RUNNING", finalStatus="UNDEFINED", finishedTime=0)
KILLED = application(state="KILLED", finalStatus="KILLED")
NONE = Answer('{"apps":{}}')
ON_THE_CLUSTER = Prepared((), None, "yarntune-0123456789ab", cluster_mode=True)


def told_to_end(environ: dict[str, str], **more: str) -> tuple[int, str]:  # noqa: F811
    """Exit status and words of a wrapper that gets a SIGTERM while spark-submit is at work."""
    process = subprocess.Popen(
        [*WRAPPER, "--deploy-mode", "cluster", *LINE],
        env={**environ, "FAKE": "jvm", **more},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    while process.stdout.readline() != "ready\n":
        assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=60)
    return process.returncode, said


@pytest.mark.parametrize("seen_at", [0, 1])
def test_the_application_is_killed_by_its_id(environ: dict[str, str], seen_at: int) -> None:  # noqa: F811
    """G1-17: found by its tag, also where it was only on its way when the signal came."""
    with FakeResourceManager() as fake:
        fake.answers["GET", "/apps"] = [*[NONE] * seen_at, Answer(applications(RUNNING))]
        fake.answers["GET", ONE] = Answer(KILLED)
        fake.answers["PUT", f"{ONE}/state"] = Answer('{"state":"KILLED"}')
        status, said = told_to_end(environ, YARNTUNE_RM_URL=fake.url, YARNTUNE_DATABASE_URL="sqlite:////dev/null/x")
        asked = [request for request in fake.requests if request.path == "/apps"]
        assert [json.loads(request.body) for request in fake.sent("PUT")] == [{"state": "KILLED"}]
    assert all(request.query["applicationTags"].startswith("yarntune-") for request in asked)
    assert status == 143
    assert f"yarntune: kills {ID}" in said.splitlines()


def test_a_resource_manager_that_is_silent_does_not_keep_the_wrapper(environ: dict[str, str]) -> None:  # noqa: F811
    """G1-17: it ends all the same, and says what may be left."""
    with FakeResourceManager() as fake:
        fake.answers["GET", "/apps"] = Answer(silent=True)
        status, said = told_to_end(environ, YARNTUNE_RM_URL=fake.url, YARNTUNE_RM_TIMEOUT="0.5")
    assert status == 143
    assert "yarntune: the application may still run on the cluster: " in said


def test_an_application_that_does_not_end_is_given_up(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """G1-17."""
    monkeypatch.setattr(wrapper, "KILL_TIMEOUT_S", 0.3)
    with FakeResourceManager() as fake:
        fake.answers["GET", "/apps"] = Answer(applications(RUNNING))
        fake.answers["GET", ONE] = Answer(RUNNING)
        fake.answers["PUT", f"{ONE}/state"] = Answer('{"state":"RUNNING"}', 202)
        assert _kill(ON_THE_CLUSTER, {"YARNTUNE_RM_URL": fake.url})
    said = capsys.readouterr().err
    assert f"the application may still run on the cluster: {ID} was asked to end, and is RUNNING after 0.3 s" in said


def test_with_kerberos_the_kill_negotiates_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """G1-17: a kill that was answered with 401 left the application running to its end."""

    class Negotiates:
        """Stands in for the library, which needs a realm: as it does, it adds a token to each request by itself."""

        def __init__(self, **_: object) -> None:
            pass

        def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
            request.headers["Authorization"] = f"Negotiate {request.method}"
            return request

    library = types.ModuleType("requests_kerberos")
    library.HTTPKerberosAuth, library.OPTIONAL = Negotiates, 2  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "requests_kerberos", library)
    with FakeResourceManager() as fake:
        fake.answers["GET", "/apps"] = Answer(applications(RUNNING))
        fake.answers["GET", ONE] = Answer(KILLED)
        fake.answers["PUT", f"{ONE}/state"] = Answer('{"state":"KILLED"}')
        write_xml(tmp_path / "core-site.xml", {"hadoop.http.authentication.type": "kerberos"})
        address = fake.url.removeprefix("http://")
        write_xml(tmp_path / "yarn-site.xml", {"yarn.resourcemanager.webapp.address": address})
        assert _kill(ON_THE_CLUSTER, {"HADOOP_CONF_DIR": str(tmp_path), "YARNTUNE_STATE_DIR": str(tmp_path)})
        (put,) = fake.sent("PUT")
    assert put.headers["Authorization"] == "Negotiate PUT"
    assert "user.name" not in put.query
