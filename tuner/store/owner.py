"""Which process watches a run, and whether it is still there."""

from __future__ import annotations

import os
import socket

from tuner.store.records import Owner

_CLOCK_TOLERANCE_S = 5.0
"""The time at which a process started is computed from the clock, which may be corrected in between."""


def this_process() -> Owner:
    """The owner that this process is."""
    import psutil

    return Owner(socket.gethostname(), os.getpid(), psutil.Process().create_time())


def is_alive(owner: Owner) -> bool | None:
    """Whether the owner still runs; None where it is on another host and cannot be seen."""
    import psutil

    if owner.host != socket.gethostname():
        return None
    try:
        process = psutil.Process(owner.pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return False
        return abs(process.create_time() - owner.started_at) <= _CLOCK_TOLERANCE_S
    except psutil.NoSuchProcess:
        return False
    except psutil.AccessDenied:
        return True
