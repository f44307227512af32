"""Weights of siblings as percentages of their parent, as people read them and as the Capacity Scheduler needs them."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import ROUND_DOWN, Decimal

__all__ = ["percentages"]

_STEP = Decimal("0.001")


def percentages(weights: Mapping[str, float]) -> dict[str, Decimal]:
    """Percentages with three decimals that add up to exactly 100.000.

    Each is rounded down; what is missing goes to the last one with a weight (as ``WeightToPercentConverter`` of
    Hadoop's ``fs2cs`` mends the sum), so 1 : 1 : 1 is 33.333 : 33.333 : 33.334.

    Args:
        weights: by queue, none below 0.

    Returns:
        The percentages in the same order; all 0 where no weight is above 0.
    """
    exact = {queue: Decimal(str(weight)) for queue, weight in weights.items()}
    total = sum(exact.values(), Decimal(0))
    if total <= 0:
        return dict.fromkeys(weights, Decimal("0.000"))
    rounded = {queue: (weight * 100 / total).quantize(_STEP, ROUND_DOWN) for queue, weight in exact.items()}
    last = [queue for queue, weight in exact.items() if weight > 0][-1]
    rounded[last] += Decimal(100) - sum(rounded.values(), Decimal(0))
    return rounded
