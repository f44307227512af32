"""Where a cluster keeps what in the state folder."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from tuner.errors import ClusterError, InputError
from tuner.settings import Settings
from workloads.cluster.spec import RunningCluster, check_name

LOCK_TIMEOUT_S = 180.0
_PLAIN_PATH = re.compile(r"[A-Za-z0-9/._@+=~-]+")


@dataclass(frozen=True)
class Layout:
    """The files of the cluster called ``name``: ``STATE/clusters/NAME/...``."""

    root: Path

    @classmethod
    def of(cls, settings: Settings, name: str) -> Layout:
        """The layout of one cluster; nothing is made.

        Raises:
            InputError: it is not a name, or the state folder has a character that Hadoop gives a meaning of its own.
        """
        check_name(name)
        root = settings.state_dir / "clusters" / name
        for character, meaning in ((":", "class paths"), ("$", "variables"), ("\n", "lines")):
            if character in str(root):
                raise InputError(
                    f"the state folder {str(settings.state_dir)!r} has {character!r} in its path, "
                    f"which has a meaning of its own in Hadoop's {meaning}",
                    "set YARNTUNE_STATE_DIR to another folder",
                )
        return cls(root)

    @property
    def record(self) -> Path:
        """There while the cluster is up: what other programs find it by."""
        return self.root / "cluster.json"

    @property
    def hadoop_conf(self) -> Path:
        """For HADOOP_CONF_DIR, and the ResourceManager's own."""
        return self.root / "conf" / "hadoop"

    @property
    def spark_conf(self) -> Path:
        """For SPARK_CONF_DIR."""
        return self.root / "conf" / "spark"

    @property
    def logs(self) -> Path:
        """The daemons' logs."""
        return self.root / "logs"

    @property
    def event_logs(self) -> Path:
        """Spark's event logs; they outlive ``down``."""
        return self.root / "event-logs"

    @property
    def store(self) -> Path:
        """The leveldb configuration store; it outlives ``down``, as it outlives a restart of a real one."""
        return self.root / "store"

    @property
    def scratch(self) -> Path:
        """What is worth nothing once the cluster is down: local dirs, containers, staging.

        Spark writes container commands without quotes, and YARN localizes a path with a blank wrongly, so for such a
        state folder this one is in the folder for temporary files.
        """
        if _PLAIN_PATH.fullmatch(str(self.root)):
            return self.root / "tmp"
        digest = hashlib.sha256(str(self.root).encode()).hexdigest()[:16]
        return Path(tempfile.gettempdir()).resolve() / f"yarntune-{os.getuid()}-{digest}"

    def make_scratch(self) -> None:
        """Makes :attr:`scratch` anew, for this user alone.

        Raises:
            ClusterError: somebody else's file is in its place.
        """
        shutil.rmtree(self.scratch, ignore_errors=True)
        try:
            self.scratch.mkdir(mode=0o700, parents=True)
        except FileExistsError:
            raise ClusterError(
                f"{self.scratch} is there already and cannot be removed", "remove it, or set TMPDIR to another folder"
            ) from None

    def node(self, number: int) -> Path:
        """A NodeManager's own folder; numbers start at 1."""
        return self.scratch / f"node-{number}"

    @property
    def _lock(self) -> Path:
        return self.root.with_name(f".{self.root.name}.lock")

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Holds the cluster's lock: one ``up`` or ``down`` at a time, in all processes.

        Raises:
            ClusterError: another one has not come to its end for three minutes, or the folder cannot be written.
        """
        try:
            self.root.parent.mkdir(parents=True, exist_ok=True)
            lock = FileLock(self._lock, timeout=LOCK_TIMEOUT_S)
            lock.acquire()
        except Timeout:
            raise ClusterError(
                f"another yarntune has been starting or ending the cluster {self.root.name} for {LOCK_TIMEOUT_S:.0f} s",
                "see what it does, end it, then try again",
            ) from None
        except OSError as error:
            raise ClusterError(
                f"the state folder cannot be written: {error}", "set YARNTUNE_STATE_DIR to a folder that can be"
            ) from error
        try:
            yield
        finally:
            lock.release()

    def read(self) -> RunningCluster | None:
        """The record of the cluster; None where there is none or it cannot be understood."""
        try:
            document = json.loads(self.record.read_text(encoding="utf-8"))
            return RunningCluster.from_json(document)
        except (OSError, ValueError, KeyError, TypeError, InputError):
            return None

    def write(self, cluster: RunningCluster) -> None:
        """Writes the record; a reader sees a whole one or none."""
        write_text(self.record, json.dumps(cluster.to_json(), indent=2, ensure_ascii=False) + "\n")


def write_text(path: Path, text: str) -> None:
    """Writes a whole file or nothing: a temporary file beside it, then a rename."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)


def known_names(settings: Settings) -> tuple[str, ...]:
    """The clusters that have a folder, up or down, by name."""
    folder = settings.state_dir / "clusters"
    if not folder.is_dir():
        return ()
    return tuple(sorted(entry.name for entry in folder.iterdir() if entry.is_dir() and not entry.name.startswith(".")))
