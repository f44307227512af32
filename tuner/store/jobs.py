"""Jobs in the store."""

from __future__ import annotations

import difflib
from typing import Any

import sqlalchemy as sa
import sqlalchemy.exc

from tuner.errors import InputError, StoreError
from tuner.store.connection import Database
from tuner.store.records import Job, JobSummary, NewJob, RunState
from tuner.store.rows import from_row, to_values
from tuner.store.schema import job, run, study

_NEAREST = 3


class JobRepository:
    """Reads and writes jobs."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get_or_create(self, new: NewJob, *, now: float) -> Job:
        """The job with this key, made where it is not there yet; an existing one is left as it is.

        Safe when several processes see the job for the first time at once.
        """
        found = self.by_key(new.key)
        if found is not None:
            return found
        with self._database.write() as connection:
            try:
                with connection.begin_nested():
                    connection.execute(sa.insert(job).values(**to_values(new), created_at=now))
            except sqlalchemy.exc.IntegrityError:
                pass  # Another process was quicker; its row is as good.
            row = connection.execute(sa.select(job).where(job.c.key == new.key)).one()
        return _job(row)

    def rename(self, job_id: int, name: str) -> Job:
        """Gives a job another name to be shown and found by.

        Raises:
            StoreError: there is no such job.
        """
        update = sa.update(job).where(job.c.id == job_id).values(name=name).returning(job)
        with self._database.write() as connection:
            row = connection.execute(update).one_or_none()
        if row is None:
            raise StoreError(f"there is no job {job_id} in the store")
        return _job(row)

    def get(self, job_id: int) -> Job | None:
        """The job with this id."""
        return self._first(job.c.id == job_id)

    def by_key(self, key: str) -> Job | None:
        """The job with this key."""
        return self._first(job.c.key == key)

    def _first(self, condition: sa.ColumnElement[bool]) -> Job | None:
        with self._database.read() as connection:
            row = connection.execute(sa.select(job).where(condition)).one_or_none()
        return None if row is None else _job(row)

    def resolve(self, reference: str) -> Job:
        """The job that a person means: by key, else by id, else by name.

        Raises:
            InputError: for none, naming near ones, and for several of the same name.
        """
        found = self.by_key(reference)
        if found is None and reference.isascii() and reference.isdigit() and len(reference) < 19:
            found = self.get(int(reference))
        if found is not None:
            return found
        with self._database.read() as connection:
            query = sa.select(job).where(job.c.name == reference).order_by(job.c.id)
            named = [_job(row) for row in connection.execute(query)]
            known = [] if named else list(connection.execute(sa.select(job.c.name).distinct()).scalars())
        if len(named) == 1:
            return named[0]
        if named:
            ids = ", ".join(f"{each.id} ({each.program})" for each in named)
            raise InputError(f"{len(named)} jobs are called {reference!r}", f"name one by its id: {ids}")
        raise InputError(f"there is no job {reference!r} in the store", _advice(reference, known))

    def count(self) -> int:
        """How many jobs there are."""
        with self._database.read() as connection:
            return connection.execute(sa.select(sa.func.count()).select_from(job)).scalar_one()

    def summaries(self, *, limit: int = 100, before_id: int | None = None) -> list[JobSummary]:
        """Jobs with what their runs add up to, newest first.

        Args:
            limit: how many at most.
            before_id: the last id of the page before.
        """
        best = (
            sa.select(study.c.best_run_id)
            .where(study.c.job_id == job.c.id, study.c.best_run_id.is_not(None))
            .order_by(study.c.id.desc())
            .limit(1)
            .scalar_subquery()
        )
        page = sa.select(job, best.label("best_run_id")).order_by(job.c.id.desc()).limit(limit)
        if before_id is not None:
            page = page.where(job.c.id < before_id)
        with self._database.read() as connection:
            rows = connection.execute(page).all()
            totals = {
                total.job_id: total
                for total in connection.execute(
                    sa.select(
                        run.c.job_id,
                        sa.func.count().label("runs"),
                        sa.func.count().filter(run.c.state == RunState.SUCCEEDED).label("succeeded"),
                        sa.func.max(run.c.submitted_at).label("last_submitted_at"),
                    )
                    .where(run.c.job_id.in_([row.id for row in rows]))
                    .group_by(run.c.job_id)
                )
            }
        return [_summary(row, totals.get(row.id)) for row in rows]


def _job(row: sa.Row[Any]) -> Job:
    return from_row(Job, row)


def _summary(row: sa.Row[Any], total: sa.Row[Any] | None) -> JobSummary:
    if total is None:
        return JobSummary(_job(row), 0, 0, None, row.best_run_id)
    return JobSummary(_job(row), total.runs, total.succeeded, total.last_submitted_at, row.best_run_id)


def _advice(reference: str, known: list[str]) -> str:
    if not known:
        return "the store has no jobs yet: run `yarntune tune APP`"
    near = difflib.get_close_matches(reference, known, n=_NEAREST, cutoff=0.5)
    return f"did you mean {' or '.join(near)}?" if near else "`yarntune jobs` lists those that are there"
