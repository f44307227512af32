"""Runs blocks: holds a CPU share and a resident memory for a span, with the kernels that a block names.

    python -I -S runner.py FOLDER < BLOCKS      (or: runner.py FOLDER BLOCK)

A program of its own that imports nothing but the standard library, so that a container with it starts in 30 ms and
10 MiB. FOLDER is what :mod:`workloads.blocks.calibration` made. Each line of the input is a block as JSON, each line of
the output what came of it. The control is closed: what is still due is reckoned from the CPU time that the kernel of
the operating system has counted for this process, so that the control itself is paid from the block's share.
"""

# Plain open() and os.path: importing pathlib takes a third of the start-up.
from __future__ import annotations

import ctypes
import json
import mmap
import os
import sys
import threading
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PAGE_BYTES = mmap.PAGESIZE
MIB = 2**20
# A burst shorter than this is mostly the way into it; more bursts than this bring nothing.
SHORTEST_BURST_S = 0.005
MOST_BURSTS_PER_S = 20
FEWEST_BURSTS = 4
# What is left to run below this is left: starting a kernel and looking at the clock takes as long.
NEGLIGIBLE_NS = 30_000
SLICE_NS = 20_000_000


class Kernels:
    """The compiled loops of a calibrated folder, mapped and ready to be called."""

    def __init__(self, folder: str) -> None:
        """Maps the code and the ring, which all runners share."""
        with open(os.path.join(folder, "kernels.json"), encoding="utf-8") as file:
            self.facts: dict[str, Any] = json.load(file)
        with open(os.path.join(folder, "code.bin"), "rb") as file:
            code = file.read()
        executable = mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC
        self._code = mmap.mmap(-1, max(len(code), PAGE_BYTES), prot=executable)
        self._code.write(code)
        self._ring_file = os.open(os.path.join(folder, "ring.bin"), os.O_RDONLY)
        self._ring = mmap.mmap(self._ring_file, self.facts["ring_bytes"], flags=mmap.MAP_PRIVATE)
        address = ctypes.addressof(ctypes.c_char.from_buffer(self._code))
        signature = ctypes.CFUNCTYPE(
            ctypes.c_uint64, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_uint64
        )
        self._functions = {name: signature(address + each["offset"]) for name, each in self.facts["kernels"].items()}
        self._ring_address = ctypes.addressof(ctypes.c_char.from_buffer(self._ring))
        self._mask = self.facts["ring_bytes"] - 64
        self._at = dict.fromkeys(self._functions, 64)

    def run(self, name: str, steps: int) -> None:
        """Runs so many steps of a kernel, from where it was left."""
        self._at[name] = self._functions[name](self._ring_address, self._mask, self._at[name], max(int(steps), 1))

    def ns_per_step(self, name: str) -> float:
        """As calibrated."""
        return float(self.facts["kernels"][name]["ns_per_step"])


class Memory:
    """Anonymous memory of which every page is touched."""

    def __init__(self) -> None:
        """Holds nothing yet."""
        self._pages: mmap.mmap | None = None

    def hold(self, total_mib: float) -> None:
        """Takes or gives back so much that the process's own resident memory is ``total_mib``."""
        held = 0 if self._pages is None else len(self._pages)
        size = int(total_mib * MIB) - (own_resident_bytes() - held)
        size = max(size // PAGE_BYTES * PAGE_BYTES, 0)
        if size == 0:
            self._pages = None
            return
        if self._pages is None:
            self._pages = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        elif size != held:
            self._pages.resize(size)
        if size > held:
            ones = ctypes.c_char.from_buffer(self._pages)
            ctypes.memset(ctypes.addressof(ones) + held, 1, size - held)


def own_resident_bytes() -> int:
    """Resident memory that belongs to this process alone: without files, such as the ring that runners share."""
    with open("/proc/self/statm", "rb") as file:
        _, resident, shared = file.read().split()[:3]
    return (int(resident) - int(shared)) * PAGE_BYTES


def run_block(kernels: Kernels, memory: Memory, block: dict[str, Any]) -> dict[str, Any]:
    """Runs one block and returns what was measured.

    Its memory is taken before it begins, as a block that is a hundredth as long as what it stands for has no time to
    take it. It ends on time: what a machine with too little CPU time left could not run by then stays undone.
    """
    memory.hold(block["memory_mib"])
    began, cpu_began = time.monotonic_ns(), time.process_time_ns()
    span_ns = block["duration_s"] * 1e9
    ends_ns = began + span_ns
    due_ns = span_ns * block["cores"]
    bursts = int(max(FEWEST_BURSTS, min(due_ns / 1e9 / SHORTEST_BURST_S, span_ns / 1e9 * MOST_BURSTS_PER_S)))
    steps = dict.fromkeys(block["kernels"], 0)
    # Only this sum is needed of the memory's course: a value holds until the next one is read.
    resident_sum = 0.0
    for burst in range(bursts):
        cpu_end = cpu_began + due_ns * (burst + 1) / bursts
        work(kernels, block, cpu_end, ends_ns, steps)
        resident_sum += own_resident_bytes()
        pause_s = (began + span_ns * (burst + 1) / bursts - time.monotonic_ns()) / 1e9
        if pause_s > 0:
            time.sleep(pause_s)
    cpu_s, wall_s = (time.process_time_ns() - cpu_began) / 1e9, (time.monotonic_ns() - began) / 1e9
    return {
        "wall_s": wall_s,
        "cpu_s": cpu_s,
        "memory_mib": resident_sum / bursts / MIB,
        "steps": steps,
    }


def work(kernels: Kernels, block: dict[str, Any], cpu_end: float, ends_ns: float, steps: dict[str, int]) -> None:
    """Runs the block's kernels until the process has had its CPU time; on as many threads as the share has cores."""
    threads = max(1, -int(-block["cores"] // 1))
    while True:
        left_ns = min(cpu_end - time.process_time_ns(), SLICE_NS * threads)
        if left_ns < NEGLIGIBLE_NS or time.monotonic_ns() >= ends_ns:
            return
        amounts = {
            name: max(int(left_ns * share / kernels.ns_per_step(name) / threads), 1)
            for name, share in block["kernels"].items()
        }
        others = [threading.Thread(target=run_all, args=(kernels, amounts)) for _ in range(threads - 1)]
        for thread in others:
            thread.start()
        run_all(kernels, amounts)
        for thread in others:
            thread.join()
        for name, amount in amounts.items():
            steps[name] += amount * threads


def run_all(kernels: Kernels, amounts: dict[str, int]) -> None:
    """Runs so many steps of each kernel."""
    for name, amount in amounts.items():
        kernels.run(name, amount)


def main(arguments: list[str]) -> None:
    """Runs the blocks of the command line or of the standard input."""
    kernels, memory = Kernels(arguments[0]), Memory()
    for line in arguments[1:] or sys.stdin:
        if line.strip():
            sys.stdout.write(json.dumps(run_block(kernels, memory, json.loads(line))) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
