"""The few jars that turn pyspark's own Hadoop client into a ResourceManager and NodeManagers.

They are named by coordinates and pinned by SHA-256, and fetched with Maven where it is there, else with the Ivy that
comes with pyspark, both with their own defaults (mirrors, proxies, credentials), into a cache outside the clone.
``python -m workloads.cluster.jars`` fetches them, makes the class-data archives, and does nothing when all is there.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from tuner.errors import MissingToolError, YarntuneError
from tuner.settings import Settings
from workloads.cluster.java import Java, find_java

LOCK_TIMEOUT_S = 900.0
FETCH_TIMEOUT_S = 600.0
_STAMP_FILE = "verified.json"


@dataclass(frozen=True)
class Jar:
    """One published jar: Maven coordinates and the SHA-256 of the file."""

    organisation: str
    module: str
    version: str
    sha256: str

    @property
    def filename(self) -> str:
        """The name it has in a Maven repository and in the cache."""
        return f"{self.module}-{self.version}.jar"

    @property
    def coordinates(self) -> str:
        """``organisation:module:version``, as Maven writes it."""
        return f"{self.organisation}:{self.module}:{self.version}"


# The version of the shaded jar is that of the hadoop-client-* jars inside pyspark 4.3; a test compares the two.
# BouncyCastle is what the ResourceManager's web proxy makes its certificates with, and the shaded jar leaves it out.
JARS: tuple[Jar, ...] = (
    Jar(
        "org.apache.hadoop",
        "hadoop-client-minicluster",
        "3.5.0",
        "06772d24529e59939915979b3edba204d367750ef7dc5120411f35221dd4818c",
    ),
    Jar(
        "org.bouncycastle",
        "bcprov-jdk18on",
        "1.78.1",
        "add5915e6acfc6ab5836e1fd8a5e21c6488536a8c1f21f386eeb3bf280b702d7",
    ),
    Jar(
        "org.bouncycastle",
        "bcpkix-jdk18on",
        "1.78.1",
        "4b48ea084e5232b9d79ebca1887b9de037b124931807cd60710748c2aee08cc9",
    ),
    Jar(
        "org.bouncycastle",
        "bcutil-jdk18on",
        "1.78.1",
        "d9fa56f97b0f761ce3bc8d9d74c5d7137a987bf5bd3abfe1003f9bafa45a1d2f",
    ),
)

# The shaded jar renamed the leveldb library's packages in the class that uses it, but left the library out. This is the
# same class as it was before; `extract_leveldb_classes` takes it from here, and pyspark has the library.
LEVELDB_STORE = Jar(
    "org.apache.hadoop",
    "hadoop-yarn-server-resourcemanager",
    "3.5.0",
    "ca92ea7f3b870fd7cd3225caa15707c6f3c6da9c107465f02f2e02e5e8f1706d",
)
_LEVELDB_CLASSES = re.compile(
    r"org/apache/hadoop/yarn/server/resourcemanager/"
    r"(DBManager|scheduler/capacity/conf/LeveldbConfigurationStore)(\$\w+)?\.class"
)

# A fetcher puts the wanted jars into a folder; whatever it could not get is simply not there afterwards.
Fetcher = Callable[[Sequence[Jar], Path, Java], str]


def pyspark_home() -> Path:
    """The folder of the installed pyspark, which is a whole Spark; pyspark itself is not imported (slow)."""
    from importlib.util import find_spec

    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise MissingToolError("pyspark is not installed in this Python", "run make setup")
    return Path(spec.origin).parent


def jar_folder(settings: Settings) -> Path:
    """Where the fetched jars are kept."""
    return settings.cache_dir / "jars"


def ensure_jars(
    settings: Settings, *, jars: Sequence[Jar] = JARS, note: Callable[[str], None] = lambda _: None
) -> tuple[Path, ...]:
    """Returns the paths of all jars, fetching those that are missing or damaged.

    A file is hashed when it is new or its size or modification time changed since it was last found right. Two
    processes at once are safe, and after a failure it can simply be called again.

    Args:
        settings: names the cache folder.
        jars: what to have; the default is what a cluster needs.
        note: told what is going on when something has to be fetched.

    Raises:
        YarntuneError: a jar could not be fetched, or what came is not what was published.
        MissingToolError: neither Maven nor Java is there to fetch with.
    """
    folder = jar_folder(settings)
    if not _unverified(folder, jars):
        return tuple(folder / jar.filename for jar in jars)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / ".lock", timeout=LOCK_TIMEOUT_S):
            wanted = _verify(folder, jars)
            if wanted:
                for left in folder.glob(".fetch-*"):
                    # Of a process that was killed; nobody else is at work while the lock is held.
                    shutil.rmtree(left, ignore_errors=True)
                _fetch(wanted, folder, note)
    except Timeout:
        raise YarntuneError(
            f"another process has held {folder / '.lock'} for too long", "end it, then try again"
        ) from None
    except OSError as error:
        raise YarntuneError(
            f"the cache of jars cannot be written: {error}", "set YARNTUNE_CACHE_DIR to a folder that can be"
        ) from error
    return tuple(folder / jar.filename for jar in jars)


def extract_leveldb_classes(settings: Settings) -> Path:
    """The folder with the classes of the leveldb configuration store; it goes first on the class path."""
    (jar,) = ensure_jars(settings, jars=(LEVELDB_STORE,))
    folder = jar_folder(settings) / f"leveldb-store-{LEVELDB_STORE.version}"
    if not folder.is_dir():
        with tempfile.TemporaryDirectory(
            prefix=".leveldb-", dir=jar_folder(settings), ignore_cleanup_errors=True
        ) as staging:
            with zipfile.ZipFile(jar) as archive:
                archive.extractall(staging, [name for name in archive.namelist() if _LEVELDB_CLASSES.fullmatch(name)])
            # Another process may have been as fast; its folder is the same.
            with contextlib.suppress(OSError):
                Path(staging).rename(folder)
    return folder


def _stamp_of(path: Path) -> list[int]:
    status = path.stat()
    return [status.st_size, status.st_mtime_ns]


def _read_stamps(folder: Path) -> dict[str, object]:
    try:
        stamps = json.loads((folder / _STAMP_FILE).read_text())
    except (OSError, ValueError):
        return {}
    return stamps if isinstance(stamps, dict) else {}


def _unverified(folder: Path, jars: Sequence[Jar]) -> list[Jar]:
    """The jars that are missing or have changed since they were hashed."""
    stamps = _read_stamps(folder)

    def known(jar: Jar) -> bool:
        try:
            return stamps.get(jar.filename) == [jar.sha256, *_stamp_of(folder / jar.filename)]
        except OSError:
            return False

    return [jar for jar in jars if not known(jar)]


def _verify(folder: Path, jars: Sequence[Jar]) -> list[Jar]:
    """Hashes what is unverified, remembers what is right, and returns what has to be fetched."""
    missing = []
    stamps = _read_stamps(folder)
    for jar in _unverified(folder, jars):
        path = folder / jar.filename
        if path.is_file() and _sha256(path) == jar.sha256:
            stamps[jar.filename] = [jar.sha256, *_stamp_of(path)]
        else:
            missing.append(jar)
    temporary = folder / f"{_STAMP_FILE}.{os.getpid()}"
    temporary.write_text(json.dumps(stamps))
    temporary.replace(folder / _STAMP_FILE)
    return missing


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _fetch(wanted: Sequence[Jar], folder: Path, note: Callable[[str], None]) -> None:
    java = find_java()
    problems: list[str] = []
    remaining = list(wanted)
    for name, fetcher in (("Maven", fetch_with_maven), ("Ivy", fetch_with_ivy)):
        note(f"fetching {', '.join(jar.filename for jar in remaining)} with {name}")
        # Inside the cache folder, so that the last step is a rename on the same file system.
        with tempfile.TemporaryDirectory(prefix=".fetch-", dir=folder) as staging:
            problem = fetcher(remaining, Path(staging), java)
            for jar in remaining:
                arrived = Path(staging, jar.filename)
                if not arrived.is_file():
                    continue
                if (actual := _sha256(arrived)) != jar.sha256:
                    problem = f"the SHA-256 of {jar.filename} is {actual}, not {jar.sha256}, so it is not used"
                    continue
                arrived.replace(folder / jar.filename)
        remaining = _verify(folder, wanted)
        if not remaining:
            return
        problems.append(f"{name}: {problem or 'it did not deliver ' + remaining[0].filename}")
    raise YarntuneError(
        f"{', '.join(jar.coordinates for jar in remaining)} could not be fetched ({'; '.join(problems)})",
        "check the network, or Maven's mirror in ~/.m2/settings.xml, and run it again; "
        f"or put the file{'s' if len(remaining) > 1 else ''} into {folder} by hand",
    )


_POM = """\
<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>yarntune</groupId><artifactId>jars</artifactId><version>1</version><packaging>pom</packaging>
<dependencies>{dependencies}</dependencies></project>
"""


def fetch_with_maven(jars: Sequence[Jar], folder: Path, java: Java) -> str:
    """Fetches with ``mvn dependency:copy-dependencies``; returns what went wrong, or nothing."""
    maven = shutil.which("mvn")
    if maven is None:
        return "mvn is not on the PATH"
    dependencies = "".join(
        f"<dependency><groupId>{jar.organisation}</groupId><artifactId>{jar.module}</artifactId>"
        f"<version>{jar.version}</version></dependency>"
        for jar in jars
    )
    pom = folder / "pom.xml"
    pom.write_text(_POM.format(dependencies=dependencies))
    arguments = [
        "-f",
        str(pom),
        "dependency:copy-dependencies",
        "-DexcludeTransitive=true",
        f"-DoutputDirectory={folder}",
    ]
    return _run([maven, "-q", "-B", *arguments], java)


_IVY = """\
<ivy-module version="2.0"><info organisation="yarntune" module="jars"/>
<dependencies>{dependencies}</dependencies></ivy-module>
"""


def fetch_with_ivy(jars: Sequence[Jar], folder: Path, java: Java) -> str:
    """Fetches with the Ivy inside pyspark; returns what went wrong, or nothing.

    Its cache is a folder of its own for this one call: a damaged download must not come back from ~/.ivy2.
    """
    ivy = sorted((pyspark_home() / "jars").glob("ivy-*.jar"))
    if not ivy:
        return f"there is no ivy jar in {pyspark_home() / 'jars'}"
    dependencies = "".join(
        f'<dependency org="{jar.organisation}" name="{jar.module}" rev="{jar.version}" transitive="false"/>'
        for jar in jars
    )
    module = folder / "ivy.xml"
    module.write_text(_IVY.format(dependencies=dependencies))
    arguments = ["-ivy", str(module), "-cache", str(folder / "ivy-cache"), "-types", "jar"]
    pattern = str(folder / "[artifact]-[revision].[ext]")
    command = [java.executable, "-cp", ivy[-1], "org.apache.ivy.Main", *arguments, "-retrieve", pattern]
    return _run([str(part) for part in command], java)


def _run(command: Sequence[str], java: Java) -> str:
    environment = {**os.environ, "JAVA_HOME": str(java.home)}
    try:
        result = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=FETCH_TIMEOUT_S,
            env=environment,
        )
    except subprocess.TimeoutExpired:
        return f"it took more than {FETCH_TIMEOUT_S:.0f} s"
    except OSError as error:
        return str(error)
    if result.returncode == 0:
        return ""
    lines = [line.strip() for line in (result.stdout + result.stderr).splitlines()]
    telling = [
        line for line in lines if "ERROR" in line or "FAILED" in line or "not found" in line or "Exception" in line
    ]
    return next(iter(telling or lines), f"exit status {result.returncode}")[:300]


def main(arguments: Sequence[str] | None = None) -> int:
    """``python -m workloads.cluster.jars [--quiet]``; exit status 0 all there, 1 not."""
    parser = argparse.ArgumentParser(
        prog="python -m workloads.cluster.jars", description="Fetch the embedded cluster's jars."
    )
    parser.add_argument("--quiet", action="store_true", help="say nothing when all is there")
    quiet = parser.parse_args(arguments).quiet

    def note(text: str) -> None:
        print(f"jars: {text}", flush=True)

    try:
        settings = Settings.from_environment()
        paths = ensure_jars(settings, jars=(*JARS, LEVELDB_STORE), note=note)
        # Not at the top: it starts clusters, for which it needs this module.
        from workloads.cluster.training import ensure_archives

        ensure_archives(settings, note=note)
    except YarntuneError as error:
        print(f"error: {error.message}", file=sys.stderr)
        if error.hint:
            print(f"hint: {error.hint}", file=sys.stderr)
        return 1
    if not quiet:
        print(f"jars: all {len(paths)} are in {paths[0].parent}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
