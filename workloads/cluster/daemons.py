"""The command lines and the environment of the ResourceManager and the NodeManagers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from workloads.cluster.config import HOST, MARKER_VARIABLE
from workloads.cluster.java import Java

RESOURCE_MANAGER = "org.apache.hadoop.yarn.server.resourcemanager.ResourceManager"
NODE_MANAGER = "org.apache.hadoop.yarn.server.nodemanager.NodeManager"
RM_ADMIN = "org.apache.hadoop.yarn.client.cli.RMAdminCLI"
_SPARK_JARS = (
    "hadoop-client-api-*",
    "hadoop-client-runtime-*",
    "slf4j-api-*",
    "log4j-*",
    "jul-to-slf4j-*",
    "jcl-over-slf4j-*",
    "commons-logging-*",
    "snappy-java-*",
    "leveldbjni-all-*",
)
_HEAP = {RESOURCE_MANAGER: "512m", NODE_MANAGER: "256m", RM_ADMIN: "128m"}
# Start-up and memory count here, throughput does not: the first compiler only, one collector thread.
_OPTIONS = (
    "--add-opens=java.base/java.lang=ALL-UNNAMED",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:-UsePerfData",
    "-XX:+ExitOnOutOfMemoryError",
    "-Djava.net.preferIPv4Stack=true",
    "-Dfile.encoding=UTF-8",
)
# What the daemons and their containers see of the environment of whoever started them: a container's programs must
# not depend on which terminal `up` was called from.
_INHERITED = ("PATH", "HOME", "USER", "LOGNAME", "TZ", "TMPDIR", "LD_LIBRARY_PATH")


def class_path(jars: Sequence[Path], spark_jars: Path) -> tuple[Path, ...]:
    """The jars of a daemon: the fetched ones first, then those of pyspark; the configuration folder goes last."""
    from_spark = [path for pattern in _SPARK_JARS for path in sorted(spark_jars.glob(f"{pattern}.jar"))]
    return (*jars, *from_spark)


def client_environment(java: Java) -> dict[str, str]:
    """The environment of Hadoop's and Spark's programs, whichever terminal they are started from."""
    return {
        **{name: os.environ[name] for name in _INHERITED if name in os.environ},
        "JAVA_HOME": str(java.home),
        # Without a UTF-8 locale a JVM 17 cannot open a file whose name has an umlaut.
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
    }


def environment(java: Java, marker: Path) -> dict[str, str]:
    """The environment of a daemon.

    Args:
        java: its home is handed on to containers, which start their JVMs from it.
        marker: the cluster's folder.
    """
    return {
        **client_environment(java),
        # Else ApplicationMasters and executors listen where the machine's own name leads, which may be the network.
        "SPARK_LOCAL_IP": HOST,
        MARKER_VARIABLE: str(marker),
    }


def command(main_class: str, java: Java, jars: Sequence[Path], conf: Path, *, options: Sequence[str] = ()) -> list[str]:
    """The command line of one of Hadoop's mains, with its configuration folder last on the class path.

    Args:
        main_class: one of the constants of this module.
        java: what it runs on.
        jars: see :func:`class_path`.
        conf: the configuration folder.
        options: more JVM options; where two contradict each other these hold.
    """
    options = [f"-Xmx{_HEAP[main_class]}", *_OPTIONS, *options]
    return [str(java.executable), *options, "-cp", os.pathsep.join(map(str, (*jars, conf))), main_class]
