"""What an analysis consists of: findings, changes, and what could not be judged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Severity(StrEnum):
    """How much a finding matters; in this order in a report."""

    CRITICAL = "critical"
    """Work failed or was lost."""
    WARNING = "warning"
    """Much time or memory is wasted, or the next run may fail."""
    INFO = "info"
    """Worth knowing."""


@dataclass(frozen=True)
class Change:
    """A property's new value.

    Args:
        name: the present name.
        value: the new value as Spark reads it.
        before: the value in the log; Spark's default where it was not set; None where there is none.
        explicit: whether somebody had set it.
        reason: one clause.
    """

    name: str
    value: str
    before: str | None
    explicit: bool
    reason: str


@dataclass(frozen=True)
class Observation:
    """What one heuristic saw.

    Args:
        severity: how much it matters.
        where: executors, a stage, an RDD, an action.
        evidence: one sentence with the numbers.
        numbers: the same numbers for machines; units in their names.
        advice: what to do, where a property is not all of it.
        gain: what it should bring, as one clause.
        changes: properties to set, the same values as in the analysis' configuration.
    """

    severity: Severity
    where: str
    evidence: str
    advice: str
    gain: str
    numbers: Mapping[str, float | int | str | None] = field(default_factory=dict)
    changes: tuple[Change, ...] = ()


@dataclass(frozen=True)
class Finding:
    """An observation under the name of its heuristic."""

    id: str
    title: str
    seen: Observation


@dataclass(frozen=True)
class Unjudged:
    """A heuristic that the log does not allow, and why."""

    id: str
    why: str
