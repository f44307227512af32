"""How the next run of a recurring job is known to be the same job."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import PurePosixPath

from tuner.spark.redaction import printable

_DATE_OR_NUMBER = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2})?)?|\d+")
_VERSION = re.compile(r"[-_]\d[\w.]*(?=\.(?:jar|py|zip|egg)$)")


def arguments_shape(arguments: Sequence[str]) -> str:
    """The arguments without what changes from run to run: dates and numbers.

    ``--day 2026-01-31 --parts 200`` becomes ``--day # --parts #``.
    """
    return " ".join(_DATE_OR_NUMBER.sub("#", argument) for argument in arguments)


def program_name(program: str) -> str:
    """The program's file name without folder and version: a new release of a job is still the job."""
    return _VERSION.sub("", PurePosixPath(printable(program).partition("#")[0]).name)


def job_key(program: str, main_class: str | None, arguments: Sequence[str], queue: str) -> str:
    """Fingerprint of a recurring job: program, class, shape of the arguments, and queue."""
    parts = "\0".join((program_name(program), main_class or "", arguments_shape(arguments), printable(queue)))
    return hashlib.sha256(parts.encode()).hexdigest()[:16]


def named_job_key(name: str) -> str:
    """Fingerprint of a job that the user names: the name alone, so that its program and arguments may change."""
    return hashlib.sha256(f"job\0{printable(name)}".encode()).hexdigest()[:16]
