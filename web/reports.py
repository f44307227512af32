"""Analyses of event logs that were uploaded: made in a process of its own, kept as JSON; the log itself is removed."""

from __future__ import annotations

import json
import re
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from werkzeug.datastructures import FileStorage

from tuner.errors import InputError
from tuner.files import write_text_atomically
from tuner.settings import Settings
from web.child import environment

TIME_LIMIT_S = 120.0
MOST_KEPT = 200
_ID = re.compile(r"[0-9a-f]{16}")
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


class Reports:
    """Keeps the newest :data:`MOST_KEPT` reports.

    Args:
        folder: where.
        settings: of the server, which the analysing process gets, too.
    """

    def __init__(self, folder: Path, settings: Settings) -> None:
        self._folder = folder
        self._settings = settings

    def analyze(self, upload: FileStorage, *, increment_mib: int, who: str, now: float) -> str:
        """Analyses an upload.

        Args:
            upload: an event log in one file; what its name says of its compression is believed.
            increment_mib: what YARN rounds containers up to a multiple of.
            who: for the record.
            now: for the record.

        Returns:
            The id of the report.

        Raises:
            InputError: it is no event log, or takes too long.
        """
        name = safe_name(upload.filename or "")
        with tempfile.TemporaryDirectory(prefix="yarntune-upload-") as folder:
            path = Path(folder) / name
            upload.save(path)
            report = _analyze(path, increment_mib, self._settings)
        report["path"] = name
        record = {"name": name, "who": who, "at": now, "increment_mib": increment_mib, "report": report}
        number = secrets.token_hex(8)
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_text_atomically(self._folder / f"{number}.json", json.dumps(record), private=True)
        self._forget_old()
        return number

    def get(self, number: str) -> dict[str, Any] | None:
        """The record of a report; None where it is not there, or no longer."""
        if not _ID.fullmatch(number):
            return None
        try:
            value = json.loads((self._folder / f"{number}.json").read_text())
        except (OSError, ValueError):
            return None
        assert isinstance(value, dict)
        return value

    def all(self) -> list[dict[str, Any]]:
        """Name, time and application of each report, newest first."""
        found = []
        for path in self._paths():
            record = self.get(path.stem)
            if record is not None:
                application = record["report"]["application"]
                found.append(
                    {"id": path.stem, "name": record["name"], "who": record["who"], "at": record["at"],
                     "application": application["id"], "application_name": application["name"],
                     "findings": len(record["report"]["findings"])}
                )  # fmt: skip
        return found

    def _paths(self) -> list[Path]:
        return sorted(self._folder.glob("*.json"), key=lambda path: path.stat().st_mtime, reverse=True)

    def _forget_old(self) -> None:
        for path in self._paths()[MOST_KEPT:]:
            path.unlink(missing_ok=True)


def safe_name(name: str) -> str:
    """A file name without folders and without characters that mean something to anybody."""
    last = name.replace("\\", "/").rpartition("/")[2]
    return _UNSAFE.sub("_", last).lstrip(".")[-120:] or "eventlog"


def _analyze(path: Path, increment_mib: int, settings: Settings) -> dict[str, Any]:
    command = [sys.executable, "-m", "tuner.cli", "analyze", "--json", "--workers", "1"]
    command += ["--increment", f"{increment_mib}m", str(path)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=TIME_LIMIT_S, check=False, env=environment(settings)
        )
    except subprocess.TimeoutExpired:
        raise InputError(
            f"{path.name} takes longer than {TIME_LIMIT_S:.0f} s to analyse",
            "`yarntune analyze` in a shell has no limit",
        ) from None
    if done.returncode != 0:
        raise InputError(f"{path.name} could not be read as an event log: {_first_error(done.stderr, path)}")
    document: Mapping[str, Any] = json.loads(done.stdout)
    report = document["logs"][0]
    assert isinstance(report, dict)
    return report


def _first_error(stderr: str, path: Path) -> str:
    lines = [line.removeprefix("error: ") for line in stderr.splitlines() if line.startswith("error: ")]
    return (lines[0] if lines else "the analysis ended without a word").replace(str(path), path.name)
