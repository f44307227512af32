"""Tunings that are started from the dashboard: what may be started, and what becomes of the process."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.web.conftest import Person
from tuner.errors import InputError
from web.config import WebConfig
from web.state import WebState
from web.tunings import TuningOrder, check, may_tune


def test_only_known_jobs_and_programs_in_open_folders_may_be_tuned(filled: WebState, operator: Person) -> None:
    answer = operator.post("/tunings", program="/etc/passwd", why="because")
    assert answer.status_code == 403
    assert "YARNTUNE_WEB_PROGRAMS" in answer.text
    assert filled.tunings.all() == []


def test_a_link_out_of_an_open_folder_is_no_way_out(tmp_path: Path) -> None:
    inside, outside = tmp_path / "open", tmp_path / "x.py"
    inside.mkdir()
    outside.write_text("")
    (inside / "link.py").symlink_to(outside)
    (inside / "job.py").write_text("")
    assert may_tune(str(inside / "job.py"), (inside,))
    assert not may_tune(str(inside / "link.py"), (inside,))
    assert not may_tune(str(inside / ".." / "x.py"), (inside,))
    assert not may_tune(str(inside / "absent.py"), (inside,))
    assert not may_tune(str(inside / "job.py"), ())


@pytest.mark.parametrize(
    "order",
    [
        TuningOrder("job.py", pins={"spark.driver.extraJavaOptions": "-javaagent:evil.jar"}),
        TuningOrder("job.py", trials=1),
        TuningOrder("job.py", slack=2.0),
        TuningOrder("--help"),
        TuningOrder("job.py", queue="--resume"),
    ],
)
def test_an_order_that_reaches_further_than_tuning_is_refused(order: TuningOrder) -> None:
    with pytest.raises(InputError):
        check(order)


def test_the_command_is_what_a_person_would_type() -> None:
    order = TuningOrder(
        "job.py",
        ("--date", "a b"),
        name="daily",
        queue="root.etl",
        trials=5,
        pins={"spark.executor.cores": "2"},
        resume=True,
    )
    assert order.command()[1:] == [
        "-m", "tuner.cli", "tune", "--trials", "5", "--slack", "0.05", "--name", "daily", "--queue", "root.etl",
        "--pin", "spark.executor.cores=2", "--resume", "--", "job.py", "--date", "a b",
    ]  # fmt: skip


def test_one_that_cannot_begin_says_why(
    state: WebState, operator: Person, config: WebConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A real `yarntune tune` without a cluster: it ends at once, and the page has its own words."""
    for name in ("HADOOP_CONF_DIR", "YARN_CONF_DIR"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "job.py").write_text("print(1)")
    object.__setattr__(state.config, "settings", replace(config.settings, web_programs=(tmp_path,)))
    answer = operator.post("/tunings", program=str(tmp_path / "job.py"), why="try it", trials="3", arguments="'a b'")
    assert answer.status_code == 303
    _wait(lambda: not state.tunings.get(1).running)
    page = operator.client.get(answer.location).text
    assert "exit status 1" in page
    assert "hint:" in page
    row = next(row for row in state.store.audit.list() if row.action == "start-tuning")
    assert (row.who, row.outcome, row.detail["why"], row.detail["tuning"]) == ("operator-1", "done", "try it", 1)
    assert operator.client.get("/tunings?format=json").get_json()["tunings"][0]["state"] == "FAILED"


def test_a_reason_is_needed(filled: WebState, operator: Person) -> None:
    assert operator.post("/tunings", job="1").status_code == 400
    assert filled.tunings.all() == []


def test_a_secret_that_the_store_does_not_keep_has_to_be_written_anew(filled: WebState, operator: Person) -> None:
    answer = operator.post("/tunings", job="1", why="x", arguments="--password *********(redacted)")
    assert answer.status_code == 400
    assert "does not keep secrets" in answer.text


def test_stopping_is_asking_as_ctrl_c_does(
    state: WebState, operator: Person, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ready = "print('ready', flush=True); time.sleep(60)"
    program = f"import signal, sys, time; signal.signal(signal.SIGTERM, lambda *_: sys.exit(130)); {ready}"
    monkeypatch.setattr(TuningOrder, "command", lambda self: [sys.executable, "-c", program, "", ""])
    state.tunings.start(TuningOrder("job.py"), who="test", now=time.time())
    _wait(lambda: "ready" in state.tunings.output(1))
    assert "under way" in operator.client.get("/tunings/1").text
    assert operator.post("/tunings/1/stop", why="enough").status_code == 303
    _wait(lambda: not state.tunings.get(1).running)
    assert state.tunings.get(1).status == 130
    assert operator.post("/tunings/1/stop", why="again").status_code == 409
    assert operator.client.get("/tunings/1/output").headers["HX-Refresh"] == "true"


def _wait(done) -> None:  # type: ignore[no-untyped-def]
    deadline = time.monotonic() + 60
    while not done():
        assert time.monotonic() < deadline
        time.sleep(0.05)
