"""Kernels compile to self-contained code whose instructions are known."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from workloads.blocks.calibration import Calibration
from workloads.blocks.kernels import KERNELS, compile_kernels
from workloads.blocks.run import runner_command


def test_every_kernel_is_self_contained_code_of_known_length() -> None:
    compiled = {each.kernel.name: each for each in compile_kernels()}
    assert list(compiled) == [kernel.name for kernel in KERNELS]
    for each in compiled.values():
        # An optimizer that unrolled or removed a loop would show here: a step is its body, a count and a jump.
        assert 3 <= each.instructions <= 40
        assert len(each.code) < 1000
    # 16 additions that wait for each other, the count and the jump: the clock rate is reckoned from them.
    assert 18 <= compiled["chain"].instructions <= 19


def test_the_ring_is_one_way_through_all_its_lines(calibration: Calibration) -> None:
    """Else a chase would go round in a part that fits into the cache."""
    import numpy as np

    ring = np.fromfile(calibration.folder / "ring.bin", np.int64).reshape(-1, 8)[:, 0] // 64
    assert len(ring) * 64 == calibration.ring_bytes
    seen, at = 0, 0
    for _ in range(len(ring)):
        at = int(ring[at])
        seen += 1
        if at == 0:
            break
    assert seen == len(ring)


def test_kernels_differ_as_their_names_say(calibration: Calibration) -> None:
    kernels = calibration.kernels
    assert kernels["wide"].cpi < kernels["chain"].cpi < kernels["gather"].cpi < kernels["chase"].cpi
    assert [kernels[name].mai > 0 for name in ("wide", "chain", "divide", "stream", "gather", "chase")] == [
        False, False, False, True, True, True,
    ]  # fmt: skip
    assert 0.5 < calibration.clock_ghz < 8


def test_a_runner_imports_nothing_but_the_standard_library(calibration: Calibration) -> None:
    block = {"duration_s": 0.05, "cores": 0.1, "memory_mib": 8, "kernels": {"wide": 1.0}}
    command = runner_command(calibration)
    probe = "import sys, runpy; sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__'); "
    probe += "print(sorted(n for n in sys.modules if n.split('.')[0] in ('numpy', 'numba', 'site', 'workloads')))"
    result = subprocess.run(
        [sys.executable, "-I", "-S", "-c", probe, *command[3:], json.dumps(block)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    measured, modules = result.stdout.splitlines()
    assert json.loads(measured)["steps"]["wide"] > 0
    assert modules == "[]"


@pytest.mark.parametrize("name", [kernel.name for kernel in KERNELS])
def test_every_kernel_can_run_alone(name: str, calibration: Calibration) -> None:
    from workloads.blocks.mix import Block
    from workloads.blocks.run import run_blocks

    (ran,) = run_blocks([Block(0.1, 0.2, 8, {name: 1.0})], calibration)
    assert ran.cpi == pytest.approx(calibration.kernels[name].cpi)
    assert ran.mai == pytest.approx(calibration.kernels[name].mai)
