"""Each heuristic on a log that shows it, and on one that only looks like it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tuner.analysis.made import Log, conf, found, memory, rdd
from tuner.analysis import HEURISTICS, Severity
from tuner.analysis.configuration import combine
from tuner.analysis.model import Change, Finding, Observation
from tuner.spark.params import PARAMS

MIB = 1024**2
BIG = {"spark.executor.memory": "8g", "spark.executor.instances": "2"}


def quiet(settings: dict[str, str] | None = None, *, tasks: int = 8, version: str = "3.5.0", rss_mib: int = 0) -> Log:
    """Two executors of one core, evenly busy all the time, with everything measured and nothing wrong."""
    log = Log({**BIG, **(settings or {})}, version=version).executors(2)
    for number in range(tasks):
        peaks = memory(unified_mib=600, heap_mib=7000, jvm_rss_mib=rss_mib)
        log.task(0, 6_000 + number // 2 * 20_000, 20_000, executor=1 + number % 2, memory=peaks, **{"JVM GC Time": 100})
    return log.stage(0, tasks).job()


class TestMemory:
    def test_heap_that_is_not_used_goes_down_a_step(self, tmp_path: Path) -> None:
        analysis = quiet().end().analyze(tmp_path)
        (finding,) = found(analysis, "heap-oversized")
        # 8192 + 819 -> 9216; half of the heap, 4096 + 819 -> 5120, the rest to the heap.
        assert conf(analysis) == {"spark.executor.memory": "4301m", "spark.executor.memoryOverhead": "819m"}
        assert "600 MiB of a heap of 8192 MiB" in finding.seen.evidence
        assert "4096 MiB less reserved" in finding.seen.gain
        assert analysis.configuration.reasons["spark.executor.memory"] == ("heap-oversized",)

    def test_increment_decides_the_size(self, tmp_path: Path) -> None:
        settings = conf(quiet().end().analyze(tmp_path, increment_mib=4096))
        heap, overhead = (int(settings[name].removesuffix("m")) for name in sorted(settings))
        assert heap + overhead == 8192

    def test_peaks_of_zero_shrink_nothing(self, tmp_path: Path) -> None:
        """G3-09: Spark writes 0 for what it did not sample."""
        log = Log(BIG).executors(2)
        for number in range(8):
            gc = {"JVM GC Time": 100, "Peak Execution Memory": 0}
            log.task(0, 6_000 + number // 2 * 20_000, 20_000, executor=1 + number % 2, memory=memory(), **gc)
        analysis = log.stage(0, 8).job().end().analyze(tmp_path, increment_mib=1)
        assert not found(analysis, "heap-oversized")
        assert not found(analysis, "overhead-oversized")
        assert conf(analysis) == {}
        assert any("0 means unknown" in note for note in analysis.notes)

    def test_a_log_without_its_end_shrinks_nothing(self, tmp_path: Path) -> None:
        analysis = quiet().analyze(tmp_path)
        assert not found(analysis, "heap-oversized")
        assert ("heap-oversized", "the log does not hold the whole run") in [
            (each.id, each.why) for each in analysis.unjudged
        ]

    def test_a_failed_job_shrinks_nothing(self, tmp_path: Path) -> None:
        log = Log(BIG).executors(2)
        for number in range(8):
            peaks = memory(unified_mib=600, heap_mib=7000)
            log.task(0, 6_000 + number * 10_000, 10_000, memory=peaks, **{"JVM GC Time": 100})
        analysis = log.stage(0, 8).job(failed="no").end().analyze(tmp_path)
        assert not found(analysis, "heap-oversized")

    def test_pinned_properties_stay(self, tmp_path: Path) -> None:
        analysis = quiet().end().analyze(tmp_path, pinned=frozenset({"spark.executor.memory"}))
        assert "spark.executor.memory" not in conf(analysis)

    def test_an_overhead_that_must_stay_and_follows_the_heap_keeps_the_heap(self, tmp_path: Path) -> None:
        analysis = quiet().end().analyze(tmp_path, pinned=frozenset({"spark.executor.memoryOverhead"}))
        assert conf(analysis) == {}

    def test_overhead_by_resident_memory(self, tmp_path: Path) -> None:
        analysis = quiet({"spark.executor.memoryOverhead": "4g"}, rss_mib=7400).end().analyze(tmp_path)
        (finding,) = found(analysis, "overhead-oversized")
        assert "at most 400 MiB resident, of an overhead of 4096 MiB" in finding.seen.evidence
        assert conf(analysis)["spark.executor.memoryOverhead"] == "2048m"

    def test_garbage_collection_raises_a_heap_that_is_full(self, tmp_path: Path) -> None:
        log = Log({"spark.executor.memory": "1g"}).executors(2)
        for number in range(8):
            peaks = memory(unified_mib=300, heap_mib=1000)
            log.task(0, 6_000 + number * 10_000, 10_000, memory=peaks, **{"JVM GC Time": 3_000})
        analysis = log.stage(0, 8).job().end().analyze(tmp_path)
        (finding,) = found(analysis, "garbage-collection")
        assert "24 s, 30.0%" in finding.seen.evidence
        assert conf(analysis)["spark.executor.memory"] == "1664m"

    def test_garbage_collection_of_an_empty_heap_does_not(self, tmp_path: Path) -> None:
        log = Log({"spark.executor.memory": "8g"}).executors(2)
        for number in range(8):
            peaks = memory(unified_mib=10, heap_mib=700)
            log.task(0, 6_000 + number * 10_000, 10_000, memory=peaks, **{"JVM GC Time": 3_000})
        analysis = log.stage(0, 8).job().end().analyze(tmp_path)
        (finding,) = found(analysis, "garbage-collection")
        assert finding.seen.changes == ()
        assert "a larger one does not help" in finding.seen.advice

    def test_driver_that_never_filled(self, tmp_path: Path) -> None:
        log = Log({"spark.driver.memory": "16g"}).executors(1).driver_heap(700).task(0, 6_000, 90_000)
        analysis = log.stage(0, 1).job().end().analyze(tmp_path)
        (finding,) = found(analysis, "driver-oversized")
        # 2 * 700 + 384 -> 2048, of which the overhead has 384; before 16384 + 1638 -> 18432.
        assert conf(analysis)["spark.driver.memory"] == "1664m"
        assert finding.seen.numbers["container_mib"] == 18432

    def test_driver_that_is_not_on_the_cluster(self, tmp_path: Path) -> None:
        settings = {"spark.driver.memory": "16g", "spark.submit.deployMode": "client"}
        log = Log(settings).executors(1).driver_heap(700).task(0, 6_000, 90_000).stage(0, 1).job().end()
        assert not found(log.analyze(tmp_path), "driver-oversized")

    def test_driver_that_results_fill(self, tmp_path: Path) -> None:
        log = Log({"spark.driver.memory": "16g"}).executors(1).driver_heap(700)
        log.task(0, 6_000, 90_000, **{"Result Size": 1000 * MIB}).stage(0, 1).job().end()
        assert not found(log.analyze(tmp_path), "driver-oversized")

    def test_rounding(self, tmp_path: Path) -> None:
        log = Log({"spark.executor.memory": "1g"}).executors(1).task(0, 6_000, 90_000).stage(0, 1).job().end()
        analysis = log.analyze(tmp_path)
        (finding,) = found(analysis, "rounding")
        assert finding.seen.numbers["waste_mib"] == 640
        assert conf(analysis) == {"spark.executor.memory": "1664m", "spark.executor.memoryOverhead": "384m"}
        assert not found(log.analyze(tmp_path, increment_mib=128), "rounding")

    def test_rounding_is_yarns_alone(self, tmp_path: Path) -> None:
        log = quiet({"spark.executor.memory": "1g", "spark.master": "k8s://h"}).end()
        assert not found(log.analyze(tmp_path), "rounding")


class TestUnifiedMemory:
    """Most execution and storage memory that one executor had, in MiB."""

    def unified(self, log: Log, folder: Path) -> float | None:
        return log.stage(0, 1).job().end().analyze(folder).case.evidence.unified_mib

    def test_a_short_peak_that_samples_missed(self, tmp_path: Path) -> None:
        peak = {"Peak Execution Memory": 900 * MIB}
        log = Log(BIG).executors(1).task(0, 6_000, 1_000, memory=memory(unified_mib=100, heap_mib=700), **peak)
        assert self.unified(log, tmp_path) == 900

    def test_execution_memory_off_the_heap_is_not_on_it(self, tmp_path: Path) -> None:
        peak = {"Peak Execution Memory": 900 * MIB}
        off_heap = {"spark.memory.offHeap.enabled": "true", "spark.memory.offHeap.size": "2g"}
        log = (
            Log({**BIG, **off_heap})
            .executors(1)
            .task(0, 6_000, 1_000, memory=memory(unified_mib=100, heap_mib=700), **peak)
        )
        assert self.unified(log, tmp_path) == 100

    def test_without_samples_all_tasks_at_their_peak(self, tmp_path: Path) -> None:
        log = Log(BIG, version="2.4.8").executors(1, cores=4)
        assert self.unified(log.task(0, 6_000, 1_000, **{"Peak Execution Memory": 100 * MIB}), tmp_path) == 400

    def test_without_samples_and_with_untraced_cached_data_it_is_unknown(self, tmp_path: Path) -> None:
        log = Log(BIG, version="2.4.8").executors(1, cores=4)
        log.task(0, 6_000, 1_000, **{"Peak Execution Memory": 100 * MIB}).stage(1, 0, rdds=[rdd(1, 4)])
        assert self.unified(log, tmp_path) is None


PHYSICAL = (
    "Container killed by YARN for exceeding physical memory limits. 9.1 GB of 9 GB physical memory used. Consider"
    " boosting spark.executor.memoryOverhead."
)
VIRTUAL = (
    "Container killed by YARN for exceeding memory limits. 7.2 GB of 4.2 GB virtual memory used. Consider boosting"
    " spark.yarn.executor.memoryOverhead or disabling yarn.nodemanager.vmem-check-enabled because of YARN-4714."
)


class TestFailures:
    def test_killed_for_physical_memory(self, tmp_path: Path) -> None:
        analysis = quiet().removed(2, PHYSICAL).end().analyze(tmp_path)
        (finding,) = found(analysis, "memory-failures")
        assert finding.seen.severity is Severity.CRITICAL
        assert "9.1 GB of 9 GB physical" in finding.seen.evidence
        settings = conf(analysis)
        # The overhead, not the heap: 819 * 1.5 -> 1229, filled up to 8192 + 2048.
        assert settings == {"spark.executor.memoryOverhead": "2048m"}

    def test_virtual_memory_changes_no_size(self, tmp_path: Path) -> None:
        """G1-06 (b)."""
        log = Log({"spark.executor.memory": "1664m"}).executors(2).removed(2, VIRTUAL)
        analysis = log.task(0, 6_000, 90_000).stage(0, 1).job().end().analyze(tmp_path)
        (finding,) = found(analysis, "virtual-memory")
        assert finding.seen.changes == ()
        assert not found(analysis, "memory-failures")
        assert "vmem-pmem-ratio" in finding.seen.advice
        assert "4.2 GiB is 2.1 (the default ratio) times a container of 2048 MiB" in finding.seen.advice
        assert conf(analysis) == {}

    def test_task_out_of_heap(self, tmp_path: Path) -> None:
        log = quiet()
        reason = {
            "Reason": "ExceptionFailure",
            "Class Name": "java.lang.OutOfMemoryError",
            "Description": "Java heap space",
        }
        analysis = log.task(0, 50_000, 1_000, reason=reason).end().analyze(tmp_path)
        (finding,) = found(analysis, "memory-failures")
        assert finding.seen.numbers["kind"] == "heap"
        assert int(conf(analysis)["spark.executor.memory"].removesuffix("m")) >= 12288

    def test_what_a_task_was_told_explains_its_executor(self, tmp_path: Path) -> None:
        log = quiet().removed(2, "Executor Process Lost")
        reason = {"Reason": "ExecutorLostFailure", "Executor ID": "2", "Loss Reason": PHYSICAL}
        analysis = log.task(0, 50_000, 1_000, executor=2, reason=reason).end().analyze(tmp_path)
        (finding,) = found(analysis, "memory-failures")
        assert (finding.seen.numbers["executors"], finding.seen.numbers["kind"]) == (1, "physical-memory")
        assert not found(analysis, "lost-executors")

    def test_python(self, tmp_path: Path) -> None:
        reason = {
            "Reason": "ExceptionFailure",
            "Class Name": "org.apache.spark.SparkException",
            "Description": "Python worker exited unexpectedly (crashed)",
        }
        log = quiet({"spark.executor.pyspark.memory": "1g", "spark.yarn.isPython": "true"})
        analysis = log.task(0, 50_000, 1_000, reason=reason).end().analyze(tmp_path)
        assert conf(analysis)["spark.executor.pyspark.memory"] == "1536m"

    def test_given_back_is_no_failure(self, tmp_path: Path) -> None:
        text = "Container container_1_0001_01_000004 exited from explicit termination request."
        analysis = quiet().removed(2, text).end().analyze(tmp_path)
        assert not found(analysis, "lost-executors")

    def test_preempted(self, tmp_path: Path) -> None:
        analysis = quiet().removed(2, "Container c on host: h was preempted.").end().analyze(tmp_path)
        (finding,) = found(analysis, "lost-executors")
        assert "queue" in finding.seen.advice


def shuffled(
    durations: list[int], reads: list[float], spills: list[float], settings: dict[str, str] | None = None
) -> Log:
    """One SQL stage of one executor with 4 cores; ms, MiB, MiB."""
    base = {"spark.executor.memory": "1g", "spark.executor.cores": "4"}
    log = Log({**base, "spark.sql.shuffle.partitions": str(len(durations)), **(settings or {})})
    log.executors(1, cores=4).sql()
    for duration, read, spilled in zip(durations, reads, spills, strict=True):
        extra = {"Memory Bytes Spilled": round(spilled * MIB), "Disk Bytes Spilled": round(spilled * MIB / 4)}
        log.task(0, 6_000, duration, shuffle_mib=read, **{**extra, "Result Size": 2000})
    return log.stage(0, len(durations)).job().end()


OFF = {"spark.sql.adaptive.enabled": "false"}


class TestPartitions:
    def test_spill_of_an_even_shuffle_asks_for_more(self, tmp_path: Path) -> None:
        analysis = shuffled([9_000] * 8, [100] * 8, [300] * 8, OFF).analyze(tmp_path)
        (finding,) = found(analysis, "spill")
        # A task's share: (1024 - 300) * 0.6 / 4 = 108.6 MiB; 8 + ceil(2400 / 108.6) = 31.
        assert conf(analysis)["spark.sql.shuffle.partitions"] == "31"
        assert "about 31 tasks" in finding.seen.advice

    def test_spill_of_a_skewed_shuffle_does_not(self, tmp_path: Path) -> None:
        """G3-11: one task reads more than 3 times the mean."""
        analysis = shuffled([9_000] * 7 + [40_000], [20] * 7 + [600], [0] * 7 + [2400], OFF).analyze(tmp_path)
        (finding,) = found(analysis, "spill")
        assert "spark.sql.shuffle.partitions" not in conf(analysis)
        assert "more partitions are the wrong answer" in finding.seen.advice
        (skewed,) = found(analysis, "skew")
        assert "more partitions would leave it as large" in skewed.seen.advice
        assert conf(analysis)["spark.sql.adaptive.enabled"] == "true"

    def test_spill_while_reading_files_does_not(self, tmp_path: Path) -> None:
        log = Log({"spark.executor.memory": "1g"}).executors(1, cores=4).sql()
        for _ in range(8):
            log.task(0, 6_000, 9_000, input_mib=100, **{"Memory Bytes Spilled": 300 * MIB})
        analysis = log.stage(0, 8).job().end().analyze(tmp_path)
        assert "maxPartitionBytes" in found(analysis, "spill")[0].seen.advice
        assert "spark.sql.shuffle.partitions" not in conf(analysis)

    def test_more_partitions_stay_below_the_limit_of_results(self, tmp_path: Path) -> None:
        """G1-18: advice for more partitions must ask how many results the driver takes."""
        log = Log({"spark.executor.memory": "1g", "spark.sql.shuffle.partitions": "8", **OFF}).executors(1, cores=4)
        log.sql()
        for _ in range(8):
            extra = {"Memory Bytes Spilled": 300 * MIB, "Result Size": 64 * MIB}
            log.task(0, 6_000, 9_000, shuffle_mib=100, **extra)
        analysis = log.stage(0, 8).job().end().analyze(tmp_path)
        # 1 GiB / 64 MiB = 16 results, 80 % of them.
        assert conf(analysis)["spark.sql.shuffle.partitions"] == "12"
        assert "allows no more" in found(analysis, "spill")[0].seen.advice

    def test_a_number_that_the_program_set_is_not_the_propertys(self, tmp_path: Path) -> None:
        settings = {**OFF, "spark.sql.shuffle.partitions": "200"}
        analysis = shuffled([9_000] * 8, [100] * 8, [300] * 8, settings).analyze(tmp_path)
        assert "spark.sql.shuffle.partitions" not in conf(analysis)
        assert "where the program sets their number" in found(analysis, "spill")[0].seen.advice

    def test_coalesced_partitions_are_a_matter_of_their_size(self, tmp_path: Path) -> None:
        settings = {"spark.sql.shuffle.partitions": "200", "spark.sql.adaptive.advisoryPartitionSizeInBytes": "128m"}
        analysis = shuffled([9_000] * 8, [100] * 8, [300] * 8, settings).analyze(tmp_path)
        # 800 MiB over 31 tasks.
        assert conf(analysis)["spark.sql.adaptive.advisoryPartitionSizeInBytes"] == "25m"

    def test_long_tasks_on_idle_slots(self, tmp_path: Path) -> None:
        log = Log({"spark.sql.shuffle.partitions": "4", **OFF}).executors(4, cores=4).sql()
        for _ in range(4):
            log.task(0, 6_000, 60_000, shuffle_mib=100)
        analysis = log.stage(0, 4).job().end().analyze(tmp_path)
        (finding,) = found(analysis, "idle-slots")
        assert "12 stood idle" in finding.seen.evidence
        assert conf(analysis)["spark.sql.shuffle.partitions"] == "32"

    def test_tiny_tasks(self, tmp_path: Path) -> None:
        analysis = shuffled([20] * 64, [0.01] * 64, [0] * 64, OFF).analyze(tmp_path)
        assert found(analysis, "tiny-tasks")
        assert conf(analysis)["spark.sql.shuffle.partitions"] == "4"

    def test_small_files(self, tmp_path: Path) -> None:
        log = Log({}).executors(1, cores=4)
        for number in range(200):
            log.task(0, 6_000 + 10 * number, 300, input_mib=0.5)
        analysis = log.stage(0, 200).job().end().analyze(tmp_path)
        (finding,) = found(analysis, "small-files")
        assert finding.seen.numbers["mean_input_mib"] == 0.5


class TestResults:
    FAILED = (
        "Job aborted due to stage failure: Total size of serialized results of 22460 tasks (2.0 GiB) is bigger than"
        " spark.driver.maxResultSize (2.0 GiB)"
    )

    def test_by_count(self, tmp_path: Path) -> None:
        """G1-18: 50 branches of a UNION, initialPartitionNum 1000."""
        settings = {
            "spark.driver.maxResultSize": "2g",
            "spark.sql.adaptive.coalescePartitions.initialPartitionNum": "1000",
        }
        log = shuffled([9_000] * 8, [100] * 8, [300] * 8, settings)
        log.events.pop()
        analysis = log.job(failed=self.FAILED).end().analyze(tmp_path)
        (finding,) = found(analysis, "result-size")
        assert "93 KiB each" in finding.seen.evidence
        assert "number of tasks" in finding.seen.advice
        settings = conf(analysis)
        assert settings["spark.sql.adaptive.coalescePartitions.initialPartitionNum"] == "500"
        assert "spark.driver.maxResultSize" not in settings
        # The stage spills, and yet nothing asks for more partitions.
        assert "spark.sql.shuffle.partitions" not in settings
        assert "more partitions are no answer" in found(analysis, "spill")[0].seen.advice

    def test_by_collect(self, tmp_path: Path) -> None:
        text = (
            "Job aborted due to stage failure: Total size of serialized results of 20 tasks (1100.0 MiB) is bigger than"
            " spark.driver.maxResultSize (1024.0 MiB)"
        )
        log = Log({"spark.executor.memory": "1664m"}).executors(1).task(0, 6_000, 100).stage(0, 1)
        analysis = log.job(failed=text).end().analyze(tmp_path)
        settings = conf(analysis)
        assert settings == {"spark.driver.maxResultSize": "2048m", "spark.driver.memory": "2048m"}

    def test_the_limit_alone_is_never_raised(self, tmp_path: Path) -> None:
        text = self.FAILED.replace("22460", "20")
        log = Log({"spark.executor.memory": "1664m"}).executors(1).task(0, 6_000, 100).stage(0, 1)
        log.job(failed=text).end()
        assert conf(log.analyze(tmp_path, pinned=frozenset({"spark.driver.memory"}))) == {}

    def test_close_to_it(self, tmp_path: Path) -> None:
        log = Log({"spark.driver.maxResultSize": "1g"}).executors(1)
        for _ in range(9):
            log.task(0, 6_000, 100, **{"Result Size": 100 * MIB})
        analysis = log.stage(0, 9).job().end().analyze(tmp_path)
        assert found(analysis, "result-size")[0].seen.severity is Severity.WARNING


class TestExecutors:
    def test_fewer_where_no_more_were_ever_busy(self, tmp_path: Path) -> None:
        log = Log({"spark.executor.instances": "10"}).executors(10)
        for number in range(10):
            log.task(0, 6_000 + number // 2 * 15_000, 15_000, executor=1 + number % 2)
        analysis = log.stage(0, 10).job().end().analyze(tmp_path)
        (finding,) = found(analysis, "idle-executors")
        assert finding.seen.numbers["most_tasks_at_once"] == 2
        assert conf(analysis)["spark.executor.instances"] == "2"

    def test_dynamic_allocation_lowers_what_it_starts_with_too(self, tmp_path: Path) -> None:
        settings = {
            "spark.dynamicAllocation.enabled": "true",
            "spark.dynamicAllocation.maxExecutors": "50",
            "spark.executor.instances": "10",
        }
        log = Log(settings).executors(10)
        for number in range(10):
            log.task(0, 6_000 + number // 2 * 15_000, 15_000, executor=1 + number % 2)
        settings = conf(log.stage(0, 10).job().end().analyze(tmp_path))
        assert settings["spark.dynamicAllocation.maxExecutors"] == "2"
        assert settings["spark.executor.instances"] == "2"

    def test_dynamic_allocation_where_all_are_needed_at_times(self, tmp_path: Path) -> None:
        log = Log({"spark.executor.instances": "4"}, version="3.5.0").executors(4)
        for number in range(4):
            log.task(0, 80_000, 10_000, executor=1 + number)
        analysis = log.stage(0, 4, at=80_000).job().end().analyze(tmp_path)
        assert conf(analysis)["spark.dynamicAllocation.enabled"] == "true"
        assert conf(analysis)["spark.dynamicAllocation.maxExecutors"] == "4"

    def test_cached_data_keeps_them(self, tmp_path: Path) -> None:
        log = Log({"spark.executor.instances": "10"}).executors(10)
        for number in range(10):
            log.task(0, 6_000 + number * 9_000, 9_000)
        analysis = log.stage(0, 10, rdds=[rdd(1, 10)]).job().end().analyze(tmp_path)
        assert found(analysis, "idle-executors")
        assert "spark.executor.instances" not in conf(analysis)

    def test_busy_ones_stay(self, tmp_path: Path) -> None:
        assert not found(quiet().end().analyze(tmp_path), "idle-executors")

    def test_driver_alone_does_not_count_the_wait(self, tmp_path: Path) -> None:
        log = Log({}).executors(1, added=80_000)
        analysis = log.task(0, 81_000, 15_000).stage(0, 1).job().end().analyze(tmp_path)
        assert not found(analysis, "driver-alone")
        assert found(analysis, "waiting")[0].seen.numbers["awaited_s"] == 80.0

    def test_driver_alone(self, tmp_path: Path) -> None:
        log = Log({}).executors(1, added=2_000)
        analysis = log.task(0, 81_000, 15_000).stage(0, 1).job().end().analyze(tmp_path)
        assert found(analysis, "driver-alone")[0].seen.numbers["alone_s"] == 83.0
        assert not found(analysis, "waiting")

    def test_driver_time_is_not_told_from_a_log_that_lost_events(self, tmp_path: Path) -> None:
        """G3-07: stages without their tasks would look like the driver's own time."""
        log = Log({}).executors(1, added=2_000).stage(1, 100)
        analysis = log.task(0, 81_000, 15_000).stage(0, 1).job().end().analyze(tmp_path)
        assert not found(analysis, "driver-alone")
        assert "driver-alone" in {each.id for each in analysis.unjudged}

    def test_tasks_longer_than_the_application_leave_the_driver_nothing(self, tmp_path: Path) -> None:
        """G3-07: clocks that differ."""
        analysis = Log({}).executors(1).task(0, 1_000, 500_000).stage(0, 1).job().end().analyze(tmp_path)
        assert not found(analysis, "driver-alone")
        assert any("taken as 0" in note for note in analysis.notes)

    def test_short_lives(self, tmp_path: Path) -> None:
        settings = {"spark.dynamicAllocation.enabled": "true", "spark.dynamicAllocation.executorIdleTimeout": "10s"}
        log = quiet(settings)
        log.executors(4, first=3, added=20_000)
        for number in range(3, 7):
            log.removed(number, "Executor killed by driver.", at=35_000)
        analysis = log.end().analyze(tmp_path)
        assert conf(analysis)["spark.dynamicAllocation.executorIdleTimeout"] == "60s"

    def test_fetch_wait(self, tmp_path: Path) -> None:
        waited = {"Shuffle Read Metrics": {"Remote Bytes Read": 100, "Fetch Wait Time": 4_000}}
        analysis = Log({}).executors(1).task(0, 6_000, 10_000, **waited).stage(0, 1).job().end().analyze(tmp_path)
        assert found(analysis, "fetch-wait")[0].seen.numbers["share"] == 0.4


