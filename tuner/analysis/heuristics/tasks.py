"""What tasks do: skew, spill, how many there are, small inputs, results."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tuner.analysis.case import Case
from tuner.analysis.facts import MIB
from tuner.analysis.model import Change, Observation, Severity
from tuner.analysis.partitions import MAX_RESULT, PartitionReason, is_skewed, read_ratio, spills
from tuner.analysis.thresholds import limit
from tuner.model.failures import FailureKind
from tuner.spark.eventlog import StageLog
from tuner.spark.metrics import skew_of

_ADAPTIVE = "spark.sql.adaptive.enabled"
_SPLIT = "spark.sql.files.maxPartitionBytes"


def skew(case: Case) -> Iterator[Observation]:
    """Stages that wait for one task; more partitions would leave it as it is."""
    for stage in case.facts.main_stages:
        ratio = skew_of(stage)
        if ratio is None or ratio <= limit("skew-ratio"):
            continue
        durations = stage.tasks.succeeded.durations_s
        longest, usual = float(np.nanmax(durations)), float(np.nanmedian(durations))
        # At best the longest task's work is spread over the slots that wait for it.
        gain_s = longest - max(usual, float(np.nansum(durations)) / case.facts.all_slots)
        if gain_s < limit("skew-min-gain"):
            continue
        of_data = read_ratio(stage)
        by_data = of_data is not None and of_data > limit("skew-ratio")
        changes = (
            case.change(_ADAPTIVE, "true", "splits skewed partitions of joins") if case.facts.sql and by_data else ()
        )
        yield Observation(
            Severity.WARNING,
            _name(stage),
            f"the longest of {stage.totals.tasks} tasks took {longest:.1f} s, {ratio:.1f} times the median of"
            f" {usual:.1f} s" + ("" if of_data is None else f"; it read up to {of_data:.1f} times the mean"),
            _skew_advice(case, by_data, bool(changes)),
            f"up to {gain_s:.0f} s of wall time",
            {
                "stage": stage.stage_id,
                "longest_s": round(longest, 3),
                "median_s": round(usual, 3),
                "skew": round(ratio, 2),
                "read_ratio": None if of_data is None else round(of_data, 2),
            },
            changes,
        )


def _skew_advice(case: Case, by_data: bool, switched_on: bool) -> str:
    if not by_data:
        return "not its data but its executor or its work is slow: look at that host, or set spark.speculation=true"
    if switched_on:
        return "adaptive execution splits such a partition of a join; more partitions would leave it as large"
    if case.facts.sql:
        return (
            "split the key (a salt), or lower spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes for a join;"
            " more partitions would leave the large one as large"
        )
    return "split the key (a salt) or aggregate before the shuffle; more partitions would leave the large one as large"


def spill(case: Case) -> Iterator[Observation]:
    """Stages whose data did not fit into their tasks' memory."""
    for stage in case.facts.main_stages:
        if not spills(stage):
            continue
        totals = stage.totals
        on_disk = f", {totals.disk_spill_bytes / MIB:.0f} MiB on disk" if totals.disk_spill_bytes else ""
        changes = _partitions(case, PartitionReason.SPILL, stage)
        yield Observation(
            Severity.WARNING,
            _name(stage),
            f"{totals.tasks} tasks spilled {totals.memory_spill_bytes / MIB:.0f} MiB of memory{on_disk}, beside"
            f" {totals.shuffle_read_bytes / MIB:.0f} MiB of shuffle and {totals.input_bytes / MIB:.0f} MiB of input",
            _spill_advice(case, stage, changes),
            "the spill not written and read again",
            {
                "stage": stage.stage_id,
                "memory_spill_mib": round(totals.memory_spill_bytes / MIB, 1),
                "disk_spill_mib": round(totals.disk_spill_bytes / MIB, 1),
                "skewed": is_skewed(stage),
            },
            changes,
        )


def _spill_advice(case: Case, stage: StageLog, changes: tuple[Change, ...]) -> str:
    if is_skewed(stage):
        if stage.totals.shuffle_read_bytes == 0:
            return "one task does much more than the others: look for a large file that cannot be split"
        return "the stage is skewed, so that more partitions are the wrong answer: split the key first"
    decision = case.partitions
    if changes and decision is not None:
        capped = f"; {MAX_RESULT} allows no more" if decision.capped else ""
        return f"about {decision.tasks_after} tasks hold their data in memory{capped}"
    if decision is not None and decision.reason is PartitionReason.RESULTS:
        return (
            f"more partitions are no answer while the actions' results exceed {MAX_RESULT}: give each task more memory"
        )
    if stage.totals.shuffle_read_bytes == 0:
        return f"the stage reads files: smaller splits ({_SPLIT}) or more memory for each task"
    return "more partitions where the program sets their number, fewer spark.executor.cores, or a larger heap"


def idle_slots(case: Case) -> Iterator[Observation]:
    """Long stages with fewer tasks than there are slots."""
    decision = case.partitions
    for stage in case.facts.main_stages:
        durations = stage.tasks.succeeded.durations_s
        slots, tasks = case.facts.all_slots, stage.totals.tasks
        if (
            slots - tasks < limit("idle-slots-share") * slots
            or len(durations) == 0
            or float(np.nanmedian(durations)) < limit("long-task")
        ):
            continue
        changes = _partitions(case, PartitionReason.IDLE_SLOTS, stage)
        after = decision.tasks_after if changes and decision is not None else slots
        total_s = float(np.nansum(durations))
        yield Observation(
            Severity.WARNING,
            _name(stage),
            f"{tasks} tasks of {float(np.nanmedian(durations)):.1f} s (median) on {slots} slots:"
            f" {slots - tasks} stood idle",
            "the stage is skewed: split the key, more partitions alone do not help"
            if is_skewed(stage)
            else f"{after} tasks would use all slots"
            + ("" if changes else "; repartition in the program, or smaller input splits"),
            f"up to {max(0.0, stage.totals.longest_s - total_s / slots):.0f} s of wall time",
            {"stage": stage.stage_id, "tasks": tasks, "slots": slots},
            changes,
        )


