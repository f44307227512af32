"""`yarntune web` and `yarntune web token`."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from tuner.settings import Settings
from tuner.store import open_store
from web.cli import web
from web.tokens import find_token

pytestmark = pytest.mark.usefixtures("yarntune_home")


def _json(*arguments: str) -> dict[str, object]:
    result = CliRunner().invoke(web, [*arguments, "--json"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    value = json.loads(result.stdout)
    assert isinstance(value, dict)
    return value


def test_a_token_is_made_listed_without_itself_and_revoked() -> None:
    made = _json("token", "create", "--name", "ann", "--role", "operator", "--days", "1", "--why", "runs etl")
    with open_store(Settings.from_environment()) as store:
        record = find_token(store, str(made["token"]), now=0.0)
        assert record is not None
        assert (record.name, record.role.value) == ("ann", "operator")
        assert record.expires_at == made["expires_at"]
    listed = _json("token", "list")
    assert str(made["token"]) not in json.dumps(listed)
    assert "digest" not in json.dumps(listed)
    _json("token", "revoke", "1", "--why", "left")
    with open_store(Settings.from_environment()) as store:
        assert find_token(store, str(made["token"]), now=0.0) is None
        rows = [(row.action, row.detail["why"]) for row in store.audit.list()]
        assert rows == [("revoke-token", "left"), ("create-token", "runs etl")]
    text = CliRunner().invoke(web, ["token", "list"]).output
    assert "ended" in text


def test_for_people_the_token_alone_is_on_stdout() -> None:
    result = CliRunner().invoke(web, ["token", "create", "--name", "ann", "--why", "tests"])
    assert re.fullmatch(r"yt_[\w-]{43}\n", result.stdout)
    assert "not shown again" in result.stderr


@pytest.mark.parametrize("arguments", [["create", "--name", "ann"], ["revoke", "1"], ["revoke", "1", "--why", " "]])
def test_no_token_changes_without_a_reason(arguments: list[str]) -> None:
    made = _json("token", "create", "--name", "old", "--why", "tests")
    result = CliRunner().invoke(web, ["token", *arguments])
    assert result.exit_code == 2
    assert "--why REASON" in result.output
    with open_store(Settings.from_environment()) as store:
        assert [each.name for each in store.tokens.list()] == ["old"]
        assert find_token(store, str(made["token"]), now=0.0) is not None


def test_at_a_terminal_the_reason_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("web.cli.sys", SimpleNamespace(stdin=SimpleNamespace(isatty=lambda: True)))
    result = CliRunner().invoke(web, ["token", "create", "--name", "ann"], input="new in the team\n")
    assert result.exit_code == 0
    assert re.fullmatch(r"yt_[\w-]{43}", result.stdout.splitlines()[-1])
    with open_store(Settings.from_environment()) as store:
        assert store.audit.list()[0].detail["why"] == "new in the team"


def _serve(*options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tuner.cli", "web", "--port", "0", *options]
    return subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "NO_COLOR": "1"},
        # A job of a shell in the background has SIGINT ignored, and would hand that on.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


def _get(address: str, path: str, **headers: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(urllib.request.Request(address + path, headers=headers), timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_it_serves_says_where_and_ends_with_ctrl_c() -> None:
    process = _serve("--url-prefix", "yt")
    try:
        assert process.stderr is not None
        address = re.search(r"http://127\.0\.0\.1:\d+/yt/", process.stderr.readline())
        assert address is not None
        status, text = _get(address.group(), "jobs")
        assert status == 200
        assert 'href="/yt/plans"' in text
        assert _get(address.group(), "jobs", Host="evil.example")[0] == 400
        process.send_signal(signal.SIGINT)
        assert process.wait(30) in (0, 130)
    finally:
        process.kill()
        process.wait(10)
        assert process.stderr is not None
        process.stderr.close()


def test_to_others_it_is_not_open_before_there_is_a_token() -> None:
    process = _serve("--host", "0.0.0.0")
    _, error = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "there is no token yet" in error
    assert "yarntune web token create" in error


def test_to_others_it_shows_nothing_without_one() -> None:
    token = str(_json("token", "create", "--name", "ann", "--why", "tests")["token"])
    process = _serve("--host", "0.0.0.0")
    try:
        assert process.stderr is not None
        port = re.search(r":(\d+)/", process.stderr.readline())
        assert port is not None
        address = f"http://127.0.0.1:{port.group(1)}/"
        assert _get(address, "jobs?format=json")[0] == 401
        assert _get(address, "jobs?format=json", Authorization=f"Bearer {token}")[0] == 200
        assert _get(address, "jobs?format=json", Authorization=f"Bearer {token}", Host="some.name")[0] == 200
    finally:
        process.kill()
        process.communicate(timeout=10)


def test_a_port_that_is_taken_is_said_so(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        command = [sys.executable, "-m", "tuner.cli", "web", "--port", port]
        result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 1
    assert f"cannot listen on 127.0.0.1 port {port}" in result.stderr


@pytest.mark.parametrize("options", [["--url-prefix", "a b"], ["--upload-limit", "1.5g"]])
def test_an_option_that_cannot_be_meant_is_refused(options: list[str]) -> None:
    result = CliRunner().invoke(web, options)
    assert result.exit_code != 0
    assert result.exception is not None
