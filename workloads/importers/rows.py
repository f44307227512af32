"""Rows of text out of files, plain or compressed, as a stream; bad ones are named and counted."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Final, Self, TypeVar

from tuner.errors import InputError
from tuner.spark.eventlog.codecs import Damage, decode
from tuner.spark.eventlog.lines import Tail, TooLong, lines_of
from workloads.workload import SourceFile

__all__ = ["MAX_BAD_SHARE", "BadRowError", "RowReader", "decimal", "first_lines", "read_whole", "whole"]

MAX_BAD_SHARE: Final = 0.01
"""More bad rows than this share, and the file is not what it is taken for."""
_NAMED: Final = 10
_ENOUGH_TO_JUDGE: Final = 1_000

_T = TypeVar("_T")
Progress = Callable[[int], None]
"""Is told how many bytes of the files, as they lie on the disk, have been read since it was last told."""


class BadRowError(ValueError):
    """A row that cannot be read; the message is the reason."""


def whole(cell: bytes, name: str) -> int:
    """A whole number that is not negative.

    Raises:
        BadRowError: it is none.
    """
    try:
        value = int(cell)
    except ValueError:
        raise BadRowError(f"{name} is {_shown(cell)}, not a whole number") from None
    if value < 0:
        raise BadRowError(f"{name} is {value}, below 0")
    return value


def decimal(cell: bytes, name: str) -> float:
    """A finite number; it may be negative.

    Raises:
        BadRowError: it is none.
    """
    try:
        value = float(cell)
    except ValueError:
        raise BadRowError(f"{name} is {_shown(cell)}, not a number") from None
    if not isfinite(value):
        raise BadRowError(f"{name} is {_shown(cell)}, not a finite number")
    return value


@dataclass
class _Tally:
    rows: int = 0
    bad: int = 0


class RowReader:
    """Reads the files of one import, and remembers what was wrong with them.

    Args:
        max_bad_share: of the rows of one file.
        progress: see :data:`Progress`.
    """

    def __init__(self, max_bad_share: float = MAX_BAD_SHARE, progress: Progress | None = None) -> None:
        self._max_bad_share = max_bad_share
        self._progress = progress
        self._named: list[str] = []
        self._files: list[SourceFile] = []

    @property
    def files(self) -> tuple[SourceFile, ...]:
        """What was read so far."""
        return tuple(self._files)

    @property
    def bad_rows(self) -> tuple[str, ...]:
        """The first bad rows: ``file:line: reason``."""
        return tuple(self._named)

    def read(self, path: Path, parse: Callable[[bytes], _T | None]) -> Iterator[_T]:
        """Reads a file row by row.

        Args:
            path: plain, gzip, zstd, or whatever Spark compresses with.
            parse: makes something of a line without its break; None for a line that holds no row (a comment).

        Raises:
            InputError: the file cannot be read, is cut off or damaged, or has too many bad rows.
        """
        tally = _Tally()
        with _Source(path, self._progress) as source:
            number = 0
            for lines in _lines(source):
                for line in lines:
                    number += 1
                    if line is not None and (not line or line.isspace()):
                        continue
                    try:
                        row = parse(_short_enough(line))
                    except BadRowError as reason:
                        tally.rows += 1
                        self._bad(path, number, str(reason), tally)
                    else:
                        if row is not None:
                            tally.rows += 1
                            yield row
        self._judge(path, tally)
        self._files.append(source.described(tally))

    def described(self, path: Path, rows: int) -> None:
        """Notes a file that was read in another way."""
        with _Source(path, self._progress) as source:
            while source.read(1 << 20):
                pass
        self._files.append(source.described(_Tally(rows)))

    def _bad(self, path: Path, number: int, reason: str, tally: _Tally) -> None:
        tally.bad += 1
        if len(self._named) < _NAMED:
            self._named.append(f"{path.name}:{number}: {reason}")
        if tally.bad >= _ENOUGH_TO_JUDGE:
            self._judge(path, tally)

    def _judge(self, path: Path, tally: _Tally) -> None:
        if tally.bad > self._max_bad_share * tally.rows:
            first = "; ".join(name for name in self._named if name.startswith(f"{path.name}:"))
            raise InputError(
                f"{path}: {tally.bad} of {tally.rows} rows are bad, more than {self._max_bad_share:.2%}: {first}",
                "check the file and --format, or allow more with --max-bad",
            )


def first_lines(path: Path, most: int = 50) -> list[bytes]:
    """The first lines of a file that are not empty, decompressed; what is damaged ends them.

    Raises:
        InputError: the file cannot be read.
    """
    found: list[bytes] = []
    with _Source(path, None) as source:
        try:
            for lines in _lines(source):
                found += [line for line in lines if line and not line.isspace()]
                if len(found) >= most:
                    break
        except InputError:
            return found
    return found[:most]


def read_whole(path: Path) -> bytes:
    """A file's text, decompressed.

    Raises:
        InputError: it cannot be read, or is damaged.
    """
    with _Source(path, None) as source:
        return b"".join(_sound(piece, path) for piece in decode(source))


class _Source:
    """A file's bytes, counted and hashed as they are read."""

    def __init__(self, path: Path, progress: Progress | None) -> None:
        self.path = path
        self._progress = progress
        self._hash = hashlib.sha256()
        self._size = 0

    def __enter__(self) -> Self:
        try:
            self._file = self.path.open("rb", buffering=0)
        except OSError as error:
            raise InputError(f"{self.path} cannot be read: {error.strerror}") from error
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def read(self, size: int, /) -> bytes:
        try:
            data = self._file.read(size) or b""
        except OSError as error:
            raise InputError(f"{self.path} cannot be read: {error.strerror}") from error
        self._hash.update(data)
        self._size += len(data)
        if self._progress is not None:
            self._progress(len(data))
        return data

    def described(self, tally: _Tally) -> SourceFile:
        return SourceFile(self.path.name, self._size, self._hash.hexdigest(), tally.rows, tally.bad)


def _lines(source: _Source) -> Iterator[Sequence[bytes | None]]:
    """Lines, many at a time; None in place of one that is too long to be a row of anything."""
    for item in lines_of(decode(source)):
        if isinstance(item, list):
            yield item
        elif isinstance(item, Tail):
            yield [item.text]
        elif isinstance(item, TooLong):
            yield [None]
        else:
            _sound(item, source.path)


def _short_enough(line: bytes | None) -> bytes:
    if line is None:
        raise BadRowError("the line is far too long")
    return line.rstrip(b"\r")


def _sound(piece: bytes | Damage, path: Path) -> bytes:
    if isinstance(piece, Damage):
        # A workload of half a trace looks like a whole one, so it is not read as far as it goes.
        raise InputError(f"{path} is not whole: {piece.what}", "fetch the file again")
    return piece


def _shown(cell: bytes) -> str:
    text = cell[:40].decode("utf-8", "backslashreplace")
    return f"{text!r}" if len(cell) <= 40 else f"{text!r}..."
