"""The OpenAPI document, made from the table of operations and the types of their bodies and answers. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from importlib.metadata import version
from typing import Any

import msgspec

from web.api.operation import LARGEST_ID, PATH_HELP, PATH_TYPES, Operation
from web.api.routes import OPERATIONS
from web.api.schemas import Error

_REFERENCE = "#/components/schemas/{name}"
_REFUSALS: Mapping[int, str] = {
    400: "What was sent cannot be read, or a value in it cannot be used.",
    401: "There is no token, or it is unknown, revoked or expired.",
    403: "The token's role may not do this.",
    404: "What is asked for is not there.",
    409: "It is not in a state in which this can be done.",
    413: "What was sent is larger than this server takes.",
    415: "The body is of another kind.",
    422: "The body is JSON, and not what this takes.",
    429: "Too many wrong tokens; `Retry-After` says how long to wait.",
    503: "The store or the cluster does not answer.",
}
DESCRIPTION = (
    "What the dashboard shows and does, for programs. Memory is in MiB, memory x time in GiB·s, times are seconds, "
    "and a moment is seconds since 1970-01-01 UTC. Lists are newest first and go on with `before=next_before`. "
    "Whatever is refused has one shape, `Error`. Without a token one may look, where the server allows it; "
    "every change needs one."
)


def refusals(operation: Operation) -> tuple[int, ...]:
    """The statuses with which an operation may be refused."""
    found = {400, 401, 429, 503, *operation.refusals}
    if operation.role is not None:
        found.add(403)
    if operation.body is not None or operation.raw_body:
        found |= {403, 413, 415}
    if operation.body is not None:
        found.add(422)
    return tuple(sorted(found))


def openapi() -> dict[str, Any]:
    """The document, OpenAPI 3.1."""
    types = [each.answer for each in OPERATIONS] + [each.body for each in OPERATIONS if each.body is not None]
    schemas, components = msgspec.json.schema_components([*types, Error], ref_template=_REFERENCE)
    answers = schemas[: len(OPERATIONS)]
    bodies = dict(
        zip([each.id for each in OPERATIONS if each.body is not None], schemas[len(OPERATIONS) :], strict=False)
    )
    paths: dict[str, dict[str, Any]] = {}
    for operation, answer in zip(OPERATIONS, answers, strict=True):
        described = _operation(operation, answer, bodies.get(operation.id))
        paths.setdefault(f"/api/v1{operation.path}", {})[operation.method.lower()] = described
    return {
        "openapi": "3.1.0",
        "info": {"title": "yarntune", "version": version("yarntune"), "description": DESCRIPTION},
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(operation: Operation, answer: Mapping[str, Any], body: Mapping[str, Any] | None) -> dict[str, Any]:
    success = {"description": HTTPStatus(operation.status).phrase, "content": {"application/json": {"schema": answer}}}
    found: dict[str, Any] = {
        "operationId": operation.id,
        "summary": operation.summary,
        "tags": [operation.path.split("/")[1]],
        "parameters": [*map(_path_parameter, operation.parts), *({
            "name": each.name, "in": "query", "description": each.help, "required": False, "schema": each.schema(),
        } for each in operation.query)],
        "responses": {str(operation.status): success, **{str(each): _refusal(each) for each in refusals(operation)}},
    }  # fmt: skip
    if operation.role is None:
        found["security"] = [{}, {"token": []}]
    else:
        found["description"] = f"Needs the role {operation.role.value}, or a higher one."
        found["security"] = [{"token": []}]
    if body is not None:
        found["requestBody"] = {"required": True, "content": {"application/json": {"schema": body}}}
    elif operation.raw_body:
        found["requestBody"] = {
            "required": True,
            "content": {operation.raw_body: {"schema": {"type": "string", "format": "binary"}}},
        }
    return found


def _path_parameter(name: str) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string", "minLength": 1}
    if PATH_TYPES[name] is int:
        schema = {"type": "integer", "minimum": 0, "maximum": LARGEST_ID}
    return {"name": name, "in": "path", "description": PATH_HELP[name], "required": True, "schema": schema}


def _refusal(status: int) -> dict[str, Any]:
    reference = {"$ref": _REFERENCE.format(name="Error")}
    return {"description": _REFUSALS[status], "content": {"application/json": {"schema": reference}}}
