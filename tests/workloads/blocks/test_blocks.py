"""Blocks hold what they are told to, as the operating system counts it."""

from __future__ import annotations

import mmap
import os
from math import isnan, nan
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tuner.errors import InputError, YarntuneError
from workloads.blocks import run
from workloads.blocks.calibration import Calibration, MeasuredKernel, calibrate
from workloads.blocks.counters import Counters, counters_available
from workloads.blocks.mix import Block, class_of, kernel_shares, ran_of
from workloads.blocks.run import run_blocks

MACHINE = Calibration(
    Path("unused"),
    3.0,
    2**27,
    {
        "wide": MeasuredKernel(0, 29, 0, 2.2, 0.25, 0.0),
        "divide": MeasuredKernel(0, 9, 0, 4.0, 1.6, 0.0),
        "stream": MeasuredKernel(0, 6, 1, 2.0, 1.2, 1 / 6),
        "chase": MeasuredKernel(0, 4, 1, 170.0, 150.0, 0.25),
    },
)


def test_cpu_time_and_memory_are_what_was_asked_for(calibration: Calibration) -> None:
    kernels = kernel_shares(1.5, 0.004, calibration)
    blocks = [Block(1.0, 0.10, 48, kernels), Block(1.0, 0.05, 16, kernels), Block(0.5, 0.6, 200, kernels)]
    ran = list(run_blocks(blocks, calibration))
    for block, measured in zip(blocks[:2], ran, strict=False):
        # On a busy machine a block may get less; it may not take more, beyond the last burst.
        assert measured.cpu_s <= block.cores * block.duration_s * 1.15
        assert measured.cpu_s > block.cores * block.duration_s * 0.5
        assert measured.cpi == pytest.approx(1.5, rel=0.02)
        assert measured.mai == pytest.approx(0.004, rel=0.02)
    for block, measured in zip(blocks, ran, strict=True):
        assert measured.memory_mib == pytest.approx(block.memory_mib, rel=0.02)
        assert measured.wall_s >= block.duration_s


def test_memory_is_taken_before_a_block_begins(calibration: Calibration) -> None:
    """Touching a gigabyte takes some tenths of a second of CPU time, which are not the block's."""
    (ran,) = run_blocks([Block(0.5, 0.0, 1024, {"wide": 1.0})], calibration)
    assert ran.memory_mib == pytest.approx(1024, rel=0.02)
    assert ran.cpu_s < 0.05
    assert isnan(ran.cpi)


def test_a_share_above_one_core_runs_on_several_threads(calibration: Calibration) -> None:
    (ran,) = run_blocks([Block(0.6, 1.2, 8, {"wide": 1.0})], calibration)
    assert 0 < ran.cpu_s <= 1.2 * 0.6 * 1.2


def test_a_runner_that_fails_is_an_error_with_its_words(calibration: Calibration) -> None:
    with pytest.raises(YarntuneError, match="KeyError"):
        list(run_blocks([Block(0.1, 0.1, 8, {"no-such-kernel": 1.0})], calibration))
    assert run.RUNNER.is_file()


@settings(max_examples=60, deadline=None)
@given(cpi=st.floats(0.3, 20), mai=st.floats(0, 0.12))
def test_a_mix_reaches_what_its_kernels_can(cpi: float, mai: float) -> None:
    shares = kernel_shares(cpi, mai, MACHINE)
    assert sum(shares.values()) == pytest.approx(1.0)
    assert all(share > 0 for share in shares.values())
    weights = {name: share / MACHINE.kernels[name].cpi for name, share in shares.items()}
    total = sum(weights.values())
    got_cpi = sum(weight * MACHINE.kernels[name].cpi for name, weight in weights.items()) / total
    got_mai = sum(weight * MACHINE.kernels[name].mai for name, weight in weights.items()) / total
    # A way exists where a line from no access at all to the accesses of stream or chase passes by the point.
    least = 0.25 + (1.2 - 0.25) * mai * 6
    most = 1.6 + (150 - 1.6) * mai * 4
    if least * 1.02 < cpi < most * 0.98:
        assert got_cpi == pytest.approx(cpi, rel=0.02)
        assert got_mai == pytest.approx(mai, abs=0.02 * max(mai, 1e-3))


def test_what_is_not_known_does_not_matter() -> None:
    assert kernel_shares(1.6, nan, MACHINE) == {"divide": pytest.approx(1.0)}
    assert sum(kernel_shares(nan, nan, MACHINE).values()) == pytest.approx(1.0)


def test_classes_double() -> None:
    assert [class_of(value, (0.5, 1.0, 2.0)) for value in (0.1, 0.5, 0.9, 1.0, 7.0)] == [0, 1, 1, 2, 3]


def test_what_ran_is_weighted_by_instructions() -> None:
    ran = ran_of({"wall_s": 2.0, "cpu_s": 1.0, "memory_mib": 9.0, "steps": {"divide": 100, "chase": 25}}, MACHINE)
    assert ran.cores == 0.5
    assert ran.cpi == pytest.approx((900 * 1.6 + 100 * 150) / 1000)
    assert ran.mai == pytest.approx(25 / 1000)
    assert ran.cpi_by_clock == pytest.approx(1e9 * 3.0 / 1000)


def test_counters_count_what_the_system_counts() -> None:
    """Software events are there on every machine: page faults of touching 20 MiB."""
    counters = Counters.of(os.getpid(), ((1, 2),))
    if not counters._files:
        assert counters.read() is None
        return
    counters.values()
    # A mapping of its own: what Python's allocator gives may have been touched before.
    with mmap.mmap(-1, 20 * 2**20) as pages:
        for place in range(0, len(pages), mmap.PAGESIZE):
            pages[place] = 1
        assert counters.values()[0] > 0
    counters.close()
    assert counters_available() in (True, False)


def test_a_cache_folder_that_cannot_be_used_is_said(tmp_path: Path) -> None:
    (tmp_path / "blocks").write_text("in the way")
    with pytest.raises(InputError, match="cannot be used"):
        calibrate(tmp_path)
