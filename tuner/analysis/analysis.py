"""From one event log to its findings and a configuration: pure."""

from __future__ import annotations

from dataclasses import dataclass

from tuner.analysis.case import Case
from tuner.analysis.configuration import Configuration, combine
from tuner.analysis.facts import Facts, Platform
from tuner.analysis.model import Finding, Severity, Unjudged
from tuner.analysis.registry import HEURISTICS, missing
from tuner.analysis.thresholds import limit
from tuner.spark.eventlog import ApplicationLog

_ORDER = {severity: position for position, severity in enumerate(Severity)}


@dataclass(frozen=True)
class Analysis:
    """All that one log says.

    Args:
        case: the log, its numbers, and what was decided.
        findings: the gravest first.
        unjudged: heuristics that the log does not allow.
        configuration: what to set.
        notes: sentences about how far all this can be trusted.
    """

    case: Case
    findings: tuple[Finding, ...]
    unjudged: tuple[Unjudged, ...]
    configuration: Configuration
    notes: tuple[str, ...]


def analyze(log: ApplicationLog, *, increment_mib: int = 1024, pinned: frozenset[str] = frozenset()) -> Analysis:
    """Looks at a log with every heuristic that it allows.

    Args:
        log: what was read.
        increment_mib: what YARN rounds containers up to a multiple of; no log says it. 1024 is YARN's default.
        pinned: present names of properties that must stay as they are; the rest is made to fit them.
    """
    case = Case(Facts(log, increment_mib, pinned))
    findings: list[Finding] = []
    unjudged: list[Unjudged] = []
    more: list[str] = []
    for heuristic in HEURISTICS:
        lacks = next((need for need in heuristic.needs if missing(need, case)), None)
        if lacks is not None:
            unjudged.append(Unjudged(heuristic.id, lacks.value))
        else:
            seen = sorted(heuristic.look(case), key=lambda each: (_ORDER[each.severity], not each.changes))
            most = int(limit("most-shown"))
            findings += [Finding(heuristic.id, heuristic.title, each) for each in seen[:most]]
            if len(seen) > most:
                more.append(f"Of {heuristic.id} only {most} of {len(seen)} findings are shown.")
    findings.sort(key=lambda finding: _ORDER[finding.seen.severity])
    configuration = combine(case.facts, findings)
    return Analysis(case, tuple(findings), tuple(unjudged), configuration, (*_notes(case, configuration), *more))


def _notes(case: Case, configuration: Configuration) -> tuple[str, ...]:
    facts, notes = case.facts, [*case.log.losses]
    if facts.lost_tasks:
        notes.append("Tasks are missing: stages without all of theirs are not judged, and nothing is made smaller.")
    if facts.unreadable:
        notes.append(f"Values that Spark could not read count as not set: {', '.join(facts.unreadable)}.")
    if facts.own_version is not None and facts.own_version < facts.version:
        notes.append(
            f"Spark {case.log.spark_version} is judged with the defaults of Spark 3.0, which are the oldest known."
        )
    if facts.own_version is None and case.log.events:
        notes.append("The log does not say Spark's version; the newest one's defaults count.")
    if facts.platform in (Platform.KUBERNETES, Platform.STANDALONE, Platform.UNKNOWN) and case.memory is not None:
        notes.append(f"It ran on {facts.platform.value}; sizes are rounded as YARN would round them.")
    if case.memory is not None and case.evidence.unified_mib is None:
        notes.append(
            "Peaks of execution and storage memory were not measured (0 means unknown): the heap is not made smaller."
        )
    if case.memory is not None and case.evidence.native_mib is None:
        notes.append(
            "Resident memory was not measured (spark.executor.processTreeMetrics.enabled=true does): the overhead is"
            " not made smaller."
        )
    if (
        case.memory is not None
        and case.memory_changes
        and case.memory.after_granted_mib > case.memory.before_granted_mib
    ):
        notes.append(
            f"The container grows to {case.memory.after_granted_mib} MiB: yarn.scheduler.maximum-allocation-mb must"
            " allow it."
        )
    return (*notes, *configuration.left_out)
