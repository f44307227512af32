"""Finds spark-submit and runs it as a process of its own, its output kept in files."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tuner.errors import MissingToolError
from tuner.spark.failure_line import telling_line
from tuner.spark.params import NEWEST, SparkVersion

_TERM_GRACE_S = 10.0
_CORE_JAR = re.compile(r"spark-core_[\d.]+-(\d+)\.(\d+)")


@dataclass(frozen=True)
class SparkInstallation:
    """A Spark to submit with.

    Attributes:
        spark_submit: the program.
        home: SPARK_HOME to run it with; None where the program finds its own.
        python: the interpreter that PySpark runs with where the user names none; None for Spark's default.
    """

    spark_submit: Path
    home: Path | None
    python: str | None


def with_utf8(environ: Mapping[str, str], tokens: Sequence[str]) -> dict[str, str]:
    """The environment in which spark-submit can read a command line.

    In the C locale a JVM takes every byte that is not ASCII for a question mark, and finds no file of such a name.
    """
    result = dict(environ)
    locale = environ.get("LC_ALL") or environ.get("LC_CTYPE") or environ.get("LANG") or "C"
    if locale in ("C", "POSIX") and not all(token.isascii() for token in tokens):
        result["LC_ALL"] = "C.UTF-8"
    return result


def spark_version(spark: SparkInstallation) -> SparkVersion:
    """Major and minor version, by the name of the core jar; the newest known where there is none to see."""
    home = spark.home or spark.spark_submit.resolve().parent.parent
    matches = (_CORE_JAR.match(path.name) for path in sorted((home / "jars").glob("spark-core_*.jar")))
    return next(((int(m.group(1)), int(m.group(2))) for m in matches if m), NEWEST)


def find_spark(environ: Mapping[str, str]) -> SparkInstallation:
    """The Spark that the user's shell would use, else the one that comes with pyspark.

    Args:
        environ: SPARK_HOME and PATH are looked at, in this order.

    Raises:
        MissingToolError: there is none, or SPARK_HOME names a folder without one.
    """
    if environ.get("SPARK_HOME"):
        home = Path(environ["SPARK_HOME"])
        program = home / "bin" / "spark-submit"
        if not os.access(program, os.X_OK):
            raise MissingToolError(
                f"SPARK_HOME is {str(home)!r}, where there is no bin/spark-submit", "correct SPARK_HOME, or unset it"
            )
        python = sys.executable if home == _pyspark_home() else None
        return SparkInstallation(program, home, python)
    found = shutil.which("spark-submit", path=environ.get("PATH", os.defpath))
    bundled = bundled_spark()
    # pip's own spark-submit script looks for pyspark with the first python3 on PATH, which need not have it.
    if found and not (bundled and Path(found).resolve().parent == Path(sys.executable).parent.resolve()):
        return SparkInstallation(Path(found), None, None)
    if bundled:
        return bundled
    raise MissingToolError("no spark-submit was found", "set SPARK_HOME, or pip install pyspark")


def bundled_spark() -> SparkInstallation | None:
    """The Spark that comes with the pyspark beside yarntune; None where that is not installed."""
    home = _pyspark_home()
    return None if home is None else SparkInstallation(home / "bin" / "spark-submit", home, sys.executable)


def _pyspark_home() -> Path | None:
    spec = importlib.util.find_spec("pyspark")
    return Path(spec.origin).parent if spec and spec.origin else None


class SparkProcess:
    """One running spark-submit, in a session of its own so that a Ctrl-C at the terminal is ours to handle.

    Args:
        command: the program and its arguments.
        environ: its whole environment.
        output: file that takes its standard output, which in client mode is the application's.
        log: file that takes its standard error.
    """

    def __init__(self, command: Sequence[str], environ: Mapping[str, str], output: Path, log: Path) -> None:
        self.output = output
        self.log = log
        with output.open("wb") as out, log.open("wb") as err:
            self._process = subprocess.Popen(
                list(command),
                env=dict(environ),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )

    def exit_status(self) -> int | None:
        """The exit status, or None while it runs."""
        return self._process.poll()

    def stop(self) -> None:
        """Ends it and its children: politely, then for good."""
        for step in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, step)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_TERM_GRACE_S)
                break

    def last_error(self) -> str:
        """The line of what it printed that says why it failed."""
        return telling_line(_lines(self.output), _lines(self.log))


def _lines(path: Path) -> list[str]:
    return path.read_text(errors="replace").splitlines()
