"""Sums, samples and intervals, and that bounded memory keeps what it says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tuner.eventlog.synthetic import application, end, event, executor, stage, task, text, write
from tuner.spark.eventlog import LogState, read_log
from tuner.spark.eventlog.codecs import Damage
from tuner.spark.eventlog.intervals import BusySpells, driver_time, merge
from tuner.spark.eventlog.lines import LONGEST_LINE, Tail, TooLong, lines_of
from tuner.spark.eventlog.tasks import WIDTH, Reservoir

INTERVALS = st.lists(st.tuples(st.integers(0, 200), st.integers(0, 30)), max_size=40)


def arrays(intervals: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    starts = np.array([start for start, _ in intervals], np.int64)
    return starts, starts + np.array([length for _, length in intervals], np.int64)


@given(INTERVALS)
def test_union_is_the_set_of_moments(intervals: list[tuple[int, int]]) -> None:
    starts, ends = merge(*arrays(intervals))
    moments = {moment for start, length in intervals for moment in range(start, start + length)}
    assert int((ends - starts).sum()) == len(moments)
    assert (starts[1:] > ends[:-1]).all()


@given(INTERVALS, INTERVALS)
def test_union_does_not_depend_on_how_it_is_fed(first: list[tuple[int, int]], second: list[tuple[int, int]]) -> None:
    spells = BusySpells()
    spells.add(*arrays(first))
    spells.add(*arrays(second))
    starts, ends = merge(*arrays(first + second))
    assert spells.length_ms == int((ends - starts).sum())


def test_too_many_spells_close_their_shortest_gaps() -> None:
    spells = BusySpells(max_spells=10)
    # 20 spells of 1 ms, 1 ms apart but for two long gaps.
    starts = np.arange(20) * 2 + np.where(np.arange(20) >= 10, 1000, 0) + np.where(np.arange(20) >= 15, 1000, 0)
    spells.add(starts, starts + 1)
    assert spells.length_ms == 20 + spells.closed_gaps_ms
    assert 0 < spells.closed_gaps_ms <= 17


@pytest.mark.parametrize(("wall", "busy", "expected"), [(10.0, 4.0, 6.0), (10.0, 10.0, 0.0), (10.0, 12.5, 0.0)])
def test_driver_time(wall: float, busy: float, expected: float) -> None:
    assert driver_time(wall, busy) == expected


def test_stages_side_by_side_are_not_summed(tmp_path: Path) -> None:
    tasks = [task(0, 1000, 5000, stage=0), task(1, 2000, 6000, stage=1), task(2, 8000, 9000, stage=2)]
    log = read_log(write(tmp_path / "log", *application(), *tasks, end(10_000)))
    assert log.busy_s == pytest.approx(6.0)
    assert log.driver_s == pytest.approx(4.0)
    assert log.totals.duration_s == pytest.approx(9.0)


def test_reservoir_is_uniform_and_repeatable() -> None:
    hits = np.zeros(1000)
    for seed in range(300):
        rows = np.zeros((1000, WIDTH), np.int64)
        rows[:, 0] = np.arange(1000)
        sample = Reservoir(50, seed)
        for part in np.split(rows, [10, 60, 400]):
            sample.add(part)
        sample.shrink(20)
        sample.add(rows[:0])
        assert len(sample) == 20
        assert len(set(sample.rows[:, 0])) == 20
        hits[sample.rows[:, 0]] += 1
    # 20 of 1000, 300 times: 6 each, so 600 a tenth of them with a standard deviation below 25.
    tenths = hits.reshape(10, 100).sum(axis=1)
    assert (abs(tenths - 600) < 100).all(), tenths

    again = [Reservoir(50, 7) for _ in range(2)]
    for sample in again:
        sample.add(rows)
    assert (again[0].rows == again[1].rows).all()


def test_samples_are_bounded_and_totals_exact(tmp_path: Path) -> None:
    stages, tasks = 30, 400
    events = [
        task(number * tasks + n, 1000, 2000 + n, stage=number, **{"Memory Bytes Spilled": 3})
        for number in range(stages)
        for n in range(tasks)
    ]
    path = write(tmp_path / "log", *application(), executor("1"), *events, end(1_000_000))
    full, small = read_log(path), read_log(path, max_rows=1000)
    assert not full.sampled
    assert small.sampled
    assert sum(len(each.tasks.rows) for each in small.stages) <= 1000
    assert all(len(each.tasks.rows) > 10 and each.tasks.of_tasks == tasks for each in small.stages)
    assert small.totals == full.totals
    assert [each.totals for each in small.stages] == [each.totals for each in full.stages]
    assert small.totals.memory_spill_bytes == 3 * stages * tasks
    assert any("only a part is kept" in sentence for sentence in small.losses)


def test_stages_are_bounded_and_the_large_ones_stay(tmp_path: Path) -> None:
    events = []
    for number in range(9000):
        finish = 50_000 if number % 1000 == 0 else 1001
        events += [stage(number, 1), task(number, 1000, finish, stage=number), stage(number, 1, finish)]
    path = write(tmp_path / "log", *application(), *events, end(60_000))
    log = read_log(path, max_stages=100)
    kept = {each.stage_id for each in log.stages if each.totals.tasks}
    assert len(log.stages) <= 125
    assert log.stages_without_tasks == ()
    assert not log.compacted
    assert set(range(0, 9000, 1000)) <= kept
    assert log.totals.tasks == 9000
    assert log.sampled
    assert log.state is LogState.COMPLETE


def test_resubmitted_task_counts_its_time_once(tmp_path: Path) -> None:
    again = task(0)
    again["Task End Reason"] = {"Reason": "Resubmitted"}
    log = read_log(write(tmp_path / "log", *application(), task(0), again, task(1), end()))
    assert (log.totals.tasks, log.totals.succeeded, log.totals.resubmitted, log.totals.failed) == (3, 2, 1, 0)
    assert log.totals.duration_s == pytest.approx(2.0)
    assert log.executors[0].tasks == 2


def test_ends_of_tasks(tmp_path: Path) -> None:
    killed = task(0)
    killed["Task End Reason"] = {"Reason": "TaskKilled", "Kill Reason": "another attempt succeeded"}
    failed = task(1)
    failed["Task End Reason"] = {
        "Reason": "ExceptionFailure",
        "Class Name": "java.lang.OutOfMemoryError",
        "Description": "Java heap space" + "!" * 1000,
    }
    failed["Task Metrics"] = None
    log = read_log(write(tmp_path / "log", *application(), killed, failed, end()))
    assert (log.totals.killed, log.totals.failed) == (1, 1)
    assert log.failures[0].detail == "another attempt succeeded"
    assert log.failures[1].detail.startswith("java.lang.OutOfMemoryError: Java heap space!")
    assert len(log.failures[1].detail) == 500
    assert log.failure_counts == {"TaskKilled": 1, "ExceptionFailure": 1}


def test_peaks(tmp_path: Path) -> None:
    sampled = {
        "JVMHeapMemory": 100,
        "OnHeapUnifiedMemory": 40,
        "OffHeapUnifiedMemory": 5,
        "ProcessTreeJVMRSSMemory": 900,
    }
    with_peaks = task(0) | {"Task Executor Metrics": sampled}
    never = task(1, executor_id="2") | {"Task Executor Metrics": dict.fromkeys(sampled, 0)}
    of_driver = event(
        "SparkListenerStageExecutorMetrics",
        **{"Executor ID": "driver", "Stage ID": 0, "Stage Attempt ID": 0, "Executor Metrics": {"JVMHeapMemory": 10**9}},
    )
    of_executor = of_driver | {
        "Executor ID": "1",
        "Executor Metrics": {"JVMHeapMemory": 150, "OnHeapUnifiedMemory": 30},
    }
    everyone = [executor("1"), executor("2")]
    log = read_log(write(tmp_path / "log", *application(), *everyone, with_peaks, never, of_driver, of_executor, end()))
    assert (log.peaks.jvm_heap, log.peaks.unified, log.peaks.process_rss) == (150, 45, 900)
    assert log.stages[0].peaks == log.peaks
    assert log.executors[1].peaks.unified is None
    assert log.executors[2].executor_id == "driver"
    assert log.executors[2].peaks.jvm_heap == 10**9


def test_peak_of_execution_memory_only_among_accumulables(tmp_path: Path) -> None:
    """G3-09."""
    with_peak = task(0, **{"Peak Execution Memory": 0})
    with_peak["Task Info"]["Accumulables"] = [
        {"ID": 1, "Name": "internal.metrics.peakExecutionMemory", "Update": 4096, "Value": 99999}
    ]
    log = read_log(write(tmp_path / "log", *application(), with_peak, task(1), end()))
    assert log.stages[0].tasks.column("peak_execution_bytes").tolist() == [4096, 0]
    assert log.totals.peak_execution_bytes == 4096
    assert read_log(write(tmp_path / "none", *application(), task(1), end())).totals.peak_execution_bytes is None


def test_cached_blocks_that_grow_spill_and_go(tmp_path: Path) -> None:
    def block(name: str, memory: int, disk: int) -> dict[str, object]:
        level = {"Use Memory": memory > 0, "Use Disk": disk > 0, "Deserialized": True, "Replication": 1}
        info = {"Block ID": name, "Storage Level": level, "Memory Size": memory, "Disk Size": disk}
        return event("SparkListenerBlockUpdated", **{"Block Updated Info": info})

    persisted = stage(0, 1, 3000)
    level = {"Use Memory": True, "Use Disk": True, "Deserialized": True, "Replication": 2}
    persisted["Stage Info"]["RDD Info"] = [
        {"RDD ID": 3, "Name": "x", "Storage Level": level, "Number of Partitions": 2}
    ]
    updates = [
        block("rdd_3_0", 100, 0),
        block("rdd_3_1", 50, 0),
        block("rdd_3_0", 120, 0),
        block("rdd_3_1", 0, 60),
        block("rdd_3_0", 0, 0),
        block("broadcast_1_piece0", 10**9, 0),
    ]
    log = read_log(write(tmp_path / "log", *application(), persisted, *updates, end()))
    (rdd,) = log.rdds
    assert rdd.storage_level == "MEMORY_AND_DISK_2"
    assert (rdd.memory_bytes, rdd.disk_bytes, rdd.cached_partitions, rdd.largest_block_bytes) == (170, 60, 2, 120)
    assert not rdd.unpersisted


@given(st.lists(st.binary(max_size=12).map(lambda line: line.replace(b"\n", b"")), max_size=8), st.data())
def test_lines_do_not_depend_on_the_pieces(lines: list[bytes], data: st.DataObject) -> None:
    whole = b"\n".join(lines)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=6)))
    pieces = [whole[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    found: list[bytes] = []
    for item in lines_of(iter(pieces)):
        assert not isinstance(item, Damage | TooLong)
        found += [item.text] if isinstance(item, Tail) else item
    assert found == (whole.split(b"\n") if not whole.endswith(b"\n") and whole else whole.split(b"\n")[:-1])


def test_a_line_without_end_is_left_out() -> None:
    pieces = [b"first\n", *([b"x" * (1 << 22)] * (LONGEST_LINE // (1 << 22) + 1)), b"x\nlast\n"]
    assert list(lines_of(iter(pieces))) == [[b"first"], TooLong(), [b"last"]]


def test_text_after_damage_starts_at_a_whole_line() -> None:
    torn = Damage("torn", at_end=False)
    assert list(lines_of(iter([b"a\nb", torn, b"c\nd\n"]))) == [[b"a"], torn, [b"d"]]
    assert list(lines_of(iter([b"a\nb", torn, b'{"Event":1}\nd\n']))) == [[b"a"], torn, [b'{"Event":1}', b"d"]]


def test_events_with_a_package_and_in_another_order(tmp_path: Path) -> None:
    lines = text(*application()) + b' { "Timestamp" : 1700000010000, "Event" : "SparkListenerApplicationEnd" }\n'
    start = event("org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart", executionId=4, time=1)
    (tmp_path / "log").write_bytes(text(start) + lines)
    log = read_log(tmp_path / "log")
    assert log.sql[0].execution_id == 4
    assert log.end_s == pytest.approx(1_700_000_010.0)
    assert log.state is LogState.COMPLETE
