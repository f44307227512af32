"""HTTP to one ResourceManager: time-outs on every call, errors that say what to do, and no surprise.

Redirects are never followed: a standby's would carry a write, and the cookie of the wrong ResourceManager, along.
Reads are tried again when the connection fails; writes go out once.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import requests
import urllib3.exceptions

from tuner.errors import InputError
from tuner.yarn.auth import Authentication
from tuner.yarn.errors import (
    YarnConnectionError,
    YarnError,
    YarnInterruptedError,
    YarnProtocolError,
    YarnStandbyError,
    YarnStatusError,
    YarnTimeoutError,
)
from tuner.yarn.fields import Document, excerpt, parse

API = "/ws/v1/cluster"
_READ_TRIES = 3
_BACKOFF_S = 0.2
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_STANDBY_WORDS = "This is standby RM"


@dataclass(frozen=True)
class Reply:
    """An answer: status and body as text."""

    status: int
    text: str

    @property
    def document(self) -> Document:
        """The body, parsed.

        Raises:
            YarnProtocolError: it is not a JSON object.
        """
        return parse(self.text)

    @property
    def reason(self) -> str:
        """Why a request was refused, in the ResourceManager's words, which are plain text or a RemoteException."""
        try:
            remote = self.document.get("RemoteException")
        except YarnProtocolError:
            if self.text.lstrip().startswith("<"):
                return "it answered with a web page or XML"
            return self.text.strip() or "it gave no reason"
        if isinstance(remote, dict):
            return str(remote.get("message") or remote.get("exception") or "it gave no reason")
        return excerpt(self.text)


class Transport:
    """Requests to one address.

    Args:
        base_url: of the ResourceManager, as :func:`clean_url` takes it.
        auth: who we are.
        timeout_s: to connect, and for each silence while the answer comes.
    """

    def __init__(self, base_url: str, auth: Authentication, timeout_s: float) -> None:
        self.base_url = clean_url(base_url)
        self._timeout_s = timeout_s
        self._session = requests.Session()
        # No proxy and no .netrc for what is on this machine.
        self._session.trust_env = urlsplit(self.base_url).hostname not in _LOOPBACK
        self._session.headers.update(
            {
                "Accept": "application/json",
                "User-Agent": f"yarntune/{version('yarntune')}",
                # RestCsrfPreventionFilter wants the header's presence, not a value.
                "X-XSRF-Header": "yarntune",
            }
        )
        auth.prepare(self._session)

    def close(self) -> None:
        """Closes the connections."""
        self._session.close()

    def get(self, path: str, params: Mapping[str, str] | None = None) -> Reply:
        """Reads; tried again, with a growing pause, where the connection fails at once.

        Raises:
            YarnError: see :mod:`tuner.yarn.errors`; refusals (a status of 4xx or 5xx) are replies, not errors.
        """
        started = time.monotonic()
        for attempt in range(1, _READ_TRIES):
            try:
                return self._send("GET", path, params=params)
            except (YarnConnectionError, YarnInterruptedError):
                if time.monotonic() - started > self._timeout_s:
                    raise
                time.sleep(_BACKOFF_S * attempt)
        return self._send("GET", path, params=params)

    def write(self, method: str, path: str, body: object = None) -> Reply:
        """Writes JSON, once, whatever happens.

        Raises:
            YarnConnectionError, YarnStandbyError: nothing was written.
            YarnTimeoutError, YarnInterruptedError, YarnProtocolError: it may or may not have been.
        """
        return self._send(method, path, body=body)

    def _send(self, method: str, path: str, *, params: Mapping[str, str] | None = None, body: object = None) -> Reply:
        where = f"{method} {self.base_url}{path}"
        arguments: dict[str, Any] = {} if body is None else {"json": body}
        try:
            response = self._session.request(
                method,
                f"{self.base_url}{path}",
                params=params,
                timeout=self._timeout_s,
                allow_redirects=False,
                **arguments,
            )
            text = response.content.decode("utf-8", errors="replace")
        except requests.RequestException as error:
            raise _explain(error, where, self._timeout_s) from None
        if text.startswith(_STANDBY_WORDS) or (response.status_code == 307 and _is_standby(response)):
            raise YarnStandbyError(
                f"the ResourceManager at {self.base_url} is standby, not active",
                "name all ResourceManagers (YARNTUNE_RM_URL takes several, with commas), or the active one",
            )
        if 300 <= response.status_code < 400:
            location = _shown(response.headers.get("Location", "nowhere"))
            raise YarnProtocolError(
                f"{where} was redirected to {location}, which yarntune does not follow",
                "set YARNTUNE_RM_URL to the address that answers the REST API itself",
            )
        return Reply(response.status_code, text)


def _is_standby(response: requests.Response) -> bool:
    # RMWebAppFilter: Location names the active one, or, where none is active, Refresh names the standby itself.
    return "Refresh" in response.headers or API in response.headers.get("Location", "")


def check(reply: Reply, what: str) -> Reply:
    """Passes a good answer on, and makes an error of a refusal.

    Args:
        reply: the answer.
        what: what was asked, for the message: "read the nodes".

    Raises:
        YarnStatusError: the status is not 2xx.
    """
    if 200 <= reply.status < 300:
        return reply
    raise YarnStatusError(
        f"the ResourceManager refused to {what} (HTTP status {reply.status}): {reply.reason}",
        hint_of_status(reply.status),
        status=reply.status,
    )


