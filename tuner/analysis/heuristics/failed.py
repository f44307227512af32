"""Executors and tasks that failed, by the class of their reason."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.analysis.case import Case
from tuner.analysis.deaths import Deaths
from tuner.analysis.model import Change, Observation, Severity
from tuner.model.failures import KINDS, VMEM_PMEM_RATIO, FailureKind
from tuner.model.memory_need import Reason

_MOST_NAMED = 5

_FOR: dict[FailureKind, tuple[Reason, ...]] = {
    FailureKind.PHYSICAL_MEMORY: (Reason.KILLED,),
    FailureKind.NATIVE_MEMORY: (Reason.KILLED,),
    FailureKind.KILLED: (Reason.KILLED,),
    FailureKind.HEAP: (Reason.OUT_OF_HEAP,),
    FailureKind.PYTHON_MEMORY: (Reason.PYTHON,),
    FailureKind.PYTHON_CRASH: (Reason.PYTHON,),
}
"""Which reasons for a size a class of failure may give."""


def memory_failures(case: Case) -> Iterator[Observation]:
    """Failures for memory: each class raises the part that was short, and no other."""
    for each in case.deaths:
        if each.kind in _FOR:
            raised = case.memory_changed_for(*_FOR[each.kind])
            yield _observed(each, Severity.CRITICAL, case.memory_changes if raised else (), KINDS[each.kind].remedy)


def virtual_memory(case: Case) -> Iterator[Observation]:
    """Kills by the check of virtual memory, which no size of Spark's can answer."""
    for each in case.deaths:
        if each.kind is not FailureKind.VIRTUAL_MEMORY:
            continue
        advice = KINDS[each.kind].remedy
        if each.largest.container_mib and each.largest.limit_mib:
            advice += (
                f"; the limit of {each.largest.limit_mib / 1024:.1f} GiB is {VMEM_PMEM_RATIO} (the default ratio) times"
                f" a container of {each.largest.container_mib:.0f} MiB"
            )
        yield _observed(each, Severity.CRITICAL, (), f"{advice}; neither the heap nor the overhead is too small")


def lost_executors(case: Case) -> Iterator[Observation]:
    """Executors and tasks lost for other reasons."""
    told = {*_FOR, FailureKind.VIRTUAL_MEMORY, FailureKind.RESULT_SIZE, FailureKind.APPLICATION}
    for each in case.deaths:
        if each.kind not in told:
            severity = Severity.WARNING if case.facts.succeeded else Severity.CRITICAL
            yield _observed(each, severity, (), KINDS[each.kind].remedy)


def application_errors(case: Case) -> Iterator[Observation]:
    """Exceptions of the application itself."""
    for each in case.deaths:
        if each.kind is FailureKind.APPLICATION:
            severity = Severity.INFO if case.facts.succeeded else Severity.CRITICAL
            yield _observed(each, severity, (), KINDS[each.kind].remedy)


def _observed(each: Deaths, severity: Severity, changes: tuple[Change, ...], advice: str) -> Observation:
    failure = each.largest
    counted = [
        _count(len(each.executors), "executor") if each.executors else "",
        _count(each.tasks, "task") if each.tasks else "",
    ]
    who = " and ".join(text for text in counted if text)
    return Observation(
        severity,
        _named(each.executors) if each.executors else _count(each.tasks, "task"),
        f"{who}: {KINDS[each.kind].title} ({each.text})",
        advice,
        "work that is not done twice",
        {
            "kind": each.kind.value,
            "executors": len(each.executors),
            "tasks": each.tasks,
            "used_mib": None if failure.used_mib is None else round(failure.used_mib, 1),
            "limit_mib": None if failure.limit_mib is None else round(failure.limit_mib, 1),
            "container_mib": None if failure.container_mib is None else round(failure.container_mib, 1),
            "exit_code": failure.exit_code,
        },
        changes,
    )


def _named(executors: tuple[str, ...]) -> str:
    more = " ..." if len(executors) > _MOST_NAMED else ""
    return f"executor{'' if len(executors) == 1 else 's'} {', '.join(executors[:_MOST_NAMED])}{more}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
