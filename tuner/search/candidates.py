"""What a search makes of its runs for an advice: each configuration that ran well, and variants for a busy cluster.

On an idle cluster the result of a search is best. On a busy one fewer executors, or smaller ones, may be better, and a
search that ran on an idle cluster has hardly tried them. Their times come from the what-if model; their sizes are those
of configurations that have run well, so that no task gets less memory than one has ended well with.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from tuner.model.advice import Advice, Candidate, choose
from tuner.model.container import Refusal, reservation
from tuner.model.limits import ClusterLimits
from tuner.model.load import Load
from tuner.search.objective import Summary
from tuner.search.prior import TimePrior
from tuner.search.reserve import ReservationModel
from tuner.spark.params import read_number

__all__ = ["CandidateMaker", "with_busy_ones"]

_INSTANCES: Final = "spark.executor.instances"
_FREE: Final = (0.75, 0.5, 0.375, 0.25, 0.1875, 0.125)
"""Parts of the cluster that may be free when it is busy, for which a candidate is looked for."""
_LEAST_PROMISE: Final = 0.1
"""What has never run has to be expected to save so much, as a fraction of the time or of the GiB·s."""
_MOST_SIZES: Final = 6
_NUMBERS: Final = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
"""Numbers of executors for which times are looked up; others lie between them."""


@dataclass(frozen=True)
class CandidateMaker:
    """Makes candidates of one search.

    Attributes:
        memory: the container model.
        to_set: what has to be set to get a configuration.
        default: the configuration that the job has.
        prior: the what-if model, for times with other numbers of executors; None where there is none, and they are
            taken to be in inverse proportion.
    """

    memory: ReservationModel
    to_set: Callable[[Mapping[str, str]], Mapping[str, str]]
    default: Mapping[str, str]
    prior: TimePrior | None

    def ran(self, summary: Summary, reason: str) -> Candidate | None:
        """A configuration that the search has run; None where it can hold no executor."""
        conf = {**self.memory.base, **summary.configuration}
        held = reservation(
            conf,
            self.memory.limits,
            python=self.memory.python,
            cluster_mode=self.memory.cluster_mode,
            version=self.memory.version,
        )
        if isinstance(held, Refusal) or held.executors < 1:
            return None
        own = dict(summary.configuration) == dict(self.default)
        numbers = sorted({n for n in _NUMBERS if n < held.executors} | {held.executors})
        return Candidate(
            conf={} if own else dict(self.to_set(summary.configuration)),
            am_mib=held.am.memory_mib,
            executor_mib=held.executor.memory_mib,
            executor_vcores=held.executor.vcores if self.memory.limits.counts_vcores else 0,
            executors=held.executors,
            run_s=self._asking(held.executors, self._times(summary, held.executors, numbers)),
            runs=summary.runs,
            reason="the configuration that it has" if own else reason,
        )

    def variants(self, summary: Summary, most_mib: int) -> list[Candidate]:
        """The executors of a configuration in other numbers.

        Args:
            summary: of the configuration.
            most_mib: what they may reserve in all.
        """
        proven = self.ran(summary, "")
        if proven is None or _INSTANCES not in summary.configuration:
            return []
        known = proven.executors
        # Without a model nothing is known of what more executors would bring.
        most = (most_mib - proven.am_mib) // proven.executor_mib if self.prior else known - 1
        numbers = [n for n in _NUMBERS if n <= most]
        times = self._times(summary, known, sorted({*numbers, known}))
        found = []
        for executors in numbers:
            configuration = {**summary.configuration, _INSTANCES: str(executors)}
            if executors == known or self.memory.reserved_mib(configuration) is None:
                continue
            found.append(
                replace(
                    proven,
                    conf=dict(self.to_set(configuration)),
                    executors=executors,
                    run_s=self._asking(executors, {n: s for n, s in times.items() if n <= executors}),
                    runs=0,
                    reason=f"for a busy cluster: executors as in a run with {known}; its time is expected, not seen",
                )
            )
        return found

    def _times(self, summary: Summary, known: int, numbers: Sequence[int]) -> dict[int, float]:
        """Run times by the number of executors that the run has from its start on; the observed one for `known`."""
        observed_s = max(summary.duration_s - summary.wait_s, 0.0)
        if self.prior is None:
            return {n: observed_s * known / n for n in numbers}
        whole_s = self.prior.run_with(summary.configuration, known)
        times: dict[int, float] = {}
        for n in sorted(numbers, reverse=True):
            ratio = self.prior.run_with(summary.configuration, n) / whole_s
            # Fewer are never faster: the model may think so of a cluster on which tasks disturb each other.
            times[n] = observed_s * (max(1.0, ratio) if n < known else min(1.0, ratio) if n > known else 1.0)
        return times

    def _asking(self, asked: int, times: Mapping[int, float]) -> dict[int, float]:
        """The times of a run that asks for so many and gets fewer: Spark waits for the others before its first task.

        ``CoarseGrainedSchedulerBackend.isReady``: until a share of them has registered, or the longest wait is over.
        """
        conf, version = self.memory.base, self.memory.version
        share = read_number(conf, "spark.scheduler.minRegisteredResourcesRatio", version)
        wait_s = read_number(conf, "spark.scheduler.maxRegisteredResourcesWaitingTime", version)
        return {n: seconds + (wait_s if n < share * asked else 0.0) for n, seconds in times.items()}


def with_busy_ones(
    ran: Sequence[Candidate], maker: CandidateMaker, summaries: Sequence[Summary], limits: ClusterLimits, slack: float
) -> list[Candidate]:
    """The candidates, and the variants of them that would be better under some load.

    Args:
        ran: those that have run, the best on an idle cluster first; at least one.
        maker: of the search.
        summaries: of the configurations that have run well.
        limits: of the cluster.
        slack: of the search.
    """
    most_mib = max(each.reserved_mib(each.executors) for each in ran)
    variants = [each for summary in _sizes(summaries, maker) for each in maker.variants(summary, most_mib)]
    known = [each.conf for each in ran]
    new = [each for each in variants if each.conf not in known]
    kept: list[Candidate] = []
    for free in _FREE:
        load = _evenly_busy(limits, free)
        best = choose(Advice("", 0.0, slack, [*ran, *new], ""), load)
        before = choose(Advice("", 0.0, slack, ran, ""), load)
        if best is None or before is None or best.candidate.proven or best.candidate in kept:
            continue
        if not before.executors or _promise(best.candidate, best.executors, before.candidate, before.executors, slack):
            kept.append(best.candidate)
    return [*ran, *kept]


def _promise(new: Candidate, executors: int, old: Candidate, had: int, slack: float) -> bool:
    time_s, old_s = new.run_with(executors), old.run_with(had)
    if time_s < (1.0 - _LEAST_PROMISE) * old_s:
        return True
    cheaper = new.gib_seconds(executors) < (1.0 - _LEAST_PROMISE) * old.gib_seconds(had)
    return cheaper and time_s <= (1.0 + slack) * old_s


def _sizes(summaries: Sequence[Summary], maker: CandidateMaker) -> list[Summary]:
    """The cheapest configuration of each size of executor, cheapest first."""
    found: dict[tuple[int, int], Summary] = {}
    for summary in sorted(summaries, key=lambda each: each.gib_seconds):
        made = maker.ran(summary, "")
        if made is not None:
            conf = {**maker.memory.base, **summary.configuration}
            cores = int(read_number(conf, "spark.executor.cores", maker.memory.version))
            found.setdefault((made.executor_mib, cores), summary)
    return list(found.values())[:_MOST_SIZES]


def _evenly_busy(limits: ClusterLimits, free: float) -> Load:
    """A load that leaves the same part of every node, and of what the queue may hold, free."""
    node = (int(free * limits.total_memory_mib / limits.nodes), int(free * limits.total_vcores / limits.nodes))
    return Load(
        available_memory_mib=int(free * limits.usable_memory_mib),
        total_memory_mib=limits.usable_memory_mib,
        available_vcores=int(free * limits.usable_vcores),
        total_vcores=limits.usable_vcores,
        pending_containers=0,
        applications_running=0,
        applications_pending=0,
        nodes=(node,) * limits.nodes,
    )
