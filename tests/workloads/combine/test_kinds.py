"""k-means stays within its bound, and what it says of a segment becomes a block."""

from __future__ import annotations

from dataclasses import replace
from math import nan
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.workloads.blocks.test_blocks import MACHINE
from workloads.combine.kinds import FLOORS, find_kinds, relative_error
from workloads.combine.segments import FEATURES, Segments, of_series
from workloads.importers.options import ImportOptions
from workloads.importers.registry import import_workload


def segments_of(count: int, seed: int) -> Segments:
    random = np.random.default_rng(seed)
    return Segments(
        step_s=300.0,
        owner=np.zeros(count, np.int64),
        start_s=np.arange(count) * 300.0,
        cores=random.lognormal(-2, 1.0, count),
        memory_mib=random.lognormal(5, 0.5, count),
        cpi=random.lognormal(0.5, 0.4, count),
        mai=random.lognormal(-5, 0.5, count),
        owners=("j",),
    )


@settings(max_examples=25, deadline=None)
@given(count=st.integers(1, 60), seed=st.integers(0, 99), bound=st.sampled_from([0.002, 0.02, 0.2]))
def test_the_mean_error_of_every_feature_is_within_the_bound(count: int, seed: int, bound: float) -> None:
    segments = segments_of(count, seed)
    kinds = find_kinds(segments, bound=bound)
    for name in FEATURES:
        found = relative_error(kinds.values[name], getattr(segments, name), FLOORS[name])
        assert found.mean() <= bound + 1e-12
        assert kinds.errors[name] == pytest.approx(found)


def test_a_looser_bound_needs_fewer_kinds() -> None:
    segments = segments_of(400, 1)
    counts = [find_kinds(segments, bound=bound).count for bound in (0.3, 0.05, 0.005)]
    assert counts == sorted(counts)
    assert counts[0] < 40 < counts[2] < 3 * 400


def test_equal_segments_are_one_kind() -> None:
    one = segments_of(1, 0)
    assert find_kinds(one.take(np.zeros(500, np.int64))).count == 3


def test_a_block_keeps_shape_and_shrinks_in_time() -> None:
    kinds = find_kinds(segments_of(50, 3))
    long, short = kinds.block(7, 10, MACHINE), kinds.block(7, 100, MACHINE)
    assert (long.duration_s, short.duration_s) == (30.0, 3.0)
    assert replace(long, duration_s=3.0) == short
    assert short.cores == pytest.approx(kinds.segments.cores[7], rel=0.05)


def test_segments_without_cpi_become_blocks_all_the_same() -> None:
    segments = segments_of(30, 4)
    unknown = replace(segments, cpi=np.where(np.arange(30) % 2, nan, segments.cpi))
    kinds = find_kinds(unknown)
    assert np.isnan(kinds.values["cpi"][1])
    assert not np.isnan(kinds.values["cpi"][0])
    assert sum(kinds.block(1, 100, MACHINE).kernels.values()) == pytest.approx(1.0)
    assert kinds.errors["cpi"][1] == 0.0


def test_of_the_real_series_a_tenth_of_the_segments_are_kinds(shared_data: Path) -> None:
    path = shared_data / "google" / "usage_5min_job_6176858948.csv"
    segments = of_series(import_workload([path], ImportOptions("series")))
    kinds = find_kinds(segments, bound=0.01)
    assert max(float(each.mean()) for each in kinds.errors.values()) <= 0.01
    assert kinds.count < len(segments) / 10
