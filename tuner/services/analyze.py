"""Finding and reading the logs that a user names, each analysed where it is read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tuner.analysis import Analysis, analyze
from tuner.errors import InputError
from tuner.spark.eventlog import read_logs
from tuner.spark.eventlog.files import log_files


@dataclass(frozen=True)
class LogOutcome:
    """What came of one log: an analysis, or why it cannot be read."""

    path: Path
    analysis: Analysis | None
    error: InputError | None


def expand(path: Path) -> list[Path]:
    """The logs at a path: itself, or each log of a folder of logs, by name.

    A folder with folders in it is one of logs; one with files only is a log where its files are the parts of one.
    Hidden files and those that begin with ``_`` are passed over.

    Raises:
        InputError: for a path where nothing is.
    """
    if not path.is_dir():
        log_files(path)
        return [path]
    try:
        inside = sorted(each for each in path.iterdir() if not each.name.startswith((".", "_")))
    except OSError as error:
        raise InputError(f"the folder {path} cannot be read: {error.strerror}") from None
    if len(inside) == 1 and inside[0].is_file() and not path.name.startswith("eventlog_v2_"):
        return inside
    if not any(each.is_dir() for each in inside):
        try:
            log_files(path)
        except InputError:
            pass
        else:
            return [path]
    found = [log for each in inside for log in (expand(each) if each.is_dir() else [each])]
    if not found:
        raise InputError(f"there is no event log in {path}", "give the path of a log, or of a folder of logs")
    return found


def analyze_logs(
    paths: Sequence[Path],
    *,
    increment_mib: int,
    pinned: frozenset[str] = frozenset(),
    workers: int | None = None,
    done: Callable[[Path], None] = lambda _: None,
) -> list[LogOutcome]:
    """Reads and analyses logs, several at a time.

    Args:
        paths: of logs, not of folders of logs.
        increment_mib: see :func:`tuner.analysis.analyze`.
        pinned: see there.
        workers: processes that read; one for each core where not given.
        done: called after each log.

    Returns:
        An outcome for each path, in the order of the paths.
    """
    outcomes: dict[Path, LogOutcome] = {}
    for result in read_logs(list(dict.fromkeys(paths)), workers=workers):
        analysis = None if result.log is None else analyze(result.log, increment_mib=increment_mib, pinned=pinned)
        outcomes[result.path] = LogOutcome(result.path, analysis, result.error)
        done(result.path)
    return [outcomes[path] for path in dict.fromkeys(paths)]
