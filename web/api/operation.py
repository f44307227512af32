"""What one operation of the API is: where it is, what it takes and gives, and who may."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from tuner.store import Role

LARGEST_ID = 2**53 - 1
"""The largest whole number that every reader of JSON keeps exact."""
MOST_ITEMS = 500


@dataclass(frozen=True)
class Parameter:
    """One parameter of the query.

    Attributes:
        kind: ``text`` or a whole number.
        choices: what it can be; anything where it is empty.
        default: what it is where it is not given; None for nothing.
        least, most: bounds of a whole number.
    """

    name: str
    help: str
    kind: Literal["text", "whole"] = "text"
    choices: tuple[str, ...] = ()
    default: int | str | None = None
    least: int = 1
    most: int = LARGEST_ID

    def schema(self) -> dict[str, Any]:
        """As OpenAPI has it."""
        found: dict[str, Any] = (
            {"type": "integer", "minimum": self.least, "maximum": self.most}
            if self.kind == "whole"
            else {"type": "string", "maxLength": 2000}
        )
        if self.choices:
            found = {"type": "string", "enum": list(self.choices)}
        return found if self.default is None else {**found, "default": self.default}


@dataclass(frozen=True)
class Call:
    """One request, checked.

    Attributes:
        path: the parts of the path, by name.
        query: every parameter of the operation, with its default where it was not given.
        body: of the operation's body type; None for an operation without one.
    """

    path: Mapping[str, Any]
    query: Mapping[str, Any]
    body: Any = None

    def whole(self, name: str) -> int:
        """A whole number of the query that has a default."""
        value = self.query[name]
        assert isinstance(value, int)
        return value

    def text(self, name: str) -> str:
        """A text of the query, empty where it was not given."""
        return str(self.query[name] or "")


@dataclass(frozen=True)
class Operation:
    """One operation.

    Attributes:
        id: unique, for programs that are made from the document.
        path: below ``/api/v1``, with the names of its parts in braces.
        summary: one sentence for people.
        handler: carries it out; what it returns is written as JSON.
        answer: the type of that.
        query: its parameters.
        body: the type of the JSON body; None for none.
        raw_body: what kind of bytes the body is, where it is not JSON.
        role: who may; None for everybody who may look.
        status: of the answer.
        refusals: statuses of refusals beside those that any operation may have.
    """

    id: str
    method: Literal["GET", "POST"]
    path: str
    summary: str
    handler: Callable[[Call], Any]
    answer: Any
    query: tuple[Parameter, ...] = ()
    body: type | None = None
    raw_body: str = ""
    role: Role | None = None
    status: int = 200
    refusals: tuple[int, ...] = field(default=())

    @property
    def parts(self) -> tuple[str, ...]:
        """The names in the path."""
        return tuple(part[1:-1] for part in self.path.split("/") if part.startswith("{"))


PATH_TYPES: Mapping[str, type] = {
    "job_id": int,
    "run_id": int,
    "study_id": int,
    "plan_id": int,
    "token_id": int,
    "number": int,
    "job_key": str,
    "report": str,
    "name": str,
}
"""What each part of a path is."""

PATH_HELP: Mapping[str, str] = {
    "job_id": "number of a job",
    "run_id": "number of a run",
    "study_id": "number of a search",
    "plan_id": "number of a plan",
    "token_id": "number of a token",
    "number": "number of a tuning that this server has started",
    "job_key": "fingerprint of a job, its `key`",
    "report": "id of an analysis",
    "name": "name of a workload",
}

LIMIT = Parameter("limit", "how many at most", "whole", default=50, most=MOST_ITEMS)
BEFORE = Parameter("before", "the `next_before` of the page before", "whole")
