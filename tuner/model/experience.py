"""What a production run teaches: times that hold or not, and a way out when a configuration fails.

An advice must not make a job fail twice for the same reason. A size that was too small is raised once, for the right
reason; whatever fails again is given up, and the job runs with its own configuration until it is tuned anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from tuner.model.advice import Advice, Basis, Candidate, cheapest
from tuner.model.drift import changes, times_drifted
from tuner.model.explore import EXPLORED, next_to_explore
from tuner.model.failures import FailureKind
from tuner.model.limits import ClusterLimits
from tuner.model.memory_need import DEFAULT_POLICY
from tuner.units import parse_bytes

REST_AFTER_FAILURE: Final = 30
"""Runs for which nothing is explored after an exploring run has failed."""
MOST_RUNS: Final = 10
"""As of how many runs a new time counts as one of so many: recent runs matter more than old ones."""

HEAP_KINDS: Final = frozenset({FailureKind.HEAP, FailureKind.TERMINATED})
"""A full heap, and SIGTERM from nobody: on YARN Spark has an executor end itself so when its heap is full, and there is
no other word of it (``YarnSparkHadoopUtil.addOutOfMemoryErrorArgument``: ``-XX:OnOutOfMemoryError='kill %p'``)."""
OVERHEAD_KINDS: Final = frozenset(
    {
        FailureKind.PHYSICAL_MEMORY,
        FailureKind.NATIVE_MEMORY,
        FailureKind.PYTHON_MEMORY,
        FailureKind.PYTHON_CRASH,
    }
)
_FOREIGN: Final = frozenset(
    {FailureKind.PREEMPTED, FailureKind.NODE_LOST, FailureKind.DECOMMISSIONED, FailureKind.VIRTUAL_MEMORY}
)
"""Failures that say nothing about the configuration."""
_HEAP, _OVERHEAD = "spark.executor.memory", "spark.executor.memoryOverhead"
_MIB: Final = 1024**2


def after_success(advice: Advice, configuration: Mapping[str, str], executors: int | None, run_s: float) -> Advice:
    """The advice with a run's time in it.

    Args:
        advice: of the job.
        configuration: the properties that the run had.
        executors: how many executors it had at most; None where that is not known, and the time tells nothing.
        run_s: from the start of its AM to its end, in seconds.
    """
    if _had(advice.explore, configuration):
        after = replace(_explored(advice, executors, run_s), since_explored=0)
    elif (place := _place(advice.candidates, configuration)) is not None:
        after = replace(_known(advice, place, executors, run_s), since_explored=advice.since_explored + 1)
    else:
        return advice
    return replace(after, explore=next_to_explore(after))


def _had(candidate: Candidate | None, configuration: Mapping[str, str]) -> bool:
    return candidate is not None and _place([candidate], configuration) is not None


def _explored(advice: Advice, executors: int | None, run_s: float) -> Advice:
    """An exploring run went well: it is a candidate like the others, and the first one where it is the best."""
    assert advice.explore is not None
    new = replace(advice.explore, run_s={executors or advice.explore.executors: run_s}, runs=1, reason=EXPLORED)
    if new.executors not in new.run_s:
        # It did not get all of its executors: what it would do with them stays what was expected.
        new = replace(new, run_s={**advice.explore.run_s, **new.run_s})
    known = [*(each for each in advice.candidates if each.conf != new.conf), new]
    best, _ = cheapest([(each, each.executors) for each in known if each.proven], advice.slack)
    return replace(advice, candidates=(best, *(each for each in known if each is not best)))


def _known(advice: Advice, place: int, executors: int | None, run_s: float) -> Advice:
    old = advice.candidates[place]
    times = dict(old.run_s)
    ratios = tuple(advice.ratios)
    if executors and executors <= old.executors:
        ratios = (*ratios, run_s / old.run_with(executors))[-MOST_RUNS:]
    if executors:
        known = times.get(executors)
        weight = 1.0 / min(old.runs + 1, MOST_RUNS)
        times[executors] = run_s if known is None else known + weight * (run_s - known)
    updated = _with(advice, place, replace(old, run_s=times, runs=old.runs + 1, failures=0))
    return replace(updated, ratios=ratios)


def after_look(advice: Advice, now: Basis) -> Advice:
    """The advice with a warning where the job has become another one since it was tuned.

    Args:
        advice: of the job.
        now: what its newest run was.
    """
    if not advice.candidates:
        return advice
    reasons = [*changes(advice.basis, now), *filter(None, [times_drifted(advice.ratios)])]
    return replace(advice, warning=f"tune it anew: {'; '.join(reasons)}" if reasons else "")


def after_failure(advice: Advice, configuration: Mapping[str, str], kinds: Sequence[FailureKind]) -> Advice:
    """The advice after a run that failed.

    Args:
        advice: of the job.
        configuration: the properties that the run had.
        kinds: what went wrong, as far as it is known.

    Returns:
        With the size raised that was too small; without the configuration where that was done before, or there is
        nothing to raise; as it was where the failure has nothing to do with the configuration. What an exploring run
        fails with is not tried again, and nothing is explored for a while.
    """
    if advice.explore is not None and _had(advice.explore, configuration):
        if kinds and all(kind in _FOREIGN for kind in kinds):
            return advice
        rested = replace(advice, tried=(*advice.tried, advice.explore.conf), since_explored=-REST_AFTER_FAILURE)
        return replace(rested, explore=next_to_explore(rested))
    place = _place(advice.candidates, configuration)
    if place is None or (kinds and all(kind in _FOREIGN for kind in kinds)):
        return advice
    old = advice.candidates[place]
    if not old.proven:
        # It was expected to run well, and no more; what is proven stays.
        left = [each for each in advice.candidates if each is not old]
        return replace(advice, candidates=tuple(left), tried=(*advice.tried, old.conf))
    raised = None if old.failures else _raised(old, kinds, advice.limits)
    if raised is not None:
        # The others are as small or smaller for each task: what failed here is not tried with less.
        kept = [
            raised if each is old else each
            for each in advice.candidates
            if each is old or not each.conf or each.executor_mib > old.executor_mib
        ]
        return replace(advice, candidates=tuple(kept), explore=None, warning="")
    if not old.failures and not any(kind in HEAP_KINDS | OVERHEAD_KINDS for kind in kinds):
        # The application's own fault as likely as ours: once more, and no more.
        return _with(advice, place, replace(old, failures=1))
    return replace(
        advice,
        candidates=(),
        explore=None,
        warning="runs with what was advised have failed; it runs with its own configuration until it is tuned anew",
    )


def _place(candidates: Sequence[Candidate], configuration: Mapping[str, str]) -> int | None:
    """Which candidate a run had: the one with the most properties of all that the run has."""
    matching = [
        (len(each.conf), -place)
        for place, each in enumerate(candidates)
        if each.conf and all(configuration.get(name) == value for name, value in each.conf.items())
    ]
    return -max(matching)[1] if matching else None


def _with(advice: Advice, place: int, candidate: Candidate) -> Advice:
    candidates = [*advice.candidates]
    candidates[place] = candidate
    return replace(advice, candidates=tuple(candidates))


def _raised(old: Candidate, kinds: Sequence[FailureKind], limits: Mapping[str, object] | None) -> Candidate | None:
    name = _HEAP if any(kind in HEAP_KINDS for kind in kinds) else None
    if name is None and any(kind in OVERHEAD_KINDS for kind in kinds):
        name = _OVERHEAD
    if name is None or name not in old.conf or limits is None:
        return None
    bounds = ClusterLimits(**limits)  # type: ignore[arg-type]
    now_mib = parse_bytes(old.conf[name], default_unit="m") // _MIB
    asked_mib = old.executor_mib + int(now_mib * (DEFAULT_POLICY.raise_after_failure - 1.0))
    if asked_mib > bounds.max_container_memory_mib:
        return None
    granted_mib = bounds.rounded_memory_mib(asked_mib)
    conf = {**old.conf, name: f"{now_mib + granted_mib - old.executor_mib}m"}
    return replace(
        old,
        conf=conf,
        executor_mib=granted_mib,
        failures=1,
        runs=0,
        reason=f"{name} raised from {now_mib}m after a run that ran out of it",
    )
