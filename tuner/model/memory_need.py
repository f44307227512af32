"""What an executor's memory is really needed for, and the sizes that follow from it.

The need comes from peaks of unified memory (execution and storage) and from resident memory of the processes. The
peak of the heap is no need: it fills with garbage up to ``-Xmx``. It is an upper bound, though: a heap that never
filled is surely large enough at what it filled to. What was not measured (Spark writes 0) is unknown, and nothing is
made smaller on it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from tuner.model.container import ContainerRequest
from tuner.model.failures import FailureKind
from tuner.model.memory import MIN_OVERHEAD_MIB, heap_for_unified_mib

SMALLEST_HEAP_MIB: Final = 512
"""The least heap that is ever proposed; Spark starts from 450."""


@dataclass(frozen=True)
class MemoryPolicy:
    """How bold the sizes are; each with its reason in :mod:`tuner.analysis.thresholds`.

    Args:
        margin: factor on a measured peak, since peaks are sampled at heartbeats.
        largest_step_down: share of a part that one step may take away where its need is an estimate.
        gc_low: share of run time in garbage collection below which a heap may be made smaller.
        gc_high: share above which a heap is too small.
        gc_min_s: time in it below which nobody notices.
        heap_filled: share of the heap that its peak must reach before garbage collection is blamed on its size.
        raise_after_gc: factor on a heap that spends its time in garbage collection.
        raise_after_failure: factor on the part that ran out.
        near_limit: share of a container in use above which the next run may be killed.
    """

    margin: float = 1.25
    largest_step_down: float = 0.5
    gc_low: float = 0.05
    gc_high: float = 0.10
    gc_min_s: float = 10.0
    heap_filled: float = 0.7
    raise_after_gc: float = 1.25
    raise_after_failure: float = 1.5
    near_limit: float = 0.95


DEFAULT_POLICY: Final = MemoryPolicy()


@dataclass(frozen=True)
class MemoryEvidence:
    """What a run showed of its executors; sizes in MiB, the largest of any one executor. None is unknown.

    Args:
        unified_mib: execution and storage memory on the heap.
        heap_used_mib: the heap's peak, garbage included.
        native_mib: resident memory of the JVM beyond its heap.
        python_mib: resident memory of Python's workers.
        other_mib: resident memory of other children.
        gc_share: garbage collection's share of the tasks' run time, in [0, 1].
        gc_s: the same in seconds.
        spilled: whether tasks spilled.
        failures: what went wrong.
        overrun_mib: by how much a container that was killed exceeded its physical limit.
        whole: whether the evidence is that of a whole, successful run. Else nothing is made smaller.
    """

    unified_mib: float | None = None
    heap_used_mib: float | None = None
    native_mib: float | None = None
    python_mib: float | None = None
    other_mib: float | None = None
    gc_share: float | None = None
    gc_s: float = 0.0
    spilled: bool = False
    failures: frozenset[FailureKind] = frozenset()
    overrun_mib: float = 0.0
    whole: bool = False


class Reason(StrEnum):
    """Why a part of the container changes, or does not."""

    OUT_OF_HEAP = "out of heap"
    GARBAGE_COLLECTION = "time lost to garbage collection"
    HEAP_UNUSED = "the heap was not used"
    KILLED = "killed beyond its container"
    PYTHON = "Python out of memory"
    NEAR_LIMIT = "close to the container's limit"
    OVERHEAD_UNUSED = "the overhead was not used"
    ROUNDING = "fills what YARN rounds up to"
    KEPT = "kept"
    UNKNOWN = "not measured"
    GUARDED = "guarded by garbage collection, spill or failures"


@dataclass(frozen=True)
class PartDecision:
    """One part of a container, before and after; sizes in MiB."""

    before_mib: int
    after_mib: int
    reason: Reason


@dataclass(frozen=True)
class MemoryDecision:
    """The sizes of the next run.

    Args:
        before: what Spark asked for.
        after: what it should ask for; a size that YARN grants as it is, unless nothing could be changed.
        heap: the heap's part of it.
        overhead: the overhead's.
        pyspark: the workers' own limit, where there is one.
        before_granted_mib: the container as YARN rounds it.
        after_granted_mib: the same afterwards.
    """

    before: ContainerRequest
    after: ContainerRequest
    heap: PartDecision
    overhead: PartDecision
    pyspark: PartDecision | None
    before_granted_mib: int
    after_granted_mib: int

    @property
    def reasons(self) -> frozenset[Reason]:
        """Why anything changes at all."""
        parts = [part for part in (self.heap, self.overhead, self.pyspark) if part is not None]
        return frozenset(part.reason for part in parts if part.before_mib != part.after_mib)


def heap_need_mib(evidence: MemoryEvidence, fraction: float, policy: MemoryPolicy = DEFAULT_POLICY) -> int | None:
    """The heap that gives execution and storage what they had at most, and a margin; None where unknown.

    Args:
        evidence: of a run.
        fraction: ``spark.memory.fraction``; what it leaves to the program's own objects stays in proportion.
        policy: the margin.
    """
    if evidence.unified_mib is None:
        return None
    return max(SMALLEST_HEAP_MIB, math.ceil(heap_for_unified_mib(evidence.unified_mib * policy.margin, fraction)))


def heap_is_short(heap_mib: int, evidence: MemoryEvidence, policy: MemoryPolicy = DEFAULT_POLICY) -> bool:
    """Whether time was lost to garbage collection for want of heap.

    A heap that never filled is not too small, however long its collector ran: that is a JVM that warms up.
    """
    if evidence.gc_share is None or evidence.gc_share <= policy.gc_high or evidence.gc_s < policy.gc_min_s:
        return False
    return evidence.heap_used_mib is None or evidence.heap_used_mib >= policy.heap_filled * heap_mib


def overhead_need_mib(
    evidence: MemoryEvidence, *, python_apart: bool, policy: MemoryPolicy = DEFAULT_POLICY
) -> int | None:
    """What the processes had beside the heap, and a margin; None where resident memory was not measured.

    Args:
        evidence: of a run.
        python_apart: whether Python has a share of its own (``spark.executor.pyspark.memory``).
        policy: the margin.
    """
    if evidence.native_mib is None:
        return None
    python = 0.0 if python_apart else evidence.python_mib or 0.0
    return max(
        MIN_OVERHEAD_MIB, math.ceil((evidence.native_mib + python + (evidence.other_mib or 0.0)) * policy.margin)
    )


def decide(
    request: ContainerRequest,
    evidence: MemoryEvidence,
    *,
    fraction: float,
    increment_mib: int,
    policy: MemoryPolicy = DEFAULT_POLICY,
    heap_pinned: bool = False,
    overhead_pinned: bool = False,
    pyspark_pinned: bool = False,
) -> MemoryDecision:
    """Sizes for the next run: each part raised or lowered for its own reason, together a size that YARN grants.

    Args:
        request: the container of this run.
        evidence: what it showed.
        fraction: ``spark.memory.fraction``.
        increment_mib: what YARN rounds containers up to a multiple of.
        policy: how bold the sizes are.
        heap_pinned: whether the heap must stay.
        overhead_pinned: whether the overhead must stay.
        pyspark_pinned: whether the workers' limit must stay.
    """
    heap = _pinned(request.heap_mib) if heap_pinned else _heap(request.heap_mib, evidence, fraction, policy)
    overhead = _pinned(request.overhead_mib) if overhead_pinned else _overhead(request, evidence, policy)
    pyspark = _pyspark(request.pyspark_mib, evidence, policy, pyspark_pinned) if request.pyspark_mib else None
    before = rounded_mib(request.memory_mib, increment_mib)
    after = replace(
        request,
        heap_mib=heap.after_mib,
        overhead_mib=overhead.after_mib,
        pyspark_mib=pyspark.after_mib if pyspark else 0,
    )
    grows = any(part is not None and part.after_mib > part.before_mib for part in (heap, overhead, pyspark))
    if not grows and rounded_mib(after.memory_mib, increment_mib) >= before:
        # The container stays as large, so nothing would be saved: a part that is not needed may as well stay.
        heap, overhead = _unchanged(heap), _unchanged(overhead)
        after = request
    granted = rounded_mib(after.memory_mib, increment_mib)
    heap, overhead = _filled(heap, overhead, granted - after.memory_mib, heap_pinned, overhead_pinned)
    after = replace(after, heap_mib=heap.after_mib, overhead_mib=overhead.after_mib)
    return MemoryDecision(request, after, heap, overhead, pyspark, before, granted)


def _heap(heap_mib: int, evidence: MemoryEvidence, fraction: float, policy: MemoryPolicy) -> PartDecision:
    if FailureKind.HEAP in evidence.failures:
        return PartDecision(heap_mib, math.ceil(heap_mib * policy.raise_after_failure), Reason.OUT_OF_HEAP)
    if heap_is_short(heap_mib, evidence, policy):
        return PartDecision(heap_mib, math.ceil(heap_mib * policy.raise_after_gc), Reason.GARBAGE_COLLECTION)
    need = heap_need_mib(evidence, fraction, policy)
    if need is None or evidence.gc_share is None:
        return PartDecision(heap_mib, heap_mib, Reason.UNKNOWN)
    if evidence.gc_share > policy.gc_low or evidence.spilled or evidence.failures or not evidence.whole:
        return PartDecision(heap_mib, heap_mib, Reason.GUARDED)
    # A heap that never filled to here is surely enough; else a step, and the next run shows whether it was too much.
    surely = math.inf if evidence.heap_used_mib is None else evidence.heap_used_mib * policy.margin
    target = max(need, math.ceil(min(surely, heap_mib * (1 - policy.largest_step_down))))
    if target >= heap_mib:
        return PartDecision(heap_mib, heap_mib, Reason.KEPT)
    return PartDecision(heap_mib, target, Reason.HEAP_UNUSED)


_OUTGROWN: Final = frozenset({FailureKind.PHYSICAL_MEMORY, FailureKind.NATIVE_MEMORY, FailureKind.KILLED})
_PYTHON: Final = frozenset({FailureKind.PYTHON_MEMORY, FailureKind.PYTHON_CRASH})


def _overhead(request: ContainerRequest, evidence: MemoryEvidence, policy: MemoryPolicy) -> PartDecision:
    now = request.overhead_mib
    python_apart = request.pyspark_mib > 0
    need = overhead_need_mib(evidence, python_apart=python_apart, policy=policy)
    if evidence.failures & _OUTGROWN:
        # How far it would have grown is not known: it was killed at once.
        more = max(now * policy.raise_after_failure, now + evidence.overrun_mib * policy.margin, need or 0)
        return PartDecision(now, math.ceil(more), Reason.KILLED)
    if evidence.failures & _PYTHON and not python_apart:
        return PartDecision(now, math.ceil(max(now * policy.raise_after_failure, need or 0)), Reason.PYTHON)
    if need is None:
        return PartDecision(now, now, Reason.UNKNOWN)
    allowed = request.memory_mib - request.pyspark_mib if python_apart else request.memory_mib
    in_use = need / policy.margin + request.heap_mib + request.off_heap_mib
    if in_use > policy.near_limit * allowed and need > now:
        return PartDecision(now, need, Reason.NEAR_LIMIT)
    if need >= now:
        return PartDecision(now, now, Reason.KEPT)
    if evidence.failures or not evidence.whole:
        return PartDecision(now, now, Reason.GUARDED)
    lowered = max(need, math.ceil(now * (1 - policy.largest_step_down)))
    return PartDecision(now, lowered, Reason.OVERHEAD_UNUSED if lowered < now else Reason.KEPT)


def _pyspark(now: int, evidence: MemoryEvidence, policy: MemoryPolicy, pinned: bool) -> PartDecision:
    if pinned or not evidence.failures & _PYTHON:
        return PartDecision(now, now, Reason.KEPT)
    return PartDecision(now, math.ceil(now * policy.raise_after_failure), Reason.PYTHON)


def _filled(
    heap: PartDecision, overhead: PartDecision, rest_mib: int, heap_pinned: bool, overhead_pinned: bool
) -> tuple[PartDecision, PartDecision]:
    """Gives what rounding would waste to the part that is short, else to the heap."""
    if rest_mib == 0 or (heap_pinned and overhead_pinned):
        return heap, overhead
    to_overhead = heap_pinned or (overhead.after_mib > overhead.before_mib and heap.after_mib <= heap.before_mib)
    if to_overhead and not overhead_pinned:
        return heap, _given(overhead, rest_mib)
    return _given(heap, rest_mib), overhead


def _given(part: PartDecision, rest_mib: int) -> PartDecision:
    changed = part.before_mib != part.after_mib
    return replace(part, after_mib=part.after_mib + rest_mib, reason=part.reason if changed else Reason.ROUNDING)


def _unchanged(part: PartDecision) -> PartDecision:
    lowered = part.after_mib < part.before_mib
    return PartDecision(part.before_mib, part.before_mib, Reason.KEPT) if lowered else part


def _pinned(size_mib: int) -> PartDecision:
    return PartDecision(size_mib, size_mib, Reason.KEPT)


def rounded_mib(size_mib: int, increment_mib: int) -> int:
    """A container of that size as YARN grants it, where its minimum is its increment; in MiB."""
    return -(-size_mib // increment_mib) * increment_mib
