from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.model.container import ContainerRequest
from tuner.model.failures import FailureKind
from tuner.model.memory_need import (
    DEFAULT_POLICY,
    MemoryDecision,
    MemoryEvidence,
    Reason,
    decide,
    heap_need_mib,
    overhead_need_mib,
)

QUIET = MemoryEvidence(unified_mib=600, heap_used_mib=9000, gc_share=0.01, gc_s=5, whole=True)
"""A whole run that needed little, and whose heap filled with garbage all the same."""


def size(evidence: MemoryEvidence, heap: int = 10240, overhead: int = 1024, increment: int = 1024, **pins: bool):  # type: ignore[no-untyped-def]
    return decide(
        ContainerRequest(heap, overhead), evidence, fraction=0.6, increment_mib=increment, policy=DEFAULT_POLICY, **pins
    )


class TestNeed:
    def test_heap_for_what_was_used_and_a_margin(self) -> None:
        # 600 * 1.25 / 0.6 + 300
        assert heap_need_mib(QUIET, 0.6) == 1550

    def test_nothing_measured_is_unknown(self) -> None:
        assert heap_need_mib(MemoryEvidence(heap_used_mib=900), 0.6) is None
        assert overhead_need_mib(MemoryEvidence(python_mib=100), python_apart=False) is None

    def test_python_counts_where_it_has_no_share_of_its_own(self) -> None:
        evidence = MemoryEvidence(native_mib=400, python_mib=800)
        assert overhead_need_mib(evidence, python_apart=False) == 1500
        assert overhead_need_mib(evidence, python_apart=True) == 500


class TestLowering:
    def test_a_step_where_the_heap_filled(self) -> None:
        # Half of 10240; 5120 + 1024 is a container already.
        decision = size(QUIET)
        assert (decision.after.heap_mib, decision.heap.reason) == (5120, Reason.HEAP_UNUSED)

    def test_at_once_where_it_never_did(self) -> None:
        decision = size(replace(QUIET, heap_used_mib=1000))
        # Need 1550, surely enough 1250: 1550 + 1024 -> 3072, the rest to the heap.
        assert decision.after.heap_mib == 2048
        assert decision.after_granted_mib == 3072

    def test_the_need_is_never_undercut(self) -> None:
        decision = size(replace(QUIET, unified_mib=4000, heap_used_mib=1000))
        assert decision.after.heap_mib >= heap_need_mib(replace(QUIET, unified_mib=4000), 0.6)  # type: ignore[operator]

    @pytest.mark.parametrize(
        "guard",
        [
            {"gc_share": 0.07},
            {"spilled": True},
            {"whole": False},
            {"failures": frozenset({FailureKind.PHYSICAL_MEMORY})},
        ],
    )
    def test_guards(self, guard: dict[str, object]) -> None:
        decision = size(replace(QUIET, **guard))  # type: ignore[arg-type]
        assert decision.after.heap_mib >= 10240
        assert decision.heap.reason is not Reason.HEAP_UNUSED

    @pytest.mark.parametrize("unknown", [{"unified_mib": None}, {"gc_share": None}])
    def test_unknown_never_shrinks(self, unknown: dict[str, None]) -> None:
        """G3-09."""
        decision = size(replace(QUIET, **unknown))
        assert decision.after.heap_mib >= 10240
        assert decision.heap.reason is Reason.UNKNOWN

    def test_overhead_by_resident_memory(self) -> None:
        decision = size(replace(QUIET, native_mib=300), heap=1536, overhead=2560)
        # Need 384 (the least), a step to 1280: 1536 + 1280 -> 3072.
        assert decision.overhead.reason is Reason.OVERHEAD_UNUSED
        assert decision.after_granted_mib == 3072

    def test_nothing_moves_where_the_container_stays(self) -> None:
        decision = size(replace(QUIET, heap_used_mib=600, unified_mib=60), heap=640, overhead=384)
        assert decision.before == decision.after


