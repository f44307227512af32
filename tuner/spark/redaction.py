"""Secrets kept out of logs, errors and the store, by Spark's own rule.

Source: ``Utils.redact`` and ``spark.redaction.regex``: a value is hidden where the pattern is found in its key or in
the value itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

REDACTED = "*********(redacted)"
"""What Spark shows instead."""

DEFAULT_PATTERN = "(?i)secret|password|token|access[.]?key|credential"
"""Spark's default for ``spark.redaction.regex`` in 4.3; 3.5 lacks the last word."""


def redaction_pattern(conf: Mapping[str, str]) -> re.Pattern[str]:
    """The pattern that a configuration asks for, with Spark's default always on top of it.

    A pattern that Python cannot read (Java's syntax has more) hides everything: better too little shown.
    """
    own = conf.get("spark.redaction.regex")
    default = re.compile(DEFAULT_PATTERN)
    if not own or own == DEFAULT_PATTERN:
        return default
    try:
        re.compile(own)
        flags = "(?i)" if own.startswith("(?i)") else ""
        return re.compile(f"{flags}(?:{own.removeprefix('(?i)')})|(?i:{DEFAULT_PATTERN.removeprefix('(?i)')})")
    except re.error:
        return re.compile("")


def printable(text: str) -> str:
    r"""A text of a command line as it can be stored and shown: bytes that are no UTF-8 as ``\xf6``.

    Python keeps such bytes as halves of characters, which go to other programs as they came, and nowhere else.
    """
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def mask_conf(conf: Mapping[str, str]) -> dict[str, str]:
    """The same configuration with the values of secrets hidden, every text :func:`printable`."""
    pattern = redaction_pattern(conf)
    return {
        printable(name): REDACTED if pattern.search(name) or pattern.search(value) else printable(value)
        for name, value in conf.items()
    }


def mask_arguments(tokens: Sequence[str], conf: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """A command line with secrets hidden: ``key=value`` with a telling key, and what follows a telling option.

    What is left is :func:`printable`.

    A guess, as nobody knows what an application's arguments mean; so it hides rather too much.

    Args:
        tokens: the command line.
        conf: where ``spark.redaction.regex`` may be set.
    """
    pattern = redaction_pattern(conf or {})
    shown: list[str] = []
    hide_next = False
    for token in tokens:
        if hide_next and not token.startswith("-"):
            shown.append(REDACTED)
            hide_next = False
            continue
        hide_next = False
        if not pattern.search(token):
            shown.append(token)
        elif "=" in token:
            # --conf=key=value has two; the value is what follows the last part that tells.
            head = token[: token.index("=", 7) + 1] if token.startswith("--conf=") and "=" in token[7:] else ""
            shown.append((head or token[: token.index("=") + 1]) + REDACTED)
        elif token.startswith("-"):
            shown.append(token)
            hide_next = True
        else:
            shown.append(REDACTED)
    return tuple(printable(token) for token in shown)
