"""What is advised for each job's next submission."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from tuner.store.connection import Database
from tuner.store.schema import advice


class AdviceRepository:
    """One document a job, which replaces the one before. What is in it is the caller's business."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, job_key: str, document: Mapping[str, Any], *, now: float) -> None:
        """Writes the advice of a job."""
        values = {"document": dict(document), "made_at": now}
        with self._database.write() as connection:
            if connection.execute(sa.update(advice).where(advice.c.job_key == job_key).values(**values)).rowcount:
                return
            try:
                with connection.begin_nested():
                    connection.execute(sa.insert(advice).values(job_key=job_key, **values))
            except sa.exc.IntegrityError:
                # Another process was quicker with the job's first one; ours is as good.
                connection.execute(sa.update(advice).where(advice.c.job_key == job_key).values(**values))

    def get(self, job_key: str) -> dict[str, Any] | None:
        """The advice of a job, None where there is none."""
        with self._database.read() as connection:
            found = connection.execute(sa.select(advice.c.document).where(advice.c.job_key == job_key)).scalar()
        return None if found is None else dict(found)

    def made_since(self, at: float) -> list[tuple[str, float, dict[str, Any]]]:
        """Key, time and document of each advice that was made after a time, oldest first."""
        query = sa.select(advice).where(advice.c.made_at > at).order_by(advice.c.made_at)
        with self._database.read() as connection:
            return [(row.job_key, row.made_at, dict(row.document)) for row in connection.execute(query)]
