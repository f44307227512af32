"""What a heuristic is given: the facts, and the one decision of each kind that all heuristics share.

Sizes and numbers of partitions and executors are decided once, here, so that no two findings contradict each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from tuner.analysis.deaths import Deaths, deaths
from tuner.analysis.facts import MIB, Facts
from tuner.analysis.model import Change
from tuner.analysis.partitions import MAX_RESULT, PartitionDecision, decide_partitions
from tuner.analysis.sizing import HEAP, OVERHEAD, PYSPARK, memory_evidence, size_executors
from tuner.analysis.thresholds import limit
from tuner.model.failures import FailureKind
from tuner.model.memory_need import MemoryDecision, MemoryEvidence, Reason
from tuner.spark.eventlog import ApplicationLog
from tuner.spark.metrics import RunMetrics
from tuner.units import format_memory


@dataclass(frozen=True)
class Case:
    """One log and what was decided about it."""

    facts: Facts

    @property
    def log(self) -> ApplicationLog:
        """What was read."""
        return self.facts.log

    @property
    def metrics(self) -> RunMetrics:
        """The run in a few numbers."""
        return self.facts.metrics

    @cached_property
    def deaths(self) -> tuple[Deaths, ...]:
        """Failures by class."""
        return deaths(self.facts)

    @cached_property
    def evidence(self) -> MemoryEvidence:
        """What is known of the executors' memory."""
        return memory_evidence(self.facts, self.deaths)

    @cached_property
    def memory(self) -> MemoryDecision | None:
        """The executors' sizes."""
        return size_executors(self.facts, self.evidence)

    @cached_property
    def partitions(self) -> PartitionDecision | None:
        """The number or size of shuffle partitions."""
        return decide_partitions(self.facts, self.deaths)

    @cached_property
    def results_are_large(self) -> bool:
        """Whether an action's results reached, or nearly reached, what the driver takes."""
        most = float(self.facts.value(MAX_RESULT) or 0) * MIB
        return any(each.kind is FailureKind.RESULT_SIZE for each in self.deaths) or any(
            0 < limit("result-share") * most < stage.totals.result_bytes for stage in self.log.stages
        )

    def change(self, name: str, value: str, reason: str) -> tuple[Change, ...]:
        """A change of a property; none where it must stay, is not known to that Spark, or has that value already."""
        before = self.facts.text(name)
        if name in self.facts.pinned or not self.facts.knows(name) or before == value:
            return ()
        return (Change(name, value, before, name in self.facts.conf, reason),)

    @cached_property
    def memory_changes(self) -> tuple[Change, ...]:
        """Heap, overhead and Python's share, all said together: Spark's own overhead would move with the heap."""
        memory = self.memory
        if memory is None or memory.before == memory.after:
            return ()
        after, changes = memory.after, []
        for name, size_mib, before_mib, reason in (
            (HEAP, after.heap_mib, memory.before.heap_mib, memory.heap.reason),
            (OVERHEAD, after.overhead_mib, memory.before.overhead_mib, memory.overhead.reason),
            (PYSPARK, after.pyspark_mib, memory.before.pyspark_mib, memory.pyspark.reason if memory.pyspark else None),
        ):
            explicit = name in self.facts.conf
            if (
                name in self.facts.pinned
                or size_mib == 0
                or (size_mib == before_mib and (explicit or name != OVERHEAD))
            ):
                continue
            why = "Spark's own would move with the heap" if size_mib == before_mib else str(reason)
            changes.append(Change(name, format_memory(size_mib), format_memory(before_mib), explicit, why))
        return tuple(changes)

    def memory_changed_for(self, *reasons: Reason) -> bool:
        """Whether the sizes change for one of these reasons."""
        return self.memory is not None and bool(self.memory.reasons & set(reasons))


def explain_container(memory: MemoryDecision) -> str:
    """The container before and after, in words."""
    before, after = memory.before_granted_mib, memory.after_granted_mib
    return f"{before} MiB a container" if before == after else f"{before} -> {after} MiB a container"
