"""What a user reads when the store cannot be used: real failures of real databases."""

from __future__ import annotations

import os
import pwd
import socket
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa

from tests.postgres import PostgresServer
from tests.tuner.store.conftest import NOW, settings_for
from tuner.errors import StoreError
from tuner.store import NewJob, Store, open_store, schema, schema_status
from tuner.store import connection as store_connection
from tuner.store.connection import Database, connect, parse_url
from tuner.store.failures import masked
from tuner.store.quick import read_advice

SECRET = "s3cr3t-p4ss"


def failure(url: str) -> StoreError:
    with pytest.raises(StoreError) as caught:
        open_store(settings_for(url))
    return caught.value


class TestUrls:
    @pytest.mark.parametrize(
        ("text", "message"),
        [
            (f"::{SECRET}@x", "the store's URL cannot be read"),
            (f"postgresql://u:{SECRET}@h:port/d", "the store's URL cannot be read"),
            (f"mysql://u:{SECRET}@h/d", "the store cannot be a mysql database"),
            ("sqlite://", "the store must be a file, which 'sqlite://' does not name"),
            ("sqlite:///:memory:", "the store must be a file, which 'sqlite:///:memory:' does not name"),
        ],
    )
    def test_a_wrong_url_is_not_repeated_when_it_may_hold_a_password(self, text: str, message: str) -> None:
        error = failure(text)
        assert error.message == message
        assert "YARNTUNE_DATABASE_URL" in error.hint

    @pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+psycopg", "postgresql+psycopg2"])
    def test_every_spelling_of_postgresql_uses_the_driver_that_we_install(self, scheme: str) -> None:
        assert parse_url(f"{scheme}://h/d").drivername == "postgresql+psycopg"

    def test_a_path_is_made_absolute_and_a_tilde_is_the_home(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HOME", "/home/ann")
        assert parse_url("sqlite:///~/x.db").database == "/home/ann/x.db"
        assert parse_url("sqlite:///x.db").database == str(Path.cwd() / "x.db")

    @pytest.mark.parametrize(
        ("query", "shown"),
        [
            (f"u:{SECRET}@h/d", "u:***@h/d"),
            (f"u@h/d?password={SECRET}", "u:***@h/d"),
            (f"u@h/d?sslpassword={SECRET}&sslmode=require", "u@h/d?sslmode=require"),
        ],
    )
    def test_the_password_is_masked_wherever_it_is(self, query: str, shown: str) -> None:
        assert masked(parse_url(f"postgresql://{query}")) == f"postgresql+psycopg://{shown}"

    def test_a_driver_that_is_missing_is_named_with_its_remedy(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "psycopg", None)
        error = failure(f"postgresql://u:{SECRET}@h/d")
        assert "needs the library psycopg" in error.message
        assert error.hint == "pip install 'yarntune[postgres]'"
        assert SECRET not in error.message


class TestSqlite:
    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        return tmp_path / "store.db"

    @pytest.fixture
    def store(self, path: Path) -> Iterator[Store]:
        with open_store(settings_for(f"sqlite:///{path}")) as opened:
            yield opened

    def test_a_file_of_another_kind(self, path: Path) -> None:
        path.write_text("id,name\n" * 500)
        error = failure(f"sqlite:///{path}")
        assert error.message == f"the store {path} is not a SQLite database"
        assert path.read_text() == "id,name\n" * 500

    def test_a_damaged_file(self, path: Path, store: Store) -> None:
        for i in range(200):
            store.jobs.get_or_create(NewJob(key=f"k{i}", name="n", program="p" * 200), now=NOW)
        store.close()
        with path.open("r+b") as file:  # all but the header
            file.seek(4096)
            file.write(b"\xff" * (path.stat().st_size - 4096))
        with pytest.raises(StoreError, match="is damaged") as caught:
            _read_all(path)
        assert "backup" in caught.value.hint

    def test_a_folder_that_is_none(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        error = failure(f"sqlite:///{tmp_path / 'file' / 'store.db'}")
        assert error.message.endswith(f"cannot be opened: {tmp_path / 'file'}: File exists")
        assert "YARNTUNE_DATA_DIR" in error.hint

    def test_a_folder_in_place_of_the_file(self, path: Path) -> None:
        path.mkdir()
        assert failure(f"sqlite:///{path}").message == f"the store {path} cannot be opened"

    @pytest.mark.parametrize("existing", [True, False])
    def test_a_folder_that_cannot_be_written(self, existing: bool, tmp_path: Path) -> None:
        folder = tmp_path / "data"
        folder.mkdir()
        if existing:
            open_store(settings_for(f"sqlite:///{folder / 'store.db'}")).close()
            (folder / "store.db").chmod(0o444)
        folder.chmod(0o555)
        _let_everybody_to(folder)
        with _as_somebody_else():
            error = _failure_of_writing(f"sqlite:///{folder / 'store.db'}")
        folder.chmod(0o755)
        assert str(folder) in error.message
        assert "cannot be" in error.message
        assert "let the user that runs yarntune write" in error.hint

    @pytest.mark.parametrize(("folder_mode", "file_mode"), [(0o555, 0o444), (0o555, 0o666), (0o777, 0o444)])
    def test_a_store_that_may_only_be_read_is_read(self, folder_mode: int, file_mode: int, tmp_path: Path) -> None:
        """And no trace is left beside it, which would be in its writer's way."""
        folder = tmp_path / "data"
        path = folder / "store.db"
        url = f"sqlite:///{path}"
        with open_store(settings_for(url)) as store:
            job = store.jobs.get_or_create(NewJob(key="k1", name="n", program="p"), now=NOW)
            store.advice.put("k1", {"candidates": []}, now=NOW)
        before = sorted(folder.iterdir())
        path.chmod(file_mode)
        folder.chmod(folder_mode)
        _let_everybody_to(folder)
        with _as_somebody_else():
            with open_store(settings_for(url)) as store:
                assert store.read_only
                assert [summary.job for summary in store.jobs.summaries()] == [job]
                assert store.sweep(now=NOW).runs == (), "nothing is to be marked"
            assert schema_status(settings_for(url)).damage == ""
            assert read_advice(url, "k1") == {"candidates": []}
            error = _failure_of_writing(url)
        folder.chmod(0o755)
        assert sorted(folder.iterdir()) == before
        assert error.message == f"the store {path} cannot be written"

    def test_what_a_writer_has_not_put_into_the_file_yet_is_read_too(self, path: Path, store: Store) -> None:
        job = store.jobs.get_or_create(NewJob(key="k1", name="n", program="p"), now=NOW)
        path.chmod(0o444)
        _let_everybody_to(path)
        for beside in path.parent.glob("store.db-*"):
            beside.chmod(0o644)
        with _as_somebody_else(), open_store(settings_for(f"sqlite:///{path}")) as reader:
            assert [summary.job for summary in reader.jobs.summaries()] == [job]

    def test_a_full_disk_keeps_what_was_stored(self, path: Path, store: Store) -> None:
        job = store.jobs.get_or_create(NewJob(key="k1", name="n", program="p"), now=NOW)
        # SQLite's own limit on the file gives the error that a full disk gives.
        with connect(f"sqlite:///{path}") as small:
            with pytest.raises(StoreError, match="the disk is full") as caught:
                _write_more_than_fits(small)
            assert "make room" in caught.value.hint
        assert [summary.job for summary in store.jobs.summaries()] == [job]

    def test_a_store_that_somebody_keeps_locked(
        self, path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(store_connection, "BUSY_TIMEOUT_S", 0.05)
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        try:
            with open_store(settings_for(f"sqlite:///{path}")) as impatient:
                assert impatient.jobs.count() == 0, "reading goes on"
                with pytest.raises(StoreError, match="is locked by another process"):
                    impatient.jobs.get_or_create(NewJob(key="k", name="n", program="p"), now=NOW)
        finally:
            other.close()

    def test_a_schema_that_somebody_keeps_locked(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        from filelock import FileLock

        monkeypatch.setattr(store_connection, "SCHEMA_LOCK_TIMEOUT_S", 0.05)
        with FileLock(f"{path}.lock"):
            error = failure(f"sqlite:///{path}")
        assert "in the making by another process" in error.message
        assert f"{path}.lock" in error.hint


def _read_all(path: Path) -> None:
    with open_store(settings_for(f"sqlite:///{path}")) as store:
        store.jobs.summaries(limit=1000)


def _write_more_than_fits(database: Database) -> None:
    with database.write() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")
        for i in range(500):
            values = {"key": f"x{i}", "name": "n", "program": "p" * 1000, "arguments_shape": "", "created_at": 0.0}
            connection.execute(sa.insert(schema.job).values(**values))


def _let_everybody_to(path: Path) -> None:
    """Opens the folders on the way to a path, which pytest makes for their owner alone, one more for each worker."""
    for parent in path.parents:
        if not parent.stat().st_mode & 0o001:
            parent.chmod(0o755)


class _as_somebody_else:  # noqa: N801
    """As root, nothing is forbidden: the test then goes on as `nobody` for a while."""

    def __enter__(self) -> None:
        self.root = os.geteuid() == 0
        if self.root:
            os.seteuid(pwd.getpwnam("nobody").pw_uid)

    def __exit__(self, *_: object) -> None:
        if self.root:
            os.seteuid(0)


def _failure_of_writing(url: str) -> StoreError:
    with pytest.raises(StoreError) as caught, open_store(settings_for(url)) as store:
        store.jobs.get_or_create(NewJob(key="k", name="n", program="p"), now=NOW)
    return caught.value


class TestPostgresql:
    def test_no_server(self) -> None:
        with socket.socket() as taken:  # bound and not listening: nobody answers there
            taken.bind(("127.0.0.1", 0))
            port = taken.getsockname()[1]
            error = failure(f"postgresql://u:{SECRET}@127.0.0.1:{port}/d")
        assert error.message.startswith(f"the store postgresql+psycopg://u:***@127.0.0.1:{port}/d cannot be reached")
        assert "start the server" in error.hint
        assert SECRET not in error.message

    def test_a_wrong_password(self, postgres_server: PostgresServer) -> None:
        error = failure(postgres_server.url("postgres", password=SECRET))
        assert "does not accept this user or password" in error.message
        assert SECRET not in error.message + error.hint

    def test_an_unknown_user(self, postgres_server: PostgresServer) -> None:
        error = failure(postgres_server.url("postgres", user="eve"))
        assert "does not accept this user or password" in error.message

    def test_an_unknown_database(self, postgres_server: PostgresServer) -> None:
        error = failure(postgres_server.url("nowhere"))
        assert "does not have this database" in error.message
        assert "createdb" in error.hint

    def test_a_user_who_may_not_create_tables(self, postgres_server: PostgresServer) -> None:
        url = postgres_server.create_database()
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("DROP ROLE IF EXISTS guest")
            connection.execute(f"CREATE ROLE guest LOGIN PASSWORD '{SECRET}'")
        error = failure(postgres_server.url(url.rpartition("/")[2], user="guest", password=SECRET))
        assert "does not give this user the right to do that" in error.message
        assert SECRET not in error.message

    def test_a_schema_that_somebody_keeps_locked(
        self, postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(store_connection, "SCHEMA_LOCK_TIMEOUT_S", 0.05)
        url = postgres_server.create_database()
        with (
            connect(url) as holder,
            store_connection.schema_lock(holder),
        ):
            assert "is locked by another process" in failure(url).message

    def test_a_server_that_was_restarted_in_between_is_found_again(self, postgres_server: PostgresServer) -> None:
        url = postgres_server.create_database()
        with open_store(settings_for(url)) as store:
            with psycopg.connect(postgres_server.url("postgres"), autocommit=True) as connection:
                killed = connection.execute(
                    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = %s",
                    [url.rpartition("/")[2]],
                ).fetchone()
            assert killed is not None
            assert killed[0] >= 1
            assert store.jobs.count() == 0

    def test_looking_at_an_empty_database_makes_nothing(self, postgres_server: PostgresServer) -> None:
        url = postgres_server.create_database()
        assert schema_status(settings_for(url)).revision is None
        with psycopg.connect(url) as connection:
            tables = connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone()
        assert tables == (0,)


def test_damage_in_the_middle_of_the_file_is_seen(tmp_path: Path) -> None:
    """A store that opens may still be damaged: SQLite looks at a page only when it needs it."""
    path = tmp_path / "store.db"
    settings = settings_for(f"sqlite:///{path}")
    with open_store(settings) as store:
        for number in range(300):
            store.jobs.get_or_create(NewJob(key=f"k{number}", name="n" * 100, program="p"), now=0.0)
    assert schema_status(settings).damage == ""
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 6000] = b"\xff" * 6000
    path.write_bytes(bytes(content))
    assert schema_status(settings).damage
