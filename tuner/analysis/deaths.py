"""Executors and tasks of a log that did not end well, by class."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from tuner.analysis.facts import Facts
from tuner.model.failures import Failure, FailureKind, classify

_TEXT: Final = 200
_VAGUE: Final = frozenset({FailureKind.LOST, FailureKind.RELEASED})


@dataclass(frozen=True)
class Deaths:
    """All failures of one class.

    Args:
        kind: the class.
        executors: ids of the executors that died of it.
        tasks: tasks that failed of it, of those that the log's reader kept.
        largest: the one with the most memory in use, else the first.
        text: what Spark wrote about it, one line.
    """

    kind: FailureKind
    executors: tuple[str, ...]
    tasks: int
    largest: Failure
    text: str


def deaths(facts: Facts) -> tuple[Deaths, ...]:
    """What went wrong, the most frequent class first; executors that were given back are no failure."""
    executors: dict[FailureKind, list[str]] = {}
    tasks: dict[FailureKind, int] = {}
    seen: dict[FailureKind, list[tuple[Failure, str]]] = {}
    for executor_id, text in _lost_executors(facts):
        failure = classify(text)
        executors.setdefault(failure.kind, []).append(executor_id)
        seen.setdefault(failure.kind, []).append((failure, text))
    for task in facts.log.failures:
        if task.reason in ("Resubmitted", "TaskKilled", "TaskCommitDenied"):
            continue
        failure = classify(task.detail, task.reason)
        if failure.kind is not FailureKind.RELEASED:
            tasks[failure.kind] = tasks.get(failure.kind, 0) + 1
            seen.setdefault(failure.kind, []).append((failure, task.detail))
    for job in facts.log.jobs:
        failure = classify(job.error or "")
        if failure.kind is FailureKind.RESULT_SIZE:
            seen.setdefault(failure.kind, []).append((failure, job.error or ""))
    found = [
        Deaths(kind, tuple(executors.get(kind, ())), tasks.get(kind, 0), *_largest(seen[kind]))
        for kind in seen
        if kind is not FailureKind.RELEASED
    ]
    return tuple(sorted(found, key=lambda each: (-len(each.executors), -each.tasks, each.kind)))


def _lost_executors(facts: Facts) -> Iterator[tuple[str, str]]:
    """Executors that were removed, each with the most telling text: its own, or a task's that died with it."""
    told: dict[str, str] = {}
    for task in facts.log.failures:
        if task.reason == "ExecutorLostFailure" and classify(task.detail).kind not in _VAGUE:
            told.setdefault(task.executor_id, task.detail)
    for executor in facts.log.executors:
        if executor.removal_reason is None:
            continue
        text = executor.removal_reason
        if classify(text).kind is FailureKind.LOST:
            text = told.get(executor.executor_id, text)
        yield executor.executor_id, text


def _largest(seen: list[tuple[Failure, str]]) -> tuple[Failure, str]:
    failure, text = max(seen, key=lambda each: each[0].used_mib or 0.0)
    line = " ".join(text.split())
    return failure, line if len(line) <= _TEXT else line[: _TEXT - 3] + "..."
