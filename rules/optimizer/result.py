"""What an optimization gives back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rules.estimator import Comparison, Summary
from rules.model import PropertyChange

__all__ = ["Optimum", "Outcome"]


@dataclass(frozen=True)
class Outcome:
    """How a workload goes under a configuration; over several draws of it the mean.

    Attributes:
        summary: of all jobs.
        by_queue: of each leaf that has jobs, by full path.
        cost: what was made small: the objective's value, queues' weights in it. Seconds for ``mean``, a ratio for
            ``slowdown``, a share of jobs for ``target-miss``.
    """

    summary: Summary
    by_queue: Mapping[str, Summary]
    cost: float


@dataclass(frozen=True)
class Optimum:
    """The best configuration found, and how it compares with the present one.

    Attributes:
        changes: the properties that differ from the present configuration, by full name in the Capacity Scheduler, as
            ``PATH.ELEMENT`` in the Fair Scheduler; empty where nothing better was found.
        allocations: the text of the new allocation file, all but the changed values byte for byte the present one;
            None for the Capacity Scheduler and where nothing better was found.
        baseline: under the present configuration.
        predicted: under the one found; the baseline where there is none.
        comparison: the two, job by job: mean change of latency and its standard error.
        evaluations: simulations of the whole cluster.
        leaf_evaluations: simulations of one leaf alone, for the tables.
        elapsed_s: by the clock that was given.
        notes: for people: what was not looked at and why, or what stopped the search.
    """

    changes: tuple[PropertyChange, ...]
    allocations: str | None
    baseline: Outcome
    predicted: Outcome
    comparison: Comparison
    evaluations: int
    leaf_evaluations: int
    elapsed_s: float
    notes: tuple[str, ...] = ()

    @property
    def found(self) -> bool:
        """Whether there is anything to change."""
        return bool(self.changes)

    @property
    def conf(self) -> dict[str, str | None]:
        """The changed properties of the Capacity Scheduler, by full name; None unsets. Empty for the Fair Scheduler."""
        return {} if self.allocations is not None else {change.property: change.after for change in self.changes}
