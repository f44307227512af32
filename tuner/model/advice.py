"""What is known about a job, made ready for the moment of a submission; and the choice for the load of that moment.

The advice is made when a run has ended, with all the time that this takes, and kept in the store as one document.
At a submission it is only read and chosen from, since nobody waits for a wrapper.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from tuner.model.load import Load

__all__ = ["Advice", "Basis", "Candidate", "Choice", "cheapest", "choose"]


@dataclass(frozen=True)
class Candidate:
    """A configuration that may be applied, and what is expected of it.

    Attributes:
        conf: the properties to set; empty for the configuration that the job has.
        am_mib, executor_mib, executor_vcores: containers as YARN grants them, 0 vcores where it does not count them;
            `executors`: how many it asks for.
        run_s: expected seconds from the start of the AM to the end, by the number of executors that it really has;
            `executors` is always among them.
        runs: successful runs that this rests on; 0 for one that is only expected to be good.
        reason: why it is a candidate, in a few words.
        failures: runs in a row that failed with it.
    """

    conf: Mapping[str, str]
    am_mib: int
    executor_mib: int
    executor_vcores: int
    executors: int
    run_s: Mapping[int, float]
    runs: int
    reason: str
    failures: int = 0

    @property
    def proven(self) -> bool:
        """Whether it has run, or comes from one that has with more memory."""
        return self.runs > 0 or self.failures > 0

    def executors_within(self, load: Load) -> int:
        """How many of its executors the load leaves room for at once."""
        in_all = self._in(load.head_room_memory_mib - self.am_mib, load.head_room_vcores - 1)
        return min(in_all, in_all if load.nodes is None else self._on(load.nodes))

    def _on(self, nodes: Sequence[tuple[int, int]]) -> int:
        """How many find a node; the AM is taken to be where it is in the way most."""
        fitting = [self._in(memory_mib, vcores) for memory_mib, vcores in nodes]
        beside_am = [
            self._in(memory_mib - self.am_mib, vcores - 1) - fits
            for (memory_mib, vcores), fits in zip(nodes, fitting, strict=True)
            if memory_mib >= self.am_mib and (vcores >= 1 or not self.executor_vcores)
        ]
        return max(0, sum(fitting) + min(beside_am)) if beside_am else 0

    def _in(self, memory_mib: int, vcores: int) -> int:
        by_memory = memory_mib // self.executor_mib if self.executor_mib else self.executors
        by_vcores = vcores // self.executor_vcores if self.executor_vcores else self.executors
        return max(0, min(self.executors, by_memory, by_vcores))

    def run_with(self, executors: int) -> float:
        """Expected run time with so many executors: what is known of the next smaller number, stretched.

        Work that is divided among fewer takes at most so much longer; a number that is known is better.
        """
        if executors < 1:
            return math.inf
        known = max((n for n in self.run_s if n <= executors), default=None)
        if known is not None and known == executors:
            return self.run_s[known]
        above = min(n for n in self.run_s if n >= executors)
        return self.run_s[above] * above / executors

    def reserved_mib(self, executors: int) -> int:
        """What it reserves with so many executors, the AM's container included."""
        return self.am_mib + executors * self.executor_mib

    def gib_seconds(self, executors: int) -> float:
        """Reserved memory x time with so many executors."""
        return self.reserved_mib(executors) / 1024.0 * self.run_with(executors)


@dataclass(frozen=True)
class Basis:
    """What the advice was learnt on; None where it was not known. A job that has become another is tuned anew.

    Attributes:
        input_bytes: read by a run.
        spark_version: as the event log has it.
        program_digest: of the program's file.
    """

    input_bytes: int | None = None
    spark_version: str | None = None
    program_digest: str | None = None


