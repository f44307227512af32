"""The evidence of a log about its executors' memory, and the sizes that follow from it."""

from __future__ import annotations

from tuner.analysis.deaths import Deaths
from tuner.analysis.facts import MIB, Facts
from tuner.analysis.thresholds import limit
from tuner.model.failures import FailureKind
from tuner.model.memory_need import MemoryDecision, MemoryEvidence, decide

HEAP = "spark.executor.memory"
OVERHEAD = "spark.executor.memoryOverhead"
PYSPARK = "spark.executor.pyspark.memory"


def memory_evidence(facts: Facts, found: tuple[Deaths, ...]) -> MemoryEvidence:
    """What a log says of its executors' memory; what it does not say is None."""
    peaks = [worker.peaks for worker in facts.workers]
    native = [
        (each.jvm_rss - each.jvm_heap) / MIB for each in peaks if each.jvm_rss is not None and each.jvm_heap is not None
    ]
    kinds = frozenset(each.kind for each in found)
    overrun = [
        each.largest.used_mib - each.largest.limit_mib
        for each in found
        if each.kind is FailureKind.PHYSICAL_MEMORY and each.largest.used_mib and each.largest.limit_mib
    ]
    return MemoryEvidence(
        unified_mib=_unified_mib(facts),
        heap_used_mib=max((each.jvm_heap / MIB for each in peaks if each.jvm_heap is not None), default=None),
        native_mib=max(native, default=None),
        python_mib=max((each.python_rss / MIB for each in peaks if each.python_rss is not None), default=None),
        other_mib=max((each.other_rss / MIB for each in peaks if each.other_rss is not None), default=None),
        gc_share=facts.metrics.gc_share,
        gc_s=facts.log.totals.gc_s,
        spilled=facts.log.totals.memory_spill_bytes > limit("spill-min") * MIB,
        failures=kinds & _OF_MEMORY,
        overrun_mib=max(overrun, default=0.0),
        whole=facts.whole and facts.succeeded,
    )


def size_executors(facts: Facts, evidence: MemoryEvidence) -> MemoryDecision | None:
    """The executors' sizes for the next run; None where there are no containers, or their sizes are not known."""
    request = facts.request
    if request is None or len({worker.profile_id for worker in facts.workers}) > 1:
        return None
    fraction = facts.value("spark.memory.fraction")
    assert isinstance(fraction, float)
    # An overhead that nobody set follows the heap, so one that must stay keeps the heap where it is too.
    overhead_pinned = OVERHEAD in facts.pinned
    return decide(
        request,
        evidence,
        fraction=fraction,
        increment_mib=facts.increment_mib,
        heap_pinned=HEAP in facts.pinned or (overhead_pinned and OVERHEAD not in facts.conf),
        overhead_pinned=overhead_pinned,
        pyspark_pinned=PYSPARK in facts.pinned,
    )


_OF_MEMORY = frozenset(
    {
        FailureKind.PHYSICAL_MEMORY,
        FailureKind.HEAP,
        FailureKind.NATIVE_MEMORY,
        FailureKind.PYTHON_MEMORY,
        FailureKind.PYTHON_CRASH,
        FailureKind.KILLED,
    }
)


def _unified_mib(facts: Facts) -> float | None:
    """Most execution and storage memory on one executor's heap.

    The sampled peak misses what is short; the tasks' own peak is exact, but of one task. Without samples (before
    Spark 3) all of an executor's tasks at their peak, and its share of what was cached, are the upper end.
    """
    sampled = [worker.peaks.on_heap_unified for worker in facts.workers if worker.peaks.on_heap_unified is not None]
    task = facts.log.totals.peak_execution_bytes
    if facts.value("spark.memory.offHeap.enabled"):
        task = None  # it is off the heap then
    if sampled:
        return max(max(sampled), task or 0) / MIB
    cached = [rdd for rdd in facts.log.rdds if rdd.use_memory]
    if task is None or any(rdd.memory_bytes == 0 for rdd in cached):
        return None
    executors = max(1, facts.metrics.peak_executors)
    return (task * facts.slots + sum(rdd.memory_bytes for rdd in cached) / executors) / MIB
