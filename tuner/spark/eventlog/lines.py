"""From decoded pieces of text to lines, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from tuner.spark.eventlog.codecs import Damage, Pieces

LONGEST_LINE: Final = 1 << 26
"""The longest event that is read, in bytes; the plan of one SQL execution has been seen to take several MB."""
_START: Final = b'{"Event":'


@dataclass(frozen=True)
class TooLong:
    """In place of a line that was longer than :data:`LONGEST_LINE`."""


@dataclass(frozen=True)
class Tail:
    """What stands after a file's last line break: a whole event, or one that was cut off."""

    text: bytes


Item = list[bytes] | Damage | TooLong | Tail


def lines_of(pieces: Pieces) -> Iterator[Item]:
    """Cuts text into lines.

    Yields:
        Lines, many at a time, without their breaks; where text is missing the :class:`Damage`, and then no line that
        it tore apart.
    """
    pending: list[bytes] = []
    size = 0
    torn = False
    for piece in pieces:
        if isinstance(piece, Damage):
            if piece.at_end and pending:
                yield Tail(b"".join(pending))
            pending, size, torn = [], 0, not piece.at_end
            yield piece
            continue
        if torn and not pending and piece.startswith(_START):
            torn = False
        head, found, rest = piece.partition(b"\n")
        if torn:
            torn = not found
            head, found, rest = rest.partition(b"\n") if found else (b"", b"", b"")
            if not found:
                pending, size = [head], len(head)
                continue
        size += len(head)
        if size <= LONGEST_LINE:
            pending.append(head)
        if not found:
            continue
        if size > LONGEST_LINE:
            yield TooLong()
            first: list[bytes] = []
        else:
            first = [b"".join(pending)]
        lines = rest.split(b"\n")
        last = lines.pop()
        pending, size = [last], len(last)
        yield first + lines
    if size > LONGEST_LINE:
        yield TooLong()
    elif size:
        yield Tail(b"".join(pending))
