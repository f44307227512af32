"""The audit: who did what, when, and how it went."""

from __future__ import annotations

import builtins

import sqlalchemy as sa

from tuner.store.connection import Database
from tuner.store.records import AuditRow
from tuner.store.rows import from_row, to_values
from tuner.store.schema import audit


class AuditLog:
    """Adds and reads audit rows. There is no way to change one, and the database refuses it too."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def append(self, row: AuditRow) -> AuditRow:
        """Writes one row; its id is given by the store."""
        values = {name: value for name, value in to_values(row).items() if name != "id"}
        with self._database.write() as connection:
            return from_row(AuditRow, connection.execute(sa.insert(audit).values(**values).returning(audit)).one())

    def list(
        self, *, subject: str | None = None, limit: int = 100, before_id: int | None = None
    ) -> builtins.list[AuditRow]:
        """Rows, newest first; of one subject where it is given, below the id ``before_id`` for a next page."""
        query = sa.select(audit).order_by(audit.c.id.desc()).limit(limit)
        if subject is not None:
            query = query.where(audit.c.subject == subject)
        if before_id is not None:
            query = query.where(audit.c.id < before_id)
        with self._database.read() as connection:
            return [from_row(AuditRow, row) for row in connection.execute(query)]
