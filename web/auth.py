"""Who asks, and what they may do.

A browser logs in with a token and gets a signed cookie; a program sends ``Authorization: Bearer TOKEN``. Both are held
against the store at each request, so that a revoked token ends at once.
"""

from __future__ import annotations

import hmac
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from flask import Flask, Request, current_app, g, redirect, request, session, url_for
from flask.typing import ResponseReturnValue

from tuner.store import Role, Token
from web.errors import Refused
from web.state import web
from web.tokens import find_token

P = ParamSpec("P")
R = TypeVar("R")

SESSION_S = 12 * 3600.0
"""A login is good for a working day."""
_TOUCH_EVERY_S = 300.0
_ORDER = {role: position for position, role in enumerate(Role)}


@dataclass(frozen=True)
class Identity:
    """Who asks.

    Attributes:
        name: of the token, for the audit; ``anonymous`` without one.
        role: None without a token.
        by_cookie: whether the browser sends who it is by itself, so that another site could make it ask.
    """

    name: str
    role: Role | None
    token_id: int | None
    by_cookie: bool

    def may(self, role: Role) -> bool:
        """Whether the role, or a higher one, is theirs."""
        return self.role is not None and _ORDER[self.role] >= _ORDER[role]


ANONYMOUS = Identity("anonymous", None, None, by_cookie=True)


class LoginLimiter:
    """Counts failed logins: five in a minute from one address, a hundred from all, then no more for the rest of it."""

    def __init__(self, *, each: int = 5, together: int = 100, within_s: float = 60.0) -> None:
        self._each, self._together, self._within_s = each, together, within_s
        self._failures: deque[tuple[float, str]] = deque()
        self._lock = threading.Lock()

    def wait_s(self, address: str, *, now: float) -> float:
        """How long this address has to wait before the next try; 0 for not at all."""
        with self._lock:
            while self._failures and self._failures[0][0] <= now - self._within_s:
                self._failures.popleft()
            own = [at for at, who in self._failures if who == address]
            if len(own) >= self._each:
                return own[-self._each] + self._within_s - now
            if len(self._failures) >= self._together:
                return self._failures[-self._together][0] + self._within_s - now
            return 0.0

    def failed(self, address: str, *, now: float) -> None:
        """Counts a failure."""
        with self._lock:
            self._failures.append((now, address))


def install(app: Flask) -> None:
    """Finds out who asks before each request, and refuses what they may not."""
    app.before_request(_identify)
    app.before_request(_check_forgery)
    app.before_request(_check_reading)


def identity() -> Identity:
    """Who asks now."""
    found = g.get("identity", ANONYMOUS)
    assert isinstance(found, Identity)
    return found


