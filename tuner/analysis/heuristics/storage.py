"""Cached data: recompute it, spill it or serialize it, by what each would cost.

For an RDD of which not every partition fitted into memory the costs of one more read of the missing ones are compared:

- recompute: the run time of the tasks that made it, of which everything else in that stage is a part (upper end);
- disk: its bytes at the rate at which this run's tasks wrote their shuffle files, where the log shows one;
- serialize: all of it read at the rate of one core, where serialized it would fit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tuner.analysis.case import Case
from tuner.analysis.facts import MIB
from tuner.analysis.model import Observation, Severity
from tuner.analysis.thresholds import limit
from tuner.spark.eventlog import RddInfo, StageLog

_RATE_MIN_MIB = 64
"""Shuffle bytes below which the log's own rate of writing is noise."""


@dataclass(frozen=True)
class StorageCosts:
    """What the reads of a cached RDD cost in s of task time under each level; None where it cannot be had.

    Args:
        recompute_s: ``MEMORY_ONLY``: what is not in memory is computed again.
        disk_s: ``MEMORY_AND_DISK``: it is written once and read from disk.
        serialize_s: ``MEMORY_ONLY_SER``: all of it fits, and is deserialized at every read.
    """

    recompute_s: float
    disk_s: float
    serialize_s: float | None


def storage_costs(
    *,
    partitions: int,
    cached: int,
    partition_mib: float,
    compute_s: float,
    reads: int,
    disk_mib_per_s: float,
    serial_mib_per_s: float,
    serial_ratio: float,
    deserialized: bool,
) -> StorageCosts:
    """Costs of an RDD that does not fit as it is.

    Args:
        partitions: all of it.
        cached: partitions in memory.
        partition_mib: mean size of one in memory.
        compute_s: task time to make one partition.
        reads: stages that read it after it was made.
        disk_mib_per_s: rate of one task writing or reading a disk.
        serial_mib_per_s: rate of one task reading serialized objects.
        serial_ratio: size in memory over serialized size.
        deserialized: whether memory holds objects; else serializing gains nothing.
    """
    missing = partitions - cached
    serial_mib = partition_mib / serial_ratio if deserialized else partition_mib
    on_disk_s = missing * serial_mib / disk_mib_per_s
    fits = deserialized and partitions * serial_mib <= cached * partition_mib
    return StorageCosts(
        recompute_s=missing * compute_s * reads,
        disk_s=on_disk_s * (1 + reads),
        serialize_s=partitions * serial_mib / serial_mib_per_s * reads if fits else None,
    )


def cached_data(case: Case) -> Iterator[Observation]:
    """Cached RDDs whose level is not the cheapest one, or that nobody reads again."""
    for rdd in case.log.rdds:
        if not rdd.use_memory or rdd.cached_partitions == 0 or rdd.partitions == 0:
            continue
        stages = [stage for stage in case.facts.stages if rdd.rdd_id in stage.rdd_ids]
        if not stages or stages[0].totals.succeeded == 0:
            continue
        if rdd.memory_bytes + rdd.disk_bytes < limit("cache-min") * MIB:
            continue
        yield from _never_read(case, rdd, stages) if len(stages) == 1 else _dearer(case, rdd, stages)


def untraced_cache(case: Case) -> Iterator[Observation]:
    """Cached RDDs of which the log says nothing."""
    blind = [rdd for rdd in case.log.rdds if rdd.use_memory and rdd.cached_partitions == 0]
    if not blind or any(rdd.cached_partitions for rdd in case.log.rdds):
        return
    yield Observation(
        Severity.INFO,
        f"{len(blind)} cached RDD{'' if len(blind) == 1 else 's'}",
        f"{_named(blind[0])} is persisted as {blind[0].storage_level}, and the log does not say how much of it stayed",
        "spark.eventLog.logBlockUpdates.enabled=true in one run tells; no level can be advised without it",
        "advice about cached data",
        {"rdds": len(blind)},
    )


