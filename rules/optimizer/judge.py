"""What a configuration is worth: the objective, the guard, and the order of candidates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rules.estimator import JobTimes
from rules.policy import Objective, Policy
from workloads.trace import Case

__all__ = ["Judge", "Score"]

_TIE = 1e-6
"""Of a share of missed targets the mean latency in seconds is this little a part: it only breaks ties."""
_LEAST_ALONE_S = 10.0


@dataclass(frozen=True, slots=True)
class Score:
    """What came of a candidate, over all draws of the workload.

    Attributes:
        unfinished: jobs without an end.
        cost: the objective's value.
        excess: by how much more than allowed the queue that loses most loses, as a fraction; 0 where none does.
        refused: whether a job was refused that is not under the present configuration.
    """

    unfinished: int
    cost: float
    excess: float = 0.0
    refused: bool = False

    @property
    def rank(self) -> tuple[bool, int, float]:
        """Less is better; what the guard forbids comes behind what it allows only as far as it is worse."""
        return self.refused, self.unfinished, self.cost * (1.0 + 10.0 * self.excess)


class Judge:
    """Scores the outcomes of one workload.

    Args:
        draws: the workload, drawn once or several times.
        paths: for each draw the leaf of each job.
        alone_s: for each draw each job's latency on the idle cluster.
        policy: queues' weights, targets and the guard.
        objective: what is to become small.
        guarded: whether the guard holds.
    """

    def __init__(
        self,
        draws: Sequence[Case],
        paths: Sequence[Sequence[str]],
        alone_s: Sequence[NDArray[np.float64]],
        policy: Policy,
        objective: Objective,
        guarded: bool,
    ) -> None:
        """Lays out what the jobs of all draws, one after the other, are judged by."""
        names = [path for own in paths for path in own]
        queues = {path: policy.queue(path) for path in dict.fromkeys(names)}
        self.objective = objective
        self.queues = tuple(queues)
        places = {path: i for i, path in enumerate(queues)}
        self.queue_of = np.array([places[path] for path in names], np.int64)
        self.submit_s = np.array([job.submit_s for case in draws for job in case.jobs], np.float64)
        self.horizon_s = np.concatenate([np.full(len(case.jobs), case.horizon_s) for case in draws] or [np.zeros(0)])
        self.weight = np.array([queues[path].weight for path in names], np.float64)
        targets = [queues[path].target_latency_s for path in names]
        self.target_s = np.array([np.inf if target is None else target for target in targets], np.float64)
        alone = np.concatenate(list(alone_s) or [np.zeros(0)])
        spans = self.horizon_s - self.submit_s
        self.least_s = np.maximum(np.where(np.isfinite(alone), alone, spans), _LEAST_ALONE_S)
        self._jobs_of = np.bincount(self.queue_of, minlength=len(self.queues))
        self._loss = policy.most_queue_loss_percent if guarded else None
        self._before: tuple[NDArray[np.float64], int, NDArray[np.bool_]] | None = None

    def latencies_s(self, times: Sequence[JobTimes]) -> NDArray[np.float64]:
        """Each job's latency; one without an end counts as if it ended at the horizon."""
        finish_s = np.concatenate([own.finish_s for own in times])
        return np.where(finish_s >= 0, finish_s, self.horizon_s) - self.submit_s

    def job_costs(self, latencies_s: NDArray[np.float64], jobs: NDArray[np.int64] | None = None) -> NDArray[np.float64]:
        """What each job adds to the objective: the objective is their sum by the sum of all jobs' weights.

        Args:
            latencies_s: of the jobs.
            jobs: which jobs they are; None for all.
        """
        chosen = slice(None) if jobs is None else jobs
        weight = self.weight[chosen]
        if self.objective is Objective.MEAN:
            return weight * latencies_s
        if self.objective is Objective.SLOWDOWN:
            return weight * np.maximum(latencies_s / self.least_s[chosen], 1.0)
        return weight * ((latencies_s > self.target_s[chosen]) + _TIE * latencies_s)

    def set_baseline(self, times: Sequence[JobTimes]) -> None:
        """Says what the guard compares with."""
        latencies_s = self.latencies_s(times)
        refused = np.concatenate([own.rejected for own in times])
        self._before = self._means(latencies_s), self._unfinished(times), refused

    def score(self, times: Sequence[JobTimes]) -> Score:
        """Scores an outcome."""
        latencies_s = self.latencies_s(times)
        total = float(self.weight.sum())
        cost = float(self.job_costs(latencies_s).sum()) / total if total else 0.0
        unfinished = self._unfinished(times)
        if self._before is None:
            return Score(unfinished, cost)
        means, unfinished_before, refused_before = self._before
        refused = bool((np.concatenate([own.rejected for own in times]) & ~refused_before).any())
        if self._loss is None:
            return Score(unfinished, cost, 0.0, refused)
        allowed = means * (1.0 + self._loss / 100.0)
        over = (self._means(latencies_s) - allowed) / np.maximum(allowed, 1e-9)
        excess = max(float(over.max(initial=0.0)), 0.0)
        return Score(unfinished, cost, excess, refused or unfinished > unfinished_before)

    def _means(self, latencies_s: NDArray[np.float64]) -> NDArray[np.float64]:
        sums = np.bincount(self.queue_of, latencies_s, len(self.queues))
        return sums / np.maximum(self._jobs_of, 1)

    def _unfinished(self, times: Sequence[JobTimes]) -> int:
        return sum(int((own.finish_s < 0).sum()) for own in times)
