"""Between records and rows: a record's fields have the names of its table's columns."""

from __future__ import annotations

import dataclasses
from typing import Any, TypeVar

import sqlalchemy as sa

from tuner.store.records import Owner

T = TypeVar("T")


def to_values(record: Any) -> dict[str, Any]:
    """A record's fields as a row's values. Mappings stay as they are: they become JSON."""
    return {field.name: getattr(record, field.name) for field in dataclasses.fields(record)}


def from_row(cls: type[T], row: sa.Row[Any], **overrides: Any) -> T:
    """A record from a row; the three columns of an owner become one field.

    Args:
        cls: the record's class; the row has a column for each of its fields.
        row: the row; columns that the record does not have are left out.
        overrides: fields whose value is not the column's.
    """
    columns = row._mapping
    values: dict[str, Any] = {}
    for field in dataclasses.fields(cls):  # type: ignore[arg-type]
        if field.name in overrides:
            values[field.name] = overrides[field.name]
        elif field.name == "owner":
            values["owner"] = Owner(columns["owner_host"], columns["owner_pid"], columns["owner_started_at"])
        else:
            values[field.name] = columns[field.name]
    return cls(**values)


def owner_values(owner: Owner) -> dict[str, Any]:
    """An owner as its three columns."""
    return {"owner_host": owner.host, "owner_pid": owner.pid, "owner_started_at": owner.started_at}
