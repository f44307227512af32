"""The one line, among all that a failing application prints, that says why it failed."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["cause_of", "telling_line"]

_TRACEBACK = "Traceback (most recent call last):"
_PYTHON_ERROR = re.compile(r"[A-Za-z_][\w.]*(?:Error|Exception|Interrupt|Exit)\b")
_PY4J = "Py4JJavaError"
# log4j 1 and 2 as Spark configures them ("26/01/31 12:00:00 WARN Client: ..."), and ISO dates.
_QUIET_LEVEL = re.compile(r"^(?:\S+ ){0,2}\[?(?:TRACE|DEBUG|INFO|WARN|WARNING)\b")
_LOUD_LEVEL = re.compile(r"^(?:\S+ ){0,2}\[?(?:ERROR|FATAL)\b")
_CAUSE = re.compile(r"^Caused by: (.+)")
_THROWN = re.compile(
    r"^(?:Exception in thread \S+ |: |User class threw exception: )?([\w.$]+\.[\w$]*(?:Error|Exception)\b.*)"
)
_FRAME = re.compile(r"^(?:at |\.\.\. \d+ more)")
_LONGEST = 500


def telling_line(output: Sequence[str], log: Sequence[str]) -> str:
    """Why spark-submit failed, in one line.

    Args:
        output: lines of its standard output, where Spark sends both streams of a Python driver.
        log: lines of its standard error.

    Returns:
        The innermost cause of a Java exception, the exception of a Python driver, a line logged as an error, or the
        last line that is no message of a lower level; never one logged as INFO or WARN while there is another.
    """
    output, log = _stripped(output), _stripped(log)
    python = [line for line in output if _PYTHON_ERROR.match(line)] if _TRACEBACK in output else []
    if python and _PY4J not in python[-1]:
        return _short(python[-1])
    java = _java_cause(output if python else log) or _java_cause(log)
    if java:
        return _short(java)
    said = [line for line in log if not _FRAME.match(line) and not _QUIET_LEVEL.match(line)]
    loud = [line for line in said if _LOUD_LEVEL.match(line)]
    return _short((python or loud or said or output or log or ["it printed nothing"])[-1])


def cause_of(diagnostics: str) -> str:
    """The innermost cause that YARN's diagnostics of an application name, else their first line; empty for none."""
    lines = _stripped(diagnostics.splitlines())
    causes = [match[1] for line in lines if (match := _CAUSE.match(line))]
    return _short((causes[-1:] or lines[:1] or [""])[0])


def _java_cause(lines: Sequence[str]) -> str:
    """The last ``Caused by`` of the last exception, else its own line."""
    thrown, cause = "", ""
    for line in lines:
        if match := _CAUSE.match(line):
            cause = match[1]
        elif match := _THROWN.match(line):
            thrown, cause = match[1], ""
    return cause or thrown


def _stripped(lines: Sequence[str]) -> list[str]:
    return [line.strip() for line in lines if line.strip()]


def _short(line: str) -> str:
    return line[:_LONGEST]
