"""A plan as people read it: what changes by queue, what it should bring, why, and what the checks say. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from rules.dialects.capacity import read
from rules.dialects.capacity_properties import PREFIX
from rules.model import ROOT, PropertyChange, Severity
from rules.plan import BackEndKind, Configuration, Plan, QueueEffect
from tuner.cli.output import render_table
from tuner.errors import InputError

__all__ = ["changes_text", "plan_text"]

_WHOLE = "the scheduler as a whole"
_WAYS = {
    BackEndKind.CAPACITY_REST: "over REST (scheduler-conf)",
    BackEndKind.CAPACITY_FILE: "by replacing capacity-scheduler.xml and refreshing the queues",
    BackEndKind.FAIR_FILE: "by replacing the allocation file",
}
_SCHEDULERS = {"capacity": "Capacity Scheduler", "fair": "Fair Scheduler"}


def plan_text(plan: Plan, plan_id: int | None = None) -> str:
    """The whole plan.

    Args:
        plan: the plan.
        plan_id: its id in the store, where it is there.
    """
    title = "Plan" if plan_id is None else f"Plan {plan_id}"
    version = "" if plan.base.version is None else f", made against version {plan.base.version}"
    lines = [
        f"{title} for {plan.cluster.id}: {_SCHEDULERS[plan.scheduler]}, Hadoop {plan.cluster.hadoop_version}{version}",
        f"{_WAYS[plan.back_end]}, until {_time(plan.expires_at)}",
        "",
        changes_text(plan.changes, plan.proposed),
    ]
    if plan.effects:
        lines += ["", "Predicted mean latency in seconds", _indented(_effects(plan.effects))]
    if plan.reasons:
        lines += ["", "Why", *(f"  - {reason}" for reason in plan.reasons)]
    if plan.findings:
        ordered = sorted(plan.findings, key=lambda finding: finding.severity is not Severity.ERROR)
        lines += ["", "Checks", *(f"  {finding}" for finding in ordered)]
    lines += ["", _summary(plan)]
    return "\n".join(lines)


def changes_text(changes: Sequence[PropertyChange], configuration: Configuration) -> str:
    """The changes, by queue: ``~`` changed, ``+`` set anew, ``-`` taken out.

    Args:
        changes: property by property.
        configuration: one that knows the queues.
    """
    if not changes:
        return "  nothing changes"
    by_queue: dict[str, list[tuple[str, PropertyChange]]] = {}
    paths = _queues(configuration)
    for change in changes:
        path, name = _place(change.property, paths)
        by_queue.setdefault(path, []).append((name, change))
    width = max(len(name) for found in by_queue.values() for name, _ in found)
    lines = []
    for path, found in sorted(by_queue.items()):
        lines.append(f"  ~ {path}")
        lines += [
            f"      {_sign(change)} {name.ljust(width)}  {_values(change)}" for name, change in sorted(found, key=_name)
        ]
    return "\n".join(lines)


def _name(item: tuple[str, PropertyChange]) -> str:
    return item[0]


def _queues(configuration: Configuration) -> list[str]:
    """The paths of the Capacity Scheduler's queues, longest first; none of the Fair Scheduler's."""
    try:
        return sorted(read(configuration.properties).tree.queues, key=len, reverse=True)
    except InputError:
        return []


def _place(full: str, paths: list[str]) -> tuple[str, str]:
    if not full.startswith(PREFIX):
        path, _, name = full.rpartition(".")
        return (path, name) if path == ROOT or path.startswith(f"{ROOT}.") else (_WHOLE, full)
    for path in paths:
        if full.startswith(f"{PREFIX}{path}."):
            return path, full.removeprefix(f"{PREFIX}{path}.")
    return _WHOLE, full.removeprefix(PREFIX)


def _sign(change: PropertyChange) -> str:
    if change.before is None:
        return "+"
    return "-" if change.after is None else "~"


def _values(change: PropertyChange) -> str:
    if change.before is None:
        return f"{change.after}"
    return f"{change.before} -> {'not set' if change.after is None else change.after}"


def _effects(effects: Sequence[QueueEffect]) -> str:
    rows = [
        (
            effect.queue,
            str(effect.jobs),
            f"{effect.before_s:.1f}",
            f"{effect.after_s:.1f}",
            _change(effect),
            _unfinished(effect),
        )
        for effect in effects
    ]
    return render_table(("QUEUE", "JOBS", "NOW", "THEN", "CHANGE", "UNFINISHED"), rows)


def _change(effect: QueueEffect) -> str:
    change_s = effect.after_s - effect.before_s
    spread = "" if effect.spread_s is None else f" +- {effect.spread_s:.1f}"
    return f"{change_s:+.1f}{spread}"


def _unfinished(effect: QueueEffect) -> str:
    return f"{effect.unfinished_before:g} -> {effect.unfinished_after:g}"


def _summary(plan: Plan) -> str:
    changes = plan.changes
    added = sum(change.before is None for change in changes)
    unset = sum(change.after is None for change in changes)
    counts = f"Plan: {added} to set, {len(changes) - added - unset} to change, {unset} to unset."
    return f"{counts} It cannot be applied: see the checks." if plan.errors else counts


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC")
