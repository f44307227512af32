"""Compiles the oracle's Java and fetches Hadoop's jars, into a cache outside the project, once."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

from tuner.errors import YarntuneError
from workloads.cluster.java import find_java

HADOOP_VERSIONS = ("3.4.2", "3.5.0")
"""The first is the reference; the oracle is tried with all of them."""

_HERE = Path(__file__).resolve().parent
_POM = _HERE / "pom.xml"
_TIMEOUT_S = 600.0
_LOG4J = """\
log4j.rootLogger=FATAL,console
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.target=System.err
log4j.appender.console.layout=org.apache.log4j.SimpleLayout
"""


class OracleUnavailableError(YarntuneError):
    """There is no JDK or Maven to build the oracle with, or the build failed."""


@dataclass(frozen=True)
class Build:
    """A compiled oracle.

    Attributes:
        hadoop: version of Hadoop's jars.
        java: the ``java`` program to run it with.
        class_path: what to run it on.
        key: changes with the sources, the jars' list and Hadoop's version.
    """

    hadoop: str
    java: Path
    class_path: str
    key: str


def build(cache: Path, hadoop: str = HADOOP_VERSIONS[0]) -> Build:
    """Returns the compiled oracle; does nothing when the cache has it.

    Args:
        cache: folder for jars and classes, made where it is missing; processes may share it.
        hadoop: version of Hadoop.

    Raises:
        OracleUnavailableError: with what is missing or what went wrong.
    """
    sources = sorted((_HERE / "java").rglob("*.java"))
    jars = cache / f"jars-{_digest([_POM], hadoop)}"
    key = _digest([_POM, *sources], hadoop + _LOG4J)
    classes = cache / f"classes-{key}"
    java = find_java().executable
    if not classes.is_dir():
        compiler, maven = java.with_name("javac"), shutil.which("mvn")
        if not compiler.exists() or maven is None:
            missing = "Maven" if compiler.exists() else "a JDK (there is a Java, but no javac)"
            raise OracleUnavailableError(f"the oracle needs {missing}", "apt-get install openjdk-17-jdk-headless maven")
        cache.mkdir(parents=True, exist_ok=True)
        with FileLock(cache / ".lock", timeout=2 * _TIMEOUT_S):
            if not jars.is_dir():
                _make(jars, lambda folder: _fetch(maven, hadoop, folder))
            if not classes.is_dir():
                _make(classes, lambda folder: _compile(compiler, jars, sources, folder))
    return Build(hadoop, java, os.pathsep.join((str(classes), str(jars / "*"))), key)


def _digest(files: Sequence[Path], text: str) -> str:
    digest = hashlib.sha256(text.encode())
    for file in files:
        digest.update(f"{file.relative_to(_HERE)}\0".encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def _make(folder: Path, fill: Callable[[Path], None]) -> None:
    """Fills a folder, which is then there whole or not at all."""
    new = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".new-"))
    try:
        fill(new)
        new.rename(folder)
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _fetch(maven: str, hadoop: str, folder: Path) -> None:
    goal = "dependency:copy-dependencies"
    with tempfile.TemporaryDirectory() as scratch:
        pom = Path(shutil.copy(_POM, scratch))
        _run([maven, "-q", "-B", "-f", str(pom), goal, f"-Dhadoop.version={hadoop}", f"-DoutputDirectory={folder}"])


def _compile(compiler: Path, jars: Path, sources: Sequence[Path], folder: Path) -> None:
    options = ["-nowarn", "-cp", str(jars / "*"), "-d", str(folder)]
    _run([str(compiler), *options, *map(str, sources)])
    (folder / "log4j.properties").write_text(_LOG4J)


def _run(command: Sequence[str]) -> None:
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        raise OracleUnavailableError(f"{Path(command[0]).name} took more than {_TIMEOUT_S:.0f} s") from None
    if result.returncode != 0:
        words = "\n".join((result.stdout + result.stderr).strip().splitlines()[:20])
        raise OracleUnavailableError(f"{Path(command[0]).name} failed: {words}")
