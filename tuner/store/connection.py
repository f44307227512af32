"""One database, SQLite or PostgreSQL, with what each needs to be shared by many processes."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Self

import sqlalchemy as sa
import sqlalchemy.exc
from sqlalchemy import event

from tuner.errors import StoreError
from tuner.store.failures import VARIABLE, masked, readable_failures, where
from tuner.store.sqlite_file import is_read_only, read_only_uri

BUSY_TIMEOUT_S = 30
"""How long a writer waits for another one before it says that the store is locked."""
STATEMENT_TIMEOUT_S = 60
CONNECT_TIMEOUT_S = 10
SCHEMA_LOCK_TIMEOUT_S = 120
_ADVISORY_LOCK = int.from_bytes(b"yarntune", "big")


def parse_url(text: str) -> sa.URL:
    """Reads the store's URL.

    Args:
        text: ``sqlite:///`` and a path, or ``postgresql://user:password@host:port/database``.

    Returns:
        The URL with the driver that is used and, for SQLite, an absolute path.

    Raises:
        StoreError: for any other kind of URL. The message does not repeat it, since it may hold a password.
    """
    hint = f"{VARIABLE} is sqlite:////absolute/path.db or postgresql://user:password@host/database"
    try:
        url = sa.make_url(text)
        kind = url.get_backend_name() if url.drivername != "postgres" else "postgresql"
    except (sqlalchemy.exc.ArgumentError, ValueError):
        raise StoreError("the store's URL cannot be read", hint) from None
    if kind == "sqlite":
        if url.database in (None, "", ":memory:") or str(url.database).startswith("file:"):
            raise StoreError(f"the store must be a file, which {text!r} does not name", hint)
        return url.set(drivername="sqlite", database=str(Path(str(url.database)).expanduser().absolute()))
    if kind == "postgresql":
        url = url.set(drivername="postgresql+psycopg")
        password = url.query.get("password")
        # libpq takes it there too; in one place only, it cannot slip into a message.
        return url.set(password=str(password)).difference_update_query(["password"]) if password else url
    raise StoreError(f"the store cannot be a {kind} database", hint)


class Database:
    """An engine and the two ways to use it; made by :func:`connect`.

    Safe for threads. A process that forks (a web server's workers) opens its database after the fork.
    """

    def __init__(self, url: sa.URL, engine: sa.Engine) -> None:
        self.url = url
        self._engine = engine
        # A reader that turns writer is told "database is locked" at once, whatever the time-out: writers say so first.
        self._writer = engine.execution_options(yarntune_begin="BEGIN IMMEDIATE")

    @property
    def sqlite_path(self) -> Path | None:
        """The file, or None where the database is a server."""
        return Path(str(self.url.database)) if self._engine.dialect.name == "sqlite" else None

    @property
    def masked_url(self) -> str:
        """The URL without its password."""
        return masked(self.url)

    @property
    def read_only(self) -> bool:
        """Whether it is a file that this process may not write; what it holds can be read all the same."""
        path = self.sqlite_path
        return path is not None and is_read_only(path)

    @contextmanager
    def read(self) -> Iterator[sa.Connection]:
        """A transaction that only reads.

        Raises:
            StoreError: where the database fails.
        """
        with readable_failures(self.url), self.connection() as connection:
            yield connection

    def connection(self) -> sa.Connection:
        """A connection as SQLAlchemy gives it, with SQLAlchemy's own exceptions."""
        return self._engine.connect()

    @contextmanager
    def write(self) -> Iterator[sa.Connection]:
        """A transaction that may write; committed at the end, rolled back by an exception.

        Raises:
            StoreError: where the database fails.
        """
        with readable_failures(self.url), self._writer.begin() as connection:
            yield connection

    def use_write_ahead_log(self) -> None:
        """Lets SQLite's readers and its writer go on side by side; kept in the file, so it holds for Optuna too.

        Raises:
            StoreError: where the database fails.
        """
        if self.sqlite_path is None:
            return
        # Not possible within a transaction.
        with (
            readable_failures(self.url),
            self._engine.execution_options(yarntune_begin=None).connect() as connection,
        ):
            connection.exec_driver_sql("PRAGMA journal_mode = WAL")

    def close(self) -> None:
        """Closes the connections; the database cannot be used afterwards."""
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def connect(text: str) -> Database:
    """Makes the engine of the database that a URL names; nothing is connected yet.

    Raises:
        StoreError: for a URL that is none, and for a driver that is not installed.
    """
    url = parse_url(text)
    sqlite = url.get_backend_name() == "sqlite"
    arguments: dict[str, Any] = (
        {"timeout": BUSY_TIMEOUT_S}
        if sqlite
        else {"connect_timeout": CONNECT_TIMEOUT_S, "application_name": "yarntune"}
    )
    try:
        engine = sa.create_engine(
            url,
            hide_parameters=True,
            # A connection of the pool may have died with the server since it was last used.
            pool_pre_ping=not sqlite,
            json_serializer=_to_json,
            connect_args={key: value for key, value in arguments.items() if key not in url.query},
        )
    except ModuleNotFoundError as error:
        raise StoreError(
            f"{where(url)} needs the library {error.name}, which is not installed",
            "pip install 'yarntune[postgres]'",
        ) from error
    if sqlite:
        event.listen(engine, "do_connect", _open_read_only)
        event.listen(engine, "connect", _set_up_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
    else:
        event.listen(engine, "connect", _set_up_postgresql)
    return Database(url, engine)


def create_file(database: Database) -> None:
    """Makes SQLite's file and folder, for its owner alone, where they are not there yet.

    Raises:
        StoreError: where they cannot be made.
    """
    path = database.sqlite_path
    if path is None:
        return
    with readable_failures(database.url):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Never opened when it is there: closing it would drop the locks that this process has on it (POSIX).
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))


