"""Class-data archives: most of a short job's time here is JVMs reading and verifying the same classes.

An archive (JEP 310) holds them ready-made for one Java and one list of jars. Without one, or with another Java,
everything works and is slower; :mod:`workloads.cluster.training` makes them. The class path at run time must begin with
the one that the archive was made with, and may hold no folder before its end. Spark puts folders first, so what goes
in front of them is one jar whose manifest names all of Spark's.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tuner.settings import Settings
from workloads.cluster.java import Java

DAEMONS = "daemons.jsa"
SPARK = "spark.jsa"
SPARK_CLASS_PATH = "spark-classpath.jar"
# Written last; says which Java and Spark the archives beside it were made from.
COMPLETE = "origin.json"
# Options and manifests separate their parts by blanks; such a path is rare and not worth a way around.
_PLAIN = re.compile(r"[A-Za-z0-9/._@+~-]+")
# The ApplicationMaster of a client-mode job only passes messages on.
_LIGHT_JVM = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


@dataclass(frozen=True)
class Tuning:
    """What is laid over a cluster's own settings.

    Attributes:
        daemon_options: JVM options of the ResourceManager and the NodeManagers; ``{role}`` in them is the role.
        yarn_properties: over yarn-site.xml.
        spark_properties: over spark-defaults.conf.
    """

    daemon_options: tuple[str, ...] = ()
    yarn_properties: Mapping[str, str] = field(default_factory=dict)
    spark_properties: Mapping[str, str] = field(default_factory=dict)


def archive_folder(settings: Settings, java: Java, class_path: Sequence[Path], spark_home: Path) -> Path:
    """Where the archives for this Java and these jars are or would be: the name says what they were made from."""
    digest = hashlib.sha256(f"{java.home}\n".encode())
    release = java.home / "release"
    digest.update(release.read_bytes() if release.is_file() else b"")
    for jar in (*class_path, *spark_jars(spark_home)):
        status = jar.stat()
        digest.update(f"{jar} {status.st_size} {status.st_mtime_ns}\n".encode())
    return settings.cache_dir / "class-data" / digest.hexdigest()[:16]


def spark_jars(spark_home: Path) -> list[Path]:
    """All jars of Spark in an order that does not depend on the file system."""
    return sorted((spark_home / "jars").glob("*.jar"))


def is_plain(*paths: Path) -> bool:
    """Whether archives can be used with these paths."""
    return all(_PLAIN.fullmatch(str(path)) for path in paths)


def tuning(settings: Settings, java: Java, class_path: Sequence[Path], spark_home: Path) -> Tuning:
    """The tuning that uses the archives; what of it does not need one where there is none."""
    folder = archive_folder(settings, java, class_path, spark_home)
    if not (folder / COMPLETE).is_file():
        return Tuning(spark_properties={"spark.yarn.am.extraJavaOptions": " ".join(_LIGHT_JVM)})
    spark = _sharing(folder / SPARK)
    jar = str(folder / SPARK_CLASS_PATH)
    return Tuning(
        daemon_options=_sharing(folder / DAEMONS),
        spark_properties={
            "spark.driver.extraClassPath": jar,
            "spark.executor.extraClassPath": jar,
            # These go before a user's own extraJavaOptions and do not replace them.
            "spark.driver.defaultJavaOptions": " ".join(spark),
            "spark.executor.defaultJavaOptions": " ".join(spark),
            "spark.yarn.am.extraJavaOptions": " ".join((*spark, *_LIGHT_JVM)),
        },
    )


def _sharing(archive: Path) -> tuple[str, ...]:
    # A Java that the archive does not fit goes on without it; it need not tell every user of spark-submit.
    return (f"-XX:SharedArchiveFile={archive}", "-Xshare:auto", "-Xlog:cds=off", "-Xlog:class+path=off")


def manifest(spark_home: Path, folder: Path) -> bytes:
    """The manifest of :data:`SPARK_CLASS_PATH` when that lies in ``folder``: lines of at most 72 bytes (JAR format)."""
    relative = os.path.relpath(spark_home / "jars", folder)
    line = f"Class-Path: {' '.join(f'{relative}/{jar.name}' for jar in spark_jars(spark_home))}".encode()
    rest = range(70, len(line), 69)
    lines = [b"Manifest-Version: 1.0", line[:70], *(b" " + line[start : start + 69] for start in rest)]
    return b"\r\n".join(lines) + b"\r\n\r\n"
