"""Compiles the kernels and measures them on this machine; the result stays in the cache folder.

What is measured: CPU time of a step, as the operating system counts it, and the clock rate, by a kernel that takes a
known number of cycles. With the counted instructions of a step that gives cycles per instruction (CPI); accesses to
memory per instruction (MAI) follow from the code and from a ring four times as large as the last cache. Where the
machine lets a process read its performance counters, :mod:`workloads.blocks.counters` measures both directly.
"""

from __future__ import annotations

import ctypes
import hashlib
import mmap
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
from filelock import FileLock

from tuner.errors import InputError
from workloads.blocks.kernels import CACHE_LINE_BYTES, CLOCK_STEP_CYCLES, KERNELS, MachineCode, compile_kernels

__all__ = ["Calibration", "MeasuredKernel", "calibrate"]

FACTS: Final = "kernels.json"
CODE: Final = "code.bin"
RING: Final = "ring.bin"
_LEAST_RING_BYTES: Final = 64 * 2**20
_ALIGNMENT: Final = 64
_MEASURE_NS: Final = 20_000_000
_REPEATS: Final = 7
_TIMEOUT_S: Final = 300.0


@dataclass(frozen=True)
class MeasuredKernel:
    """A kernel on this machine.

    Attributes:
        offset: of its function in the file of code.
        instructions, accesses: of a step, by its code.
        ns_per_step: median of several measurements.
        cpi: cycles per instruction.
        mai: accesses to memory per instruction.
    """

    offset: int
    instructions: int
    accesses: int
    ns_per_step: float
    cpi: float
    mai: float


@dataclass(frozen=True)
class Calibration:
    """What :func:`calibrate` found.

    Attributes:
        folder: with the code and the ring, for ``runner``.
        clock_ghz: cycles in a nanosecond of CPU time.
        ring_bytes: size of the memory that kernels read at random: a power of two.
        kernels: by name.
    """

    folder: Path
    clock_ghz: float
    ring_bytes: int
    kernels: Mapping[str, MeasuredKernel]


class _Facts(msgspec.Struct):
    clock_ghz: float
    ring_bytes: int
    kernels: dict[str, MeasuredKernel]


def calibrate(cache_dir: Path, *, again: bool = False, note: Callable[[str], None] = lambda _: None) -> Calibration:
    """The kernels, compiled and measured; from the cache where they are there. Takes about 3 s else.

    Args:
        cache_dir: the cache folder; takes some 128 MiB.
        again: measure even if the cache has figures, for example after a change of the machine.
        note: told when it takes its time.

    Raises:
        InputError: the cache folder cannot be written.
    """
    folder = cache_dir / "blocks" / _digest()
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(folder.with_suffix(".lock"), timeout=_TIMEOUT_S):
            if again or not (folder / FACTS).is_file():
                note("calibrating the workload blocks on this machine (once, about 3 s)")
                _make(folder)
        facts = msgspec.json.decode((folder / FACTS).read_bytes(), type=_Facts)
    except OSError as error:
        raise InputError(
            f"the blocks' folder {folder} cannot be used: {error.strerror}", "set YARNTUNE_CACHE_DIR to another folder"
        ) from error
    return Calibration(folder, facts.clock_ghz, facts.ring_bytes, facts.kernels)


def _digest() -> str:
    """Changes with the kernels and with the processor's caches, which the figures are for."""
    text = "".join(kernel.to_llvm() for kernel in KERNELS) + str(_last_cache_bytes()) + _processor()
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    return next((line for line in lines if line.startswith("model name")), "")


def _last_cache_bytes() -> int:
    """Size of the largest cache of the first processor; 0 where the system does not say."""
    sizes = [0]
    for file in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size"):
        text = file.read_text(encoding="ascii").strip()
        sizes.append(int(text[:-1]) * {"K": 2**10, "M": 2**20}.get(text[-1], 1) if text[:-1].isdecimal() else 0)
    return max(sizes)


def _make(folder: Path) -> None:
    new = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".new-"))
    try:
        ring = _ring()
        ring.tofile(new / RING)
        compiled = compile_kernels()
        offsets, code = _laid_out(compiled)
        (new / CODE).write_bytes(code)
        facts = _measured(compiled, offsets, code, ring)
        (new / FACTS).write_bytes(msgspec.json.format(msgspec.json.encode(facts)) + b"\n")
        shutil.rmtree(folder, ignore_errors=True)
        new.rename(folder)
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _ring() -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    """Lines of memory, each with the position in bytes of the next of one way through all of them, at random."""
    wanted = max(_LEAST_RING_BYTES, 4 * _last_cache_bytes())
    lines = 1 << (wanted // CACHE_LINE_BYTES - 1).bit_length()
    order = np.random.default_rng(0).permutation(lines)
    ring = np.zeros((lines, CACHE_LINE_BYTES // 8), np.int64)
    ring[order, 0] = np.roll(order, -1) * CACHE_LINE_BYTES
    return ring


def _laid_out(compiled: tuple[MachineCode, ...]) -> tuple[list[int], bytes]:
    offsets, code = [], b""
    for each in compiled:
        offsets.append(len(code))
        code += each.code
        code += b"\0" * (-len(code) % _ALIGNMENT)
    return offsets, code


def _measured(
    compiled: tuple[MachineCode, ...],
    offsets: list[int],
    code: bytes,
    ring: np.ndarray[tuple[int, int], np.dtype[np.int64]],
) -> _Facts:
    executable = mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC
    mapped = mmap.mmap(-1, len(code), prot=executable)
    mapped.write(code)
    address = ctypes.addressof(ctypes.c_char.from_buffer(mapped))
    times_ns = {
        each.kernel.name: _ns_per_step(address + offset, ring.ctypes.data, ring.nbytes)
        for each, offset in zip(compiled, offsets, strict=True)
    }
    clock_ghz = CLOCK_STEP_CYCLES / times_ns["chain"]
    kernels = {}
    for each, offset in zip(compiled, offsets, strict=True):
        ns, instructions, accesses = times_ns[each.kernel.name], each.instructions, each.kernel.accesses
        cpi = ns * clock_ghz / instructions
        kernels[each.kernel.name] = MeasuredKernel(offset, instructions, accesses, ns, cpi, accesses / instructions)
    return _Facts(clock_ghz, ring.nbytes, kernels)


def _ns_per_step(address: int, ring: int, ring_bytes: int) -> float:
    signature = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_uint64)
    function = signature(address)
    steps, at = 1_000, 64
    times: list[float] = []
    while len(times) < _REPEATS:
        began = time.process_time_ns()
        at = function(ring, ring_bytes - CACHE_LINE_BYTES, at, steps)
        spent = max(time.process_time_ns() - began, 1)
        if spent < _MEASURE_NS / 2:
            steps = max(steps + 1, int(steps * _MEASURE_NS / spent))
        else:
            times.append(spent / steps)
    return float(np.median(times))
