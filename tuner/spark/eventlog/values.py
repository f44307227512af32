"""From what a log writes to what the model holds."""

from __future__ import annotations

from typing import Final

LONGEST_TEXT: Final = 500


def seconds(milliseconds: int | None) -> float | None:
    """A time in a log, which is -1 or 0 where Spark did not know it."""
    return milliseconds / 1e3 if milliseconds is not None and milliseconds > 0 else None


def clip(text: str | None) -> str | None:
    """A text short enough to keep many of; stack traces and SQL have no end.

    Both ends are kept: Java names its exception in the first line, Python in the last.
    """
    if not text:
        return None
    if len(text) <= LONGEST_TEXT:
        return text
    tail = LONGEST_TEXT * 2 // 5
    return f"{text[: LONGEST_TEXT - tail - 5]} ... {text[len(text) - tail :]}"
