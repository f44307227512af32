"""How many shuffle partitions, decided once from everything that speaks for more or for fewer.

More is wrong for skewed data (the large partition stays as large), and dangerous where an action's results fill
``spark.driver.maxResultSize`` by their number alone: each task sends one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np

from tuner.analysis.deaths import Deaths
from tuner.analysis.facts import MIB, Facts
from tuner.analysis.thresholds import limit
from tuner.model.failures import FailureKind
from tuner.model.memory import unified_memory_mib
from tuner.spark.checks import most_tasks
from tuner.spark.eventlog import StageLog
from tuner.spark.eventlog.tasks import TaskSample
from tuner.spark.metrics import skew_of

SQL_PARTITIONS: Final = "spark.sql.shuffle.partitions"
RDD_PARTITIONS: Final = "spark.default.parallelism"
INITIAL: Final = "spark.sql.adaptive.coalescePartitions.initialPartitionNum"
ADVISORY: Final = "spark.sql.adaptive.advisoryPartitionSizeInBytes"
MAX_RESULT: Final = "spark.driver.maxResultSize"


class PartitionReason(StrEnum):
    """Why the number changes."""

    RESULTS = "results fill spark.driver.maxResultSize by their number"
    SPILL = "a shuffle stage spills and is not skewed"
    IDLE_SLOTS = "a long stage has fewer tasks than there are slots"
    TINY_TASKS = "tasks are too short"


@dataclass(frozen=True)
class PartitionDecision:
    """The property to set, and why.

    Args:
        name: the property that governs the stage.
        value: its new value, as text.
        reason: why.
        stage: the stage that decided it; None where an action failed.
        tasks_before: its tasks.
        tasks_after: what they should become.
        capped: whether ``spark.driver.maxResultSize`` held it down.
    """

    name: str
    value: str
    reason: PartitionReason
    stage: StageLog | None
    tasks_before: int
    tasks_after: int
    capped: bool = False


def decide_partitions(facts: Facts, found: tuple[Deaths, ...]) -> PartitionDecision | None:
    """The one change of shuffle partitions, the most urgent reason first; None for none."""
    if not facts.log.properties:
        return None
    return (
        _fewer_results(facts, found)
        or _of_stages(facts, PartitionReason.SPILL)
        or _of_stages(facts, PartitionReason.IDLE_SLOTS)
        or _of_stages(facts, PartitionReason.TINY_TASKS)
    )


def reads_of(tasks: TaskSample) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Bytes that each task read, from a shuffle and from outside, shape (kept tasks,)."""
    total = tasks.column("shuffle_remote_bytes") + tasks.column("shuffle_local_bytes") + tasks.column("input_bytes")
    return np.asarray(total, np.int64)


def read_ratio(stage: StageLog) -> float | None:
    """The largest read of one task over the mean one; None where nothing was read or too few tasks are known."""
    reads = reads_of(stage.tasks.succeeded)
    if len(reads) < limit("skew-min-tasks") or reads.sum() == 0:
        return None
    return float(reads.max() / reads.mean())


def is_skewed(stage: StageLog) -> bool:
    """Whether one task has much more to do than the others."""
    return max(read_ratio(stage) or 0.0, skew_of(stage) or 0.0) > limit("skew-ratio")


def spills(stage: StageLog) -> bool:
    """Whether a stage spilled enough to matter."""
    totals = stage.totals
    read = totals.shuffle_read_bytes + totals.input_bytes
    return totals.memory_spill_bytes > max(limit("spill-min") * MIB, limit("spill-share") * read)


def _fewer_results(facts: Facts, found: tuple[Deaths, ...]) -> PartitionDecision | None:
    for each in found:
        failure = each.largest
        if each.kind is not FailureKind.RESULT_SIZE or not failure.results or not failure.used_mib:
            continue
        if failure.used_mib / failure.results > limit("result-by-count") or not facts.sql:
            return None
        name = INITIAL if facts.adaptive and INITIAL in facts.conf else SQL_PARTITIONS
        now = int(facts.value(name) or 0)
        after = max(1, math.floor(now * limit("result-cut")))
        if name in facts.pinned or after >= now:
            return None
        tasks_after = math.floor(failure.results * after / now)
        return PartitionDecision(name, str(after), PartitionReason.RESULTS, None, failure.results, tasks_after)
    return None


