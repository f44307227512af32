"""The loops that blocks run: from compute-bound to missing every cache, as LLVM's intermediate representation.

They are written in it, not in Python, because a block must know what it executes: the instructions of a step are
counted in the machine code that comes out. No optimization pass is run, so the code is what is written here. The code
calls nothing and refers to nothing, so a bare interpreter can map and call it without numba or numpy
(:mod:`workloads.blocks.runner`): a task starts in 30 ms and 10 MiB instead of half a second and 90.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Final

__all__ = ["CLOCK_STEP_CYCLES", "KERNELS", "Kernel", "MachineCode", "compile_kernels"]

CACHE_LINE_BYTES: Final = 64
LEVEL2_BYTES: Final = 1 << 19
LEVEL2_STRIDE: Final = 97 * CACHE_LINE_BYTES
"""Odd, so that it comes to every line of the part, and too long for the core to fetch ahead."""
CLOCK_STEP_CYCLES: Final = 16
"""A step of the kernel ``chain`` is so many additions that wait for each other: a cycle each on today's x86 and Arm."""
_JUMP: Final = re.compile(r"\s(j[a-z]+|b\.[a-z]+|cbn?z)\s")


@dataclass(frozen=True)
class Kernel:
    """A loop.

    Attributes:
        name: what blocks call it.
        title: what it does, for people.
        state: how many values of 64 bits it carries from step to step.
        body: the step in LLVM's IR: reads ``%s0`` ..., ``%ring`` and ``%mask``, defines ``%n0`` ...
        accesses: memory accesses of a step that a ring larger than all caches does not serve from them.
    """

    name: str
    title: str
    state: int
    body: str
    accesses: int = 0

    def to_llvm(self) -> str:
        """The whole function ``i64 name(ptr ring, i64 mask, i64 start, i64 steps)``; returns where to go on."""
        seeds = "\n".join(f"  %seed{i} = add i64 %start, {(2 * i + 1) * 8 * i}" for i in range(self.state))
        states = "\n".join(f"  %s{i} = phi i64 [ %seed{i}, %entry ], [ %n{i}, %loop ]" for i in range(self.state))
        folded = ["  %f0 = add i64 %n0, 0"]
        folded += [f"  %f{i} = xor i64 %f{i - 1}, %n{i}" for i in range(1, self.state)]
        end = "\n".join(folded)
        return (
            f"define i64 @{self.name}(ptr %ring, i64 %mask, i64 %start, i64 %steps) {{\nentry:\n{seeds}\n"
            f"  br label %loop\nloop:\n  %left = phi i64 [ %steps, %entry ], [ %less, %loop ]\n{states}\n{self.body}\n"
            "  %less = sub i64 %left, 1\n  %more = icmp ne i64 %less, 0\n"
            f"  br i1 %more, label %loop, label %exit\nexit:\n{end}\n  ret i64 %f{self.state - 1}\n}}\n"
        )


def _wide() -> str:
    """Eight chains that do not wait for each other: as many instructions in a cycle as the core has units for."""
    return "\n".join(f"  %a{i} = xor i64 %s{i}, %mask\n  %n{i} = add i64 %a{i}, %left" for i in range(8))


def _chain() -> str:
    lines = ["  %c0 = add i64 %s0, %left"]
    lines += [f"  %c{i} = {'xor' if i % 2 else 'add'} i64 %c{i - 1}, %left" for i in range(1, CLOCK_STEP_CYCLES)]
    return "\n".join([*lines, f"  %n0 = add i64 %c{CLOCK_STEP_CYCLES - 1}, 0"])


def _multiply() -> str:
    lines = ["  %m0 = mul i64 %s0, %mask"]
    lines += [f"  %x{i} = xor i64 %m{i - 1}, %left\n  %m{i} = mul i64 %x{i}, %mask" for i in range(1, 4)]
    return "\n".join([*lines, "  %n0 = add i64 %m3, %left"])


_DIVIDE: Final = """\
  %odd = or i64 %s0, -9223372036854775808
  %by = or i64 %left, 4294967297
  %quotient = udiv i64 %odd, %by
  %n0 = xor i64 %quotient, %s0"""
