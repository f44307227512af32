"""What can be turned: one number or choice each, within what the policy allows; and parts that add up to a whole.

A candidate is a value for each knob, in their order; the knobs of siblings' parts of their parent are in percent of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rules.policy import QueuePolicy

__all__ = ["SHARE", "Candidate", "Group", "Knob", "Value", "fit", "in_steps", "number_knob"]

Value = float | str
Candidate = tuple[Value, ...]
SHARE = "capacity"
"""The name of the knobs that are parts of a parent, in either scheduler."""

_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class Knob:
    """One thing to turn.

    Attributes:
        path: full path of the queue.
        name: the property; :data:`SHARE` for a part of the parent.
        present: its value in the present configuration.
        values: the values to try, in their order; none for a share.
        least: the lowest number that may be set; 0 for a choice.
        most: the highest.
        step: of the numbers in between; 0 where only ``values`` make sense.
    """

    path: str
    name: str
    present: Value
    values: tuple[Value, ...] = ()
    least: float = 0.0
    most: float = 0.0
    step: float = 0.0


@dataclass(frozen=True, slots=True)
class Group:
    """The children of one parent, whose parts add up to it.

    Attributes:
        parent: full path.
        knobs: the knobs of those whose parts may change; at least two.
        total: what these have together, in percent of the parent; the rest is locked.
        step: parts are multiples of it; 0 where any number can be written.
    """

    parent: str
    knobs: tuple[int, ...]
    total: float
    step: float


def number_knob(
    path: str, name: str, present: float, grid: Sequence[float], step: float, policy: QueuePolicy
) -> Knob | None:
    """A knob for a number, with the values of the grid that the policy allows; None where it allows no other."""
    if policy.is_locked(name):
        return None
    least, most = policy.bounds_of(name).narrowed(present)
    values = sorted({value for value in grid if least <= value <= most} | {present})
    bounded = (max(least, min(min(grid), present)), min(most, max(max(grid), present)))
    return Knob(path, name, present, tuple(values), *bounded, step) if len(values) > 1 else None


def fit(values: Sequence[float], least: Sequence[float], most: Sequence[float], total: float) -> list[float] | None:
    """The parts nearest in proportion to these that lie in their ranges and add up to the total.

    Parts that the common factor would take out of their range stop at its end, and the others share what is left.

    Returns:
        None where the ranges do not allow the total.
    """
    low, high = np.asarray(least, float), np.asarray(most, float)
    if low.sum() > total + _TOLERANCE or high.sum() < total - _TOLERANCE:
        return None
    wanted = np.maximum(np.asarray(values, float), 1e-12)
    # The sum grows with the factor, so the factor is between the one where all are lowest and where all are highest.
    down, up = 0.0, float((np.where(np.isfinite(high), high, total) / wanted).max()) + 1.0
    for _ in range(200):
        middle = (down + up) / 2
        down, up = (middle, up) if np.clip(wanted * middle, low, high).sum() < total else (down, middle)
    found = np.clip(wanted * up, low, high)
    inside = (found > low) & (found < high)
    if inside.any():
        found[inside] += (total - found.sum()) / inside.sum()
    return [float(part) for part in found]


def in_steps(parts: Sequence[float], total: float, step: float) -> list[float]:
    """Parts as multiples of a step that add up to the total exactly, none off by a whole step.

    What a cut takes away goes back to those that lost most, of equal ones to the last.
    """
    steps = [round(part / step, 6) for part in parts]
    whole = [int(count) for count in steps]
    missing = round(total / step) - sum(whole)
    by_loss = sorted(range(len(steps)), key=lambda i: (steps[i] - whole[i], i), reverse=True)
    for i in by_loss[:missing]:
        whole[i] += 1
    return [count * step for count in whole]
