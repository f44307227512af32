"""Resource calculators and Hadoop's ways of rounding.

A resource is a pair of memory and vcores; under ``DefaultResourceCalculator`` the vcores are 0 everywhere, the
cluster's included, which leaves memory alone to decide.
"""

from __future__ import annotations

import math
from typing import Any, Final, cast

import numpy as np

from rules.simulation.compiled import compiled

__all__ = [
    "ZERO",
    "compare",
    "compare_in_partition",
    "float32",
    "fraction",
    "multiply_up",
    "round_down",
    "round_up",
    "smaller",
]

ZERO: Final = cast(int, np.int64(0))
"""To be passed as an argument: for a literal 0 the compiler would make another version of the function."""


@compiled
def float32(value: float) -> float:
    """What is left of a number that Hadoop keeps as a float."""
    return float(np.float32(value))


@compiled
def compare(cluster: Any, memory_a: int, vcores_a: int, memory_b: int, vcores_b: int) -> int:
    """``ResourceCalculator.compare``, by shares of the cluster with all its partitions; -1, 0 or 1."""
    return int(_compare(cluster.whole_memory, cluster.whole_vcores, memory_a, vcores_a, memory_b, vcores_b))


@compiled
def compare_in_partition(cluster: Any, memory_a: int, vcores_a: int, memory_b: int, vcores_b: int) -> int:
    """The same by shares of the partition, as user limits and the use of a queue go."""
    return int(_compare(cluster.memory, cluster.vcores, memory_a, vcores_a, memory_b, vcores_b))


@compiled
def _compare(memory: int, vcores: int, memory_a: int, vcores_a: int, memory_b: int, vcores_b: int) -> int:
    """By the larger share, then by the other."""
    if memory_a == memory_b and vcores_a == vcores_b:
        return 0
    if vcores == 0:
        return 1 if memory_a > memory_b else -1 if memory_a < memory_b else 0
    a, b = memory_a / memory, vcores_a / vcores
    c, d = memory_b / memory, vcores_b / vcores
    if b > a:
        a, b = b, a
    if d > c:
        c, d = d, c
    if a != c:
        return 1 if a > c else -1
    return 1 if b > d else -1 if b < d else 0


@compiled
def smaller(cluster: Any, memory_a: int, vcores_a: int, memory_b: int, vcores_b: int) -> tuple[int, int]:
    """``Resources.min``: one of the two as a whole, the first where they compare equal."""
    if compare(cluster, memory_a, vcores_a, memory_b, vcores_b) <= 0:
        return memory_a, vcores_a
    return memory_b, vcores_b


@compiled
def fraction(cluster: Any, memory: int, vcores: int) -> float:
    """The larger of the shares of the cluster (``Resources.divide`` and ``ratio`` are made of it)."""
    share = memory / cluster.memory
    return float(max(share, vcores / cluster.vcores) if cluster.vcores > 0 else share)


@compiled
def round_up(value: int, step: int) -> int:
    """``ResourceCalculator.roundUp``."""
    return value if step == 0 else (value + step - 1) // step * step


@compiled
def round_down(value: int, step: int) -> int:
    """``ResourceCalculator.roundDown``: towards zero, as Java divides."""
    if step == 0:
        return value
    return value // step * step if value >= 0 else -(-value // step * step)


@compiled
def multiply_up(cluster: Any, amount: int, by: float, step: int) -> int:
    """``ResourceCalculator.multiplyAndNormalizeUp``: to the next step from the product.

    Which is rounded to a whole number first: up, of what a float keeps of it, and by the calculator of memory alone to
    the nearest.
    """
    product = amount * by
    whole: int = int(product + 0.5) if cluster.vcores == 0 else math.ceil(np.float32(product))
    return int(round_up(whole, step))