@contextmanager
def schema_lock(database: Database) -> Iterator[None]:
    """Lets one process at a time make or change tables, Optuna's included.

    A lock file beside SQLite's, an advisory lock on PostgreSQL; both end with the process that holds them.

    Raises:
        StoreError: when another process holds it for longer than SCHEMA_LOCK_TIMEOUT_S.
    """
    with _file_lock(database) if database.sqlite_path is not None else _advisory_lock(database):
        yield


@contextmanager
def _file_lock(database: Database) -> Iterator[None]:
    import filelock

    lock = filelock.FileLock(f"{database.sqlite_path}.lock", timeout=SCHEMA_LOCK_TIMEOUT_S, mode=0o600)
    with readable_failures(database.url):
        try:
            lock.acquire()
        except filelock.Timeout:
            raise StoreError(
                f"{where(database.url)} has been in the making by another process for {SCHEMA_LOCK_TIMEOUT_S} s",
                f"`fuser {lock.lock_file}` shows which one",
            ) from None
    try:
        yield
    finally:
        lock.release()


@contextmanager
def _advisory_lock(database: Database) -> Iterator[None]:
    with ExitStack() as stack:
        # What goes wrong while the lock is held is for the caller to tell, so it is not within readable_failures.
        with readable_failures(database.url):
            connection = stack.enter_context(database.connection())
            connection.execute(
                sa.text("SELECT set_config('lock_timeout', :ms, true), set_config('statement_timeout', '0', true)"),
                {"ms": str(SCHEMA_LOCK_TIMEOUT_S * 1000)},
            )
            connection.execute(sa.text("SELECT pg_advisory_xact_lock(:key)"), {"key": _ADVISORY_LOCK})
        yield


def _to_json(value: Any) -> str:
    # NaN is not JSON: PostgreSQL refuses it, and so does every other reader than Python.
    return json.dumps(value, allow_nan=False)


def _open_read_only(_dialect: Any, _record: Any, arguments: list[Any], options: dict[str, Any]) -> None:
    """Leaves the connecting to SQLAlchemy, for a file that may only be read in another mode."""
    path = Path(arguments[0])
    if is_read_only(path):
        arguments[0] = read_only_uri(path)
        options["uri"] = True


def _set_up_sqlite(connection: Any, _: Any) -> None:
    # The driver's own habit of beginning transactions late is switched off; _begin_sqlite does it.
    connection.isolation_level = None
    connection.execute("PRAGMA foreign_keys = ON")


def _begin_sqlite(connection: sa.Connection) -> None:
    statement = connection.get_execution_options().get("yarntune_begin", "BEGIN")
    if statement:
        connection.exec_driver_sql(statement)


def _set_up_postgresql(connection: Any, _: Any) -> None:
    connection.execute(f"SET statement_timeout = '{STATEMENT_TIMEOUT_S}s'; SET lock_timeout = '{BUSY_TIMEOUT_S}s'")
    connection.commit()
