"""Reserved against used memory, garbage collection, and what rounding wastes."""

from __future__ import annotations

import math
from collections.abc import Iterator

from tuner.analysis.case import Case, explain_container
from tuner.analysis.facts import MIB, Platform
from tuner.analysis.model import Observation, Severity
from tuner.analysis.thresholds import limit
from tuner.model.memory import largest_heap_mib, overhead_mib
from tuner.model.memory_need import (
    DEFAULT_POLICY,
    SMALLEST_HEAP_MIB,
    Reason,
    heap_need_mib,
    overhead_need_mib,
    rounded_mib,
)
from tuner.units import format_memory


def heap_oversized(case: Case) -> Iterator[Observation]:
    """A heap that execution, storage and the heap's own peak never needed."""
    memory, evidence = case.memory, case.evidence
    if memory is None or not case.memory_changed_for(Reason.HEAP_UNUSED) or evidence.unified_mib is None:
        return
    fraction = float(case.facts.value("spark.memory.fraction") or 0)
    need = heap_need_mib(evidence, fraction)
    filled = (
        "" if evidence.heap_used_mib is None else f"; the heap never held more than {evidence.heap_used_mib:.0f} MiB"
    )
    yield Observation(
        Severity.WARNING,
        f"{case.metrics.executors} executors",
        f"execution and storage took at most {evidence.unified_mib:.0f} MiB of a heap of {memory.before.heap_mib} MiB"
        f"{filled}; garbage collection {_percent(evidence.gc_share)} of run time, no spill",
        f"{need} MiB would hold what was used; the heap goes down by at most"
        f" {limit('memory-step-down'):.0%} in one step unless its own peak allows more",
        _saved(case),
        {
            "unified_mib": _round(evidence.unified_mib),
            "heap_used_mib": _round(evidence.heap_used_mib),
            "need_mib": need,
        },
        case.memory_changes,
    )


def overhead_oversized(case: Case) -> Iterator[Observation]:
    """Overhead that resident memory never needed."""
    memory, evidence = case.memory, case.evidence
    if memory is None or not case.memory_changed_for(Reason.OVERHEAD_UNUSED):
        return
    need = overhead_need_mib(evidence, python_apart=memory.before.pyspark_mib > 0)
    yield Observation(
        Severity.WARNING,
        f"{case.metrics.executors} executors",
        f"beside the heap the processes had at most {(need or 0) / DEFAULT_POLICY.margin:.0f} MiB resident, of an"
        f" overhead of {memory.before.overhead_mib} MiB",
        f"{need} MiB would hold it",
        _saved(case),
        {"native_mib": _round(evidence.native_mib), "python_mib": _round(evidence.python_mib), "need_mib": need},
        case.memory_changes,
    )


def near_limit(case: Case) -> Iterator[Observation]:
    """Processes that nearly filled their container: the next run may be killed."""
    memory, evidence = case.memory, case.evidence
    if memory is None or memory.overhead.reason is not Reason.NEAR_LIMIT:
        return
    yield Observation(
        Severity.WARNING,
        f"{case.metrics.executors} executors",
        f"resident memory came to {case.metrics.peak_rss_mib} MiB of {memory.before.memory_mib} MiB that the container"
        " may have",
        "YARN kills a container that exceeds its size",
        "no executor lost to a slightly larger input",
        {"rss_mib": case.metrics.peak_rss_mib, "native_mib": _round(evidence.native_mib)},
        case.memory_changes,
    )


def garbage_collection(case: Case) -> Iterator[Observation]:
    """Time lost to garbage collection."""
    share = case.metrics.gc_share
    total_s = case.log.totals.gc_s
    if share is None or share <= limit("gc-high") or total_s < limit("gc-min"):
        return
    raised = case.memory_changed_for(Reason.GARBAGE_COLLECTION)
    yield Observation(
        Severity.WARNING,
        "executors",
        f"garbage collection took {total_s:.0f} s, {_percent(share)} of the tasks' run time",
        _gc_advice(case),
        f"up to {total_s:.0f} s of task time",
        {"gc_s": round(total_s, 1), "gc_share": round(share, 4)},
        case.memory_changes if raised else (),
    )


