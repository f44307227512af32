"""The few numbers of a run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.tuner.eventlog.synthetic import START, application, end, event, executor, stage, task, write
from tuner.spark.eventlog import read_log
from tuner.spark.metrics import RunMetrics, run_metrics


def environment(**properties: str) -> dict[str, object]:
    return event("SparkListenerEnvironmentUpdate", **{"Spark Properties": properties})


def removed(executor_id: str, after: int) -> dict[str, object]:
    return event("SparkListenerExecutorRemoved", **{"Timestamp": START + after, "Executor ID": executor_id})


def metrics_of(path: Path, *events: dict[str, object]) -> RunMetrics:
    return run_metrics(read_log(write(path / "log", *application(), *events)))


def test_idle_share_is_of_slots_over_lives(tmp_path: Path) -> None:
    # Executor 1: 4 cores, 2 slots, 10 s; executor 2: 1 slot (never less), 4 s. 24 slot-seconds, 6 of them busy.
    metrics = metrics_of(
        tmp_path,
        environment(**{"spark.task.cpus": "2"}),
        executor("1", cores=4),
        executor("2", added=2000, cores=1),
        task(0, 1000, 5000),
        task(1, 3000, 5000, executor_id="2"),
        removed("2", 6000),
        end(10_000),
    )
    assert metrics.executor_s == pytest.approx(14.0)
    assert metrics.idle_share == pytest.approx(1 - 6 / 24)
    assert (metrics.executors, metrics.peak_executors) == (2, 2)
    assert metrics.driver_s == pytest.approx(6.0)


def test_executors_that_follow_each_other_are_not_counted_together(tmp_path: Path) -> None:
    metrics = metrics_of(tmp_path, executor("1"), removed("1", 3000), executor("2", added=3000), end())
    assert (metrics.executors, metrics.peak_executors) == (2, 1)


def test_skew_is_of_the_worst_stage_that_matters(tmp_path: Path) -> None:
    even = [task(number, 1000, 2000, stage=0) for number in range(8)]
    skewed = [task(number, 1000, 7000 if number == 10 else 3000, stage=1) for number in range(10, 18)]
    tiny = [task(number, 1000, 1001 + 50 * (number == 20), stage=2) for number in range(20, 28)]
    metrics = metrics_of(tmp_path, *even, *skewed, *tiny, end())
    assert metrics.skew == pytest.approx(3.0)


def test_failed_tasks_are_not_skew(tmp_path: Path) -> None:
    failed = task(9, 1000, 9000)
    failed["Task End Reason"] = {"Reason": "ExceptionFailure"}
    metrics = metrics_of(tmp_path, *[task(number) for number in range(8)], failed, end())
    assert metrics.skew == pytest.approx(1.0)
    assert (metrics.tasks, metrics.failed_tasks) == (9, 1)


def test_zero_is_unknown_where_spark_does_not_measure(tmp_path: Path) -> None:
    metrics = metrics_of(tmp_path, task(0), end())
    assert metrics.gc_s is None
    assert metrics.gc_share is None
    assert metrics.peak_execution_mib is None
    assert metrics.peak_unified_mib is None
    assert metrics.peak_rss_mib is None
    assert metrics.skew is None
    assert metrics.idle_share is None
    assert metrics.memory_spill_bytes == 0
    assert metrics_of(tmp_path, task(0, **{"JVM GC Time": 250}), end()).gc_share == pytest.approx(0.25)


def test_peaks_are_whole_mib_rounded_up(tmp_path: Path) -> None:
    sampled = {
        "JVMHeapMemory": 1,
        "OnHeapUnifiedMemory": 2**20,
        "OffHeapUnifiedMemory": 1,
        "ProcessTreeJVMRSSMemory": 2**30,
    }
    metrics = metrics_of(tmp_path, executor("1"), task(0) | {"Task Executor Metrics": sampled}, end())
    assert (metrics.peak_unified_mib, metrics.peak_rss_mib, metrics.peak_heap_mib) == (2, 1024, 1)


def test_unfinished_log(tmp_path: Path) -> None:
    metrics = metrics_of(tmp_path, executor("1"), stage(0, 3), task(0, 1000, 4000))
    assert metrics.state == "incomplete"
    assert metrics.duration_s == pytest.approx(4.0)


def test_json_round_trip(tmp_path: Path) -> None:
    metrics = metrics_of(tmp_path, executor("1"), task(0), end())
    stored = json.loads(json.dumps(metrics.to_json(), allow_nan=False))
    assert RunMetrics.from_json(stored) == metrics
    del stored["skew"]
    assert RunMetrics.from_json({**stored, "of_a_later_version": 1}).skew is None


def test_a_real_run(shared_data: Path) -> None:
    """13,504 tasks on 8 executors of 16 cores; figures as Spark's history page sums them."""
    metrics = run_metrics(
        read_log(shared_data / "eventlogs/rapids/spark-events-qualification/nds_q72_dataproc_2_2.zstd")
    )
    assert metrics.tasks == 13_504
    assert metrics.executors == metrics.peak_executors == 8
    assert metrics.duration_s is not None
    assert metrics.driver_s is not None
    assert 0 < metrics.driver_s < metrics.duration_s
    assert metrics.idle_share is not None
    assert 0 < metrics.idle_share < 1
    assert metrics.gc_share is not None
    assert 0 < metrics.gc_share < 0.2
    assert metrics.skew is not None
    assert metrics.skew > 1
