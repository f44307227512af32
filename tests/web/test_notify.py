"""Webhooks against a real HTTP server: what is told, how it is signed, and that nobody waits for it."""

from __future__ import annotations

import hashlib
import hmac
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.web.conftest import settings_in
from tests.web.seed import add_plan, plan_of
from tuner.errors import InputError
from tuner.settings import Settings
from tuner.store import NewJob, PlanTransition, Store, open_store
from web import notify
from web.notify import Notifier, checked_urls, notifier_for, read_secret, signature

SECRET = b"a-key-of-sixteen-or-more"


@dataclass
class Receiver:
    """What a receiver got, and what it answers: one status after the other, then 204."""

    url: str = ""
    statuses: list[int] = field(default_factory=list)
    got: list[tuple[dict[str, str], bytes]] = field(default_factory=list)

    def events(self) -> list[dict[str, Any]]:
        return [json.loads(body) for _, body in self.got]


@contextmanager
def receiving(statuses: list[int]) -> Iterator[Receiver]:
    receiver = Receiver(statuses=statuses)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            receiver.got.append((dict(self.headers), body))
            self.send_response(receiver.statuses.pop(0) if receiver.statuses else 204)
            self.send_header("Location", receiver.url)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        receiver.url = f"http://127.0.0.1:{server.server_port}/hook?key=in-the-query"
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield receiver
        finally:
            server.shutdown()
            thread.join(10)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(settings_in(tmp_path)) as found:
        yield found


def notifier(store: Store, tmp_path: Path, url: str, **options: Any) -> Notifier:
    return Notifier(store, [url], SECRET, tmp_path / "webhooks.json", **{"pauses_s": (0.0, 0.0), **options})


def step(store: Store, plan_id: int, before: str, after: str) -> None:
    assert store.plans.transition(
        PlanTransition(plan_id=plan_id, from_state=before, to_state=after, at=time.time(), who="ann")
    )