def requires(role: Role) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Lets a view be used by those of a role, or a higher one."""

    def decorate(view: Callable[P, R]) -> Callable[P, R]:
        @wraps(view)
        def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
            require(role)
            return view(*args, **kwargs)

        guarded.required_role = role  # type: ignore[attr-defined]
        return guarded

    return decorate


def require(role: Role) -> None:
    """Refuses who has not the role.

    Raises:
        Refused: 401 without a token, 403 with one that may not.
    """
    who = identity()
    if who.role is None:
        raise Refused(
            401, f"this needs a token with the role {role.value}", "log in; `yarntune web token create` makes one"
        )
    if not who.may(role):
        raise Refused(403, f"this needs the role {role.value}; {who.name!r} is {who.role.value}", "ask an admin for it")


def log_in(text: str, *, now: float) -> Token | None:
    """Begins a session for the holder of a token; None where it is not taken.

    Raises:
        Refused: 429 after too many failures.
    """
    token = _checked(text, now=now)
    if token is None:
        return None
    session.clear()
    session.permanent = True
    session["token"], session["at"] = token.id, now
    web().store.tokens.touch(token.id, now=now)
    return token


def log_out() -> None:
    """Ends the session."""
    session.clear()


def csrf_token() -> str:
    """What a form of this session must send back; another site cannot read it."""
    if "csrf" not in session:
        session["csrf"] = secrets.token_urlsafe(24)
    return str(session["csrf"])


def _identify() -> None:
    g.identity = ANONYMOUS
    header = request.headers.get("Authorization", "")
    now = time.time()
    if header:
        kind, _, text = header.partition(" ")
        token = _checked_bearer(text, now=now) if kind.lower() == "bearer" else None
        if token is None:
            raise Refused(401, "the token is unknown, revoked or expired", "`yarntune web token create` makes one")
        g.identity = Identity(token.name, token.role, token.id, by_cookie=False)
        if (token.last_used_at or 0.0) < now - _TOUCH_EVERY_S:
            web().store.tokens.touch(token.id, now=now)
    elif "token" in session:
        _identify_session(now)


def _identify_session(now: float) -> None:
    token = web().store.tokens.get(int(session["token"])) if now - float(session["at"]) < SESSION_S else None
    if token is None or not token.valid(now):
        session.clear()
        return
    g.identity = Identity(token.name, token.role, token.id, by_cookie=True)


def _checked(text: str, *, now: float) -> Token | None:
    """The record of a token from a form; too many failures before it and it is not even looked at."""
    limiter, address = web().limiter, request.remote_addr or "unknown"
    wait_s = limiter.wait_s(address, now=now)
    if wait_s > 0:
        raise Refused(429, "too many failed logins", f"wait {wait_s:.0f} s", retry_after_s=wait_s)
    token = find_token(web().store, text, now=now)
    if token is None:
        limiter.failed(address, now=now)
    return token


def _checked_bearer(text: str, *, now: float) -> Token | None:
    """The record of a program's token.

    A right one is always taken, so that somebody else's failures behind the same proxy lock no program out; a token has
    too much chance in it to be guessed.
    """
    token = find_token(web().store, text, now=now)
    return _checked(text, now=now) if token is None else token


def _check_forgery() -> None:
    """Refuses a change that another site made the browser ask for."""
    if request.method in ("GET", "HEAD", "OPTIONS"):
        return
    _check_role()
    if not identity().by_cookie:
        return
    sent = request.headers.get("X-CSRF-Token") or _form_field(request, "csrf_token")
    known = session.get("csrf")
    foreign = request.headers.get("Sec-Fetch-Site") == "cross-site"
    if foreign or not known or not sent or not hmac.compare_digest(str(known), sent):
        raise Refused(403, "the form is not from this session, or too old", "load the page again and send it once more")


def _check_role() -> None:
    """Asks who may before the body is read: what is refused must not be received first."""
    view = current_app.view_functions.get(request.endpoint or "")
    role = getattr(view, "required_role", None)
    if role is not None:
        require(role)
    if getattr(view, "takes_uploads", False):
        request.max_content_length = web().config.upload_limit_mib * 1024**2


def takes_uploads(view: Callable[P, R]) -> Callable[P, R]:
    """Lets a view receive as much as the server's upload limit."""
    view.takes_uploads = True  # type: ignore[attr-defined]
    return view


def _form_field(sent: Request, name: str) -> str:
    return (
        sent.form.get(name, "") if sent.mimetype in ("application/x-www-form-urlencoded", "multipart/form-data") else ""
    )


def _check_reading() -> ResponseReturnValue | None:
    if web().config.anonymous_reads or identity().role is not None or _is_public(request.endpoint):
        return None
    if request.accept_mimetypes.accept_html and request.method == "GET" and not request.path.startswith("/api/"):
        return redirect(url_for("session.login", next=request.full_path.rstrip("?")))
    raise Refused(401, "this server shows nothing without a token", "send Authorization: Bearer TOKEN")


def public(view: Callable[P, R]) -> Callable[P, R]:
    """Marks a view that is open to everybody even where reading needs a token."""
    view.public = True  # type: ignore[attr-defined]
    return view


def _is_public(endpoint: str | None) -> bool:
    return endpoint == "static" or getattr(current_app.view_functions.get(endpoint or ""), "public", False)


def may(role: str) -> bool:
    """For templates: whether who asks has a role."""
    return identity().may(Role(role))


def context() -> dict[str, Any]:
    """For templates."""
    return {"identity": identity(), "may": may, "csrf_token": csrf_token}
