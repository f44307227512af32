"""An analysis as text for people and as JSON for machines."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

from tuner.analysis.analysis import Analysis
from tuner.analysis.case import Case
from tuner.analysis.model import Change, Finding, Severity

_WIDTH = 110
Styler = Callable[[str, Severity], str]


def report_text(analysis: Analysis, style: Styler = lambda text, _: text) -> str:
    """The report for people, without a line end at its end.

    Args:
        analysis: of one log.
        style: colours a severity.
    """
    blocks = [_head(analysis.case)]
    blocks += [_finding(finding, style) for finding in analysis.findings]
    if not analysis.findings:
        blocks.append("Nothing was found." if not analysis.unjudged else "Nothing was found in what could be judged.")
    blocks.append(configuration_text(analysis))
    if analysis.unjudged:
        blocks.append(_unjudged(analysis))
    if analysis.notes:
        blocks.append("\n".join(["Notes:", *(_wrap(note, "  - ", "    ") for note in analysis.notes)]))
    return "\n\n".join(blocks)


def configuration_text(analysis: Analysis) -> str:
    """The configuration as lines to paste, each with its reasons above it."""
    settings = analysis.configuration.settings(analysis.case.facts)
    if not settings:
        return "Configuration: nothing to change."
    lines = [
        f"Configuration (containers in multiples of {analysis.case.facts.increment_mib} MiB, which no log says:"
        " see --increment):"
    ]
    for change, (name, value) in zip(analysis.configuration.changes, settings.items(), strict=True):
        why = ", ".join(analysis.configuration.reasons[change.name])
        lines.append(f"  # {why}: {change.reason}; {_was(change)}")
        lines.append(f"  --conf {name}={value}")
    return "\n".join(lines)


def properties_header(analysis: Analysis) -> str:
    """Lines for the top of a properties file: what it is, and a reason for each property."""
    log, configuration = analysis.case.log, analysis.configuration
    names = analysis.configuration.settings(analysis.case.facts)
    lines = [f"yarntune analyze: {log.application_id or log.path.name}"]
    for change, name in zip(configuration.changes, names, strict=True):
        lines.append(f"{name}: {change.reason}; {_was(change)} ({', '.join(configuration.reasons[change.name])})")
    return "\n".join(lines)


def report_json(analysis: Analysis) -> dict[str, Any]:
    """The same for machines; the schema is in docs/analyze.md."""
    case, log = analysis.case, analysis.case.log
    return {
        "path": str(log.path),
        "state": log.state.value,
        "application": {
            "id": log.application_id,
            "attempt": log.attempt_id,
            "name": log.name,
            "user": log.user,
            "spark_version": log.spark_version,
            "platform": case.facts.platform.name.lower(),
            "python": case.facts.python,
        },
        "metrics": _metrics_json(case),
        "memory": _memory_json(case),
        "findings": [_finding_json(finding) for finding in analysis.findings],
        "configuration": analysis.configuration.settings(case.facts),
        "reasons": {name: list(ids) for name, ids in analysis.configuration.reasons.items()},
        "not_judged": [{"id": each.id, "why": each.why} for each in analysis.unjudged],
        "notes": list(analysis.notes),
    }


def _head(case: Case) -> str:
    log, metrics = case.log, case.metrics
    version = f"Spark {log.spark_version}" if log.spark_version else "Spark of an unknown version"
    lines = [
        f"{log.name or 'An application without a name'} ({log.application_id or 'no id'}): {version} on"
        f" {case.facts.platform.value}, log {log.state.value}",
        f"  {log.path}",
    ]
    if log.wall_s is not None and log.driver_s is not None:
        # Lost tasks would count as the driver's own time.
        alone = "" if case.facts.lost_tasks else f", in {log.driver_s:.1f} s of them no task ran"
        lines.append(
            f"  {log.wall_s:.1f} s{alone}; {metrics.jobs} jobs, {metrics.stages}"
            f" stages, {metrics.tasks} tasks, {metrics.failed_tasks} failed"
        )
    if case.memory is not None and metrics.executor_s is not None:
        memory = case.memory
        idle = "unknown" if metrics.idle_share is None or case.facts.lost_tasks else f"{metrics.idle_share:.0%}"
        used = "unknown" if case.evidence.unified_mib is None else f"{case.evidence.unified_mib:.0f} MiB"
        resident = "unknown" if metrics.peak_rss_mib is None else f"{metrics.peak_rss_mib} MiB"
        lines.append(
            f"  reserved {memory.before_granted_mib * metrics.executor_s / 1024:.0f} GiB·s: {metrics.executors}"
            f" executors ({metrics.peak_executors} at once) of {memory.before_granted_mib} MiB; slots idle {idle}"
        )
        lines.append(
            f"  used at most, of one executor: execution and storage {used} (heap {memory.before.heap_mib} MiB),"
            f" resident {resident}"
        )
    return "\n".join(lines)


def _finding(finding: Finding, style: Styler) -> str:
    seen = finding.seen
    lines = [f"{style(seen.severity.value.upper(), seen.severity)}  {finding.title}  [{finding.id}]"]
    parts = [("where", seen.where), ("evidence", seen.evidence), ("advice", seen.advice)]
    parts += [("set", f"{change.name}={change.value} ({_was(change)})") for change in seen.changes]
    parts.append(("brings", seen.gain))
    lines += [_wrap(text, f"  {label:<9} ", " " * 12) for label, text in parts if text]
    return "\n".join(lines)


def _was(change: Change) -> str:
    if change.before is None:
        return "was not set"
    return f"was {change.before}" if change.explicit else f"was {change.before} by default"


def _unjudged(analysis: Analysis) -> str:
    by_reason: dict[str, list[str]] = {}
    for each in analysis.unjudged:
        by_reason.setdefault(each.why, []).append(each.id)
    lines = [_wrap(f"{why}: {', '.join(ids)}", "  - ", "    ") for why, ids in by_reason.items()]
    return "\n".join(["Not judged:", *lines])


def _wrap(text: str, first: str, rest: str) -> str:
    return textwrap.fill(
        text, _WIDTH, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    )


def _metrics_json(case: Case) -> dict[str, Any]:
    metrics: dict[str, Any] = dict(case.metrics.to_json())
    if case.facts.lost_tasks:
        metrics |= {"driver_s": None, "idle_share": None}
    return metrics


def _finding_json(finding: Finding) -> dict[str, Any]:
    seen = finding.seen
    return {
        "id": finding.id,
        "title": finding.title,
        "severity": seen.severity.value,
        "where": seen.where,
        "evidence": seen.evidence,
        "numbers": dict(seen.numbers),
        "advice": seen.advice,
        "gain": seen.gain,
        "changes": [
            {"property": each.name, "value": each.value, "before": each.before, "explicit": each.explicit}
            for each in seen.changes
        ],
    }


def _memory_json(case: Case) -> dict[str, Any] | None:
    memory, evidence = case.memory, case.evidence
    if memory is None:
        return None
    executor_s = case.metrics.executor_s
    return {
        "container_mib": memory.before_granted_mib,
        "asked_mib": memory.before.memory_mib,
        "heap_mib": memory.before.heap_mib,
        "overhead_mib": memory.before.overhead_mib,
        "off_heap_mib": memory.before.off_heap_mib,
        "pyspark_mib": memory.before.pyspark_mib,
        "reserved_gib_seconds": None if executor_s is None else round(memory.before_granted_mib * executor_s / 1024, 1),
        "unified_peak_mib": None if evidence.unified_mib is None else round(evidence.unified_mib, 1),
        "heap_peak_mib": None if evidence.heap_used_mib is None else round(evidence.heap_used_mib, 1),
        "native_peak_mib": None if evidence.native_mib is None else round(evidence.native_mib, 1),
        "python_peak_mib": None if evidence.python_mib is None else round(evidence.python_mib, 1),
        "suggested_container_mib": memory.after_granted_mib,
        "heap_reason": memory.heap.reason.value,
        "overhead_reason": memory.overhead.reason.value,
    }