class TestLossyLogs:
    """G3-06: compaction drops the tasks of finished jobs."""

    def test_what_needs_the_lost_events_is_not_judged(self, tmp_path: Path) -> None:
        log = quiet().stage(1, 50)
        analysis = log.end().analyze(tmp_path)
        unjudged = {each.id: each.why for each in analysis.unjudged}
        assert unjudged["heap-oversized"] == "the log does not hold the whole run"
        assert unjudged["garbage-collection"] == "tasks are missing from the log"
        assert conf(analysis) == {}
        assert any("nothing is made smaller" in note for note in analysis.notes)

    def test_what_is_there_is_still_told(self, tmp_path: Path) -> None:
        log = shuffled([9_000] * 7 + [40_000], [20] * 7 + [600], [0] * 8).stage(1, 50)
        analysis = log.removed(1, PHYSICAL).analyze(tmp_path)
        assert found(analysis, "skew")
        assert found(analysis, "memory-failures")

    def test_no_properties(self, tmp_path: Path) -> None:
        log = Log(None).executors(1).task(0, 6_000, 1_000).stage(0, 1).job().end()
        analysis = log.analyze(tmp_path)
        assert conf(analysis) == {}
        assert "rounding" in {each.id for each in analysis.unjudged}


class TestOldSpark:
    def test_names_and_units_of_its_time(self, tmp_path: Path) -> None:
        log = quiet(version="1.6.1").removed(2, PHYSICAL.replace("physical memory limits", "memory limits")).end()
        assert conf(log.analyze(tmp_path)) == {"spark.yarn.executor.memoryOverhead": "2048"}
        log = quiet(version="2.2.0").removed(2, PHYSICAL).end()
        assert conf(log.analyze(tmp_path)) == {"spark.yarn.executor.memoryOverhead": "2048m"}

    def test_no_property_that_it_does_not_have(self, tmp_path: Path) -> None:
        log = shuffled([9_000] * 7 + [40_000], [20] * 7 + [600], [0] * 8)
        log.events[0]["Spark Version"] = "2.4.8"
        analysis = log.analyze(tmp_path)
        assert found(analysis, "skew")
        assert not any("adaptive" in name for name in conf(analysis))


