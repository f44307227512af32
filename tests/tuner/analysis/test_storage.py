from __future__ import annotations

from dataclasses import astuple
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tests.tuner.analysis.made import Log, found, rdd
from tuner.analysis.heuristics.storage import storage_costs


def costs(**changed: float):  # type: ignore[no-untyped-def]
    base = {
        "partitions": 10,
        "cached": 6,
        "partition_mib": 100,
        "compute_s": 10,
        "reads": 3,
        "disk_mib_per_s": 100,
        "serial_mib_per_s": 150,
        "serial_ratio": 2.5,
        "deserialized": True,
    }
    return storage_costs(**{**base, **changed})  # type: ignore[arg-type]


def test_costs_by_hand() -> None:
    # 4 missing partitions, 3 reads: 4 * 10 * 3; 4 * 40 MiB at 100 MiB/s, written once and read 3 times; all 400 MiB
    # serialized fit into the 600 MiB, read 3 times at 150 MiB/s.
    assert astuple(costs()) == (120.0, 6.4, 8.0)


def test_serialized_only_where_it_fits_and_gains() -> None:
    assert costs(cached=3).serialize_s is None
    assert costs(deserialized=False).serialize_s is None


@given(st.integers(1, 500), st.floats(0.1, 1000), st.floats(0.01, 100), st.integers(1, 20))
def test_all_of_it_in_memory_costs_nothing_more(partitions: int, mib: float, compute_s: float, reads: int) -> None:
    whole = costs(partitions=partitions, cached=partitions, partition_mib=mib, compute_s=compute_s, reads=reads)
    assert (whole.recompute_s, whole.disk_s) == (0, 0)


def partly_cached(compute_ms: int, mib: float, *, disk: bool = False, name: str = "cached") -> Log:
    """10 partitions of which 6 stay in memory, made in stage 0 and read in stages 1 and 2."""
    log = Log({}).executors(2)
    kept = [rdd(7, 10, disk=disk, name=name)]
    for number in range(10):
        log.task(0, 6_000, compute_ms, executor=1 + number % 2)
    log.stage(0, 10, at=5_000, rdds=kept).cached_blocks(7, 6, mib)
    for stage in (1, 2):
        log.task(stage, 60_000 + 1_000 * stage, 900).stage(stage, 1, at=60_000 + stage, rdds=kept)
    return log.job().end()


def test_dear_to_compute_goes_to_disk(tmp_path: Path) -> None:
    (finding,) = found(partly_cached(20_000, 20).analyze(tmp_path), "cached-data")
    # 4 * 20 s * 2 against 4 * 8 MiB / 100 MiB/s * 3, against 80 MiB / 150 MiB/s * 2.
    assert finding.seen.numbers["recompute_s"] == 160.0
    assert finding.seen.numbers["disk_s"] == 0.96
    assert finding.seen.numbers["better_level"] == "MEMORY_AND_DISK"
    assert "persist(StorageLevel.MEMORY_AND_DISK) instead of MEMORY_ONLY" in finding.seen.advice


def test_columns_of_a_cached_table_gain_nothing_by_serializing(tmp_path: Path) -> None:
    (finding,) = found(partly_cached(20_000, 20, name="In-memory table t").analyze(tmp_path), "cached-data")
    assert finding.seen.numbers["serialize_s"] is None
    # 20 MiB a partition on disk as in memory: 4 * 20 / 100 * 3.
    assert finding.seen.numbers["disk_s"] == 2.4


def test_cheap_to_compute_and_large_is_computed_again(tmp_path: Path) -> None:
    (finding,) = found(partly_cached(500, 800, disk=True).analyze(tmp_path), "cached-data")
    assert finding.seen.numbers["better_level"] == "MEMORY_ONLY"


def test_level_that_is_cheapest_already(tmp_path: Path) -> None:
    assert not found(partly_cached(20_000, 20, disk=True).analyze(tmp_path), "cached-data")


def test_never_read_again(tmp_path: Path) -> None:
    log = Log({}).executors(1)
    for _ in range(4):
        log.task(0, 6_000, 5_000)
    log.stage(0, 4, rdds=[rdd(7, 4)]).cached_blocks(7, 4, 100)
    (finding,) = found(log.job().end().analyze(tmp_path), "cached-data")
    assert finding.seen.advice == "do not persist it"


def test_not_traced(tmp_path: Path) -> None:
    log = Log({}).executors(1).task(0, 6_000, 5_000).stage(0, 1, rdds=[rdd(7, 1)]).job().end()
    analysis = log.analyze(tmp_path)
    assert not found(analysis, "cached-data")
    assert "logBlockUpdates" in found(analysis, "untraced-cache")[0].seen.advice
