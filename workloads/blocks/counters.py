"""The processor's performance counters of another process, where Linux lets them be read (``perf_event_open``).

Virtual machines often have none, and ``kernel.perf_event_paranoid`` may forbid them: then there is no count, and CPI
and MAI are those of the calibrated kernels that ran.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import struct
from dataclasses import dataclass
from typing import Final, Self

__all__ = ["Counted", "Counters", "counters_available"]

_SYSCALL: Final = {"x86_64": 298, "aarch64": 241}
"""Number of ``perf_event_open`` (Linux's syscall tables)."""
_ATTRIBUTES: Final = struct.Struct("=IIQQQQQIIQ")
"""The first version of ``struct perf_event_attr``: type, size, config, period, two formats, flags, three more."""
_INHERIT: Final = 1 << 1
_EXCLUDE_HYPERVISOR: Final = 1 << 6
_HARDWARE: Final = 0
_EVENTS: Final = ((_HARDWARE, 0), (_HARDWARE, 1), (_HARDWARE, 3))
"""PERF_COUNT_HW_CPU_CYCLES, _INSTRUCTIONS and _CACHE_MISSES, which is the last cache's."""


@dataclass(frozen=True, slots=True)
class Counted:
    """What the processor counted between two reads."""

    cycles: int
    instructions: int
    cache_misses: int

    @property
    def cpi(self) -> float:
        """Cycles per instruction."""
        return self.cycles / max(self.instructions, 1)

    @property
    def mai(self) -> float:
        """Memory accesses per instruction: those that the last cache did not serve."""
        return self.cache_misses / max(self.instructions, 1)


class Counters:
    """Open counters of a process; none where the machine has none or does not give them."""

    def __init__(self, files: tuple[int, ...]) -> None:
        self._files = files
        self._last = (0,) * len(files)

    @classmethod
    def of(cls, pid: int, events: tuple[tuple[int, int], ...] = _EVENTS) -> Self:
        """Opens them for a process and the threads that it starts from now on.

        Args:
            pid: which.
            events: pairs of ``type`` and ``config`` of ``struct perf_event_attr``.
        """
        files: list[int] = []
        for kind, config in events:
            file = _open(kind, config, pid)
            if file < 0:
                cls(tuple(files)).close()
                return cls(())
            files.append(file)
        return cls(tuple(files))

    def values(self) -> tuple[int, ...]:
        """What each has counted since the last call, in the order of the events."""
        now = tuple(int.from_bytes(os.read(file, 8), "little") for file in self._files)
        since = tuple(value - before for value, before in zip(now, self._last, strict=True))
        self._last = now
        return since

    def read(self) -> Counted | None:
        """Cycles, instructions and cache misses since the last call; None without counters."""
        return Counted(*self.values()) if self._files else None

    def close(self) -> None:
        """Closes them."""
        for file in self._files:
            with contextlib.suppress(OSError):
                os.close(file)
        self._files = ()


def counters_available() -> bool:
    """Whether this machine lets a process count the cycles of its children."""
    counters = Counters.of(os.getpid())
    counted = counters.read()
    counters.close()
    return counted is not None


def _open(kind: int, config: int, pid: int) -> int:
    number = _SYSCALL.get(platform.machine())
    if number is None:
        return -1
    flags = _INHERIT | _EXCLUDE_HYPERVISOR
    attributes = _ATTRIBUTES.pack(kind, _ATTRIBUTES.size, config, 0, 0, 0, flags, 0, 0, 0)
    return int(ctypes.CDLL(None, use_errno=True).syscall(number, attributes, pid, -1, -1, 0))
