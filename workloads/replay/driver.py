"""The one JVM that is the ApplicationMaster of all replayed jobs: compiled once, started for each replay.

A replay of 50 jobs needs 50 ApplicationMasters. As JVMs they would take 50 times 100 MiB and a second of CPU time each,
so their containers hold a shell that lends its token to this JVM. To YARN they are applications as any other: they wait
for room under the AM limits and hold their container to the end (``docs/workloads.md``).
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import queue
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from filelock import FileLock

from tuner.errors import MissingToolError, YarntuneError
from tuner.settings import Settings
from workloads.cluster import archives, daemons
from workloads.cluster.jars import ensure_jars, pyspark_home
from workloads.cluster.java import INSTALL_HINT, Java, find_java

__all__ = ["Driver", "build"]

_SOURCES: Final = Path(__file__).parent / "java"
_MAIN: Final = "yarntune.replay.Replay"
_COMPILE_TIMEOUT_S: Final = 300.0
_END_TIMEOUT_S: Final = 30.0
_JVM: Final = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.net.preferIPv4Stack=true")
_LOG: Final = """\
status = error
appender.err.type = Console
appender.err.name = err
appender.err.target = SYSTEM_ERR
appender.err.layout.type = PatternLayout
appender.err.layout.pattern = %p %c{1}: %m%n
rootLogger.level = error
rootLogger.appenderRef.err.ref = err
"""


def _class_path(settings: Settings) -> tuple[Path, ...]:
    """Hadoop's client as the embedded cluster has it, and Spark's Jackson."""
    jars = pyspark_home() / "jars"
    jackson = [
        path for name in ("core", "databind", "annotations") for path in sorted(jars.glob(f"jackson-{name}-*.jar"))
    ]
    return (*daemons.class_path(ensure_jars(settings), jars), *jackson)


def build(settings: Settings, java: Java) -> Path:
    """The folder of the compiled classes; compiles them where the cache does not have them (about 3 s).

    Raises:
        MissingToolError: the Java that is there has no compiler.
        YarntuneError: it does not compile.
    """
    sources = sorted(_SOURCES.rglob("*.java"))
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:16]
    folder = settings.cache_dir / "replay" / digest
    if folder.is_dir():
        return folder
    compiler = java.executable.with_name("javac")
    if not compiler.exists():
        raise MissingToolError(f"a live replay is compiled once, and {java.home} has no javac", INSTALL_HINT)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_suffix(".lock"), timeout=_COMPILE_TIMEOUT_S):
        if folder.is_dir():
            return folder
        new = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".new-"))
        try:
            class_path = os.pathsep.join(map(str, _class_path(settings)))
            command = [str(compiler), "-nowarn", "-proc:none", "-cp", class_path, "-d", str(new), *map(str, sources)]
            result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_COMPILE_TIMEOUT_S)
            if result.returncode != 0:
                raise YarntuneError(f"the replay's Java does not compile: {result.stderr[:400]}")
            (new / "log4j2.properties").write_text(_LOG)
            new.rename(folder)
        finally:
            shutil.rmtree(new, ignore_errors=True)
    return folder


class Driver:
    """A running replay's JVM; a context that ends it."""

    def __init__(self, plan: Mapping[str, Any], settings: Settings, hadoop_conf_dir: Path) -> None:
        java = find_java()
        classes = build(settings, java)
        jars = _class_path(settings)
        sharing = archives.tuning(settings, java, jars[:-3], pyspark_home()).daemon_options
        class_path = os.pathsep.join(map(str, (*jars, classes, hadoop_conf_dir)))
        options = [*_JVM, *sharing, f"-Dlog4j2.configurationFile={(classes / 'log4j2.properties').as_uri()}"]
        self._errors = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115 - lives as long as the process
        self._process = subprocess.Popen(
            [str(java.executable), *options, "-cp", class_path, _MAIN],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env=daemons.client_environment(java),
            # Ctrl-C is for this process, which lets the JVM kill its applications.
            start_new_session=True,
        )
        self._events: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, name="replay-events", daemon=True)
        self._reader.start()
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(plan) + "\n")
            self._process.stdin.flush()

    def __enter__(self) -> Driver:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with contextlib.suppress(ValueError):
                self._events.put(json.loads(line))
        self._events.put(None)

    def event(self, timeout_s: float) -> dict[str, Any] | None:
        """The next event; None where none comes in time.

        Raises:
            YarntuneError: the JVM has ended before the replay has.
        """
        try:
            event = self._events.get(timeout=timeout_s)
        except queue.Empty:
            return None
        if event is None:
            self._events.put(None)
            raise YarntuneError(f"the replay's JVM ended early: {self._said() or 'it said nothing'}")
        return event

    def _said(self) -> str:
        self._errors.seek(0)
        lines = [line.strip() for line in self._errors.read().splitlines() if line.strip()]
        telling = [line for line in lines if "Exception" in line or "Error" in line]
        return (telling or lines or [""])[0][:400]

    def close(self) -> None:
        """Calls off what still runs: the JVM kills its applications when its input ends, or else is killed itself."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(timeout=_END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(timeout=_END_TIMEOUT_S)
        self._reader.join(timeout=_END_TIMEOUT_S)
        self._process.stdout.close()
        self._errors.close()
