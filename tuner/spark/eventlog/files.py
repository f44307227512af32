"""Which files make up one event log, and where an application's log is.

Layouts, as ``org.apache.spark.deploy.history.EventLogFileWriters`` and ``EventLogFileReaders`` have them:

- one file ``<application>[_<attempt>][.<codec>][.inprogress]``;
- a rolling directory ``eventlog_v2_<application>[_<attempt>]`` of ``events_<n>_<application>[_<attempt>][.<codec>]``
  and an empty ``appstatus_...[.inprogress]``; a file that ends in ``.compact`` takes the place of all up to its number.

Besides: the archives that the History Server hands out (zip, and tar), and the folders that Databricks delivers
(``eventlog-<date>--<hour>-<minute>``, the newest called ``eventlog``).
"""

from __future__ import annotations

import re
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final
from urllib.parse import unquote, urlsplit

from tuner.errors import InputError
from tuner.spark.eventlog.codecs import Readable

_CODECS: Final = "zstd|lz4|lzf|snappy|gz"
_ROLLED: Final = re.compile(rf"events_(\d+)_(.+?)(?:\.({_CODECS}))?(\.compact)?")
_DATABRICKS: Final = re.compile(r"eventlog(?:-(\d{4}-\d\d-\d\d--\d\d-\d\d))?(?:\.gz)?")
_ROLLING_FOLDER: Final = "eventlog_v2_"
_IN_PROGRESS: Final = ".inprogress"


@dataclass(frozen=True)
class Part:
    """One file of a log, or one member of an archive."""

    name: str
    open: Callable[[], AbstractContextManager[Readable]]


@dataclass(frozen=True)
class LogFiles:
    """The files of one log, in the order in which to read them.

    Attributes:
        path: what the user named.
        parts: empty where nothing has been written yet.
        losses: a sentence for each file that is missing or left out.
        compacted: whether the first part is a compacted one.
        application_id: as the names of files have it, for logs that do not say it themselves.
    """

    path: Path
    parts: tuple[Part, ...]
    losses: tuple[str, ...] = ()
    compacted: bool = False
    application_id: str | None = None


def log_files(path: Path) -> LogFiles:
    """Finds the files of the log at a path.

    Args:
        path: a file, a rolling directory, one that Databricks delivered, or an archive of any of them.

    Raises:
        InputError: where there is no log, or more than one.
    """
    try:
        if path.is_dir():
            parts = [Part(each.name, _file_opener(each)) for each in sorted(path.iterdir()) if each.is_file()]
            return _arrange(path, parts, path.name)
        if not path.is_file():
            raise InputError(f"there is no event log at {path}", "give the path of a file or of an eventlog_v2_ folder")
        if zipfile.is_zipfile(path):
            return _arrange(path, _zip_parts(path), path.stem)
        if path.name.endswith((".tgz", ".tar.gz", ".tar")):
            return _arrange(path, _tar_parts(path), path.stem)
        rolled = _ROLLED.fullmatch(path.name.removesuffix(_IN_PROGRESS))
        if rolled:
            return _rolling(path, [Part(path.name, _file_opener(path))], rolled[2])
        return LogFiles(path, (Part(path.name, _file_opener(path)),))
    except (OSError, zipfile.BadZipFile, tarfile.TarError) as error:
        raise InputError(f"the event log {path} cannot be read: {error}") from error


def find_logs(event_log_dir: str | Path, application_id: str) -> list[Path]:
    """Finds the logs of all attempts of an application in ``spark.eventLog.dir``.

    Args:
        event_log_dir: a path or a ``file:`` URI.
        application_id: for example ``application_1700000000000_0001``.

    Returns:
        A path for each attempt, the newest last; of a finished and an unfinished log of one attempt the finished one.

    Raises:
        InputError: where the folder is not on this machine.
    """
    folder = local_folder(event_log_dir)
    base = _sanitize(application_id)
    pattern = re.compile(rf"(?:{_ROLLING_FOLDER})?{re.escape(base)}(?:_(\d+))?(?:\.(?:{_CODECS}))?({_IN_PROGRESS})?")
    found: dict[int, list[tuple[bool, Path]]] = {}
    for path in folder.iterdir():
        match = pattern.fullmatch(path.name)
        if match and path.name.startswith(_ROLLING_FOLDER) == path.is_dir():
            unfinished = match[2] is not None or (path.is_dir() and any(path.glob(f"appstatus_*{_IN_PROGRESS}")))
            found.setdefault(int(match[1] or 0), []).append((unfinished, path))
    return [min(found[attempt])[1] for attempt in sorted(found)]


def find_log(event_log_dir: str | Path, application_id: str) -> Path | None:
    """The log of an application's last attempt, None where there is none yet; see :func:`find_logs`."""
    logs = find_logs(event_log_dir, application_id)
    return logs[-1] if logs else None


