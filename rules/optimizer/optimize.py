"""The optimization as a whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from rules.optimizer.result import Optimum
from rules.policy import Objective, Policy
from workloads.trace import Case

__all__ = ["Guard", "optimize"]

Guard = Literal["default", "none"]
"""``default``: the policy's ``most_queue_loss_percent`` holds and no more jobs may be unfinished; ``none``: it does not."""


def optimize(
    case: Case | Sequence[Case],
    policy: Policy,
    *,
    objective: Objective | None = None,
    guard: Guard = "default",
    seed: int = 0,
    time_limit_s: float = 60.0,
    clock: Callable[[], float],
) -> Optimum:
    """Searches the configurations of the whole hierarchy for the one under which the workload goes best.

    The same input and seed give the same result, unless the time limit ends the search (then a note says so).

    Args:
        case: cluster, present configuration and workload; or several, which differ in their jobs alone: draws of a
            workload that is not known for certain. A configuration is judged by all of them.
        policy: what may be changed, and the objective where none is given.
        objective: what is to become small.
        guard: whether a queue may lose.
        seed: of the local search.
        time_limit_s: the search ends after so many seconds with the best so far.
        clock: seconds from any zero, such as ``time.perf_counter``.

    Raises:
        InputError: the present configuration cannot be read, or is not one that the ResourceManager would start with.
    """
    raise NotImplementedError