def _of_stages(facts: Facts, reason: PartitionReason) -> PartitionDecision | None:
    """The stage with the most task time that asks for a change for this reason."""
    stages = [stage for stage in facts.main_stages if stage.totals.shuffle_read_bytes > 0 and not is_skewed(stage)]
    for stage in sorted(stages, key=lambda stage: -stage.totals.duration_s):
        wanted = _WANTED[reason](facts, stage)
        if wanted is None:
            continue
        decision = _set(facts, stage, wanted, reason)
        if decision is not None:
            return decision
    return None


def _for_spill(facts: Facts, stage: StageLog) -> int | None:
    """Tasks whose data fits: as many as there are, and one for each task's share of memory that was spilled."""
    if not spills(stage) or facts.request is None:
        return None
    fraction = float(facts.value("spark.memory.fraction") or 0)
    share_mib = unified_memory_mib(facts.request.heap_mib, fraction) / facts.slots
    if share_mib <= 0:
        return None
    tasks = stage.totals.tasks
    wanted = tasks + math.ceil(stage.totals.memory_spill_bytes / MIB / share_mib)
    return min(wanted, math.floor(tasks * limit("partition-most-growth")))


def _for_idle_slots(facts: Facts, stage: StageLog) -> int | None:
    durations = stage.tasks.succeeded.durations_s
    is_long = len(durations) > 0 and float(np.nanmedian(durations)) >= limit("long-task")
    # A single partition is a sort, a limit or a coalesce(1) that was asked for.
    return 2 * facts.all_slots if is_long and 1 < stage.totals.tasks < facts.all_slots else None


def _for_tiny_tasks(facts: Facts, stage: StageLog) -> int | None:
    durations = stage.tasks.succeeded.durations_s
    tasks = stage.totals.tasks
    if len(durations) == 0 or tasks < limit("tiny-tasks-min") * facts.all_slots:
        return None
    if float(np.nanmedian(durations)) >= limit("tiny-task") or facts.adaptive:
        return None
    by_size = math.ceil(stage.totals.shuffle_read_bytes / MIB / limit("partition-target"))
    wanted = max(by_size, facts.all_slots)
    return wanted if wanted < tasks else None


_WANTED: Final = {
    PartitionReason.SPILL: _for_spill,
    PartitionReason.IDLE_SLOTS: _for_idle_slots,
    PartitionReason.TINY_TASKS: _for_tiny_tasks,
}


def _set(facts: Facts, stage: StageLog, wanted: int, reason: PartitionReason) -> PartitionDecision | None:
    """The property that governs a stage, and its value for so many tasks."""
    tasks = stage.totals.tasks
    result_mib = stage.totals.result_bytes / tasks / MIB
    most = int(limit("partition-most"))
    max_result_mib = facts.value(MAX_RESULT)
    allowed = most_tasks(int(max_result_mib), result_mib) if max_result_mib is not None and result_mib > 0 else None
    if allowed is not None:
        most = min(most, math.floor(allowed * limit("result-share")))
    after = min(wanted, most)
    grows = wanted > tasks
    if (after <= tasks) if grows else (after >= tasks):
        return None
    if not facts.sql:
        name, value, governs = RDD_PARTITIONS, str(after), RDD_PARTITIONS not in facts.conf
        governs = governs or tasks == int(facts.value(RDD_PARTITIONS) or 0)
    else:
        number = INITIAL if facts.adaptive and INITIAL in facts.conf else SQL_PARTITIONS
        name, value, governs = number, str(after), tasks == int(facts.value(number) or 0)
        if facts.adaptive and not governs:
            # Coalesced: the size that is aimed at decides, not the number before.
            size_kib = max(1024, math.floor(stage.totals.shuffle_read_bytes / after / 1024))
            name, value, governs = ADVISORY, f"{size_kib // 1024}m", tasks < int(facts.value(number) or 0)
            governs = governs and size_kib // 1024 < int(facts.value(ADVISORY) or 0)
    if not governs or name in facts.pinned:
        return None
    return PartitionDecision(name, value, reason, stage, tasks, after, after < wanted)