class TestRaising:
    def test_out_of_heap(self) -> None:
        decision = size(replace(QUIET, failures=frozenset({FailureKind.HEAP})))
        assert decision.heap.reason is Reason.OUT_OF_HEAP
        assert decision.after.heap_mib >= 15360
        assert decision.after.overhead_mib == 1024

    def test_killed_for_physical_memory_raises_the_overhead_alone(self) -> None:
        evidence = MemoryEvidence(failures=frozenset({FailureKind.PHYSICAL_MEMORY}), overrun_mib=100)
        decision = size(evidence, heap=4096, overhead=409)
        assert decision.after.heap_mib == 4096
        assert decision.after.overhead_mib == 1024
        assert decision.overhead.reason is Reason.KILLED

    def test_garbage_collection_of_a_full_heap(self) -> None:
        busy = MemoryEvidence(gc_share=0.3, gc_s=100, heap_used_mib=4000, unified_mib=10, whole=True)
        assert size(busy, heap=4096, overhead=1024).heap.reason is Reason.GARBAGE_COLLECTION

    @pytest.mark.parametrize("change", [{"heap_used_mib": 800}, {"gc_s": 1}])
    def test_garbage_collection_that_is_not_for_want_of_heap(self, change: dict[str, float]) -> None:
        busy = MemoryEvidence(gc_share=0.3, gc_s=100, heap_used_mib=4000, unified_mib=10, whole=True)
        decision = size(replace(busy, **change), heap=4096, overhead=1024)  # type: ignore[arg-type]
        assert decision.after.heap_mib == 4096

    def test_python_without_a_share_of_its_own(self) -> None:
        decision = size(MemoryEvidence(failures=frozenset({FailureKind.PYTHON_CRASH})), heap=2048, overhead=1024)
        assert decision.after.heap_mib == 2048
        assert decision.overhead.reason is Reason.PYTHON
        assert decision.after.overhead_mib == 2048

    def test_python_with_one(self) -> None:
        request = ContainerRequest(2048, 1024, pyspark_mib=1024)
        evidence = MemoryEvidence(failures=frozenset({FailureKind.PYTHON_MEMORY}))
        decision = decide(request, evidence, fraction=0.6, increment_mib=512)
        assert decision.after == replace(request, pyspark_mib=1536)

    def test_near_the_limit(self) -> None:
        decision = size(MemoryEvidence(native_mib=1000, gc_share=0.01, whole=True), heap=4096, overhead=1024)
        assert decision.overhead.reason is Reason.NEAR_LIMIT
        assert decision.after.overhead_mib >= 1250


def test_rounding_goes_to_the_heap() -> None:
    decision = size(MemoryEvidence(), heap=4096, overhead=409)
    assert (decision.after.heap_mib, decision.after.overhead_mib) == (4711, 409)
    assert decision.reasons == {Reason.ROUNDING}


def test_pins() -> None:
    decision = size(QUIET, heap_pinned=True)
    assert decision.after.heap_mib == 10240
    both = size(replace(QUIET, failures=frozenset({FailureKind.HEAP})), heap_pinned=True, overhead_pinned=True)
    assert both.before == both.after


sizes = st.integers(512, 40_000)
maybe = st.none() | st.floats(1, 40_000)
evidences = st.builds(
    MemoryEvidence,
    unified_mib=maybe,
    heap_used_mib=maybe,
    native_mib=maybe,
    python_mib=maybe,
    other_mib=maybe,
    gc_share=st.none() | st.floats(0.001, 1),
    gc_s=st.floats(0, 1000),
    spilled=st.booleans(),
    failures=st.frozensets(st.sampled_from(FailureKind)),
    overrun_mib=st.floats(0, 2000),
    whole=st.booleans(),
)


@given(sizes, st.integers(384, 20_000), evidences, st.sampled_from([1, 128, 512, 1000, 1024, 2048]), st.booleans())
def test_invariants(heap: int, overhead: int, evidence: MemoryEvidence, increment: int, pinned: bool) -> None:
    decision: MemoryDecision = size(evidence, heap, overhead, increment, heap_pinned=pinned)
    after, before = decision.after, decision.before
    # A size that YARN grants as it is.
    assert after.memory_mib % increment == 0
    assert after.memory_mib == decision.after_granted_mib
    if pinned:
        assert after.heap_mib == before.heap_mib
    if decision.after_granted_mib < decision.before_granted_mib:
        assert evidence.whole
        assert not evidence.failures & {FailureKind.HEAP, FailureKind.PHYSICAL_MEMORY, FailureKind.KILLED}
    if after.heap_mib < before.heap_mib:
        need = heap_need_mib(evidence, 0.6)
        assert need is not None
        assert after.heap_mib >= need
        assert not evidence.spilled
        assert evidence.gc_share is not None
        assert evidence.gc_share <= DEFAULT_POLICY.gc_low
    if after.overhead_mib < before.overhead_mib:
        need = overhead_need_mib(evidence, python_apart=False)
        assert need is not None
        assert after.overhead_mib >= need


@given(sizes, st.integers(384, 20_000), evidences, st.sampled_from([128, 512, 1024]))
def test_settles(heap: int, overhead: int, evidence: MemoryEvidence, increment: int) -> None:
    """Without failures or full heaps the sizes come to rest: the same evidence again never makes them larger."""
    evidence = replace(evidence, failures=frozenset(), gc_share=0.01, native_mib=None)
    first = size(evidence, heap, overhead, increment)
    second = size(evidence, first.after.heap_mib, first.after.overhead_mib, increment)
    assert second.after_granted_mib <= first.after_granted_mib
