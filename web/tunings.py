"""Tunings that are started here: each is ``yarntune tune`` as a process of its own, which outlives a page and a server.

What a tuning does is in the store, as for one from the command line; here is only who started what, and the text that
it prints, which says why one has ended before its first run.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from tuner.errors import InputError
from tuner.files import write_text_atomically
from tuner.settings import Settings
from tuner.spark.params import PARAMS
from tuner.store import Owner
from tuner.store.owner import is_alive
from web.child import environment

_TAIL_BYTES = 16_384
_MOST_KEPT = 200


@dataclass(frozen=True)
class TuningOrder:
    """What to tune, and how.

    Attributes:
        program: the Python file or jar, on the machine of the server.
        pins: properties that stay as they are; only those of docs/parameters.md, none that could load code.
    """

    program: str
    arguments: tuple[str, ...] = ()
    name: str | None = None
    queue: str | None = None
    main_class: str | None = None
    trials: int = 10
    slack: float = 0.05
    resume: bool = False
    pins: Mapping[str, str] | None = None

    def command(self) -> list[str]:
        """The command line."""
        parts = [sys.executable, "-m", "tuner.cli", "tune", "--trials", str(self.trials), "--slack", str(self.slack)]
        for flag, value in (("--name", self.name), ("--queue", self.queue), ("--class", self.main_class)):
            parts += [flag, value] if value else []
        for name, value in (self.pins or {}).items():
            parts += ["--pin", f"{name}={value}"]
        parts += ["--resume"] if self.resume else []
        return [*parts, "--", self.program, *self.arguments]


@dataclass(frozen=True)
class Tuning:
    """One that was started here.

    Attributes:
        id: counted from 1.
        owner: its process, by which its study in the store is known.
        status: its exit status; None while it runs, or where the server was started anew since.
    """

    id: int
    order: TuningOrder
    who: str
    started_at: float
    owner: Owner
    running: bool
    status: int | None


class Tunings:
    """Starts and stops tunings.

    Args:
        folder: where their records and texts are kept.
        settings: of the server, which its tunings get, too.
    """

    def __init__(self, folder: Path, settings: Settings) -> None:
        self._folder = folder
        self._settings = settings
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self._lock = threading.Lock()

    def start(self, order: TuningOrder, *, who: str, now: float) -> Tuning:
        """Starts one.

        Raises:
            InputError: the order is not one that can be started.
        """
        check(order)
        import psutil

        with self._lock:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            number = max(self._ids(), default=0) + 1
            with self._text(number).open("wb") as text:
                process = subprocess.Popen(
                    order.command(),
                    stdin=subprocess.DEVNULL,
                    stdout=text,
                    stderr=subprocess.STDOUT,
                    env=environment(self._settings),
                    start_new_session=True,
                )
            self._processes[number] = process
            started_at = psutil.Process(process.pid).create_time()
            record = {
                "order": asdict(order),
                "who": who,
                "started_at": now,
                "pid": process.pid,
                "pid_started_at": started_at,
            }
            write_text_atomically(self._record(number), json.dumps(record), private=True)
            self._forget_old()
        return self.get(number)

    def get(self, number: int) -> Tuning:
        """One by its number.

        Raises:
            InputError: there is none.
        """
        try:
            record = json.loads(self._record(number).read_text())
        except (OSError, ValueError):
            raise InputError(f"there is no tuning {number}") from None
        process = self._processes.get(number)
        status = None if process is None else process.poll()
        owner = Owner(socket.gethostname(), record["pid"], record["pid_started_at"])
        running = status is None and bool(is_alive(owner))
        order = record["order"]
        order["arguments"] = tuple(order["arguments"])
        return Tuning(number, TuningOrder(**order), record["who"], record["started_at"], owner, running, status)

    def all(self) -> list[Tuning]:
        """All that are remembered, newest first."""
        return [self.get(number) for number in sorted(self._ids(), reverse=True)]

    def by_owner(self, owner: Owner) -> Tuning | None:
        """The one whose process watches a study; None where that was started elsewhere."""
        return next(
            (
                each
                for each in self.all()
                if each.owner.pid == owner.pid and abs(each.owner.started_at - owner.started_at) < 5.0
            ),
            None,
        )

    def output(self, number: int) -> str:
        """The end of what it printed."""
        try:
            with self._text(number).open("rb") as text:
                text.seek(0, os.SEEK_END)
                text.seek(max(0, text.tell() - _TAIL_BYTES))
                return text.read().decode("utf-8", "replace")
        except OSError:
            return ""

    def stop(self, number: int) -> bool:
        """Ends a tuning as Ctrl-C does: its application is killed, and what was learnt is kept.

        Returns:
            False where it has ended already.
        """
        found = self.get(number)
        if not found.running:
            return False
        os.kill(found.owner.pid, signal.SIGTERM)
        return True

    def _ids(self) -> list[int]:
        return [int(path.stem) for path in self._folder.glob("*.json") if path.stem.isdigit()]

    def _record(self, number: int) -> Path:
        return self._folder / f"{number}.json"

    def _text(self, number: int) -> Path:
        return self._folder / f"{number}.log"

    def _forget_old(self) -> None:
        for number in sorted(self._ids())[:-_MOST_KEPT]:
            if not self.get(number).running:
                self._record(number).unlink(missing_ok=True)
                self._text(number).unlink(missing_ok=True)


def check(order: TuningOrder) -> None:
    """Refuses what would only fail, or reach further than tuning.

    Raises:
        InputError: says which.
    """
    unknown = [name for name in order.pins or {} if name not in PARAMS]
    if unknown:
        raise InputError(
            f"{unknown[0]} cannot be pinned from here",
            "only the properties of docs/parameters.md can, others in a shell",
        )
    if not 2 <= order.trials <= 1000:
        raise InputError(f"{order.trials} trials are not between 2 and 1000")
    if not 0 <= order.slack <= 1:
        raise InputError(f"the slack {order.slack} is not between 0 and 1")
    for text in (order.name, order.queue, order.main_class, order.program):
        if text and text.startswith("-"):
            raise InputError(f"{text!r} looks like an option", "leave out the leading -")


def may_tune(program: str, folders: tuple[Path, ...]) -> bool:
    """Whether a program that the store does not know may be started: it is in one of the folders."""
    path = Path(program).resolve()
    return path.is_file() and any(path.is_relative_to(folder.resolve()) for folder in folders)
