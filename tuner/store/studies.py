"""Studies in the store."""

from __future__ import annotations

import builtins

import sqlalchemy as sa

from tuner.errors import StoreError
from tuner.store.connection import Database
from tuner.store.owner import is_alive, this_process
from tuner.store.records import NewStudy, Study, StudyState
from tuner.store.rows import from_row, owner_values, to_values
from tuner.store.schema import run, study


class StudyRepository:
    """Reads and writes studies."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def start(self, new: NewStudy) -> Study:
        """Writes a RUNNING study, owned by this process."""
        values = to_values(new) | {"state": StudyState.RUNNING} | owner_values(this_process())
        with self._database.write() as connection:
            return from_row(Study, connection.execute(sa.insert(study).values(**values).returning(study)).one())

    def get(self, study_id: int) -> Study | None:
        """The study with this id."""
        return self._first(sa.select(study).where(study.c.id == study_id))

    def find_resumable(self, job_id: int, space_hash: str) -> Study | None:
        """The newest study of a job over this space, where that is INTERRUPTED; sweep first.

        An older one that was interrupted is not gone back to: a newer one has taken its place.
        """
        newest = self._first(
            sa.select(study)
            .where(study.c.job_id == job_id, study.c.space_hash == space_hash)
            .order_by(study.c.id.desc())
            .limit(1)
        )
        return newest if newest is not None and newest.state is StudyState.INTERRUPTED else None

    def resume(self, study_id: int) -> Study | None:
        """Makes an INTERRUPTED study RUNNING again, owned by this process.

        Returns:
            The study, or None where it is not INTERRUPTED any more, because another process was quicker.
        """
        update = (
            sa.update(study)
            .where(study.c.id == study_id, study.c.state == StudyState.INTERRUPTED)
            .values(state=StudyState.RUNNING, finished_at=None, **owner_values(this_process()))
            .returning(study)
        )
        with self._database.write() as connection:
            row = connection.execute(update).one_or_none()
        return None if row is None else from_row(Study, row)

    def set_best(self, study_id: int, run_id: int) -> None:
        """Names the best run so far.

        Raises:
            StoreError: where the study does not exist, or the run is none of its own.
        """
        own = sa.exists().where(run.c.id == run_id, run.c.study_id == study.c.id)
        update = sa.update(study).where(study.c.id == study_id, own).values(best_run_id=run_id)
        with self._database.write() as connection:
            if connection.execute(update).rowcount == 0:
                raise StoreError(f"run {run_id} is not a run of study {study_id}")

    def finish(self, study_id: int, state: StudyState, *, now: float) -> Study:
        """Ends a study as FINISHED, or as INTERRUPTED so that it can be resumed.

        Returns:
            The study as it is in the store now; one that is FINISHED already stays as it is.
        """
        if state is StudyState.RUNNING:
            raise ValueError("a study cannot end as RUNNING")
        still_open = sa.and_(study.c.id == study_id, study.c.state != StudyState.FINISHED)
        with self._database.write() as connection:
            connection.execute(sa.update(study).where(still_open).values(state=state, finished_at=now))
            row = connection.execute(sa.select(study).where(study.c.id == study_id)).one_or_none()
        if row is None:
            raise StoreError(f"there is no study {study_id} in the store")
        return from_row(Study, row)

    def list(
        self, *, job_id: int | None = None, limit: int = 100, before_id: int | None = None
    ) -> builtins.list[Study]:
        """Studies, newest first; of one job where ``job_id`` is given, below the id ``before_id`` for a next page."""
        query = sa.select(study).order_by(study.c.id.desc()).limit(limit)
        if job_id is not None:
            query = query.where(study.c.job_id == job_id)
        if before_id is not None:
            query = query.where(study.c.id < before_id)
        with self._database.read() as connection:
            return [from_row(Study, row) for row in connection.execute(query)]

    def sweep(self, *, now: float, stale_after_s: float) -> tuple[int, ...]:
        """Marks RUNNING studies as INTERRUPTED whose process is gone; see :meth:`RunRepository.sweep`."""
        query = sa.select(study).where(study.c.state == StudyState.RUNNING)
        with self._database.read() as connection:
            running = [from_row(Study, row) for row in connection.execute(query)]
        gone = [each for each in running if _is_gone(each, now - stale_after_s)]
        marked: builtins.list[int] = []
        if not gone:
            return ()
        with self._database.write() as connection:
            for each in gone:
                # Another process may have swept and resumed it since it was read: then its owner is another.
                update = sa.update(study).where(
                    study.c.id == each.id,
                    study.c.state == StudyState.RUNNING,
                    study.c.owner_pid == each.owner.pid,
                    study.c.owner_started_at == each.owner.started_at,
                )
                if connection.execute(update.values(state=StudyState.INTERRUPTED, finished_at=now)).rowcount:
                    marked.append(each.id)
        return tuple(marked)

    def _first(self, query: sa.Select[tuple[object, ...]]) -> Study | None:
        with self._database.read() as connection:
            row = connection.execute(query).one_or_none()
        return None if row is None else from_row(Study, row)


def _is_gone(candidate: Study, stale_before: float) -> bool:
    alive = is_alive(candidate.owner)
    return candidate.created_at < stale_before if alive is None else not alive