def tiny_tasks(case: Case) -> Iterator[Observation]:
    """Stages of very many very short tasks."""
    for stage in case.facts.main_stages:
        durations = stage.tasks.succeeded.durations_s
        tasks = stage.totals.tasks
        if len(durations) == 0 or tasks < limit("tiny-tasks-min") * case.facts.all_slots:
            continue
        usual = float(np.nanmedian(durations))
        if usual >= limit("tiny-task") or stage.totals.shuffle_read_bytes == 0:
            continue
        changes = _partitions(case, PartitionReason.TINY_TASKS, stage)
        yield Observation(
            Severity.INFO,
            _name(stage),
            f"{tasks} tasks took {usual * 1e3:.0f} ms each (median) for"
            f" {stage.totals.shuffle_read_bytes / tasks / 1024:.0f} KiB of shuffle",
            "fewer shuffle partitions, or adaptive execution, which joins small ones"
            if not case.facts.adaptive
            else "adaptive execution is on and keeps this many for the sake of parallelism:"
            " spark.sql.adaptive.coalescePartitions.parallelismFirst=false lets it join more",
            "less time in launching tasks",
            {"stage": stage.stage_id, "tasks": tasks, "median_s": round(usual, 4)},
            changes,
        )


def small_files(case: Case) -> Iterator[Observation]:
    """Many tasks that each read little: small files, or splits that are too small."""
    for stage in case.facts.main_stages:
        totals = stage.totals
        readers = int((stage.tasks.column("input_bytes") > 0).sum())
        if readers < max(limit("small-input-min-tasks"), limit("tiny-tasks-min") * case.facts.all_slots):
            continue
        mean_mib = totals.input_bytes / readers / MIB
        if mean_mib >= limit("small-input") or totals.shuffle_read_bytes > totals.input_bytes:
            continue
        yield Observation(
            Severity.INFO,
            _name(stage),
            f"{readers} tasks read {mean_mib:.1f} MiB each (mean)",
            f"write fewer and larger files upstream; Spark SQL packs small ones up to {_SPLIT}, counting"
            " spark.sql.files.openCostInBytes for each",
            f"about {max(1, round(totals.input_bytes / MIB / 128))} tasks of 128 MiB would do",
            {"stage": stage.stage_id, "tasks": readers, "mean_input_mib": round(mean_mib, 2)},
        )


def result_size(case: Case) -> Iterator[Observation]:
    """Results of an action at or near ``spark.driver.maxResultSize``."""
    failed = next((each for each in case.deaths if each.kind is FailureKind.RESULT_SIZE), None)
    if failed is not None and failed.largest.results and failed.largest.used_mib and failed.largest.limit_mib:
        yield from _result_size(
            case, "a job", failed.largest.results, failed.largest.used_mib, failed.largest.limit_mib, Severity.CRITICAL
        )
        return
    most_mib = float(case.facts.value(MAX_RESULT) or 0)
    for stage in case.facts.stages:
        used_mib = stage.totals.result_bytes / MIB
        if most_mib > 0 and used_mib > limit("result-share") * most_mib:
            yield from _result_size(case, _name(stage), stage.totals.tasks, used_mib, most_mib, Severity.WARNING)


def _result_size(
    case: Case, where: str, tasks: int, used_mib: float, most_mib: float, severity: Severity
) -> Iterator[Observation]:
    mean_mib = used_mib / tasks
    by_count = mean_mib <= limit("result-by-count")
    changes = _partitions(case, PartitionReason.RESULTS, None) if by_count else _larger_results(case, most_mib)
    yield Observation(
        severity,
        where,
        f"the results of {tasks} tasks came to {used_mib:.0f} MiB of {most_mib:.0f} MiB,"
        f" {mean_mib * 1024:.0f} KiB each",
        "it is the number of tasks that fills the limit, not a collect(): fewer partitions; raising the limit alone"
        " needs as much more heap in the driver"
        if by_count
        else "collect less (aggregate, limit, or write from the executors); else the limit and the driver's heap go up"
        " together",
        "the action ends instead of failing",
        {
            "tasks": tasks,
            "result_mib": round(used_mib, 1),
            "limit_mib": round(most_mib, 1),
            "mean_result_kib": round(mean_mib * 1024, 1),
        },
        changes,
    )


def _larger_results(case: Case, most_mib: float) -> tuple[Change, ...]:
    heap_mib = int(case.facts.value("spark.driver.memory") or 0)
    reason = "results and the heap that holds them go up together"
    heap = case.change("spark.driver.memory", f"{heap_mib + int(most_mib)}m", reason)
    # Without the heap the driver would run out of it instead.
    return (*heap, *case.change(MAX_RESULT, f"{2 * int(most_mib)}m", reason)) if heap else ()


def _partitions(case: Case, reason: PartitionReason, stage: StageLog | None) -> tuple[Change, ...]:
    decision = case.partitions
    if decision is None or decision.reason is not reason or decision.stage is not stage:
        return ()
    return case.change(decision.name, decision.value, str(reason))


def _name(stage: StageLog) -> str:
    attempt = f".{stage.attempt}" if stage.attempt else ""
    return f"stage {stage.stage_id}{attempt} ({' '.join(stage.name.split())[:60]})"
