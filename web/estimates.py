"""Asks the estimator in a process of its own, which is ended when it takes too long."""

from __future__ import annotations

import json
import selectors
import subprocess
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tuner.settings import Settings
from web.child import environment

TIME_LIMIT_S = 30.0
"""For one question; the first one after an installation compiles, which has longer."""
FIRST_LIMIT_S = 240.0
BUSY_AFTER_S = 5.0
_KEPT = 64


@dataclass(frozen=True)
class Answer:
    """What came of a question: a result, or why there is none."""

    result: Mapping[str, Any] | None
    problem: str = ""
    hint: str = ""


class Estimator:
    """One process that estimates, started with the first question; one question at a time.

    Args:
        settings: of the server, which the process gets, too.
        time_limit_s: for one question.
        first_limit_s: for the first one of a process, which may have to compile.
    """

    def __init__(
        self, settings: Settings, *, time_limit_s: float = TIME_LIMIT_S, first_limit_s: float = FIRST_LIMIT_S
    ) -> None:
        self._settings = settings
        self._time_limit_s, self._first_limit_s = time_limit_s, first_limit_s
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._answered = False
        self._known: OrderedDict[str, Answer] = OrderedDict()

    def ask(self, question: Mapping[str, Any]) -> Answer:
        """Answers ``{"before": case, "after": case}``, cases as their files have them.

        The same question is answered from memory. A process that takes too long is ended; a new one answers the next.
        """
        text = json.dumps(question, sort_keys=True)
        known = self._known.get(text)
        if known is not None:
            return known
        answer = self._in_turn(text)
        if answer.result is not None:
            self._known[text] = answer
            while len(self._known) > _KEPT:
                self._known.popitem(last=False)
        return answer

    def explain(self) -> tuple[Mapping[str, str | None], ...] | None:
        """Why each application of the live cluster waits; None where that could not be found out now."""
        answer = self._in_turn(json.dumps({"explain": True}))
        return None if answer.result is None else tuple(answer.result["reasons"])

    def close(self) -> None:
        """Ends the process."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait(10)
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()

    def _in_turn(self, text: str) -> Answer:
        if not self._lock.acquire(timeout=BUSY_AFTER_S):
            return Answer(None, "another estimate is under way", "try again in a moment")
        try:
            return self._ask(text)
        finally:
            self._lock.release()

    def _ask(self, text: str) -> Answer:
        process = self._running()
        assert process.stdin is not None
        limit_s = self._time_limit_s if self._answered else self._first_limit_s
        try:
            process.stdin.write(text.encode() + b"\n")
            process.stdin.flush()
            line = _read_line(process, time.monotonic() + limit_s)
        except BrokenPipeError:
            line = b""
        if line is None:
            self.close()
            return Answer(
                None,
                f"the estimate took longer than {limit_s:.0f} s and was ended",
                "take a smaller workload, or `yarntune scheduler estimate` on the command line",
            )
        if not line:
            self.close()
            return Answer(None, "the estimating process ended without a word", "the server's log may say why")
        self._answered = True
        value = json.loads(line)
        return Answer(value.get("result"), value.get("problem", ""), value.get("hint", ""))

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self.close()
            self._answered = False
            self._process = subprocess.Popen(
                [sys.executable, "-m", "web.estimate_process"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=environment(self._settings),
            )
        return self._process


def _read_line(process: subprocess.Popen[bytes], deadline: float) -> bytes | None:
    """The process's next line; None after the deadline, nothing where it has ended."""
    assert process.stdout is not None
    found = bytearray()
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while not found.endswith(b"\n"):
            if not selector.select(max(0.0, deadline - time.monotonic())):
                return None
            part = process.stdout.read1()  # type: ignore[attr-defined]
            if not part:
                return b""
            found += part
    return bytes(found)
