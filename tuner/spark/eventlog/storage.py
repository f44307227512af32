"""RDDs and what of them was cached, from whichever events of a log tell it.

Three sources, for none is always there: the stage's own RDD info (complete in Spark 1, mostly zeros later), blocks
that tasks updated (``spark.taskMetrics.trackUpdatedBlockStatuses``), and block updates
(``spark.eventLog.logBlockUpdates.enabled``).
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final

from tuner.spark.eventlog.events import Rdd, StorageLevel
from tuner.spark.eventlog.model import RddInfo

MAX_RDDS: Final = 5_000
_MAX_BLOCKS: Final = 100_000


class _Cached:
    """What is known of one RDD's blocks: now, and at most."""

    __slots__ = ("blocks", "disk", "largest", "memory", "most_blocks", "most_disk", "most_memory")

    def __init__(self) -> None:
        self.blocks = self.memory = self.disk = 0
        self.most_blocks = self.most_memory = self.most_disk = self.largest = 0


class RddStore:
    """Gathers RDDs while a log is read, in bounded memory."""

    def __init__(self, max_rdds: int = MAX_RDDS) -> None:
        self._max = max_rdds
        self._rdds: dict[int, Rdd] = {}
        self._cached: dict[int, _Cached] = {}
        self._blocks: dict[tuple[int, int], tuple[int, int]] = {}
        self._unpersisted: set[int] = set()
        self.dropped = False

    def add(self, rdds: Iterable[Rdd]) -> None:
        """Takes in a stage's RDDs; sizes never go down, since later events may have them as 0."""
        for rdd in rdds:
            # The last one named is the last to be dropped.
            self._rdds.pop(rdd.rdd_id, None)
            self._rdds[rdd.rdd_id] = rdd
            if rdd.cached or rdd.memory or rdd.disk:
                cached = self._cached.setdefault(rdd.rdd_id, _Cached())
                cached.most_blocks = max(cached.most_blocks, rdd.cached)
                cached.most_memory = max(cached.most_memory, rdd.memory)
                cached.most_disk = max(cached.most_disk, rdd.disk)
        if len(self._rdds) > self._max * 5 // 4:
            self._drop_oldest()

    def update_block(self, block_id: str, level: StorageLevel, memory: int, disk: int) -> None:
        """Takes in the new state of a block; any but an RDD's (``rdd_<id>_<partition>``) is passed over."""
        kind, _, numbers = block_id.partition("_")
        rdd, _, partition = numbers.partition("_")
        if kind != "rdd" or not (rdd.isdecimal() and partition.isdecimal()):
            return
        block = (int(rdd), int(partition))
        if not (level.use_memory or level.use_disk or level.use_off_heap):
            memory = disk = 0
        if block not in self._blocks and len(self._blocks) >= _MAX_BLOCKS:
            self.dropped = True
            return
        cached = self._cached.setdefault(block[0], _Cached())
        old_memory, old_disk = self._blocks.pop(block, (0, 0))
        cached.blocks += bool(memory or disk) - bool(old_memory or old_disk)
        cached.memory += memory - old_memory
        cached.disk += disk - old_disk
        if memory or disk:
            self._blocks[block] = (memory, disk)
        cached.most_blocks = max(cached.most_blocks, cached.blocks)
        cached.most_memory = max(cached.most_memory, cached.memory)
        cached.most_disk = max(cached.most_disk, cached.disk)
        cached.largest = max(cached.largest, memory + disk)

    def unpersist(self, rdd_id: int) -> None:
        """Takes in that an RDD's blocks were dropped on purpose."""
        self._unpersisted.add(rdd_id)

    def result(self) -> tuple[RddInfo, ...]:
        """The RDDs by id."""
        return tuple(self._info(self._rdds[rdd_id]) for rdd_id in sorted(self._rdds))

    def _info(self, rdd: Rdd) -> RddInfo:
        cached = self._cached.get(rdd.rdd_id) or _Cached()
        level = rdd.level
        return RddInfo(
            rdd_id=rdd.rdd_id,
            name=rdd.name,
            scope=_scope_name(rdd.scope),
            parents=rdd.parents,
            partitions=rdd.partitions,
            use_memory=level.use_memory,
            use_disk=level.use_disk,
            use_off_heap=level.use_off_heap,
            deserialized=level.deserialized,
            replication=level.replication,
            cached_partitions=cached.most_blocks,
            memory_bytes=cached.most_memory,
            disk_bytes=cached.most_disk,
            largest_block_bytes=cached.largest,
            unpersisted=rdd.rdd_id in self._unpersisted,
        )

    def _drop_oldest(self) -> None:
        """Drops the oldest RDDs; persisted ones only where the others are not enough."""
        self.dropped = True
        persisted = {key for key, rdd in self._rdds.items() if rdd.level.use_memory or rdd.level.use_disk}
        order = [key for key in self._rdds if key not in persisted] + [key for key in self._rdds if key in persisted]
        for key in order[: len(self._rdds) - self._max]:
            del self._rdds[key]
            self._cached.pop(key, None)
            self._unpersisted.discard(key)


def _scope_name(scope: str | None) -> str | None:
    """The operator's name in ``{"id":"7","name":"Exchange"}``."""
    if not scope:
        return None
    try:
        value = json.loads(scope)
    except ValueError:
        return None
    return str(value["name"]) if isinstance(value, dict) and "name" in value else None
