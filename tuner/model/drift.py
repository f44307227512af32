"""When a recurring job has become another one, so that what was learnt about it no longer holds."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Final

from tuner.model.advice import Basis

__all__ = ["changes", "times_drifted"]

INPUT_FACTOR: Final = 1.5
"""Data that has grown, or shrunk, by this much needs other sizes and numbers of executors."""
TIME_FACTOR: Final = 1.3
"""Runs that take this much longer than expected, one and all, are no noise: two runs of one job on a shared cluster
differ by 10 to 20 %."""
LAST_RUNS: Final = 3


def changes(before: Basis, now: Basis) -> list[str]:
    """Reasons to tune a job anew, in words.

    Args:
        before: what the advice was learnt on.
        now: what the newest run was. What is not known of either is no reason.
    """
    reasons = []
    if before.input_bytes and now.input_bytes:
        factor = now.input_bytes / before.input_bytes
        if factor >= INPUT_FACTOR:
            reasons.append(f"its input has grown {factor:.1f} times since it was tuned")
        elif factor <= 1.0 / INPUT_FACTOR:
            reasons.append(f"its input has shrunk to {factor:.0%} since it was tuned")
    if before.spark_version and now.spark_version and before.spark_version != now.spark_version:
        reasons.append(f"Spark went from {before.spark_version} to {now.spark_version}")
    if before.program_digest and now.program_digest and before.program_digest != now.program_digest:
        reasons.append("its program has changed")
    return reasons


def times_drifted(ratios: Sequence[float]) -> str:
    """A reason to tune a job anew, from its last runs' times over what was expected of them; else empty.

    Args:
        ratios: newest last.
    """
    last = ratios[-LAST_RUNS:]
    if len(last) < LAST_RUNS or min(last) < TIME_FACTOR:
        return ""
    slower = statistics.median(last) - 1.0
    return f"its last {LAST_RUNS} runs took {slower:.0%} longer than expected"
