"""Every log of real systems: read, and held against its manifest and a naive reader."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from tests.tuner.eventlog.reference import summed, text_of, whole_events
from tuner.errors import InputError
from tuner.spark.eventlog import ApplicationLog, LogState, read_log, read_logs

Manifest = dict[str, list[dict[str, Any]]]

REFUSED = {"sparklint/invalid_log_file"}
DAMAGED = {
    "rapids/spark-events-qualification/eventlog_v2_local-1623876083964/events_2_local-1623876083964.zstd",
    "spark_log_parser/bad/duplicate-part.tgz",
    "spark_log_parser/bad/missing-part.zip",
    "sparkscope/app-20231122115433-0000-eventLog-corrupted-events",
}


@pytest.fixture(scope="module")
def folder(shared_data: Path) -> Path:
    return shared_data / "eventlogs"


@pytest.fixture(scope="module")
def manifest(folder: Path) -> Manifest:
    entries: Manifest = defaultdict(list)
    for entry in json.loads((folder / "MANIFEST.json").read_text()):
        entries[entry["file"]].append(entry)
    return entries


@pytest.fixture(scope="module")
def logs(folder: Path, manifest: Manifest) -> dict[str, ApplicationLog]:
    read, refused = {}, set()
    for result in read_logs([folder / name for name in manifest], workers=2):
        name = str(result.path.relative_to(folder))
        if result.log is not None:
            read[name] = result.log
        else:
            refused.add(name)
            assert result.error is not None
            assert str(result.path) in result.error.message
            assert "\n" not in result.error.message
    assert refused == REFUSED
    return read


def test_nothing_is_forgotten(manifest: Manifest, logs: dict[str, ApplicationLog]) -> None:
    # The manifest's 37 logs, with its twins and members of archives under the file that holds them.
    assert set(logs) | REFUSED == set(manifest)
    assert sum(len(entries) for entries in manifest.values()) >= 37


def test_what_the_manifest_says(manifest: Manifest, logs: dict[str, ApplicationLog]) -> None:
    for name, log in logs.items():
        entry = manifest[name][0]
        assert log.name == entry["app_name"], name
        if entry["version"] is not None:  # it knows LogStart's alone; Databricks has the version elsewhere
            assert log.spark_version == entry["version"], name
        assert ("SparkListenerApplicationEnd" in log.events) == entry["app_end"], name
        assert log.bad_lines == entry["bad_lines"], name
        assert log.totals.tasks == entry["tasks"], name
        # The manifest counts starts of jobs, a few logs have ends of jobs without one.
        assert sum(bool(job.stage_ids) for job in log.jobs) == entry["jobs"], name
        if name not in DAMAGED:
            assert sum(log.events.values()) == entry["events"], name


def test_states(manifest: Manifest, logs: dict[str, ApplicationLog]) -> None:
    for name, log in logs.items():
        if name in DAMAGED:
            assert log.state is LogState.DAMAGED, name
        elif manifest[name][0]["raw_bytes"] == 0:
            assert log.state is LogState.NOT_READY, name
        else:
            assert log.state is (LogState.COMPLETE if manifest[name][0]["app_end"] else LogState.INCOMPLETE), name
        assert log.state is LogState.COMPLETE or log.losses, name
        assert all(sentence.endswith(".") and not sentence[0].islower() for sentence in log.losses), log.losses


def test_sums_are_those_of_a_naive_reader(folder: Path, manifest: Manifest, logs: dict[str, ApplicationLog]) -> None:
    for name, log in logs.items():
        if len(manifest[name]) > 1 or "photon" in name:
            continue
        expected = summed(whole_events(text_of(folder / name, manifest[name][0]["member"])))
        totals = log.totals
        got = {
            "tasks": totals.tasks,
            "succeeded": totals.succeeded,
            "duration_ms": round(totals.duration_s * 1e3),
            "run_ms": round(totals.run_s * 1e3),
            "cpu_ns": round((totals.cpu_s or 0) * 1e9),
            "gc_ms": round(totals.gc_s * 1e3),
            "memory_spill": totals.memory_spill_bytes,
            "disk_spill": totals.disk_spill_bytes,
            "shuffle_read": totals.shuffle_read_bytes,
            "fetch_wait_ms": round(totals.fetch_wait_s * 1e3),
            "shuffle_write": totals.shuffle_write_bytes,
            "input": totals.input_bytes,
            "output": totals.output_bytes,
            "peak": totals.peak_execution_bytes or 0,
        }
        assert got == {key: expected[key] for key in got}, name
        by_stage = [stage.totals for stage in log.stages]
        assert sum(each.tasks for each in by_stage) == totals.tasks, name
        assert sum(each.run_s for each in by_stage) == pytest.approx(totals.run_s), name
        assert sum(executor.tasks for executor in log.executors) == totals.tasks - totals.resubmitted, name
        assert all(stage.tasks.complete and len(stage.tasks.rows) == stage.totals.tasks for stage in log.stages), name


def test_driver_time_is_never_negative(logs: dict[str, ApplicationLog]) -> None:
    for name, log in logs.items():
        if log.wall_s is not None:
            assert log.driver_s is not None, name
            assert 0 <= log.driver_s <= log.wall_s, name
            assert log.busy_s <= log.totals.duration_s + 1e-6, name


def test_unknown_stays_unknown(logs: dict[str, ApplicationLog]) -> None:
    assert logs["sparklint/application_1472176676028_407508_1"].totals.cpu_s is None
    assert logs["rapids/spark-events-qualification/python_udf_eventlog"].peaks.jvm_heap is None
    # Spark 2 has the peak among the accumulables alone (apache/spark#25949).
    large = logs["spark-upstream/application_1553914137147_0018"].peaks
    assert large.jvm_rss == 1_210_867_712
    assert large.on_heap_unified == 19_560
    assert large.python_rss is None


def test_failures_keep_sparks_words(logs: dict[str, ApplicationLog]) -> None:
    log = logs["rapids/spark-events-profiling/tasks_executors_fail_compressed_eventlog.zstd"]
    assert log.failure_counts == {"Resubmitted": 50, "ExecutorLostFailure": 1, "FetchFailed": 2}
    lost = next(failure for failure in log.failures if failure.reason == "ExecutorLostFailure")
    assert lost.detail == "Executor Process Lost"
    removed = [executor for executor in log.executors if executor.removal_reason]
    assert {executor.removal_reason for executor in removed} == {"Executor Process Lost"}
    out_of_memory = logs["rapids/spark-events-profiling/gpu_oom_eventlog.zstd"]
    assert out_of_memory.failure_counts["ExceptionFailure"] == 112
    assert sum(job.succeeded is False for job in out_of_memory.jobs) == 5


def test_dynamic_allocation(logs: dict[str, ApplicationLog]) -> None:
    log = logs["sparklint/application_1472176676028_407508_1"]
    workers = [executor for executor in log.executors if executor.executor_id != "driver"]
    assert len(workers) == 58
    assert sum(executor.removed_s is not None for executor in workers) == 57
    assert all(executor.cores for executor in workers)


def test_cached_rdds_of_an_old_log(logs: dict[str, ApplicationLog]) -> None:
    rdd = next(rdd for rdd in logs["spark-upstream/local-1422981780767"].rdds if rdd.rdd_id == 0)
    assert rdd.storage_level == "MEMORY_ONLY"
    assert (rdd.cached_partitions, rdd.memory_bytes) == (8, 28_000_128)
    assert rdd.largest_block_bytes == 3_500_016


def test_a_missing_and_a_repeated_part_are_said(logs: dict[str, ApplicationLog]) -> None:
    missing = logs["spark_log_parser/bad/missing-part.zip"].losses
    assert "Of the log part 1 is missing, before part 2." in missing
    repeated = logs["spark_log_parser/bad/duplicate-part.tgz"].losses
    assert any("repeats part 0" in sentence for sentence in repeated)


def test_the_one_that_is_no_log(folder: Path) -> None:
    with pytest.raises(InputError, match="is not a Spark event log"):
        read_log(folder / "sparklint/invalid_log_file")
