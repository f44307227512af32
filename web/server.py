"""Serves the dashboard."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable

from tuner.errors import InputError, YarntuneError
from web.app import create_app
from web.config import WebConfig, is_loopback
from web.state import WebState

THREADS = 8
_SWEEP_EVERY_S = 30.0


def serve(config: WebConfig, ready: Callable[[str], None]) -> None:
    """Serves until it is interrupted.

    Args:
        config: how.
        ready: called with the address, once it listens.

    Raises:
        InputError: it cannot listen there, or would be open to others without a token.
    """
    from waitress.server import create_server

    app = create_app(config)
    state = app.extensions["yarntune"]
    assert isinstance(state, WebState)
    try:
        if not is_loopback(config.host):
            _check_public(state)
        listener = _listen(config)
        with contextlib.closing(listener):
            server = create_server(
                app,
                sockets=[listener],
                threads=THREADS,
                ident="yarntune",
                # waitress drops the proxies' headers unless told; ProxyFix looks at them, and only when told.
                clear_untrusted_proxy_headers=not config.trusted_proxies,
                max_request_body_size=(config.upload_limit_mib + 8) * 1024**2,
            )
            stop = threading.Event()
            threading.Thread(target=_sweep, args=(state, stop), name="sweep", daemon=True).start()
            ready(f"http://{_shown(config.host)}:{listener.getsockname()[1]}{config.url_prefix}/")
            try:
                server.run()
            finally:
                stop.set()
                server.close()
    finally:
        state.close()


def _listen(config: WebConfig) -> socket.socket:
    try:
        family = socket.getaddrinfo(config.host, config.port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((config.host, config.port), family=family, backlog=128)
    except OSError as error:
        raise InputError(
            f"cannot listen on {config.host} port {config.port}: {error.strerror or error}",
            "choose another one with --host and --port",
        ) from None


def _check_public(state: WebState) -> None:
    if not any(token.valid(time.time()) for token in state.store.tokens.list()):
        raise InputError(
            f"{state.config.host} can be reached from other machines, and there is no token yet",
            "make one first: yarntune web token create --name NAME --role admin",
        )


def _shown(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _sweep(state: WebState, stop: threading.Event) -> None:
    """Marks what processes that are gone have left RUNNING, every half a minute."""
    while not stop.is_set():
        # What fails, the health page says; the next turn may do better.
        with contextlib.suppress(YarntuneError):
            state.store.sweep(now=time.time())
        stop.wait(_SWEEP_EVERY_S)
