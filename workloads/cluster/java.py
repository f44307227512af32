"""The Java that daemons and Spark run on."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tuner.errors import MissingToolError

MINIMUM_VERSION = 17
INSTALL_HINT = "apt-get install openjdk-17-jdk-headless, or set JAVA_HOME to a JDK 17 or newer"


@dataclass(frozen=True)
class Java:
    """One Java installation.

    Attributes:
        home: what JAVA_HOME is set to for the daemons and their containers.
        executable: the ``java`` program in it.
    """

    home: Path
    executable: Path


def find_java(environ: Mapping[str, str] | None = None) -> Java:
    """The Java of JAVA_HOME where that is set, else the ``java`` on the PATH.

    Raises:
        MissingToolError: there is none; JAVA_HOME is never quietly passed over for the PATH.
    """
    env = os.environ if environ is None else environ
    home = env.get("JAVA_HOME")
    if home:
        executable = Path(home, "bin", "java").absolute()
        if not os.access(executable, os.X_OK):
            raise MissingToolError(f"JAVA_HOME is {home!r}, but there is no Java in it", INSTALL_HINT)
        return Java(executable.parent.parent, executable)
    found = shutil.which("java", path=env.get("PATH"))
    if not found:
        raise MissingToolError("no Java was found: JAVA_HOME is not set and java is not on the PATH", INSTALL_HINT)
    executable = Path(found).resolve()
    return Java(executable.parent.parent, executable)


def java_version(java: Java) -> int:
    """The feature version, for example 17; 0 where the program does not say it.

    Starts a JVM, so it is asked only when something went wrong or an archive is keyed by it.
    """
    try:
        result = subprocess.run([java.executable, "-version"], capture_output=True, text=True, check=False, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return 0
    match = re.search(r'version "(\d+)(?:\.(\d+))?', result.stderr)
    if match is None:
        return 0
    return int(match.group(2) or 0) if match.group(1) == "1" else int(match.group(1))
