"""Simulations of the whole cluster, each candidate once."""

from __future__ import annotations

from collections.abc import Sequence

from rules.estimator import JobTimes, job_times
from rules.optimizer.judge import Judge, Score
from rules.optimizer.knobs import Candidate
from rules.optimizer.space import Space
from workloads.trace import Case

__all__ = ["Whole"]


class Whole:
    """Runs candidates on all draws of the workload and scores them.

    Attributes:
        evaluations: candidates that were simulated.
    """

    def __init__(self, space: Space, draws: Sequence[Case], judge: Judge) -> None:
        """Nothing is simulated yet."""
        self.space, self.draws, self.judge = space, draws, judge
        self.evaluations = 0
        self._scores: dict[Candidate, Score] = {}

    def __contains__(self, candidate: Candidate) -> bool:
        return candidate in self._scores

    def times(self, candidate: Candidate) -> list[JobTimes]:
        """How the jobs go, on each draw."""
        return [job_times(self.space.case(candidate, case)) for case in self.draws]

    def score(self, candidate: Candidate) -> Score:
        """The candidate's score."""
        found = self._scores.get(candidate)
        if found is None:
            self.evaluations += 1
            found = self._scores[candidate] = self.judge.score(self.times(candidate))
        return found
