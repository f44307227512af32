"""A real PostgreSQL for the tests that need one, started by the test run and gone with it."""

from __future__ import annotations

import getpass
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

START_TIMEOUT_S = 60.0


@dataclass(frozen=True)
class PostgresServer:
    """A running server; its only user is ``yarntune``, who must give the password."""

    port: int
    password: str

    def url(self, database: str, *, user: str = "yarntune", password: str | None = None) -> str:
        """The URL of a database, which need not exist."""
        return f"postgresql://{user}:{password or self.password}@127.0.0.1:{self.port}/{database}"

    def create_database(self) -> str:
        """Makes an empty database and gives its URL."""
        name = f"test_{secrets.token_hex(6)}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return self.url(name)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """A PostgreSQL of the run's own; skips where none is installed, fails there in CI."""
    programs = _programs()
    if programs is None:
        reason = "PostgreSQL is not installed: apt-get install postgresql"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    # Not in pytest's folder: that one is closed to the server's user when the tests run as root.
    folder = Path(tempfile.mkdtemp(prefix="yarntune-postgres-"))
    try:
        yield from _serve(programs, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _programs() -> Path | None:
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda each: float(each.parent.name))
    if installed:
        return installed[-1]
    found = shutil.which("initdb")
    return Path(found).resolve().parent if found else None


def _serve(programs: Path, folder: Path) -> Iterator[PostgresServer]:
    prefix = _as_server_user(folder)
    server = PostgresServer(_free_port(), secrets.token_hex(8))
    password_file = folder / "password"
    password_file.write_text(server.password)
    password_file.chmod(0o644)
    data = folder / "data"
    subprocess.run(
        [
            *prefix,
            *(programs / "initdb", "--pgdata", data, "--username", "yarntune", "--pwfile", password_file),
            *("--auth", "scram-sha-256", "--encoding", "UTF8", "--locale", "C", "--no-sync"),
        ],
        check=True,
        capture_output=True,
        timeout=START_TIMEOUT_S,
    )
    options = {
        "port": server.port,
        "listen_addresses": "127.0.0.1",
        "unix_socket_directories": folder,
        "fsync": "off",
    }
    log_file = folder / "log"
    with log_file.open("w") as log:
        process = subprocess.Popen(
            [*prefix, programs / "postgres", "-D", data, *(f"--{name}={value}" for name, value in options.items())],
            stdout=log,
            stderr=log,
        )
    try:
        _wait_until_ready(server, process, log_file)
        yield server
    finally:
        process.send_signal(signal.SIGINT)  # "fast shutdown": does not wait for clients
        process.wait(timeout=START_TIMEOUT_S)


def _as_server_user(folder: Path) -> list[str]:
    """The start of a command that ends with the test run, as a user that PostgreSQL accepts: never root."""
    ends_with_us = ["setpriv", "--pdeathsig", "QUIT"]
    if os.geteuid() != 0:
        return ends_with_us
    names = {user.pw_name for user in pwd.getpwall()}
    user = pwd.getpwnam("postgres" if "postgres" in names else "nobody")
    os.chown(folder, user.pw_uid, user.pw_gid)
    return [*ends_with_us, f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups", "--"]


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
    return port


def _wait_until_ready(server: PostgresServer, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while True:
        try:
            psycopg.connect(server.url("postgres"), connect_timeout=5).close()
            return
        except psycopg.OperationalError:
            if process.poll() is not None or time.monotonic() > deadline:
                pytest.fail(f"PostgreSQL did not start (as {getpass.getuser()}):\n{log.read_text()}")
            time.sleep(0.1)