def test_what_becomes_of_a_plan_is_told_once_and_signed(store: Store, tmp_path: Path) -> None:
    add_plan(store, plan_of(1_796_000_000.0))
    with receiving([]) as receiver:
        sender = notifier(store, tmp_path, receiver.url)
        assert sender.look() == 0, "what was there before is no news"
        plan_id = add_plan(store, plan_of(1_796_000_100.0))
        steps = ("CHECKING", "WRITING", "VERIFYING", "WATCHING", "APPLIED", "ROLLING_BACK", "ROLLED_BACK")
        for before, after in zip(("PROPOSED", *steps), steps, strict=False):
            step(store, plan_id, before, after)
        assert sender.look() == 3
        assert sender.look() == 0
        assert notifier(store, tmp_path, receiver.url).look() == 0, "a server that is started anew goes on"
    assert [each["event"] for each in receiver.events()] == ["plan-waiting", "plan-applied", "plan-rolled-back"]
    assert {each["subject"] for each in receiver.events()} == {f"plan {plan_id}"}
    assert len({each["id"] for each in receiver.events()}) == 3
    assert sender.counts() == {"delivered": 3, "given_up": 0}
    for headers, body in receiver.got:
        timestamp = headers["X-Yarntune-Timestamp"]
        wanted = hmac.new(SECRET, timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()
        assert headers["X-Yarntune-Signature"] == f"sha256={wanted}"
        assert abs(time.time() - int(timestamp)) < 600
        assert headers["X-Yarntune-Event"] == json.loads(body)["event"]


def test_a_plan_that_goes_back_to_proposed_is_not_told_again(store: Store, tmp_path: Path) -> None:
    with receiving([]) as receiver:
        sender = notifier(store, tmp_path, receiver.url)
        sender.look()
        plan_id = add_plan(store, plan_of(1_796_000_100.0))
        step(store, plan_id, "PROPOSED", "CHECKING")
        step(store, plan_id, "CHECKING", "PROPOSED")
        sender.look()
    assert [each["event"] for each in receiver.events()] == ["plan-waiting"]


def test_a_job_that_got_worse_is_told_until_it_is_well_again(store: Store, tmp_path: Path) -> None:
    store.jobs.get_or_create(NewJob(key="k1", name="daily-report", program="/opt/daily.py"), now=1.0)
    with receiving([]) as receiver:
        sender = notifier(store, tmp_path, receiver.url)
        sender.look()
        for age_s, warning in (
            (1, ""),
            (2, "tune it anew: slower"),
            (3, "tune it anew: slower"),
            (4, ""),
            (5, "worse"),
        ):
            store.advice.put("k1", {"warning": warning}, now=time.time() + age_s)
            sender.look()
    assert [(each["event"], each["subject"]) for each in receiver.events()] == [
        ("job-regressed", "job daily-report"),
        ("job-regressed", "job daily-report"),
    ]
    assert [each["data"]["why"] for each in receiver.events()] == ["tune it anew: slower", "worse"]


@pytest.mark.parametrize(
    ("statuses", "tries", "counts"),
    [
        ([500, 503], 3, {"delivered": 1, "given_up": 0}),
        ([429], 2, {"delivered": 1, "given_up": 0}),
        ([500, 500, 500, 500], 3, {"delivered": 0, "given_up": 1}),
        ([404], 1, {"delivered": 0, "given_up": 1}),
        ([302], 1, {"delivered": 0, "given_up": 1}),
    ],
)
def test_it_is_tried_again_where_that_makes_sense_and_not_for_ever(
    store: Store, tmp_path: Path, statuses: list[int], tries: int, counts: dict[str, int],
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    with receiving(statuses) as receiver:
        sender = notifier(store, tmp_path, receiver.url)
        sender.look()
        add_plan(store, plan_of(1_796_000_100.0))
        sender.look()
        assert sender.look() == 0, "what was given up is not tried for ever"
    assert len(receiver.got) == tries
    assert len({body for _, body in receiver.got}) == 1
    assert sender.counts() == counts
    assert "in-the-query" not in caplog.text
    assert SECRET.decode() not in caplog.text


def test_nobody_waits_for_a_receiver_that_hangs(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    monkeypatch.setattr(notify, "TIMEOUT_S", 0.3)
    monkeypatch.setattr(notify, "LOOK_EVERY_S", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        sender = notifier(store, tmp_path, f"http://127.0.0.1:{silent.getsockname()[1]}/", pauses_s=())
        sender.look()
        sender.start()
        add_plan(store, plan_of(1_796_000_100.0))  # comes back although nobody answers
        deadline = time.monotonic() + 60
        while sender.counts()["given_up"] == 0 and time.monotonic() < deadline:
            time.sleep(0.02)
        sender.close()
    assert sender.counts() == {"delivered": 0, "given_up": 1}


def test_settings_that_cannot_be_used_are_told(store: Store, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="address 2"):
        checked_urls(["https://a.example/x", "ftp://b.example/secret"])
    with pytest.raises(InputError, match="no key"):
        read_secret(None)
    short = tmp_path / "key"
    short.write_text("short\n")
    with pytest.raises(InputError, match="too short"):
        read_secret(short)
    short.write_bytes(SECRET + b"\n")
    assert read_secret(short) == SECRET
    values = {"YARNTUNE_WEBHOOKS": "http://a.example/, http://b.example/", "YARNTUNE_WEBHOOK_SECRET_FILE": str(short)}
    made = notifier_for(Settings.from_environment(values), store, tmp_path / "position.json")
    assert made is not None
    assert made._urls == ("http://a.example/", "http://b.example/")
    assert notifier_for(Settings.from_environment({}), store, tmp_path / "position.json") is None


def test_the_signature_is_what_the_documentation_says() -> None:
    wanted = "sha256=" + hmac.new(b"k" * 16, b'1796000000.{"id": "x"}', hashlib.sha256).hexdigest()
    assert signature(b"k" * 16, 1_796_000_000, b'{"id": "x"}') == wanted
