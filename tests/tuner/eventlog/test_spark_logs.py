"""Logs that the installed Spark writes: every codec, rolled, and of a driver that was killed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.tuner.eventlog.conftest import only_log
from tuner.spark.eventlog import ApplicationLog, LogState, find_log, read_log
from tuner.spark.eventlog.codecs import codec_of

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def plain(spark_logs: Path) -> ApplicationLog:
    return read_log(only_log(spark_logs / "none"))


@pytest.mark.parametrize("codec", ["zstd", "lz4", "lzf", "snappy"])
def test_codecs_of_spark(spark_logs: Path, plain: ApplicationLog, codec: str) -> None:
    path = only_log(spark_logs / codec)
    assert codec_of(path.read_bytes()[:8]) == codec
    log = read_log(path)
    assert (log.state, log.losses) == (LogState.COMPLETE, ())
    assert log.name == codec
    assert log.spark_version == plain.spark_version
    # The same SQL ran in the plain log's application, after jobs without SQL.
    ids = {stage_id for job in plain.jobs if job.sql_execution_id is not None for stage_id in job.stage_ids}
    expected = [stage.totals for stage in plain.stages if stage.stage_id in ids]
    assert log.totals.tasks == sum(totals.tasks for totals in expected) > 4
    assert log.totals.shuffle_write_records == sum(totals.shuffle_write_records for totals in expected) == 28


def test_what_a_plain_log_says(plain: ApplicationLog) -> None:
    assert (plain.state, plain.losses) == (LogState.COMPLETE, ())
    assert plain.spark_version is not None
    assert plain.spark_version.startswith("4.")
    assert [len(stage.tasks.rows) for stage in plain.stages[:3]] == [4, 4, 3]
    assert plain.stages[2].parents == (plain.stages[1].stage_id,)
    assert plain.totals.succeeded == plain.totals.tasks
    assert plain.totals.cpu_s is not None
    assert 0 < plain.totals.cpu_s < 60
    (execution,) = plain.sql
    assert execution.ended_s is not None
    assert execution.error is None
    assert any(job.sql_execution_id == execution.execution_id for job in plain.jobs)
    (driver,) = plain.executors
    assert (driver.executor_id, driver.cores) == ("driver", 2)
    assert driver.tasks == plain.totals.tasks
    assert plain.exit_code in (None, 0)


def test_sampled_memory(plain: ApplicationLog) -> None:
    assert {"SparkListenerStageExecutorMetrics", "SparkListenerExecutorMetricsUpdate"} <= set(plain.events)
    peaks = plain.executors[0].peaks
    assert plain.peaks == peaks, "in local mode the driver is the executor"
    assert peaks.jvm_heap is not None
    assert peaks.jvm_heap > 2**20
    assert peaks.process_rss is not None
    assert peaks.process_rss > 50 * 2**20
    assert peaks.unified is not None


def test_cached_blocks(plain: ApplicationLog) -> None:
    (cached,) = [rdd for rdd in plain.rdds if rdd.use_memory]
    assert cached.storage_level == "MEMORY_ONLY_SER"  # Python's objects are bytes to the JVM
    assert cached.cached_partitions == 3
    assert cached.memory_bytes >= cached.largest_block_bytes > 0
    assert cached.unpersisted


def test_old_names_of_properties_stay_and_are_found(plain: ApplicationLog) -> None:
    assert plain.properties["spark.yarn.executor.memoryOverhead"] == "777"
    assert "spark.executor.memoryOverhead" not in plain.properties
    assert plain.setting("spark.executor.memoryOverhead") == "777"


def test_rolled_files_are_read_by_number(spark_logs: Path, tmp_path: Path) -> None:
    """G3-03 and G3-04: as Spark 4 writes by itself, zstd in rolled files."""
    folder = only_log(spark_logs / "rolling")
    assert folder.name.startswith("eventlog_v2_")
    files = sorted(folder.glob("events_*"))
    assert len(files) > 10, "so that 10 sorts before 2 by name"
    log = read_log(folder)
    assert (log.state, log.losses) == (LogState.COMPLETE, ())
    assert log.totals.tasks == 56
    assert [job.job_id for job in log.jobs] == list(range(28))
    assert find_log(folder.parent, str(log.application_id)) == folder

    cut = tmp_path / folder.name
    shutil.copytree(folder, cut)
    next(cut.glob("events_4_*")).unlink()
    log = read_log(cut)
    assert log.state is LogState.DAMAGED
    assert "Of the rolled log file 4 is missing." in log.losses
    assert 0 < log.totals.tasks < 56


def test_cut_rolled_file_keeps_the_rest(spark_logs: Path, tmp_path: Path) -> None:
    folder = only_log(spark_logs / "rolling")
    cut = tmp_path / folder.name
    shutil.copytree(folder, cut)
    victim = next(cut.glob("events_5_*"))
    victim.write_bytes(victim.read_bytes()[: victim.stat().st_size // 2])
    log = read_log(cut)
    assert log.state is LogState.DAMAGED
    assert not log.end_estimated
    assert 40 < log.totals.tasks <= 56
    assert any("events_5_" in sentence and "more follows" in sentence for sentence in log.losses), log.losses


def test_killed_driver(spark_logs: Path) -> None:
    """G3-01."""
    folder = only_log(spark_logs / "killed")
    assert list(folder.glob("appstatus_*.inprogress"))
    log = read_log(folder)
    assert log.state is LogState.INCOMPLETE
    assert log.end_estimated
    assert log.wall_s is not None
    assert log.wall_s > 0
    assert log.totals.tasks >= 11
    assert log.losses[-1].startswith("The application's end is not in the log") or len(log.losses) > 1


def test_only_the_status_file_is_not_ready(tmp_path: Path) -> None:
    """G3-03."""
    folder = tmp_path / "eventlog_v2_local-1"
    folder.mkdir()
    (folder / "appstatus_local-1.inprogress").touch()
    log = read_log(folder)
    assert log.state is LogState.NOT_READY
    assert log.application_id == "local-1"


def test_compacted_log(spark_logs: Path, tmp_path: Path) -> None:
    """As the History Server compacts: finished jobs' events are gone, and the file stands for all before it."""
    lines = only_log(spark_logs / "none").read_bytes().splitlines(keepends=True)
    cut = next(at for at, line in enumerate(lines) if json.loads(line).get("Job ID") == 1)
    kept = [line for line in lines[:cut] if b"Task" not in line[:40]]
    folder = tmp_path / "eventlog_v2_local-1"
    folder.mkdir()
    (folder / "appstatus_local-1").touch()
    (folder / "events_1_local-1").write_bytes(b"".join(lines[:cut]))
    (folder / "events_2_local-1.compact").write_bytes(b"".join(kept))
    (folder / "events_3_local-1").write_bytes(b"".join(lines[cut:]))
    (folder / ".events_3_local-1.crc").write_bytes(b"crc")
    log = read_log(folder)
    assert log.compacted
    assert [stage.stage_id for stage in log.stages_without_tasks] == [0]
    assert any("compaction" in sentence for sentence in log.losses)
    assert log.jobs[0].succeeded
