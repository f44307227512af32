"""How Spark divides memory: overhead beside the heap, and the unified region inside it.

Sources: ``ResourceProfile.calculateOverHeadMemory``, ``UnifiedMemoryManager``.
"""

from __future__ import annotations

OVERHEAD_FACTOR = 0.1
"""Spark's default for ``memoryOverheadFactor``, and fixed before 3.3 and for the client-mode AM."""

MIN_OVERHEAD_MIB = 384
"""Spark's default for ``minMemoryOverhead``, and fixed before 4.0 and for the client-mode AM; in MiB."""

RESERVED_SYSTEM_MIB = 300
"""``RESERVED_SYSTEM_MEMORY_BYTES``: heap that no region gets, in MiB."""

MIN_HEAP_MIB = 450
"""The smallest heap with which a driver or an executor starts (1.5 x the reserved memory), in MiB."""


def overhead_mib(heap_mib: int, factor: float = OVERHEAD_FACTOR, minimum_mib: int = MIN_OVERHEAD_MIB) -> int:
    """Memory beside the heap where none was asked for: ``max(int(factor * heap), minimum)``, in MiB."""
    return max(int(factor * heap_mib), minimum_mib)


def largest_heap_mib(container_mib: int, factor: float = OVERHEAD_FACTOR, minimum_mib: int = MIN_OVERHEAD_MIB) -> int:
    """The largest heap that fits into a container together with the overhead that Spark adds to it, in MiB.

    Args:
        container_mib: what heap and overhead may take together.
        factor: ``memoryOverheadFactor``.
        minimum_mib: ``minMemoryOverhead``.

    Returns:
        The heap; 0 or less where not even the overhead fits.
    """
    heap = min(container_mib - minimum_mib, int(container_mib / (1 + factor)) + 1)
    # The division is in floating point and the overhead is cut off, so the answer is found by at most a few steps.
    while heap > 0 and heap + overhead_mib(heap, factor, minimum_mib) > container_mib:
        heap -= 1
    return heap


def unified_memory_mib(heap_mib: float, fraction: float) -> float:
    """Memory for execution and storage together: ``(heap - 300 MiB) * spark.memory.fraction``, in MiB.

    The JVM reports a little less than ``-Xmx`` (the survivor spaces are not counted twice), and Spark uses what it
    reports; so this is the upper end of what an event log shows.
    """
    return max(0.0, (heap_mib - RESERVED_SYSTEM_MIB) * fraction)


def heap_for_unified_mib(unified_mib: float, fraction: float) -> float:
    """The heap, in MiB, that gives so much memory to execution and storage; the inverse of the above."""
    return unified_mib / fraction + RESERVED_SYSTEM_MIB
