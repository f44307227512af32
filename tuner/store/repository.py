"""The store as the rest of yarntune sees it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Self

from tuner.settings import Settings
from tuner.store.advice import AdviceRepository
from tuner.store.audit import AuditLog
from tuner.store.clusters import ClusterRepository
from tuner.store.connection import BUSY_TIMEOUT_S, Database, connect, create_file, parse_url, schema_lock
from tuner.store.history import HistoryRepository
from tuner.store.jobs import JobRepository
from tuner.store.migration import SchemaStatus, ensure_schema, find_damage, read_status, upgrade
from tuner.store.plans import PlanRepository
from tuner.store.records import Swept
from tuner.store.runs import RunRepository
from tuner.store.statistics import Statistics
from tuner.store.studies import StudyRepository
from tuner.store.tokens import TokenRepository

STALE_AFTER_S = 7 * 86400.0
"""When a run of another host's process, which cannot be asked, is taken for lost."""


class Store:
    """An open store, made by :func:`open_store`; safe for threads.

    Attributes:
        jobs: recurring jobs.
        runs: their runs.
        studies: searches for a job's configuration.
        advice: what is advised for a job's next submission.
        plans: changes of a scheduler's configuration.
        audit: who did what.
        clusters: who may change a cluster's queues, and whether anybody may.
        tokens: who may use the dashboard and the API.
        statistics: totals over all of them.
        history: what was collected of the applications and queues of clusters.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self.jobs = JobRepository(database)
        self.runs = RunRepository(database)
        self.studies = StudyRepository(database)
        self.advice = AdviceRepository(database)
        self.plans = PlanRepository(database)
        self.audit = AuditLog(database)
        self.clusters = ClusterRepository(database)
        self.tokens = TokenRepository(database)
        self.statistics = Statistics(database)
        self.history = HistoryRepository(database)

    @property
    def masked_url(self) -> str:
        """Where the store is, without its password."""
        return self._database.masked_url

    @property
    def read_only(self) -> bool:
        """Whether it is a file that this process may not write."""
        return self._database.read_only

    def sweep(self, *, now: float, stale_after_s: float = STALE_AFTER_S) -> Swept:
        """Marks as LOST and INTERRUPTED what processes that are gone have left RUNNING.

        Args:
            now: the clock, in seconds.
            stale_after_s: the age from which something of another host's process counts as abandoned.
        """
        return Swept(
            runs=self.runs.sweep(now=now, stale_after_s=stale_after_s),
            studies=self.studies.sweep(now=now, stale_after_s=stale_after_s),
        )

    def close(self) -> None:
        """Closes the connections."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_store(settings: Settings) -> Store:
    """Opens the store, and makes it where it is not there yet.

    Raises:
        StoreError: where it cannot be reached, read or written, or its schema is older or newer than this yarntune's.
    """
    database = connect(settings.database_url)
    try:
        ensure_schema(database)
    except BaseException:
        database.close()
        raise
    return Store(database)


def schema_status(settings: Settings) -> SchemaStatus:
    """How the store's schema stands; creates and changes nothing.

    Raises:
        StoreError: where the store cannot be reached or read.
    """
    with connect(settings.database_url) as database:
        return replace(read_status(database), damage=find_damage(database))


def upgrade_schema(settings: Settings) -> SchemaStatus:
    """Brings the store's schema to this yarntune's revision.

    Returns:
        The status from before.

    Raises:
        StoreError: where the store cannot be reached or written, or its schema is newer.
    """
    with connect(settings.database_url) as database:
        return upgrade(database)


def optuna_url(settings: Settings) -> str:
    """The URL, password included, with which Optuna keeps its tables in the same database.

    Make Optuna's storage within :func:`optuna_schema_lock`, since Optuna does not guard the making of its tables
    (optuna/optuna#820).
    """
    url = parse_url(settings.database_url)
    if url.get_backend_name() == "sqlite" and "timeout" not in url.query:
        url = url.update_query_dict({"timeout": str(BUSY_TIMEOUT_S)})
    return url.render_as_string(hide_password=False)


@contextmanager
def optuna_schema_lock(settings: Settings) -> Iterator[None]:
    """Held while Optuna makes its tables, so that one process does and the others find them.

    Raises:
        StoreError: when another process holds it for too long, or the database cannot be reached.
    """
    with connect(settings.database_url) as database:
        create_file(database)
        with schema_lock(database):
            yield
