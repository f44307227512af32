"""A ResourceManager that misbehaves as told: for faults that a real one cannot be brought to show.

What it answers with was recorded from a real one; see ``tests/tuner/yarn/bodies``.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self
from urllib.parse import parse_qsl, urlsplit

API = "/ws/v1/cluster"


@dataclass(frozen=True)
class Answer:
    """What is sent back.

    Attributes:
        silent: nothing is sent until the server ends: the client's time-out is what ends the wait.
        broken: the connection is closed in the middle of the body.
    """

    body: str = ""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str = "application/json;charset=utf-8"
    silent: bool = False
    broken: bool = False


@dataclass(frozen=True)
class Request:
    """What came in; the query is decoded."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: str


class FakeResourceManager:
    """A server on a free port of this machine, for the length of a ``with``.

    ``answers[("GET", "/metrics")]`` is what it answers with: one answer for ever, or a list, used up one by one, the
    last for ever. Other paths get the 404 page of the real thing. ``requests`` is what came in.
    """

    def __init__(self) -> None:
        self.answers: dict[tuple[str, str], Answer | list[Answer]] = {}
        self.requests: list[Request] = []
        self._end = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._end.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def sent(self, method: str) -> list[Request]:
        """The requests with that method."""
        return [request for request in self.requests if request.method == method]

    def _next(self, method: str, path: str) -> Answer:
        known = self.answers.get((method, path.removeprefix(API)))
        if isinstance(known, list):
            return known.pop(0) if len(known) > 1 else known[0]
        return known or Answer("<html><body><h2>HTTP ERROR 404 Not Found</h2></body></html>", 404, {}, "text/html")

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # Head and body go out as two packets; the second would wait 40 ms for the first one's acknowledgement.
            disable_nagle_algorithm = True

            def handle_any(self) -> None:
                parts = urlsplit(self.path)
                length = int(self.headers.get("Content-Length", 0))
                request = Request(
                    self.command,
                    parts.path.removeprefix(API),
                    dict(parse_qsl(parts.query, keep_blank_values=True)),
                    dict(self.headers.items()),
                    self.rfile.read(length).decode(),
                )
                fake.requests.append(request)
                answer = fake._next(self.command, parts.path)
                if answer.silent:
                    fake._end.wait()
                    self.close_connection = True
                    return
                body = answer.body.encode()
                self.send_response(answer.status)
                for name, value in {"Content-Type": answer.content_type, **answer.headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body) + (100 if answer.broken else 0)))
                self.end_headers()
                self.wfile.write(body)
                if answer.broken:
                    self.close_connection = True

            do_GET = do_PUT = do_POST = handle_any  # noqa: N815

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                pass

        return Handler
