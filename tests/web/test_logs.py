"""Uploading event logs."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import pytest

from tests.web.conftest import Person
from web.reports import safe_name
from web.state import WebState


@pytest.fixture(scope="session")
def event_log(event_log_path: Path) -> bytes:
    """What is in it."""
    return event_log_path.read_bytes()


def _send(person: Person, data: bytes, name: str):  # type: ignore[no-untyped-def]
    return person.post("/logs", log=(io.BytesIO(data), name), increment_mib="512")


def test_a_log_is_analysed_shown_and_not_kept(
    state: WebState, viewer: Person, event_log: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    answer = _send(viewer, event_log, "../../etc/app-1")
    assert answer.status_code == 303
    page = viewer.client.get(answer.location)
    assert page.status_code == 200
    value = viewer.client.get(answer.location, query_string={"format": "json"}).get_json()
    assert value["report"]["path"] == "app-1"
    assert value["increment_mib"] == 512
    assert value["report"]["application"]["id"] in page.text
    assert not list(tmp_path.glob("yarntune-upload-*")), "the log is removed"
    listed = viewer.client.get("/logs?format=json").get_json()["reports"]
    assert [(row["name"], row["who"]) for row in listed] == [("app-1", "viewer-1")]
    assert str(tmp_path) not in page.text


@pytest.mark.parametrize(
    ("data", "name"),
    [(b"not a log", "x.txt"), (gzip.compress(b"x" * 99), "x.gz"), (b"\x00" * 4096, "zeros.zstd")],
    ids=["text", "gzip", "zeros"],
)
def test_what_is_no_log_is_refused_with_a_sentence(state: WebState, viewer: Person, data: bytes, name: str) -> None:
    answer = _send(viewer, data, name)
    assert answer.status_code == 400
    assert "could not be read as an event log" in answer.text
    assert "/tmp/" not in answer.text
    assert state.reports.all() == []


def test_no_file_is_no_log(viewer: Person) -> None:
    assert viewer.post("/logs", increment_mib="1024").status_code == 400


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("../../x", "x"),
        ("a b;rm -rf.zstd", "a_b_rm_-rf.zstd"),
        ("C:\\logs\\app", "app"),
        (".hidden", "hidden"),
        ("", "eventlog"),
    ],
)
def test_a_file_s_name_means_nothing_to_the_server(name: str, safe: str) -> None:
    assert safe_name(name) == safe
