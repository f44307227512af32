"""What to learn from next: a configuration near the known ones, in the region that is known to be safe.

Safe is what no known run speaks against: executors of a size with which runs have ended well, and no more reserved in
all than a known configuration reserves. Only the number of executors is varied, since that is what a job pays for and
what neither costs it memory for a task nor makes it fail.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from tuner.model.advice import Advice, Candidate
from tuner.model.limits import ClusterLimits

__all__ = ["EXPLORED", "next_to_explore"]

EXPLORED: Final = "proven by an exploring run"
"""The reason of a candidate that comes from here."""
_INSTANCES: Final = "spark.executor.instances"
_LEAST_PROMISE: Final = 0.05
"""Less than that is not worth a run that may be slower."""


def next_to_explore(advice: Advice) -> Candidate | None:
    """The untried configuration that promises most, as far as the known times tell.

    Args:
        advice: of the job; its candidates that have run well are the known configurations.

    Returns:
        None where nothing is left that is safe, untried and promises enough.
    """
    proven = [each for each in advice.candidates if each.runs and not each.failures and each.conf]
    if not proven or advice.limits is None:
        return None
    tried = [*(each.conf for each in advice.candidates if each.proven), *advice.tried]
    most_mib = max(each.reserved_mib(each.executors) for each in proven)
    found = [
        (promise, new)
        for known in proven
        for new in _variations(known, ClusterLimits(**advice.limits))
        if new.conf not in tried
        and new.reserved_mib(new.executors) <= most_mib
        and (promise := _promise(new, known, proven[0], advice.slack)) >= _LEAST_PROMISE
    ]
    return max(found, key=lambda pair: (pair[0], -pair[1].executors))[1] if found else None


def _variations(known: Candidate, limits: ClusterLimits) -> Iterator[Candidate]:
    """One executor more or fewer, half and twice as many, as far as the cluster has room."""
    if _INSTANCES not in known.conf:
        return
    room = (limits.usable_memory_mib - known.am_mib) // max(known.executor_mib, 1)
    for executors in sorted({known.executors + 1, known.executors - 1, known.executors // 2, 2 * known.executors}):
        if 1 <= executors <= room:
            yield replace(
                known,
                conf={**known.conf, _INSTANCES: str(executors)},
                executors=executors,
                run_s={executors: sum(_bounds_s(known, executors)) / 2.0},
                runs=0,
                reason=f"to learn: {executors} executors where {known.executors} are known",
            )


def _bounds_s(known: Candidate, executors: int) -> tuple[float, float]:
    """Between these the time of another number lies: the known one, and the one in inverse proportion."""
    known_s = known.run_with(known.executors)
    return known_s, known_s * known.executors / executors


def _promise(new: Candidate, known: Candidate, best: Candidate, slack: float) -> float:
    """What it may save: of the best one's time with more executors, of its GiB·s with fewer; by the expected time.

    Nothing where not even the better of its bounds is about as fast as the best one.
    """
    best_s = best.run_with(best.executors)
    if min(_bounds_s(known, new.executors)) > (1.0 + slack) * best_s:
        return 0.0
    if new.executors > known.executors:
        return 1.0 - new.run_with(new.executors) / best_s
    return 1.0 - new.gib_seconds(new.executors) / best.gib_seconds(best.executors)
