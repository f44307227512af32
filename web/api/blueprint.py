"""Makes the routes of the API from its table, and checks what is sent before an operation sees it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import msgspec
from flask import Blueprint, Response, jsonify, request

from web.api.openapi import openapi
from web.api.operation import PATH_TYPES, Call, Operation, Parameter
from web.api.routes import OPERATIONS
from web.auth import requires, takes_uploads
from web.errors import Refused
from web.parameters import choice, optional_whole, words

PREFIX = "/api/v1"


def blueprint() -> Blueprint:
    """The routes of the table, and the document that describes them."""
    found = Blueprint("api", __name__, url_prefix=PREFIX)
    for operation in OPERATIONS:
        found.add_url_rule(
            _rule(operation),
            operation.id,
            _view(operation),
            methods=[operation.method],
            provide_automatic_options=False,
        )
    found.add_url_rule("/openapi.json", "openapi", _describe, methods=["GET"], provide_automatic_options=False)
    return found


def _describe() -> Response:
    return jsonify(_document())


@cache
def _document() -> dict[str, Any]:
    return openapi()


def _rule(operation: Operation) -> str:
    rule = operation.path
    for name in operation.parts:
        converter = "int:" if PATH_TYPES[name] is int else ""
        rule = rule.replace(f"{{{name}}}", f"<{converter}{name}>")
    return rule


def _view(operation: Operation) -> Callable[..., Response]:
    def view(**path: Any) -> Response:
        if any("\x00" in part for part in path.values() if isinstance(part, str)):
            raise Refused(404, f"there is nothing at {request.path!r}")
        query = _query(operation)
        body = None if operation.body is None else _body(operation.body)
        if operation.raw_body and request.mimetype != operation.raw_body:
            raise Refused(415, f"the body is {request.mimetype or 'of no kind'}", f"send {operation.raw_body}")
        response = jsonify(operation.handler(Call(path, query, body)))
        response.status_code = operation.status
        return response

    view.__name__ = operation.id
    guarded = view if operation.role is None else requires(operation.role)(view)
    return takes_uploads(guarded) if operation.raw_body else guarded


def _query(operation: Operation) -> dict[str, Any]:
    known = {each.name for each in operation.query}
    unknown = [name for name in request.args if name not in known]
    if unknown:
        there = f"there are {', '.join(sorted(known))}" if known else "there are none here"
        raise Refused(400, f"there is no parameter {unknown[0][:100]!r}", there)
    return {each.name: _value(each) for each in operation.query}


def _value(parameter: Parameter) -> int | str | None:
    name = parameter.name
    if len(request.args.getlist(name)) > 1:
        raise Refused(400, f"{name} is given more than once")
    if name not in request.args:
        return parameter.default
    if parameter.kind == "whole":
        if not request.args[name]:
            raise Refused(400, f"{name} is empty", "leave it out, or give it a whole number")
        return optional_whole(name, least=parameter.least, most=parameter.most)
    return choice(name, parameter.choices, "") if parameter.choices else words(name)


def _body(kind: type) -> Any:
    if request.mimetype != "application/json":
        raise Refused(415, f"the body is {request.mimetype or 'of no kind'}", "send application/json")
    data = request.get_data(cache=False)
    try:
        # First that it is JSON, then that it is what is asked for: they are different mistakes.
        msgspec.json.decode(data)
        found: Any = msgspec.json.decode(data, type=kind)
    except msgspec.ValidationError as error:
        raise Refused(422, f"the body cannot be used: {error}", "the OpenAPI document says what it has") from None
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise Refused(400, f"the body is not JSON: {why}") from None
    if not _storable(data):
        raise Refused(422, "the body has a character in it that cannot be kept", "leave out NUL and lone surrogates")
    return found


def _storable(data: bytes) -> bool:
    """Whether PostgreSQL, and UTF-8, can have every text in it; escapes are looked for where they are rare."""
    if b"\\u" not in data:
        return True
    text = msgspec.json.encode(msgspec.json.decode(data))
    return b"\\u0000" not in text


blueprints = (blueprint(),)
"""What the application registers."""