def hint_of_status(status: int) -> str:
    """What to do about a refusal of that HTTP status; empty where its reason has to say it."""
    if status >= 500:
        return "look into the ResourceManager's log; it may be starting, or overloaded"
    return {
        401: "the ResourceManager wants authentication: with Kerberos, pip install 'yarntune[kerberos]' and kinit, "
        "and have hadoop.http.authentication.type=kerberos in the core-site.xml of HADOOP_CONF_DIR",
        403: "set YARNTUNE_USER to a user who may do this: for the scheduler's configuration one in yarn.admin.acl, "
        "for an application its owner or an administrator of its queue",
        404: "look whether the address is the ResourceManager's (YARNTUNE_RM_URL), and the name is right",
        405: "this version of Hadoop does not have the call",
    }.get(status, "")


def _explain(error: requests.RequestException, where: str, timeout_s: float) -> YarnError:
    # The first row that fits: the table goes from the special to the general.
    for kinds, made, message, hint in _EXPLANATIONS:
        if isinstance(error, kinds) or isinstance(_cause(error), kinds):
            return made(message.format(where=where, timeout=f"{timeout_s:g}"), hint)
    return YarnInterruptedError(f"{where} failed: {type(error).__name__}", "try again, then look at the network")


def _cause(error: requests.RequestException) -> BaseException | None:
    # requests wraps urllib3's MaxRetryError, whose reason is what really happened.
    inner = error.args[0] if error.args and isinstance(error.args[0], BaseException) else None
    return getattr(inner, "reason", None) or inner


_START = "look whether the ResourceManager runs and the address is right; `yarntune cluster up` starts one here"
_EXPLANATIONS: tuple[tuple[tuple[type[BaseException], ...], type[YarnError], str, str], ...] = (
    (
        (requests.exceptions.SSLError, urllib3.exceptions.SSLError),
        YarnConnectionError,
        "{where}: TLS could not be agreed on",
        "look whether the port speaks https; set REQUESTS_CA_BUNDLE to the certificate of the cluster's authority",
    ),
    (
        (requests.exceptions.ProxyError,),
        YarnConnectionError,
        "{where}: the proxy could not be used",
        "set NO_PROXY for the ResourceManager's host",
    ),
    (
        (requests.exceptions.ConnectTimeout,),
        YarnConnectionError,
        "{where}: no connection within {timeout} s",
        _START,
    ),
    (
        (urllib3.exceptions.NameResolutionError,),
        YarnConnectionError,
        "{where}: the host's name is not known",
        "look at the spelling of the address, and at DNS",
    ),
    ((urllib3.exceptions.NewConnectionError,), YarnConnectionError, "{where}: nobody listens there", _START),
    (
        (requests.exceptions.Timeout, urllib3.exceptions.ReadTimeoutError),
        YarnTimeoutError,
        "{where}: no answer within {timeout} s",
        "the ResourceManager may be overloaded; set YARNTUNE_RM_TIMEOUT to more seconds",
    ),
    (
        (
            requests.exceptions.InvalidURL,
            requests.exceptions.InvalidSchema,
            requests.exceptions.MissingSchema,
            requests.exceptions.InvalidProxyURL,
        ),
        YarnConnectionError,
        "{where}: the address is not valid",
        "write it as http://HOST:8088",
    ),
    (
        (requests.exceptions.ContentDecodingError,),
        YarnProtocolError,
        "{where}: the answer is damaged",
        "try again; look at the proxies between",
    ),
)


def clean_url(url: str) -> str:
    """The address of a ResourceManager, as a prefix for paths.

    Args:
        url: with or without ``http://``; the address of one of its pages, or of the REST API, is cut to the prefix.
            A path before that, as a gateway has it, is kept.

    Raises:
        InputError: there is no host in it, or a password, or it is not http.
    """
    text = url.strip()
    try:
        parts = urlsplit(text if "://" in text else f"http://{text}")
        port = parts.port
    except ValueError:
        raise InputError(f"{_shown(url)!r} is not the address of a ResourceManager", "write http://HOST:8088") from None
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise InputError(f"{_shown(url)!r} is not the address of a ResourceManager", "write http://HOST:8088")
    if parts.password is not None or parts.username is not None:
        raise InputError(
            f"the address of the ResourceManager at {parts.hostname} has a user's name in it",
            "take it out; set YARNTUNE_USER for simple authentication",
        )
    path = parts.path.partition("/ws/v1")[0].rstrip("/")
    path = path.removesuffix("/cluster")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return urlunsplit((parts.scheme, host if port is None else f"{host}:{port}", path, "", ""))


def _shown(url: str) -> str:
    """An address for a message, without what may be secret: user, password, query."""
    head, separator, rest = url.partition("://")
    if not separator:
        head, rest = "", url
    rest = rest.split("?", 1)[0].split("#", 1)[0]
    authority, slash, path = rest.partition("/")
    return f"{head}{separator}{authority.rpartition('@')[2]}{slash}{path}"