def _gc_advice(case: Case) -> str:
    used, request = case.evidence.heap_used_mib, case.facts.request
    if used is not None and request is not None and used < limit("heap-filled") * request.heap_mib:
        return (
            f"the heap never held more than {used:.0f} of {request.heap_mib} MiB, so that a larger one does not help:"
            " look at objects that live briefly, and at the collector's threads (spark.executor.extraJavaOptions)"
        )
    return "a larger heap, fewer tasks at a time on one heap (spark.executor.cores), or cached data serialized"


def rounding(case: Case) -> Iterator[Observation]:
    """Memory that YARN reserves by rounding up and that nothing may use."""
    memory = case.memory
    if memory is None or not case.facts.workers or case.facts.platform not in (Platform.YARN, Platform.UNKNOWN):
        return
    waste = memory.before_granted_mib - memory.before.memory_mib
    if waste < limit("rounding-share") * memory.before_granted_mib:
        return
    yield Observation(
        Severity.INFO,
        f"{case.metrics.executors} executors",
        f"{memory.before.memory_mib} MiB are asked for and {memory.before_granted_mib} MiB reserved, where YARN rounds"
        f" up to multiples of {case.facts.increment_mib} MiB: {waste} MiB of each container are of no use",
        "sizes that fill their container cost nothing",
        f"{waste} MiB more for each executor without reserving more",
        {"waste_mib": waste, "asked_mib": memory.before.memory_mib, "granted_mib": memory.before_granted_mib},
        case.memory_changes,
    )


def driver_oversized(case: Case) -> Iterator[Observation]:
    """A driver on the cluster whose heap never filled; its peak is all that is known of it, so twice that is kept."""
    facts, request, driver = case.facts, case.facts.driver_request, case.facts.driver
    used = None if driver is None or driver.peaks.jvm_heap is None else driver.peaks.jvm_heap / MIB
    # Results that fill the driver ask for a larger one.
    if request is None or used is None or case.results_are_large or not facts.succeeded:
        return
    if (case.log.wall_s or 0.0) < limit("driver-min"):
        return
    explicit = "spark.driver.memoryOverhead" in facts.conf
    factor = float(facts.value("spark.driver.memoryOverheadFactor") or 0)
    least = int(facts.value("spark.driver.minMemoryOverhead") or 0)
    heap = max(2 * SMALLEST_HEAP_MIB, math.ceil(used * limit("driver-margin")))
    overhead = request.overhead_mib if explicit else overhead_mib(heap, factor, least)
    before, after = (rounded_mib(size, facts.increment_mib) for size in (request.memory_mib, heap + overhead))
    if after >= before:
        return
    filled = after - request.overhead_mib if explicit else largest_heap_mib(after, factor, least)
    yield Observation(
        Severity.INFO,
        "driver",
        f"the driver's heap of {request.heap_mib} MiB never held more than {used:.0f} MiB, in a container of"
        f" {before} MiB",
        f"{limit('driver-margin'):.0f} times what it held at most is enough",
        f"{before - after} MiB less reserved ({before} -> {after} MiB)",
        {"heap_used_mib": round(used, 1), "container_mib": before, "suggested_container_mib": after},
        case.change("spark.driver.memory", format_memory(filled), "the driver's heap was not used"),
    )


def _saved(case: Case) -> str:
    memory = case.memory
    assert memory is not None
    saved = memory.before_granted_mib - memory.after_granted_mib
    if saved <= 0:
        return explain_container(memory)
    text = f"{saved} MiB less reserved for each executor ({explain_container(memory)})"
    if case.metrics.executor_s is not None:
        text += f", {saved * case.metrics.executor_s / 1024:.0f} GiB·s less in a run like this one"
    return text


def _percent(share: float | None) -> str:
    return "unknown" if share is None else f"{share:.1%}"


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, 1)