_CHASE: Final = """\
  %inside = and i64 %s0, %mask
  %address = getelementptr i8, ptr %ring, i64 %inside
  %n0 = load i64, ptr %address"""
_CACHED: Final = """\
  %inside = and i64 %s0, 4088
  %address = getelementptr i8, ptr %ring, i64 %inside
  %value = load i64, ptr %address
  %n0 = add i64 %value, %left"""
_LEVEL2: Final = f"""\
  %inside = and i64 %s0, {LEVEL2_BYTES - CACHE_LINE_BYTES}
  %address = getelementptr i8, ptr %ring, i64 %inside
  %value = load i64, ptr %address
  %sign = lshr i64 %value, 63
  %next = add i64 %s0, {LEVEL2_STRIDE}
  %n0 = add i64 %next, %sign"""
_GATHER: Final = """\
  %product = mul i64 %s0, 6364136223846793005
  %n0 = add i64 %product, 1442695040888963407
  %high = lshr i64 %n0, 20
  %inside = and i64 %high, %mask
  %address = getelementptr i8, ptr %ring, i64 %inside
  %value = load i64, ptr %address
  %n1 = xor i64 %s1, %value"""
_STREAM: Final = f"""\
  %inside = and i64 %s0, %mask
  %address = getelementptr i8, ptr %ring, i64 %inside
  %value = load i64, ptr %address
  %n1 = xor i64 %s1, %value
  %n0 = add i64 %s0, {CACHE_LINE_BYTES}"""

KERNELS: Final[tuple[Kernel, ...]] = (
    Kernel("wide", "independent additions: all units of the core at work", 8, _wide()),
    Kernel("chain", "additions that wait for each other", 1, _chain()),
    Kernel("multiply", "multiplications that wait for each other", 1, _multiply()),
    Kernel("cached", "loads from the first cache that wait for each other", 1, _CACHED),
    Kernel("level2", "loads from the second cache that wait for each other", 1, _LEVEL2),
    Kernel("divide", "divisions that wait for each other", 1, _DIVIDE),
    Kernel("stream", "a line of memory after the other, which the core fetches ahead", 2, _STREAM, accesses=1),
    Kernel("gather", "lines of memory at random, several at a time", 2, _GATHER, accesses=1),
    Kernel("chase", "lines of memory at random, each named by the one before", 1, _CHASE, accesses=1),
)
"""From compute-bound to missing every cache."""


@dataclass(frozen=True)
class MachineCode:
    """A compiled kernel.

    Attributes:
        kernel: what it was compiled from.
        code: the function, to be mapped at an address that is a multiple of 16.
        instructions: of one step of the loop.
    """

    kernel: Kernel
    code: bytes
    instructions: int


@cache
def compile_kernels() -> tuple[MachineCode, ...]:
    """Compiles all kernels for this machine's processor; takes a few hundredths of a second.

    Raises:
        RuntimeError: LLVM made code that refers to something outside of it, which no kernel here gives a reason for.
    """
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), opt=2, reloc="pic", codemodel="default"
    )
    found = []
    for kernel in KERNELS:
        module = llvm.parse_assembly(kernel.to_llvm())
        module.verify()
        sections = {
            section.name(): section.data()
            for section in llvm.ObjectFileRef.from_data(machine.emit_object(module)).sections()
        }
        if b".rela.text" in sections:
            raise RuntimeError(f"the code of the kernel {kernel.name} is not self-contained")
        found.append(MachineCode(kernel, sections[b".text"], _instructions(machine.emit_assembly(module))))
    return tuple(found)


def _instructions(assembly: str) -> int:
    """Instructions between the loop's label and its jump back, from the text that LLVM makes of a function."""
    lines = [
        line for line in assembly.splitlines() if line.strip() and not line.strip().startswith((".p2align", "#", "//"))
    ]
    label = next(i for i, line in enumerate(lines) if line.startswith(".LBB0_1:"))
    jump = next(i for i in range(label, len(lines)) if _JUMP.search(lines[i] + " "))
    return sum(not line.strip().startswith(".") for line in lines[label + 1 : jump + 1])
