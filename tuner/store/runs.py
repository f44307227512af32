"""Runs in the store."""

from __future__ import annotations

import builtins
from collections.abc import Collection
from typing import Any

import sqlalchemy as sa

from tuner.errors import StoreError
from tuner.store.connection import Database
from tuner.store.owner import is_alive, this_process
from tuner.store.records import NewRun, Run, RunKind, RunOutcome, RunState
from tuner.store.rows import from_row, owner_values, to_values
from tuner.store.schema import run

_OPEN = (RunState.RUNNING, RunState.LOST)


class RunRepository:
    """Reads and writes runs."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def start(self, new: NewRun) -> Run:
        """Writes a RUNNING run, owned by this process. Called before the submission, so that none goes unrecorded."""
        values = to_values(new) | {"arguments": list(new.arguments), "state": RunState.RUNNING, "metrics": {}}
        with self._database.write() as connection:
            insert = sa.insert(run).values(**values, **owner_values(this_process())).returning(run)
            return _run(connection.execute(insert).one())

    def set_application(self, run_id: int, application_id: str) -> None:
        """Notes the YARN application that the run became."""
        with self._database.write() as connection:
            update = sa.update(run).where(run.c.id == run_id).values(application_id=application_id)
            if connection.execute(update).rowcount == 0:
                raise StoreError(f"there is no run {run_id} in the store")

    def finish(self, run_id: int, outcome: RunOutcome) -> Run:
        """Writes how a run ended.

        The first answer stays: a run that has ended already is left as it is. A LOST run takes a late answer.

        Returns:
            The run as it is in the store now.
        """
        if outcome.state is RunState.RUNNING:
            raise ValueError("an outcome cannot be RUNNING")
        values = {name: value for name, value in to_values(outcome).items() if value is not None}
        with self._database.write() as connection:
            connection.execute(sa.update(run).where(run.c.id == run_id, run.c.state.in_(_OPEN)).values(**values))
            row = connection.execute(sa.select(run).where(run.c.id == run_id)).one_or_none()
        if row is None:
            raise StoreError(f"there is no run {run_id} in the store")
        return _run(row)

    def get(self, run_id: int) -> Run | None:
        """The run with this id."""
        with self._database.read() as connection:
            row = connection.execute(sa.select(run).where(run.c.id == run_id)).one_or_none()
        return None if row is None else _run(row)

    def by_application(self, application_id: str) -> Run | None:
        """The newest run that became this YARN application."""
        query = sa.select(run).where(run.c.application_id == application_id).order_by(run.c.id.desc()).limit(1)
        with self._database.read() as connection:
            row = connection.execute(query).one_or_none()
        return None if row is None else _run(row)

    def list(
        self,
        *,
        job_id: int | None = None,
        study_id: int | None = None,
        states: Collection[RunState] = (),
        kinds: Collection[RunKind] = (),
        limit: int = 100,
        before_id: int | None = None,
    ) -> builtins.list[Run]:
        """Runs, newest first.

        Args:
            job_id: of this job only.
            study_id: of this study only.
            states: in one of these states; in any where it is empty.
            kinds: of one of these kinds; of any where it is empty.
            limit: how many at most.
            before_id: the last id of the page before.
        """
        query = sa.select(run).order_by(run.c.id.desc()).limit(limit)
        for column, wanted in ((run.c.job_id, job_id), (run.c.study_id, study_id)):
            if wanted is not None:
                query = query.where(column == wanted)
        if states:
            query = query.where(run.c.state.in_(list(states)))
        if kinds:
            query = query.where(run.c.kind.in_([*kinds]))
        if before_id is not None:
            query = query.where(run.c.id < before_id)
        with self._database.read() as connection:
            return [_run(row) for row in connection.execute(query)]

    def count(self, job_id: int) -> int:
        """How many runs a job has."""
        with self._database.read() as connection:
            return connection.execute(sa.select(sa.func.count()).where(run.c.job_id == job_id)).scalar_one()

    def sweep(self, *, now: float, stale_after_s: float) -> tuple[int, ...]:
        """Marks RUNNING runs as LOST whose process is gone.

        Args:
            now: the clock, in seconds.
            stale_after_s: how old a run of another host's process, which cannot be seen from here, must be.

        Returns:
            The ids of the runs that were marked.
        """
        query = sa.select(run).where(run.c.state == RunState.RUNNING)
        with self._database.read() as connection:
            running = [_run(row) for row in connection.execute(query)]
        gone = [each.id for each in running if _is_gone(each, now - stale_after_s)]
        if not gone:
            return ()
        with self._database.write() as connection:
            # Asked for its state again: it may have ended, well, since it was read.
            update = sa.update(run).where(run.c.id.in_(gone), run.c.state == RunState.RUNNING)
            marked = connection.execute(
                update.values(
                    state=RunState.LOST, finished_at=now, failure="its process ended without a word"
                ).returning(run.c.id)
            )
            return tuple(sorted(marked.scalars()))


def _is_gone(candidate: Run, stale_before: float) -> bool:
    alive = is_alive(candidate.owner)
    return candidate.submitted_at < stale_before if alive is None else not alive


def _run(row: sa.Row[Any]) -> Run:
    return from_row(Run, row, arguments=tuple(row.arguments))
