"""Tables as data: each is shown as HTML, given as JSON, and given as CSV, from the same rows."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Literal

Kind = Literal[
    "text", "number", "seconds", "gib_s", "mib", "bytes", "time", "percent", "change", "state", "code", "money"
]
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True)
class Column:
    """One column.

    Attributes:
        key: of the rows, and the name of the column in JSON and CSV.
        title: for people.
        kind: how a value is written for people; numbers are set flush right.
        link: the endpoint that a cell leads to, and which of its arguments is which key of the row.
    """

    key: str
    title: str
    kind: Kind = "text"
    link: tuple[str, Mapping[str, str]] | None = None

    @property
    def numeric(self) -> bool:
        """Whether it is set flush right."""
        return self.kind not in ("text", "time", "state", "code")


@dataclass(frozen=True)
class Table:
    """Rows under columns.

    Attributes:
        name: by which ``?format=csv&table=NAME`` asks for it.
        caption: what it shows.
        empty: what to say, and to do, where there are no rows.
    """

    name: str
    caption: str
    columns: tuple[Column, ...]
    rows: Sequence[Mapping[str, Any]]
    empty: str = "Nothing yet."
    links: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> list[dict[str, Any]]:
        """The rows, each with every column's key."""
        return [{column.key: plain(row.get(column.key)) for column in self.columns} for row in self.rows]

    def to_csv(self) -> str:
        """The rows with a header, as RFC 4180 has it."""
        text = io.StringIO()
        writer = csv.writer(text)
        writer.writerow([column.key for column in self.columns])
        writer.writerows([_cell(row.get(column.key)) for column in self.columns] for row in self.rows)
        return text.getvalue()


def plain(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    return value


def _cell(value: Any) -> Any:
    """A value as a spreadsheet should take it: text that looks like a formula must not become one."""
    value = plain(value)
    if isinstance(value, str) and value.startswith(_FORMULA):
        return f"'{value}"
    return "" if value is None else value
