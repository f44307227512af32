"""A yarntune server in place of the store: advice from it, and runs to it. Little is imported: a submission waits."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from tuner.errors import InputError, StoreError
from tuner.settings import Settings

ADVICE_TIMEOUT_S = 2.0
"""As long as a submission waits for a store."""
RECORD_TIMEOUT_S = 30.0
_MOST_BYTES = 4 * 1024**2


@dataclass(frozen=True)
class Server:
    """A server's API.

    Attributes:
        url: of the server, a path before ``/api`` included.
        token: of the role viewer for advice, operator for runs; empty where the server shows itself without one.
    """

    url: str
    token: str = ""

    def advice(self, job_key: str) -> dict[str, Any] | None:
        """The advice document of a job, None where there is none.

        Raises:
            StoreError: the server does not answer, or not as one.
        """
        found = self._ask("GET", f"/advice/{quote(job_key, safe='')}", None, ADVICE_TIMEOUT_S)
        if found is not None and not isinstance(found, dict):
            raise StoreError(f"{self._place} answers with what is no advice")
        return found

    def record(self, run: Mapping[str, Any]) -> None:
        """Sends a run that has ended.

        Raises:
            StoreError: the server does not take it.
        """
        if self._ask("POST", "/runs", dict(run), RECORD_TIMEOUT_S) is None:
            raise StoreError(f"{self._place} has no API for runs", "does YARNTUNE_URL name a yarntune server?")

    @property
    def _place(self) -> str:
        return f"the server {urlsplit(self.url).hostname}"

    def _ask(self, method: str, path: str, body: Mapping[str, Any] | None, timeout_s: float) -> Any:
        headers = {"Accept": "application/json", "User-Agent": "yarntune"}
        headers |= {"Authorization": f"Bearer {self.token}"} if self.token else {}
        data = None
        if body is not None:
            data = json.dumps(body).encode()
            headers["Content-Type"] = "application/json"
        # server_of lets nothing but http and https through.
        order = urllib.request.Request(f"{self.url}/api/v1{path}", data=data, headers=headers, method=method)  # noqa: S310
        try:
            with _OPENER.open(order, timeout=timeout_s) as answer:
                return json.loads(answer.read(_MOST_BYTES))
        except urllib.error.HTTPError as error:
            with error:
                message = _message(error.read(_MOST_BYTES))
            if error.code == 404 and method == "GET" and message:
                return None
            raise StoreError(f"{self._place} answers {error.code}{f': {message}' if message else ''}") from None
        except (OSError, ValueError) as error:
            raise StoreError(f"{self._place} cannot be asked ({type(error).__name__})", "see YARNTUNE_URL") from None


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """The token goes nowhere else."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


_OPENER = urllib.request.build_opener(_NoRedirect)


def server_of(settings: Settings) -> Server | None:
    """The server that the settings name; None where they name none, and the store is meant.

    Raises:
        InputError: the address is none, or the token cannot be read.
    """
    if not settings.server_url:
        return None
    parts = urlsplit(settings.server_url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InputError("YARNTUNE_URL is no address", "for example https://yarntune.example.com")
    token = ""
    if settings.token_file is not None:
        try:
            token = Path(settings.token_file).read_text().strip()
        except (OSError, UnicodeError):
            raise InputError(f"{settings.token_file}, the token, cannot be read", "see YARNTUNE_TOKEN_FILE") from None
    return Server(settings.server_url.rstrip("/"), token)


def _message(data: bytes) -> str:
    """The sentence of a refusal of ours; empty where it is somebody else's."""
    try:
        return str(json.loads(data)["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return ""
