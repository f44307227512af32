"""The submit wrapper and its recorder against a real server in place of the store (YARNTUNE_URL)."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from waitress.server import create_server

from tests.tuner.submit.test_decision import ADVICE, subject
from tests.tuner.submit.test_wrapper import LINE, environ, run
from tuner.errors import InputError, StoreError
from tuner.settings import Settings
from tuner.store import Role, RunOutcome, RunState
from tuner.submit.ledger import ServerLedger, ledger_of
from tuner.submit.server import Server, server_of
from web.app import create_app
from web.config import WebConfig
from web.state import WebState
from web.tokens import create_token

__all__ = ["environ"]

RECORD = {
    "key": "key-daily", "name": "daily", "program": "/opt/daily.py", "main_class": None, "arguments": ["--day", "1"],
    "arguments_shape": "--day <n>", "queue": "root.etl", "configuration": {"spark.executor.memory": "2g"},
    "load": None, "submitted_at": 1_796_000_000.0, "tag": "yarntune-x",
}  # fmt: skip


@pytest.fixture
def served(config: WebConfig) -> Iterator[tuple[str, WebState]]:
    """A server, and where it is."""
    app = create_app(config)
    state = app.extensions["yarntune"]
    server = create_server(app, host="127.0.0.1", port=0, threads=2)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.effective_port}", state
    server.close()
    thread.join(10)
    state.close()


def token_file(state: WebState, folder: Path, role: Role) -> str:
    path = folder / "token"
    path.write_text(create_token(state.store, name="wrapper", role=role, by="test", now=1.0)[0] + "\n")
    return str(path)


def test_advice_of_a_server_is_applied(served: tuple[str, WebState], environ: dict[str, str], tmp_path: Path) -> None:
    url, state = served
    more = {"YARNTUNE_URL": f"{url}/", "YARNTUNE_TOKEN_FILE": token_file(state, tmp_path, Role.VIEWER)}
    assert "nothing known yet" in run(environ, *LINE, **more).stderr
    state.store.advice.put(subject()[0].key, ADVICE.to_json(), now=0.0)
    done = run(environ, *LINE, **more)
    assert done.returncode == 0
    assert "spark.executor.memory" in done.stdout, done.stderr


def test_a_server_that_is_away_or_refuses_costs_one_line(
    served: tuple[str, WebState], environ: dict[str, str], tmp_path: Path
) -> None:
    url, _ = served
    wrong = tmp_path / "wrong"
    wrong.write_text("yt_wrong-token")
    for more in ({"YARNTUNE_URL": "http://127.0.0.1:1"}, {"YARNTUNE_URL": url, "YARNTUNE_TOKEN_FILE": str(wrong)}):
        done = run(environ, *LINE, **more)
        assert done.returncode == 0
        assert "submits unchanged" in done.stderr
        assert len(done.stderr.strip().splitlines()) == 1
        assert "wrong-token" not in done.stderr


def test_a_run_is_told_to_the_server_at_its_end(served: tuple[str, WebState], tmp_path: Path) -> None:
    url, state = served
    values = {
        "YARNTUNE_URL": url,
        "YARNTUNE_TOKEN_FILE": token_file(state, tmp_path, Role.OPERATOR),
        "YARNTUNE_DATA_DIR": str(tmp_path / "nowhere"),
    }
    with ledger_of(Settings.from_environment(values), RECORD) as ledger:
        assert isinstance(ledger, ServerLedger)
        ledger.begin(None)
        ledger.set_application("application_1796000000000_0007")
        ledger.finish(
            RunOutcome(
                state=RunState.SUCCEEDED,
                finished_at=RECORD["submitted_at"] + 60.0,
                wait_s=5.0,
                run_s=55.0,
                memory_seconds=123_456,
                metrics={"input_bytes": 1024, "spark_version": "3.5.6"},
            )
        )
    assert not (tmp_path / "nowhere").exists(), "no store was made on this machine"
    found = state.store.runs.list()
    assert len(found) == 1
    kept = found[0]
    assert (kept.application_id, kept.duration_s, kept.input_bytes) == ("application_1796000000000_0007", 60.0, 1024)
    job = state.store.jobs.get(kept.job_id)
    assert job is not None
    assert job.key == "key-daily"


def test_a_viewer_s_token_cannot_record(served: tuple[str, WebState], tmp_path: Path) -> None:
    url, state = served
    server = Server(url, Path(token_file(state, tmp_path, Role.VIEWER)).read_text().strip())
    with pytest.raises(StoreError, match="403"):
        ServerLedger(server, RECORD).finish(RunOutcome(state=RunState.FAILED, finished_at=time.time()))
    assert state.store.runs.list() == []


def test_settings_that_cannot_be_used_are_told(tmp_path: Path) -> None:
    assert server_of(Settings.from_environment({})) is None
    with pytest.raises(InputError, match="no address"):
        server_of(Settings.from_environment({"YARNTUNE_URL": "file:///etc/passwd"}))
    values = {"YARNTUNE_URL": "http://a.example", "YARNTUNE_TOKEN_FILE": str(tmp_path / "no")}
    with pytest.raises(InputError, match="cannot be read"):
        server_of(Settings.from_environment(values))
