"""Which spark-submit the wrapper starts: the user's own, and never itself."""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tuner.errors import MissingToolError
from tuner.spark.launcher import SparkInstallation, bundled_spark

GUARD: Final = "_YARNTUNE_SUBMITTING"
"""Tells a wrapper that is started by the spark-submit that it started itself: a vendor's script may call it back."""

VARIABLE: Final = "YARNTUNE_SPARK_SUBMIT"
TAG: Final = re.compile(r"\byarntune-[0-9a-f]{12}\b")
"""What the wrapper tags its applications with."""
_DEEPEST: Final = 8


@dataclass(frozen=True)
class Found:
    """The program to start.

    Attributes:
        called_back: whether this call comes from a program that we started, for the same submission.
        guard: value of :data:`GUARD` in the program's environment, apart from the command line's fingerprint.
    """

    spark: SparkInstallation
    called_back: bool
    guard: str


def find_program(tokens: Sequence[str], environ: Mapping[str, str]) -> Found:
    """The spark-submit to start: YARNTUNE_SPARK_SUBMIT, SPARK_HOME's, the first on PATH, else that of pyspark.

    Those that are this wrapper under another name are passed over; where this call came back to us from a program
    that we started, that program too.

    Args:
        tokens: the command line, by which a call that comes back is known.
        environ: the environment.

    Raises:
        MissingToolError: there is none.
    """
    call, depth, tried = _read_guard(environ)
    called_back = depth > 0 and (
        call == call_id(tokens) or depth >= _DEEPEST or any(TAG.search(token) for token in tokens)
    )
    passed_over = tried if called_back else ()
    spark = _first(environ, passed_over)
    guard = os.pathsep.join([str(depth + 1), *passed_over, str(spark.spark_submit)])
    return Found(spark, called_back, guard)


def guarded(found: Found, tokens: Sequence[str], environ: Mapping[str, str]) -> dict[str, str]:
    """The environment in which the program is started with these tokens."""
    return {**environ, GUARD: f"{call_id(tokens)}{os.pathsep}{found.guard}"}


def call_id(tokens: Sequence[str]) -> str:
    """A fingerprint of a command line."""
    return hashlib.sha256("\0".join(tokens).encode("utf-8", "surrogateescape")).hexdigest()[:16]


def _read_guard(environ: Mapping[str, str]) -> tuple[str, int, tuple[str, ...]]:
    call, _, rest = environ.get(GUARD, "").partition(os.pathsep)
    depth, *tried = rest.split(os.pathsep)
    return call, int(depth) if depth.isdigit() else 0, tuple(tried)


def _first(environ: Mapping[str, str], passed_over: Sequence[str]) -> SparkInstallation:
    named = environ.get(VARIABLE)
    if named and named not in passed_over:
        if not os.access(named, os.X_OK) or _is_ours(Path(named)):
            raise MissingToolError(f"{VARIABLE} is {named!r}, which is no spark-submit", f"correct or unset {VARIABLE}")
        return SparkInstallation(Path(named), None, None)
    for path in _candidates(environ):
        usable = os.access(path, os.X_OK) and not path.is_dir()
        if usable and str(path) not in passed_over and not _is_ours(path):
            return SparkInstallation(path, None, None)
    bundled = bundled_spark()
    if bundled is None:
        raise MissingToolError(
            "no spark-submit was found besides yarntune-submit itself",
            f"set SPARK_HOME, or {VARIABLE} to the program, or pip install pyspark",
        )
    return bundled


def _candidates(environ: Mapping[str, str]) -> list[Path]:
    paths = [Path(environ["SPARK_HOME"]) / "bin" / "spark-submit"] if environ.get("SPARK_HOME") else []
    folders = environ.get("PATH", os.defpath).split(os.pathsep)
    paths += [Path(folder) / "spark-submit" for folder in folders if folder]
    # pip's own spark-submit script looks for pyspark with the first python3 on PATH, which need not have it.
    own_bin = Path(sys.executable).parent.resolve()
    return [path for path in paths if path.parent.resolve() != own_bin]


def _is_ours(path: Path) -> bool:
    """Whether a program is this wrapper: the same file, a link to it, or a console script that calls it."""
    try:
        if path.resolve() == Path(sys.argv[0]).resolve():
            return True
        with path.open("rb") as file:
            return b"tuner.submit.wrapper" in file.read(1000)
    except OSError:
        return False
