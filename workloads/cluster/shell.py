"""The environment that makes Spark and Hadoop's clients use a cluster."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

from workloads.cluster.config import HOST
from workloads.cluster.jars import pyspark_home
from workloads.cluster.spec import RunningCluster


def environment(cluster: RunningCluster) -> dict[str, str]:
    """The variables for a program that submits to the cluster; add them to its environment."""
    # A JVM 17 cannot open a file whose name has an umlaut unless the locale is a UTF-8 one.
    locale = {} if str(cluster.hadoop_conf_dir).isascii() else {"LC_ALL": "C.UTF-8"}
    return {
        "HADOOP_CONF_DIR": str(cluster.hadoop_conf_dir),
        "YARN_CONF_DIR": str(cluster.hadoop_conf_dir),
        "SPARK_CONF_DIR": str(cluster.spark_conf_dir),
        "SPARK_HOME": str(pyspark_home()),
        "PYSPARK_PYTHON": sys.executable,
        "JAVA_HOME": str(cluster.java_home),
        "SPARK_LOCAL_IP": HOST,
        **locale,
    }


def exports(variables: Mapping[str, str], *, path: str = "") -> str:
    """The variables as lines for ``eval``, quoted for any POSIX shell.

    Args:
        variables: name to value.
        path: the caller's PATH; where spark-submit is not on it, the folder that has it is put in front.
    """
    lines = [f"export {name}={shlex.quote(value)}" for name, value in variables.items()]
    programs = Path(sys.executable).parent
    if str(programs) not in path.split(os.pathsep):
        lines.append(f'export PATH={shlex.quote(str(programs))}:"$PATH"')
    return "\n".join(lines)
