"""What goes wrong, as one shape of answer: a page for people, JSON for programs, never a traceback."""

from __future__ import annotations

import logging
import secrets
from typing import Any

from flask import Flask, Response, jsonify, make_response, render_template, request
from werkzeug.exceptions import HTTPException, RequestEntityTooLarge

from tuner.errors import InputError, YarntuneError

log = logging.getLogger("yarntune.web")

_TITLES = {
    400: "That cannot be used",
    401: "Please log in",
    403: "Not allowed",
    404: "Not found",
    405: "Not possible here",
    409: "Somebody was quicker",
    413: "Too large",
    422: "It cannot be estimated",
    429: "Too many tries",
    500: "A fault of yarntune",
    502: "The cluster did not answer",
    503: "Not available now",
}


class Refused(YarntuneError):  # noqa: N818 - an outcome with a status, named as what happened
    """A request that is not carried out.

    Args:
        status: of HTTP.
        message: what is wrong.
        hint: what to do about it.
        retry_after_s: from when it is worth another try.
    """

    def __init__(self, status: int, message: str, hint: str = "", *, retry_after_s: float | None = None) -> None:
        super().__init__(message, hint)
        self.status = status
        self.retry_after_s = retry_after_s


def not_found(what: str, hint: str = "") -> Refused:
    """What is asked for is not there."""
    return Refused(404, f"there is no {what}", hint)


def error_body(status: int, message: str, hint: str = "") -> dict[str, Any]:
    """The one shape of an error in JSON."""
    return {"ok": False, "error": {"status": status, "message": message, "hint": hint}}


def wants_json() -> bool:
    """Whether the answer is for a program."""
    if request.args.get("format") in ("json", "csv") or request.path.startswith("/api/"):
        return True
    best = request.accept_mimetypes.best_match(["text/html", "application/json"])
    return best == "application/json"


def install(app: Flask) -> None:
    """Registers the handlers."""
    app.register_error_handler(YarntuneError, _on_known)
    app.register_error_handler(HTTPException, _on_http)
    app.register_error_handler(Exception, _on_fault)


def _on_known(error: YarntuneError) -> Response:
    own = 400 if isinstance(error, InputError) else 503
    status = error.status if isinstance(error, Refused) else own
    response = _answer(status, error.message, error.hint)
    if isinstance(error, Refused) and error.retry_after_s is not None:
        response.headers["Retry-After"] = str(int(error.retry_after_s) + 1)
    if status == 401:
        response.headers["WWW-Authenticate"] = "Bearer"
    return response


def _on_http(error: HTTPException) -> Response:
    status = error.code or 500
    if isinstance(error, RequestEntityTooLarge):
        return _answer(413, "what was sent is larger than this server takes", "see --upload-limit of `yarntune web`")
    response = _answer(status, _sentence(error), "")
    for name, value in error.get_headers():
        if name.lower() not in ("content-type", "content-length"):
            response.headers[name] = value
    return response


def _on_fault(error: Exception) -> Response:
    number = secrets.token_hex(4)
    log.error("fault %s at %s %s", number, request.method, request.path, exc_info=error)
    return _answer(500, f"a fault of yarntune (number {number})", "the details are in the server's log")


def _sentence(error: HTTPException) -> str:
    if error.code == 404:
        return f"there is nothing at {request.path}"
    return (error.description or error.name).rstrip(".")


def _answer(status: int, message: str, hint: str) -> Response:
    if wants_json():
        response = jsonify(error_body(status, message, hint))
        response.status_code = status
        return response
    title = _TITLES.get(status, "Error")
    if request.headers.get("HX-Request"):
        return make_response(render_template("error_fragment.html", title=title, message=message, hint=hint), status)
    return make_response(render_template("error.html", status=status, title=title, message=message, hint=hint), status)
