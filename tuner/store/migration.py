"""From no schema, or an older one, to the present one."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import sqlalchemy as sa

from tuner.errors import StoreError
from tuner.store.connection import Database, create_file, schema_lock
from tuner.store.failures import where
from tuner.store.schema import HEAD, REVISIONS, VERSION_TABLE

MIGRATIONS = Path(__file__).parent / "migrations"


class SchemaState(StrEnum):
    """How a store's schema stands to the one that this yarntune uses."""

    ABSENT = "absent"
    CURRENT = "current"
    OLDER = "older"
    NEWER = "newer"


@dataclass(frozen=True)
class SchemaStatus:
    """Where the store is and how its schema stands.

    Attributes:
        url: without its password.
        revision: the schema's revision in the database; None where there is none.
        head: the revision that this yarntune uses.
        damage: what SQLite's own quick check found; empty where all is well, or the database is another one.
    """

    url: str
    revision: str | None
    head: str
    state: SchemaState
    damage: str = ""


def read_status(database: Database) -> SchemaStatus:
    """Looks at the schema without changing or creating anything.

    Raises:
        StoreError: where the database cannot be read.
    """
    revision = None
    path = database.sqlite_path
    if path is None or path.exists():
        with database.read() as connection:
            if sa.inspect(connection).has_table(VERSION_TABLE):
                table = sa.table(VERSION_TABLE, sa.column("version_num"))
                revision = connection.execute(sa.select(table.c.version_num)).scalar_one_or_none()
    return SchemaStatus(url=database.masked_url, revision=revision, head=HEAD, state=_state(revision))


def find_damage(database: Database) -> str:
    """The first thing that SQLite finds wrong with its file; empty where nothing is, or it is no SQLite.

    Raises:
        StoreError: where the file cannot be read at all.
    """
    path = database.sqlite_path
    if path is None or not path.exists():
        return ""
    with database.read() as connection:
        found = connection.execute(sa.text("PRAGMA quick_check(1)")).scalar_one()
    return "" if found == "ok" else str(found).splitlines()[-1]


def _state(revision: str | None) -> SchemaState:
    if revision is None:
        return SchemaState.ABSENT
    if revision == HEAD:
        return SchemaState.CURRENT
    return SchemaState.OLDER if revision in REVISIONS else SchemaState.NEWER


def ensure_schema(database: Database) -> None:
    """Makes the schema where there is none; many processes may do so at once.

    Raises:
        StoreError: where the schema is older than this yarntune (nobody's data is migrated unasked) or newer.
    """
    create_file(database)
    status = read_status(database)
    if status.state is SchemaState.ABSENT:
        with schema_lock(database):
            status = read_status(database)
            if status.state is SchemaState.ABSENT:
                _migrate(database, HEAD)
                return
    if status.state is SchemaState.OLDER:
        raise StoreError(
            f"{where(database.url)} has the older schema {status.revision}; this yarntune needs {HEAD}",
            "run `yarntune db upgrade`",
        )
    _refuse_newer(database, status)


def upgrade(database: Database, target: str = HEAD) -> SchemaStatus:
    """Brings the schema to a revision; does nothing where it is there already.

    The whole way is one transaction: a failure, or the end of the process, leaves the schema as it was.

    Args:
        database: the database; an SQLite file is created where it is missing.
        target: a member of REVISIONS.

    Returns:
        The status from before.

    Raises:
        StoreError: where the schema is newer than this yarntune, or the database fails.
    """
    create_file(database)
    with schema_lock(database):
        before = read_status(database)
        _refuse_newer(database, before)
        if before.revision != target:
            _migrate(database, target)
    return before


def _refuse_newer(database: Database, status: SchemaStatus) -> None:
    if status.state is SchemaState.NEWER:
        raise StoreError(
            f"{where(database.url)} has the schema {status.revision}, newer than this yarntune's own, {HEAD}",
            "install the yarntune that made it, or a later one",
        )


def _migrate(database: Database, target: str) -> None:
    from alembic import command
    from alembic.config import Config

    database.use_write_ahead_log()
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    with database.write() as connection:
        if database.sqlite_path is None:
            connection.execute(sa.text("SET LOCAL statement_timeout = 0"))
        config.attributes["connection"] = connection
        command.upgrade(config, target)
