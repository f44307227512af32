"""Webhooks: tells other systems what became of plans and jobs, whoever made it so.

A thread looks into the store for what is new, so that a command line, a daemon and this server are told of alike, and
no action ever waits for a receiver. How far it has come is in a file, written after the delivery: after a crash an
event may be sent twice, with the same id.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import logging
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from rules.lifecycle.states import PlanState
from tuner.errors import InputError, StoreError
from tuner.files import write_text_atomically
from tuner.settings import Settings
from tuner.store import PlanTransition, Store

log = logging.getLogger("yarntune.web")

LOOK_EVERY_S = 5.0
TIMEOUT_S = 5.0
PAUSES_S = (1.0, 5.0, 25.0)
"""Between the tries of one delivery; after the last one it is given up."""
_MOST_AT_ONCE = 100
_LEAST_SECRET = 16
_EVENTS = {
    PlanState.PROPOSED: "plan-waiting",
    PlanState.APPLIED: "plan-applied",
    PlanState.ROLLED_BACK: "plan-rolled-back",
}
REGRESSED = "job-regressed"
_AGAIN = {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS}


@dataclass(frozen=True)
class Event:
    """Something that happened.

    Attributes:
        id: the same at every delivery of it.
        kind: ``plan-waiting``, ``plan-applied``, ``plan-rolled-back`` or ``job-regressed``.
        data: what there is to know of it, without secrets.
    """

    id: str
    kind: str
    at: float
    subject: str
    data: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        """As it is sent."""
        return {"id": self.id, "event": self.kind, "at": self.at, "subject": self.subject, "data": dict(self.data)}


@dataclass(frozen=True)
class Position:
    """How far the store was looked through.

    Attributes:
        step: the last step of a plan.
        advice_at: when the last advice that was seen was made.
        warned: the jobs that were told of as regressed, by key.
    """

    step: int
    advice_at: float
    warned: tuple[str, ...] = ()


def signature(secret: bytes, timestamp: int, body: bytes) -> str:
    """What the header ``X-Yarntune-Signature`` has: HMAC-SHA256 of the time, a dot and the body, in hexadecimal."""
    return "sha256=" + hmac.new(secret, f"{timestamp}.".encode() + body, hashlib.sha256).hexdigest()


def read_secret(path: Path | None) -> bytes:
    """The key that webhooks are signed with.

    Raises:
        InputError: there is none, or it is too short.
    """
    hint = "put at least 16 characters into a file, and name it in YARNTUNE_WEBHOOK_SECRET_FILE"
    if path is None:
        raise InputError("webhooks are signed, and there is no key to sign them with", hint)
    try:
        secret = path.read_bytes().strip()
    except OSError as error:
        raise InputError(f"{path}, the key of webhooks, cannot be read: {error.strerror}", hint) from None
    if len(secret) < _LEAST_SECRET:
        raise InputError(f"{path}, the key of webhooks, is too short", hint)
    return secret


def checked_urls(urls: Sequence[str]) -> tuple[str, ...]:
    """The receivers' addresses.

    Raises:
        InputError: one is none. The message does not repeat it, since it may hold a secret.
    """
    for number, url in enumerate(urls, 1):
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InputError(f"address {number} of YARNTUNE_WEBHOOKS is not one of http or https")
    return tuple(urls)


class Notifier:
    """Sends what is new in the store to the receivers.

    Args:
        store: where it looks.
        urls: of the receivers.
        secret: signs what is sent.
        path: where it keeps how far it has come; without it only what happens from now on is told.
        pauses_s: between the tries of one delivery.
    """

    def __init__(
        self, store: Store, urls: Sequence[str], secret: bytes, path: Path, *, pauses_s: Sequence[float] = PAUSES_S
    ) -> None:
        self._store, self._urls, self._secret, self._path = store, checked_urls(urls), secret, path
        self._pauses_s = tuple(pauses_s)
        self._counts: Counter[str] = Counter(delivered=0, given_up=0)
        self._end = threading.Event()
        self._thread: threading.Thread | None = None
        self._opener = urllib.request.build_opener(_NoRedirect)

    def start(self) -> None:
        """Begins to look, in a thread."""
        self._thread = threading.Thread(target=self._loop, name="webhooks", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Ends the thread; a delivery that is under way is not waited for longer than its time-out."""
        self._end.set()
        if self._thread is not None:
            self._thread.join(TIMEOUT_S + 1.0)

    def counts(self) -> dict[str, int]:
        """How many deliveries ended how: ``delivered`` and ``given_up``."""
        return dict(self._counts)

    def look(self) -> int:
        """Sends what is new, and notes how far it has come after each event.

        Returns:
            How many events there were.

        Raises:
            StoreError: the store cannot be read; the next look goes on from the same place.
        """
        position = self._position()
        sent = 0
        for event, following in self._new(position):
            if self._end.is_set():
                break
            if event is not None:
                for url in self._urls:
                    self._deliver(url, event)
                sent += 1
            self._keep(following)
        return sent

    def _loop(self) -> None:
        while not self._end.is_set():
            # What fails, the health page says; the next look may do better.
            with contextlib.suppress(StoreError):
                self.look()
            self._end.wait(LOOK_EVERY_S)

    def _position(self) -> Position:
        try:
            value = json.loads(self._path.read_text())
            return Position(int(value["step"]), float(value["advice_at"]), tuple(value["warned"]))
        except (OSError, ValueError, KeyError, TypeError):
            # Not what happened before: a new receiver wants no flood of old news.
            first = Position(self._store.plans.last_step_id(), time.time())
            self._keep(first)
            return first

    def _keep(self, position: Position) -> None:
        value = {"step": position.step, "advice_at": position.advice_at, "warned": list(position.warned)}
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_text_atomically(self._path, json.dumps(value), private=True)

    def _new(self, position: Position) -> list[tuple[Event | None, Position]]:
        """What is new, each with the position after it."""
        found: list[tuple[Event | None, Position]] = []
        for step in self._store.plans.steps_after(position.step, limit=_MOST_AT_ONCE):
            assert step.id is not None
            position = replace(position, step=step.id)
            found.append((_plan_event(step), position))
        for key, made_at, document in self._store.advice.made_since(position.advice_at):
            warning = str(document.get("warning") or "")
            told = key in position.warned
            warned = tuple(each for each in position.warned if each != key) + ((key,) if warning else ())
            position = Position(position.step, made_at, warned)
            found.append((_job_event(self._store, key, made_at, warning) if warning and not told else None, position))
        return found

    def _deliver(self, url: str, event: Event) -> None:
        place = urlsplit(url).hostname
        for pause_s in (*self._pauses_s, None):
            problem, again = self._send(url, event)
            if not problem:
                self._counts["delivered"] += 1
                return
            if pause_s is None or not again or self._end.wait(pause_s):
                break
        # The host alone: a path or a query may be what keeps others from posting there.
        log.warning("webhook %s to %s was given up: %s", event.id, place, problem)
        self._counts["given_up"] += 1

    def _send(self, url: str, event: Event) -> tuple[str, bool]:
        """Tries once; gives what went wrong, empty for nothing, and whether another try makes sense."""
        body, timestamp = json.dumps(event.to_json()).encode(), int(time.time())
        headers = {
            "Content-Type": "application/json",
            "User-Agent": "yarntune",
            "X-Yarntune-Event": event.kind,
            "X-Yarntune-Timestamp": str(timestamp),
            "X-Yarntune-Signature": signature(self._secret, timestamp, body),
        }
        # The scheme is http or https: checked_urls saw to that.
        order = urllib.request.Request(url, data=body, headers=headers, method="POST")  # noqa: S310
        try:
            with self._opener.open(order, timeout=TIMEOUT_S):
                return "", False
        except urllib.error.HTTPError as error:
            status = error.code
            error.close()
            return f"it answered {status}", status >= HTTPStatus.INTERNAL_SERVER_ERROR or status in _AGAIN
        except OSError as error:
            return f"it cannot be reached ({type(error).__name__})", True


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Nothing is sent to where a receiver points."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def notifier_for(settings: Settings, store: Store, path: Path) -> Notifier | None:
    """The notifier that the settings ask for; None where they name no receiver.

    Raises:
        InputError: the settings cannot be used.
    """
    if not settings.webhooks:
        return None
    return Notifier(store, settings.webhooks, read_secret(settings.webhook_secret_file), path)


def _plan_event(step: PlanTransition) -> Event | None:
    kind = _EVENTS.get(PlanState(step.to_state)) if step.to_state in list(PlanState) else None
    # Back to PROPOSED from CHECKING, nothing has changed for who waits.
    if kind is None or (kind == "plan-waiting" and step.from_state is not None):
        return None
    data = {"plan": step.plan_id, "state": step.to_state, "who": step.who}
    return Event(f"plan-step-{step.id}", kind, step.at, f"plan {step.plan_id}", data)


def _job_event(store: Store, key: str, made_at: float, warning: str) -> Event:
    job = store.jobs.by_key(key)
    data = {"job": None if job is None else job.id, "key": key, "why": warning}
    return Event(f"advice-{key}-{made_at:.3f}", REGRESSED, made_at, f"job {key if job is None else job.name}", data)
