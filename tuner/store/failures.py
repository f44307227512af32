"""What a database says when something is wrong, as one sentence and what to do."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sa
import sqlalchemy.exc

from tuner.errors import StoreError

VARIABLE = "YARNTUNE_DATABASE_URL"

# By the start of the result code's name, longest first (https://sqlite.org/rescode.html).
_SQLITE: tuple[tuple[str, str, str], ...] = (
    ("SQLITE_IOERR", "could not be read or written", "look at the disk and at the file system that it is on"),
    ("SQLITE_NOTADB", "is not a SQLite database", f"move the file away, or name another one in {VARIABLE}"),
    ("SQLITE_CORRUPT", "is damaged", "restore it from a backup, or move it away to begin with an empty one"),
    ("SQLITE_FULL", "cannot grow: the disk is full", "make room; what was stored before is still there"),
    ("SQLITE_READONLY", "cannot be written", "let the user that runs yarntune write to the file and its folder"),
    ("SQLITE_PERM", "cannot be written", "let the user that runs yarntune write to the file and its folder"),
    ("SQLITE_CANTOPEN", "cannot be opened", "let the user that runs yarntune write to the file and its folder"),
    ("SQLITE_BUSY", "is locked by another process", "try again; `fuser FILE` shows which process has it open"),
    ("SQLITE_LOCKED", "is locked by another process", "try again; `fuser FILE` shows which process has it open"),
)

# By SQLSTATE, class (two characters) or code (https://www.postgresql.org/docs/current/errcodes-appendix.html).
_POSTGRESQL: tuple[tuple[str, str, str], ...] = (
    ("28", "does not accept this user or password", f"correct the user and the password in {VARIABLE}"),
    ("3D000", "does not have this database", f"create it with createdb, or correct its name in {VARIABLE}"),
    ("53100", "cannot grow: the server's disk is full", "make room on the server"),
    ("53300", "has no connection left", "close some, or raise max_connections on the server"),
    ("42501", "does not give this user the right to do that", "let the user create and write tables in the schema"),
    ("25006", "is read-only", "name the primary server, not a standby"),
    ("55P03", "is locked by another process", "try again; pg_stat_activity shows who holds the lock"),
    ("57014", "took too long to answer", "try again; look at the server's load"),
    ("57P", "is shutting down or starting up", "try again in a moment"),
    ("08", "cannot be reached", f"start the server, or correct the address in {VARIABLE}"),
)


def masked(url: sa.URL) -> str:
    """The URL as it may be shown: the password is ``***``, and other secrets of the query string are left out."""
    secrets = [key for key in url.query if "password" in key.lower()]
    return url.difference_update_query(secrets).render_as_string(hide_password=True)


def where(url: sa.URL) -> str:
    """The store in the words of a message: the file, or the server's URL without its password."""
    return f"the store {url.database}" if url.get_backend_name() == "sqlite" else f"the store {masked(url)}"


@contextmanager
def readable_failures(url: sa.URL) -> Iterator[None]:
    """Turns whatever the database, its driver or the file system raises inside into a StoreError.

    Raises:
        StoreError: with the cause, never with the SQL, its parameters or the password.
    """
    try:
        yield
    except sqlalchemy.exc.TimeoutError as error:
        raise StoreError(f"{where(url)} has no free connection in this process", "try again") from error
    except sqlalchemy.exc.StatementError as error:
        raise _translate(url, error.orig or error) from error
    except sqlalchemy.exc.SQLAlchemyError as error:
        raise StoreError(f"{where(url)} failed: {_first_line(url, error)}") from error
    except (ValueError, TypeError, OverflowError) as error:
        # From the JSON encoder, which one of the two drivers calls where SQLAlchemy does not look.
        raise _translate(url, error) from error
    except OSError as error:
        raise _of_the_file_system(url, error) from error


def _translate(url: sa.URL, cause: BaseException) -> StoreError:
    name = getattr(cause, "sqlite_errorname", None)
    if name is not None:
        return _from_table(url, _SQLITE, name, cause)
    if getattr(cause, "pgconn", None) is not None or hasattr(cause, "sqlstate"):
        # psycopg gives no SQLSTATE where it got no connection: only the text tells why.
        return _from_table(url, _POSTGRESQL, getattr(cause, "sqlstate", None) or _guess_sqlstate(cause), cause)
    if isinstance(cause, (ValueError, TypeError, OverflowError)):
        return StoreError(f"a value cannot be stored: {_first_line(url, cause)}")
    return StoreError(f"{where(url)} failed: {_first_line(url, cause)}")


def _from_table(url: sa.URL, table: tuple[tuple[str, str, str], ...], code: str, cause: BaseException) -> StoreError:
    for prefix, what, hint in table:
        if code.startswith(prefix):
            detail = f" ({_first_line(url, cause)})" if code.startswith(("SQLITE_IOERR", "08")) else ""
            return StoreError(f"{where(url)} {what}{detail}", hint)
    return StoreError(f"{where(url)} failed: {_first_line(url, cause)}")


def _guess_sqlstate(cause: BaseException) -> str:
    text = str(cause)
    if "password" in text or "authentication" in text or ("role" in text and "does not exist" in text):
        return "28000"
    if "database" in text and "does not exist" in text:
        return "3D000"
    if "too many clients" in text or "connection slots" in text:
        return "53300"
    if "the database system is" in text:
        return "57P03"
    return "08001"


def _of_the_file_system(url: sa.URL, error: OSError) -> StoreError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        hint = "make room; what was stored before is still there"
    else:
        hint = f"let the user that runs yarntune write there, or name another place in YARNTUNE_DATA_DIR or {VARIABLE}"
    place = error.filename or url.database
    return StoreError(f"{where(url)} cannot be opened: {place}: {os.strerror(error.errno or 0)}", hint)


def _first_line(url: sa.URL, cause: BaseException) -> str:
    lines = str(cause).strip().splitlines()
    text = lines[0] if lines else type(cause).__name__
    return text.replace(str(url.password), "***") if url.password else text