def local_folder(event_log_dir: str | Path) -> Path:
    """The folder that a value of ``spark.eventLog.dir`` names.

    Raises:
        InputError: where it is on another file system, or is not there.
    """
    uri = urlsplit(str(event_log_dir))
    if uri.scheme not in ("", "file"):
        raise InputError(
            f"event logs in {event_log_dir} are not on this machine's file system",
            "copy the log here, for example with hdfs dfs -get, or mount the file system",
        )
    folder = Path(unquote(uri.path)) if uri.scheme else Path(event_log_dir)
    if not folder.is_dir():
        raise InputError(f"there is no folder {folder} for event logs", "set spark.eventLog.dir to one that exists")
    return folder


def _sanitize(application_id: str) -> str:
    # EventLogFileWriter.nameForAppAndAttempt
    return re.sub(r"[.${}'\"]", "_", re.sub(r"[ :/]", "-", application_id)).lower()


def _arrange(path: Path, parts: Sequence[Part], folder_name: str) -> LogFiles:
    files = [part for part in parts if not _hidden(part.name)]
    rolled = [part for part in files if _ROLLED.fullmatch(_base(part.name).removesuffix(_IN_PROGRESS))]
    if rolled or any(_base(part.name).startswith("appstatus_") for part in files):
        return _rolling(path, rolled, folder_name.removeprefix(_ROLLING_FOLDER))
    if files and all(_DATABRICKS.fullmatch(_base(part.name)) for part in files):
        return LogFiles(path, tuple(sorted(files, key=_databricks_order)))
    if len(files) == 1:
        return LogFiles(path, (files[0],))
    if not files:
        if folder_name.startswith(_ROLLING_FOLDER):
            return LogFiles(path, ())
        raise InputError(f"{path} holds no event log", "give the path of a log itself")
    raise InputError(
        f"{path} holds {len(files)} files, which are not the parts of one event log", "give the path of one of them"
    )


def _rolling(path: Path, parts: Sequence[Part], application_id: str) -> LogFiles:
    """Orders rolled files by number, not by name, and drops those that a compacted one replaced."""
    numbered: list[tuple[int, bool, Part]] = []
    for part in parts:
        match = _ROLLED.fullmatch(_base(part.name).removesuffix(_IN_PROGRESS))
        if match:
            numbered.append((int(match[1]), match[4] is not None, part))
    numbered.sort(key=lambda item: item[:2])
    compact = [position for position, item in enumerate(numbered) if item[1]]
    numbered = numbered[compact[-1] :] if compact else numbered
    losses = []
    expected = numbered[0][0] if compact else 1
    for number, _, part in numbered:
        if number < expected:
            losses.append(f"There are two files with number {number}; both are read, {part.name} as the second.")
        elif number > expected:
            missing = f"file {expected}" if number == expected + 1 else f"files {expected} to {number - 1}"
            losses.append(f"Of the rolled log {missing} {'is' if number == expected + 1 else 'are'} missing.")
        expected = number + 1
    return LogFiles(path, tuple(item[2] for item in numbered), tuple(losses), bool(compact), application_id or None)


def _databricks_order(part: Part) -> tuple[str, str]:
    match = _DATABRICKS.fullmatch(_base(part.name))
    return ((match and match[1]) or "~", part.name)


def _base(name: str) -> str:
    return PurePosixPath(name).name


def _hidden(name: str) -> bool:
    base = _base(name)
    return base.startswith((".", "_")) or base.endswith((".crc", ".tmp"))


def _file_opener(path: Path) -> Callable[[], AbstractContextManager[Readable]]:
    return lambda: path.open("rb", buffering=0)


@contextmanager
def _named_faults(path: Path) -> Iterator[None]:
    try:
        yield
    except (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise InputError(f"the archive {path} cannot be read: {error}", "unpack it, and give the log itself") from error


def _zip_parts(path: Path) -> list[Part]:
    with zipfile.ZipFile(path) as archive:
        names = [info.filename for info in archive.infolist() if not info.is_dir()]

    @contextmanager
    def opened(name: str) -> Iterator[Readable]:
        with _named_faults(path), zipfile.ZipFile(path) as archive, archive.open(name) as member:
            yield member

    return [Part(name, lambda name=name: opened(name)) for name in sorted(names)]  # type: ignore[misc]


def _tar_parts(path: Path) -> list[Part]:
    with tarfile.open(path) as archive:
        names = [member.name for member in archive.getmembers() if member.isfile()]

    @contextmanager
    def opened(name: str) -> Iterator[Readable]:
        with _named_faults(path), tarfile.open(path) as archive:
            member = archive.extractfile(name)
            if member is None:
                raise InputError(f"{path} has no file {name}")
            yield member

    return [Part(name, lambda name=name: opened(name)) for name in sorted(names)]  # type: ignore[misc]