def test_unreadable_values_count_as_not_set(tmp_path: Path) -> None:
    analysis = quiet({"spark.executor.memory": "*********(redacted)"}).end().analyze(tmp_path)
    assert any("spark.executor.memory" in note for note in analysis.notes)


def test_two_values_for_one_property_are_a_fault_of_ours(tmp_path: Path) -> None:
    facts = quiet().end().analyze(tmp_path).case.facts

    def asking(value: str) -> Finding:
        change = Change("spark.executor.cores", value, None, False, "because")
        return Finding("x", "X", Observation(Severity.INFO, "", "", "", "", {}, (change,)))

    with pytest.raises(ValueError, match="cores"):
        combine(facts, [asking("2"), asking("3")])


def test_what_spark_would_refuse_is_left_out(tmp_path: Path) -> None:
    """G1-08: dynamic allocation is advised only where shuffle files outlive their executor."""
    facts = quiet().end().analyze(tmp_path).case.facts
    change = Change("spark.dynamicAllocation.enabled", "true", None, False, "because")
    tracking = Change("spark.dynamicAllocation.shuffleTracking.enabled", "false", None, False, "because")
    finding = Finding("x", "X", Observation(Severity.INFO, "", "", "", "", {}, (change, tracking)))
    configuration = combine(facts, [finding])
    assert "spark.dynamicAllocation.enabled" not in {each.name for each in configuration.changes}
    assert "lose shuffle files" in configuration.left_out[0]


def test_ids_are_unique_and_properties_are_in_the_table() -> None:
    ids = [heuristic.id for heuristic in HEURISTICS]
    assert len(set(ids)) == len(ids)
    assert all(id_ == id_.lower() and " " not in id_ for id_ in ids)
    assert "spark.executor.memory" in PARAMS