@dataclass(frozen=True)
class Advice:
    """All that a submission has to know about a job.

    Attributes:
        made_at: seconds since the epoch.
        slack: how much slower than the fastest the choice may be, as a fraction.
        candidates: the best on an idle cluster first.
        based_on: in words, for the person who submits.
        limits: of the cluster that it was learnt on, as :class:`tuner.model.limits.ClusterLimits` has them.
        contention: there, as :class:`tuner.model.runtime.Contention` has it; None where nothing was learnt of it.
        basis: what it was learnt on.
        explore: a configuration to learn from; only taken where the user allows it, and not at every run.
        since_explored: runs since one that explored; below 0 while it rests after a failure.
        tried: what exploring runs have failed with.
        warning: why nothing is advised although there is history, or why it should be tuned anew; may be empty.
        ratios: time over expected time of the last runs with it, newest last.
    """

    job_key: str
    made_at: float
    slack: float
    candidates: Sequence[Candidate]
    based_on: str
    limits: Mapping[str, Any] | None = None
    contention: Mapping[str, float | None] | None = None
    basis: Basis = field(default_factory=Basis)
    explore: Candidate | None = None
    since_explored: int = 0
    tried: Sequence[Mapping[str, str]] = ()
    warning: str = ""
    ratios: Sequence[float] = ()

    def to_json(self) -> dict[str, Any]:
        """As it is stored."""
        return {
            **asdict(self),
            "candidates": [_candidate_json(each) for each in self.candidates],
            "explore": None if self.explore is None else _candidate_json(self.explore),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """Reads :meth:`to_json`.

        Raises:
            KeyError, TypeError, ValueError: it is none, or another version's.
        """
        explore = value["explore"]
        basis = Basis(**value["basis"])
        return cls(
            **{
                **value,
                "basis": basis,
                "ratios": tuple(value["ratios"]),
                "tried": tuple(value.get("tried", ())),
                "candidates": tuple(_candidate(each) for each in value["candidates"]),
                "explore": None if explore is None else _candidate(explore),
            }
        )


@dataclass(frozen=True)
class Choice:
    """The candidate for one moment.

    Attributes:
        executors: how many executors it will have at once, as far as the load says.
        reason: why this one now.
    """

    candidate: Candidate
    executors: int
    reason: str


def choose(advice: Advice, load: Load | None) -> Choice | None:
    """The cheapest candidate among those that are about as fast as the fastest, under the load of now.

    Args:
        advice: of the job.
        load: of now; None where it is not known, which counts as idle.

    Returns:
        None where the advice has no candidate. One that has never run is taken only where the best of an idle cluster
        does not get what it asks for: what is expected is no reason to leave what is proven.
    """
    if not advice.candidates:
        return None
    idle = advice.candidates[0]
    if load is None:
        return Choice(idle, idle.executors, "the load is not known, so the best of an idle cluster")
    whole = idle.executors_within(load) == idle.executors
    room = [(each, each.executors_within(load)) for each in advice.candidates if each.proven or not whole]
    runnable = [(each, executors) for each, executors in room if executors]
    if not runnable:
        return Choice(idle, 0, "there is no room for an executor now, so the best of an idle cluster")
    best, executors = cheapest(runnable, advice.slack)
    if best is idle:
        return Choice(best, executors, "best on an idle cluster, and now")
    free = f"{load.head_room_memory_mib / 1024:.1f} GiB"
    return Choice(best, executors, f"with {free} free it gets {executors} executors, and is the better one for that")


def cheapest(candidates: Sequence[tuple[Candidate, int]], slack: float) -> tuple[Candidate, int]:
    """The one with the least GiB·s among those that are about as fast as the fastest; the first of equals.

    Args:
        candidates: at least one, each with the executors that it would have.
        slack: how much slower than the fastest it may be, as a fraction.
    """
    fastest_s = min(each.run_with(executors) for each, executors in candidates)
    allowed = [(each, n) for each, n in candidates if each.run_with(n) <= (1.0 + slack) * fastest_s]
    return min(allowed, key=lambda pair: pair[0].gib_seconds(pair[1]))


def _candidate_json(candidate: Candidate) -> dict[str, Any]:
    return {**asdict(candidate), "run_s": {str(n): seconds for n, seconds in candidate.run_s.items()}}


def _candidate(value: Mapping[str, Any]) -> Candidate:
    return Candidate(**{**value, "run_s": {int(n): float(seconds) for n, seconds in value["run_s"].items()}})
