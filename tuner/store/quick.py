"""Reads the advice for a job without SQLAlchemy, whose import alone takes as long as a submission may.

The one query of the store that is not written with SQLAlchemy; a test holds it against the table.
"""

from __future__ import annotations

import json
import sqlite3
from typing import Any
from urllib.parse import quote

from tuner.errors import StoreError

QUICK_TIMEOUT_S = 2
"""How long a submission waits for the store: to connect, and for a lock."""

_TABLE = "yarntune_advice"
_SELECT = f"SELECT document FROM {_TABLE} WHERE job_key = "  # noqa: S608
_SQLITE = "sqlite:///"


def read_advice(database_url: str, job_key: str) -> dict[str, Any] | None:
    """The advice document of a job.

    Args:
        database_url: as in the settings.
        job_key: fingerprint of the job.

    Returns:
        None where there is none, or the store has not been made yet.

    Raises:
        StoreError: the store cannot be reached or read.
    """
    if database_url.startswith(_SQLITE):
        return _from_sqlite(database_url.removeprefix(_SQLITE), job_key)
    return _from_postgresql(database_url, job_key)


def _from_sqlite(path: str, job_key: str) -> dict[str, Any] | None:
    from pathlib import Path

    from tuner.store.sqlite_file import is_read_only, read_only_uri

    file = Path(path).expanduser().absolute()
    if not file.exists():
        return None
    uri = read_only_uri(file) if is_read_only(file) else f"file:{quote(str(file))}?mode=ro"
    try:
        connection = sqlite3.connect(uri, uri=True, timeout=QUICK_TIMEOUT_S)
        try:
            row = connection.execute(f"{_SELECT}?", (job_key,)).fetchone()
        finally:
            connection.close()
    except sqlite3.Error as error:
        if str(error) == f"no such table: {_TABLE}":
            # Another process is just making the store.
            return None
        raise StoreError(f"the store {file} cannot be read: {error}") from error
    return None if row is None else _document(row[0])


def _from_postgresql(database_url: str, job_key: str) -> dict[str, Any] | None:
    try:
        import psycopg
    except ModuleNotFoundError as error:
        raise StoreError("the store needs the library psycopg", "pip install 'yarntune[postgres]'") from error
    url = f"postgresql://{database_url.partition('://')[2]}"
    try:
        with psycopg.connect(
            url, connect_timeout=QUICK_TIMEOUT_S, options=f"-c statement_timeout={QUICK_TIMEOUT_S}s"
        ) as connection:
            row = connection.execute(f"{_SELECT}%s", (job_key,)).fetchone()
    except psycopg.errors.UndefinedTable:
        return None
    except psycopg.Error as error:
        # The message of libpq names host and user, never the password.
        raise StoreError(f"the store cannot be read: {str(error).splitlines()[0]}") from error
    return None if row is None else _document(row[0])


def _document(value: Any) -> dict[str, Any]:
    found = json.loads(value) if isinstance(value, (str, bytes)) else value
    if not isinstance(found, dict):
        raise StoreError("the advice in the store is not a document")
    return found
