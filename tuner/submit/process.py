"""Runs spark-submit in our place: its streams are ours, its end is ours, and a signal to us is one to it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from types import FrameType

_LOOK_S = 0.2
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


def run_in_place(
    command: Sequence[str], environ: Mapping[str, str], on_signal: Callable[[int], None] = lambda _number: None
) -> int:
    """Runs a program to its end.

    Args:
        command: the program and its arguments.
        environ: its whole environment.
        on_signal: called once, at the first signal that asks us to end, after the program was told.

    Returns:
        Its exit status as :mod:`subprocess` gives it: negative where a signal ended it.

    Raises:
        OSError: it cannot be started.
    """
    received: list[int] = []
    process: subprocess.Popen[bytes] | None = None

    def receive(number: int, _frame: FrameType | None) -> None:
        received.append(number)
        if process is not None and not (number == signal.SIGINT and _terminal_sends_it()):
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(number)

    # What is ignored (nohup) stays ignored, here and in the child.
    caught = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, receive) for number in caught}
    try:
        process = subprocess.Popen(list(command), env=dict(environ))
        for number in received:
            process.send_signal(number)
        status = None
        while status is None and not received:
            with contextlib.suppress(subprocess.TimeoutExpired):
                status = process.wait(_LOOK_S if caught else None)
        if received:
            on_signal(received[0])
        return process.wait() if status is None else status
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def end_as(status: int) -> int:
    """Ends this process as the program ended: by the same signal where one ended it.

    Returns:
        The exit status, where it was none.
    """
    if status >= 0:
        return status
    number = -status
    # SIGKILL has no handler that could be taken away.
    with contextlib.suppress(OSError, ValueError):
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    return 128 + number


def _terminal_sends_it() -> bool:
    """Whether we are in the terminal's foreground: a Ctrl-C there goes to the program as well, without our help."""
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)
