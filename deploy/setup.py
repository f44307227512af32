#!/usr/bin/env python3
"""Makes ``.venv`` in this clone, with yarntune in it, and fetches the jars of the embedded cluster.

Standard library only: it runs before anything is installed. Run it again after a failure; when all is there it does
nothing. ``make setup`` calls it.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

CLONE = Path(__file__).resolve().parent.parent
VENV = CLONE / ".venv"
STAMP = VENV / ".yarntune-setup"
LOCK = CLONE / "requirements.lock"
MINIMUM_JAVA = 17


class MissingError(Exception):
    """Something that setup cannot install itself is not there."""


def check_python() -> None:
    """Python 3.11 or newer, with what makes virtual environments."""
    if sys.version_info < (3, 11):  # noqa: UP036
        found = f"{sys.version_info.major}.{sys.version_info.minor}"
        advice = "apt-get install python3.11, then PYTHON=python3.11 make setup"
        raise MissingError(f"Python 3.11 or newer is needed, this is {found}: {advice}")


def check_java() -> None:
    """A JDK 17 or newer: Spark and Hadoop run on it."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java")
    advice = "apt-get install openjdk-17-jdk-headless (or set JAVA_HOME to a JDK 17 or newer)"
    if not java or not os.access(java, os.X_OK):
        raise MissingError(f"no Java was found{f' in JAVA_HOME={home}' if home else ''}: {advice}")
    text = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    match = re.search(r'version "(\d+)(?:\.(\d+))?', text)
    version = int(match.group(2) if match and match.group(1) == "1" else match.group(1)) if match else 0
    if version < MINIMUM_JAVA:
        raise MissingError(f"Java {MINIMUM_JAVA} or newer is needed, {java} is {version or 'unknown'}: {advice}")


def check_compiler() -> None:
    """A C compiler: durable-rules comes as source."""
    compiler = os.environ.get("CC", "").split(" ")[0]
    if not any(shutil.which(name) for name in (compiler, "cc", "gcc", "clang") if name):
        raise MissingError(
            "no C compiler was found (durable-rules is built from source): apt-get install gcc libc6-dev"
        )


def fingerprint() -> str:
    """What decides whether the environment is the one that this clone wants."""
    digest = hashlib.sha256(sys.version.encode())
    for path in (LOCK, CLONE / "pyproject.toml"):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def run(*arguments: str | Path) -> None:
    """Runs one step with its output shown; its failure ends the set-up."""
    subprocess.run([str(a) for a in arguments], check=True, cwd=CLONE)


def install() -> None:
    """The virtual environment with exactly the locked versions, and yarntune itself."""
    uv = shutil.which("uv")
    python = VENV / "bin" / "python"
    if not python.exists():
        print("setup: making .venv")
        try:
            run(sys.executable, "-m", "venv", *(["--without-pip"] if uv else []), VENV)
        except subprocess.CalledProcessError:
            shutil.rmtree(VENV, ignore_errors=True)
            raise MissingError("this Python cannot make virtual environments: apt-get install python3-venv") from None
    pip: list[str | Path] = (
        [uv, "pip", "install", "--python", python]
        if uv
        else [python, "-m", "pip", "install", "--disable-pip-version-check"]
    )
    if not uv and subprocess.run([python, "-m", "pip", "--version"], capture_output=True, check=False).returncode:
        run(python, "-m", "ensurepip")
    print("setup: installing the locked packages (a few minutes the first time)")
    run(*pip, "--quiet", "--require-hashes", "-r", LOCK)
    run(*pip, "--quiet", "--no-deps", "-e", CLONE)


def main() -> int:
    """Returns the exit status: 0 all there, 1 something is missing or a step failed."""
    try:
        check_python()
        current = STAMP.exists() and STAMP.read_text() == fingerprint()
        if not current:
            check_java()
            check_compiler()
            install()
        run(VENV / "bin" / "python", "-m", "workloads.cluster.jars", "--quiet")
        if not current:
            STAMP.write_text(fingerprint())
            print("setup: done; try .venv/bin/yarntune doctor")
    except MissingError as error:
        print(f"setup: {error}", file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as error:
        print(
            f"setup: a step failed ({error.cmd[0]} ... status {error.returncode}); its message is above.\n"
            "make setup goes on from here",
            file=sys.stderr,
        )
        return 1
    except KeyboardInterrupt:
        print("setup: interrupted; make setup goes on from here", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
