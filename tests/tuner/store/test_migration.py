"""From nothing, from an older schema and to a newer one."""

from __future__ import annotations

import importlib.util
import json
import os
import sqlite3
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from tests.tuner.store.conftest import NOW, settings_for
from tuner.errors import StoreError
from tuner.settings import Settings
from tuner.store import (
    AuditRow,
    NewPlan,
    RunState,
    SchemaState,
    Store,
    open_store,
    schema_status,
    upgrade_schema,
)
from tuner.store.connection import connect
from tuner.store.migration import MIGRATIONS, upgrade
from tuner.store.schema import APPEND_ONLY, HEAD, REVISIONS, VERSION_TABLE, metadata

GOLDEN = Path(__file__).parent / "golden"


def test_the_migrations_lead_to_the_tables_that_the_code_uses(settings: Settings) -> None:
    with connect(settings.database_url) as database:
        upgrade(database)
        with database.read() as connection:
            context = MigrationContext.configure(
                connection, opts={"version_table": VERSION_TABLE, "compare_type": True, "target_metadata": metadata}
            )
            assert compare_metadata(context, metadata) == []


def test_the_revisions_in_the_code_are_the_modules_in_the_folder() -> None:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    found = [script.revision for script in ScriptDirectory.from_config(config).walk_revisions()]
    assert found[::-1] == list(REVISIONS)


def test_looking_at_the_schema_creates_nothing(tmp_path: Path) -> None:
    status = schema_status(settings_for(f"sqlite:///{tmp_path / 'new' / 'store.db'}"))
    assert (status.state, status.revision, status.head) == (SchemaState.ABSENT, None, HEAD)
    assert list(tmp_path.iterdir()) == []


def test_a_new_store_is_its_owners_alone(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    umask = os.umask(0)
    try:
        open_store(settings_for(f"sqlite:///{folder / 'store.db'}")).close()
    finally:
        os.umask(umask)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in [folder, *folder.iterdir()]}
    assert modes == {"data": 0o700, "store.db": 0o600, "store.db.lock": 0o600}


@pytest.mark.parametrize("name", ["a b", "50%", "ä", "it's"])
def test_a_data_folder_may_have_any_usual_name(tmp_path: Path, name: str) -> None:
    settings = Settings.from_environment({"YARNTUNE_DATA_DIR": str(tmp_path / name)})
    open_store(settings).close()
    assert (tmp_path / name / "yarntune.db").exists()


def test_an_older_store_is_upgraded_when_asked_and_keeps_its_rows(settings: Settings) -> None:
    with connect(settings.database_url) as database:
        upgrade(database, "0001")
        with database.write() as connection:
            # Written as the program of that time did, not through today's tables.
            connection.execute(
                sa.text(
                    "INSERT INTO yarntune_job (key, name, program, arguments_shape, created_at) "
                    "VALUES ('k1', 'daily', 'daily.py', '', :now)"
                ),
                {"now": NOW},
            )
    with pytest.raises(StoreError, match="older schema 0001") as caught:
        open_store(settings)
    assert caught.value.hint == "run `yarntune db upgrade`"

    assert upgrade_schema(settings).revision == "0001"
    assert upgrade_schema(settings).revision == HEAD, "the second time there is nothing to do"
    assert schema_status(settings).state is SchemaState.CURRENT
    with open_store(settings) as store:
        assert store.jobs.resolve("daily").created_at == NOW


def test_a_file_of_the_first_release_is_upgraded(tmp_path: Path) -> None:
    """`golden/0001.sql` is the dump of a store as revision 0001 left it, with a study of two runs."""
    path = tmp_path / "store.db"
    old = sqlite3.connect(path)
    old.executescript((GOLDEN / "0001.sql").read_text())
    old.close()
    settings = settings_for(f"sqlite:///{path}")
    upgrade_schema(settings)
    with open_store(settings) as store:
        job = store.jobs.resolve("daily")
        failed, best = store.runs.list(job_id=job.id)
        (study,) = store.studies.list(job_id=job.id)
    assert (best.state, best.duration_s, best.metrics) == (RunState.SUCCEEDED, 61.5, {"gc_s": 0.5})
    assert (failed.state, failed.failure) == (RunState.FAILED, "exit status 1")
    assert (study.best_run_id, study.pinned) == (best.id, {"spark.executor.cores": "2"})