def _never_read(case: Case, rdd: RddInfo, stages: list[StageLog]) -> Iterator[Observation]:
    if not case.facts.whole:
        return
    yield Observation(
        Severity.INFO,
        _named(rdd),
        f"{rdd.cached_partitions} of {rdd.partitions} partitions ({rdd.memory_bytes / MIB:.0f} MiB in memory,"
        f" {rdd.disk_bytes / MIB:.0f} MiB on disk) were cached by stage {stages[0].stage_id}, and no later stage"
        " reads it",
        "do not persist it",
        f"{rdd.memory_bytes / MIB:.0f} MiB for execution",
        {"rdd": rdd.rdd_id, "memory_mib": round(rdd.memory_bytes / MIB, 1), "reads": 0},
    )


def _dearer(case: Case, rdd: RddInfo, stages: list[StageLog]) -> Iterator[Observation]:
    in_memory = _in_memory(rdd)
    if in_memory == 0 or in_memory >= rdd.partitions:
        return
    first, reads = stages[0], len(stages) - 1
    costs = storage_costs(
        partitions=rdd.partitions,
        cached=in_memory,
        partition_mib=rdd.memory_bytes / MIB / in_memory,
        compute_s=first.totals.run_s / first.totals.tasks,
        reads=reads,
        disk_mib_per_s=_disk_rate(case),
        serial_mib_per_s=limit("cache-serial-rate"),
        serial_ratio=limit("cache-serial-ratio"),
        deserialized=rdd.deserialized and not _columnar(rdd),
    )
    now_s = costs.disk_s if rdd.use_disk else costs.recompute_s
    options = [("MEMORY_AND_DISK", costs.disk_s), ("MEMORY_ONLY", costs.recompute_s)]
    if costs.serialize_s is not None:
        options.append(("MEMORY_ONLY_SER", costs.serialize_s))
    level, best_s = min(options, key=lambda option: option[1])
    if now_s - best_s < limit("cache-min-gain"):
        return
    serialize = "" if costs.serialize_s is None else f", serialized {costs.serialize_s:.1f} s"
    yield Observation(
        Severity.WARNING,
        _named(rdd),
        f"{in_memory} of {rdd.partitions} partitions ({rdd.memory_bytes / MIB:.0f} MiB) stayed in memory and"
        f" {reads} stage{'' if reads == 1 else 's'} read it; the others cost, computed again {costs.recompute_s:.1f} s,"
        f" from disk {costs.disk_s:.1f} s{serialize} of task time",
        f"persist(StorageLevel.{level}) instead of {rdd.storage_level}",
        f"about {now_s - best_s:.0f} s of task time",
        {
            "rdd": rdd.rdd_id,
            "level": rdd.storage_level,
            "better_level": level,
            "reads": reads,
            "recompute_s": round(costs.recompute_s, 2),
            "disk_s": round(costs.disk_s, 2),
            "serialize_s": None if costs.serialize_s is None else round(costs.serialize_s, 2),
        },
    )


def _in_memory(rdd: RddInfo) -> int:
    """Partitions in memory: of those that are cached some may be on disk, by the share of bytes."""
    if rdd.disk_bytes == 0:
        return rdd.cached_partitions
    # Bytes on disk are serialized, those in memory may be objects.
    ratio = limit("cache-serial-ratio") if rdd.deserialized and not _columnar(rdd) else 1.0
    share = rdd.memory_bytes / (rdd.memory_bytes + rdd.disk_bytes * ratio)
    return round(rdd.cached_partitions * share)


def _columnar(rdd: RddInfo) -> bool:
    """Whether it is a cached table: columns in byte arrays, which serializing makes no smaller.

    Its name is "In-memory table ..." or the text of its plan (``CachedRDDBuilder``).
    """
    return rdd.name.startswith(("In-memory table", "*(")) or "+- " in rdd.name


def _disk_rate(case: Case) -> float:
    """MiB/s of one task writing its shuffle files, where the log shows enough of them."""
    totals = case.log.totals
    written_mib = totals.shuffle_write_bytes / MIB
    if written_mib < _RATE_MIN_MIB or totals.shuffle_write_s <= 0:
        return limit("cache-disk-rate")
    return written_mib / totals.shuffle_write_s


def _named(rdd: RddInfo) -> str:
    return f"RDD {rdd.rdd_id} ({' '.join(rdd.name.split())[:60]})"
