"""A cluster's past in the store: applications, queue samples, collections."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from tuner.store.connection import Database
from tuner.store.history_records import ApplicationRecord, Collection, QueueSample
from tuner.store.rows import from_row, to_values
from tuner.store.schema import application, collection, queue_sample

__all__ = ["HistoryRepository"]

_BATCH = 500
"""Rows of one statement: SQLite takes 32,766 parameters, older ones 999."""


class HistoryRepository:
    """Reads and writes what was collected from clusters."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def record(
        self, made: Collection, applications: Iterable[ApplicationRecord], queues: Iterable[QueueSample]
    ) -> Collection:
        """Writes one collection with all that it read, in one transaction: all of it is there, or nothing.

        An application that is known is brought up to date, and what is not learnt this time stays as it was; one that
        is known to have ended is left alone. So a second reading of the same makes no doubles.

        Returns:
            The collection with its id, and with the number of applications that were not known as ended.
        """
        with self._database.write() as connection:
            newly_ended = sum(_record_batch(connection, batch) for batch in _batches(applications))
            for samples in _batches(queues):
                values = [to_values(sample) for sample in samples]
                connection.execute(_insert(connection, queue_sample).on_conflict_do_nothing(), values)
            values_ = to_values(made) | {"new_applications": newly_ended}
            del values_["id"]
            row = connection.execute(sa.insert(collection).values(**values_).returning(collection)).one()
        return from_row(Collection, row)

    def mark_lost(self, cluster: str, *, seen_before: float, now: float) -> int:
        """Ends, as LOST, applications that were open when last seen and are not among those read since.

        Args:
            cluster: which cluster.
            seen_before: those last seen before this time.
            now: the clock.

        Returns:
            How many there were.
        """
        lost = sa.and_(
            application.c.cluster == cluster,
            application.c.finished_at.is_(None),
            application.c.seen_at < seen_before,
        )
        with self._database.write() as connection:
            update = sa.update(application).where(lost).values(state="LOST", finished_at=application.c.seen_at)
            return connection.execute(update.values(seen_at=now)).rowcount

    def applications(
        self,
        cluster: str,
        *,
        finished_since: float | None = None,
        submitted_since: float | None = None,
        limit: int = 10_000,
    ) -> builtins.list[ApplicationRecord]:
        """Applications of a cluster, the latest ``limit`` of them, in the order of their submissions.

        Args:
            cluster: which cluster.
            finished_since: only those that ended then or later.
            submitted_since: only those submitted then or later.
            limit: how many at most.
        """
        query = sa.select(application).where(application.c.cluster == cluster)
        if finished_since is not None:
            query = query.where(application.c.finished_at >= finished_since)
        if submitted_since is not None:
            query = query.where(application.c.submitted_at >= submitted_since)
        query = query.order_by(application.c.submitted_at.desc(), application.c.id.desc()).limit(limit)
        with self._database.read() as connection:
            return [from_row(ApplicationRecord, row) for row in connection.execute(query)][::-1]

    def last_finished_at(self, cluster: str) -> float | None:
        """When the last application that is known to have ended did so; LOST ones do not count."""
        query = sa.select(sa.func.max(application.c.finished_at)).where(
            application.c.cluster == cluster, application.c.state != "LOST"
        )
        with self._database.read() as connection:
            found: float | None = connection.execute(query).scalar_one()
        return found

    def queue_samples(
        self, cluster: str, *, since: float, queue: str | None = None, limit: int = 10_000
    ) -> builtins.list[QueueSample]:
        """Samples of a cluster's queues, the latest ``limit`` of them, oldest first."""
        query = sa.select(queue_sample).where(queue_sample.c.cluster == cluster, queue_sample.c.at >= since)
        if queue is not None:
            query = query.where(queue_sample.c.queue == queue)
        query = query.order_by(queue_sample.c.at.desc(), queue_sample.c.id.desc()).limit(limit)
        with self._database.read() as connection:
            return [from_row(QueueSample, row) for row in connection.execute(query)][::-1]

    def collections(self, cluster: str, *, since: float | None = None, limit: int = 100) -> builtins.list[Collection]:
        """Collections of a cluster, newest first."""
        query = sa.select(collection).where(collection.c.cluster == cluster)
        if since is not None:
            query = query.where(collection.c.at >= since)
        with self._database.read() as connection:
            rows = connection.execute(query.order_by(collection.c.id.desc()).limit(limit))
            return [from_row(Collection, row) for row in rows]

    def first_collected_at(self, cluster: str) -> float | None:
        """When this cluster was first read into the store."""
        query = sa.select(sa.func.min(collection.c.at)).where(collection.c.cluster == cluster)
        with self._database.read() as connection:
            found: float | None = connection.execute(query).scalar_one()
        return found

    def forget(self, cluster: str, *, applications_before: float, samples_before: float) -> int:
        """Deletes what is older: applications by their end, samples and collections by their time.

        The last collection stays, since the next one goes on from it.

        Returns:
            How many rows went.
        """
        last = sa.select(sa.func.max(collection.c.id)).where(collection.c.cluster == cluster).scalar_subquery()
        old = [
            sa.delete(application).where(
                application.c.cluster == cluster, application.c.finished_at < applications_before
            ),
            sa.delete(queue_sample).where(queue_sample.c.cluster == cluster, queue_sample.c.at < samples_before),
            sa.delete(collection).where(
                collection.c.cluster == cluster, collection.c.at < applications_before, collection.c.id != last
            ),
        ]
        with self._database.write() as connection:
            return sum(connection.execute(statement).rowcount for statement in old)


def _batches(rows: Iterable[Any]) -> Iterable[builtins.list[Any]]:
    found: builtins.list[Any] = []
    for row in rows:
        found.append(row)
        if len(found) == _BATCH:
            yield found
            found = []
    if found:
        yield found


def _insert(connection: sa.Connection, table: sa.Table) -> Any:
    """INSERT with ON CONFLICT, which both databases have and SQLAlchemy has only by database."""
    return sqlite.insert(table) if connection.dialect.name == "sqlite" else postgresql.insert(table)


def _record_batch(connection: sa.Connection, batch: builtins.list[ApplicationRecord]) -> int:
    """Writes applications; returns how many of them have ended and were not known to."""
    by_id = {(row.cluster, row.application_id): row for row in batch}
    wanted = sa.tuple_(application.c.cluster, application.c.application_id).in_(list(by_id))
    known = {(row.cluster, row.application_id): row for row in connection.execute(sa.select(application).where(wanted))}
    fresh = [to_values(row) for key, row in by_id.items() if key not in known]
    if fresh:
        connection.execute(_insert(connection, application).on_conflict_do_nothing(), fresh)
    newly_ended = sum(values["finished_at"] is not None for values in fresh)
    for key, row in by_id.items():
        before = known.get(key)
        if before is None or (before.finished_at is not None and before.state != "LOST"):
            continue
        connection.execute(sa.update(application).where(application.c.id == before.id).values(**_merged(before, row)))
        newly_ended += row.finished_at is not None
    return newly_ended


def _merged(before: sa.Row[Any], now: ApplicationRecord) -> Mapping[str, Any]:
    """The later reading, with what it did not learn from the earlier one; the most containers ever seen."""
    values = {name: value for name, value in to_values(now).items() if value is not None}
    if before.containers is not None and (now.containers or 0) <= before.containers:
        kept = ("containers", "container_mib", "container_vcores")
        values |= {name: getattr(before, name) for name in kept if getattr(before, name) is not None}
    if before.first_container_at is not None:
        values["first_container_at"] = before.first_container_at
    return values