def test_a_newer_store_is_left_alone(settings: Settings) -> None:
    open_store(settings).close()
    with connect(settings.database_url) as database, database.write() as connection:
        connection.execute(sa.text(f"UPDATE {VERSION_TABLE} SET version_num = '9999'"))
    for use in (open_store, upgrade_schema):
        with pytest.raises(StoreError, match="schema 9999, newer than this yarntune's own"):
            use(settings)
    assert schema_status(settings).state is SchemaState.NEWER


def test_a_migration_that_fails_leaves_the_schema_as_it_was(settings: Settings) -> None:
    with connect(settings.database_url) as database:
        upgrade(database, "0001")
        with database.write() as connection:
            # In the way of the last table of 0002, so that the tables before it have been made when it fails.
            connection.execute(sa.text("CREATE TABLE yarntune_audit (id INTEGER)"))
        with pytest.raises(StoreError, match="yarntune_audit"):
            upgrade(database)
        with database.read() as connection:
            assert not sa.inspect(connection).has_table("yarntune_plan")
    assert schema_status(settings).revision == "0001"


@pytest.mark.parametrize("table", APPEND_ONLY)
@pytest.mark.parametrize("statement", ["UPDATE {} SET who = 'eve'", "DELETE FROM {}"])
def test_the_database_itself_keeps_the_audit(settings: Settings, table: str, statement: str) -> None:
    with open_store(settings) as store:
        _write_history(store)
        before = store.audit.list(), store.plans.transitions(1)
        with (
            connect(settings.database_url) as database,
            pytest.raises(StoreError, match=f"rows of {table} are never changed"),
            database.write() as connection,
        ):
            connection.execute(sa.text(statement.format(table)))
        assert (store.audit.list(), store.plans.transitions(1)) == before
        assert all(before)


def _write_history(store: Store) -> None:
    store.plans.create(NewPlan(scheduler="rm", state="PROPOSED", plan={}, created_at=NOW, created_by="ann"))
    store.audit.append(AuditRow(at=NOW, who="ann", action="propose-plan", subject="plan 1", outcome="done"))


def test_opening_a_store_does_not_load_alembic_nor_the_mapper(tmp_path: Path) -> None:
    settings = settings_for(f"sqlite:///{tmp_path / 'store.db'}")
    open_store(settings).close()
    program = (
        "import json, sys\n"
        "from tuner.settings import Settings\n"
        "from tuner.store import RunState\n"
        "records_only = 'sqlalchemy' in sys.modules\n"
        "from tuner.store import open_store\n"
        "open_store(Settings.from_environment()).close()\n"
        "heavy = ('alembic', 'sqlalchemy.orm', 'filelock')\n"
        "print(json.dumps([records_only] + [name in sys.modules for name in heavy]))"
    )
    result = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "YARNTUNE_DATABASE_URL": settings.database_url},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert json.loads(result.stdout) == [False, False, False, False]


def test_optuna_s_tables_are_side_by_side_with_ours(settings: Settings) -> None:
    """Both count their revisions in the same database, each in a table of its own."""
    from optuna.storages import RDBStorage

    from tuner.store import optuna_schema_lock, optuna_url

    open_store(settings).close()
    with optuna_schema_lock(settings):
        storage = RDBStorage(optuna_url(settings))
    storage.engine.dispose()
    assert schema_status(settings).state is SchemaState.CURRENT
    with connect(settings.database_url) as database, database.read() as connection:
        tables = set(sa.inspect(connection).get_table_names())
    assert {"alembic_version", "studies", "trials"} < tables
    assert set(metadata.tables) | {VERSION_TABLE} < tables
    storage = RDBStorage(optuna_url(replace(settings)))
    assert storage.get_all_studies() == []
    storage.engine.dispose()


def test_the_migrations_are_packages_so_that_a_wheel_holds_them() -> None:
    spec = importlib.util.find_spec("tuner.store.migrations.versions")
    assert spec is not None
    assert spec.origin is not None
    assert Path(spec.origin) == MIGRATIONS / "versions" / "__init__.py"
