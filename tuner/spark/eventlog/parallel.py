"""Reads many logs at once, one process each: an application is never split over two."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from tuner.errors import InputError
from tuner.spark.eventlog.model import ApplicationLog
from tuner.spark.eventlog.reader import read_log
from tuner.spark.eventlog.stages import MAX_ROWS, MAX_STAGES


@dataclass(frozen=True)
class ReadResult:
    """What came of one path: the log, or why it is refused."""

    path: Path
    log: ApplicationLog | None
    error: InputError | None


def read_logs(
    paths: Sequence[str | Path],
    *,
    workers: int | None = None,
    max_rows: int = MAX_ROWS,
    max_stages: int = MAX_STAGES,
) -> Iterator[ReadResult]:
    """Reads logs on several cores.

    Args:
        paths: the logs.
        workers: processes; as many as there are cores where it is not given, none for a single log.
        max_rows: tasks to keep of each log.
        max_stages: stages to keep of each log.

    Yields:
        A result for each path as soon as it is read, in no order.
    """
    read = partial(_read, max_rows=max_rows, max_stages=max_stages)
    # Large logs first, so that the last one to be read is a short one.
    ordered = sorted((Path(path) for path in paths), key=_size, reverse=True)
    workers = min(workers or os.cpu_count() or 1, len(ordered))
    if workers <= 1:
        yield from map(read, ordered)
        return
    # Not forked: the caller may have threads, and a forked process would start with all of the caller's memory.
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        for future in as_completed([pool.submit(read, path) for path in ordered]):
            yield future.result()


def _read(path: Path, max_rows: int, max_stages: int) -> ReadResult:
    try:
        return ReadResult(path, read_log(path, max_rows=max_rows, max_stages=max_stages), None)
    except InputError as error:
        return ReadResult(path, None, InputError(error.message, error.hint))


def _size(path: Path) -> int:
    try:
        if path.is_dir():
            return sum(each.stat().st_size for each in path.iterdir())
        return path.stat().st_size
    except OSError:
        return 0
