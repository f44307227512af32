"""The policy as values; the fields, their limits and their descriptions are also the schema of the file.

Amounts of capacity are in percent of what the parent has, in whichever way the queues' capacities are written, so that
one policy serves percentages, weights, absolute resources and the Fair Scheduler's weights.
"""

from __future__ import annotations

from datetime import datetime
from enum import Enum
from typing import Annotated

import msgspec
from msgspec import Meta

__all__ = ["CAPACITY", "NO_LIMITS", "TUNED", "Bounds", "Mode", "Objective", "Policy", "QueuePolicy", "QuietHours"]

CAPACITY = "capacity"
"""What a policy calls a queue's part of its parent: ``capacity`` in the Capacity Scheduler, ``weight`` in the Fair."""

TUNED = (
    CAPACITY,
    "maximum-capacity",
    "user-limit-factor",
    "minimum-user-limit-percent",
    "maximum-am-resource-percent",
    "ordering-policy",
    "weight",
    "minResources",
    "maxResources",
    "maxRunningApps",
    "maxAMShare",
    "schedulingPolicy",
)
"""The properties that may be named in a policy: all that the optimizer may change, of either scheduler."""

_TIME = "^([01][0-9]|2[0-3]):[0-5][0-9]$"


class Mode(Enum):
    """What the live commands do with a better configuration."""

    OFF = "off"
    RECOMMEND = "recommend"
    APPLY = "apply"


class Objective(Enum):
    """What is to become small; jobs without an end count first in all of them."""

    MEAN = "mean"
    SLOWDOWN = "slowdown"
    TARGET_MISS = "target-miss"


class Bounds(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The range that a property may be changed in."""

    least: Annotated[float, Meta(description="The lowest value.")] | None = None
    most: Annotated[float, Meta(description="The highest value.")] | None = None
    largest_step: (
        Annotated[float, Meta(gt=0, description="The most that one change may add to the present value or take away.")]
        | None
    ) = None

    def narrowed(self, present: float) -> tuple[float, float]:
        """The lowest and highest value that one change may set.

        A present value outside the bounds may stay and may come nearer; the step holds in any case.
        """
        least = min(-float("inf") if self.least is None else self.least, present)
        most = max(float("inf") if self.most is None else self.most, present)
        if self.largest_step is None:
            return least, most
        return max(least, present - self.largest_step), min(most, present + self.largest_step)


class QueuePolicy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What holds for one queue, or for all queues below one."""

    weight: Annotated[float, Meta(gt=0, description="How much a job of this queue counts in the objective.")] = 1.0
    target_latency_s: (
        Annotated[float, Meta(gt=0, description="Seconds in which a job should end (objective `target-miss`).")] | None
    ) = None
    locked: (
        Annotated[bool, Meta(description="Nothing of the queue is changed.")]
        | Annotated[tuple[str, ...], Meta(description="Names of properties that are not changed.")]
    ) = False
    bounds: Annotated[
        dict[str, Bounds],
        Meta(description="By property: the range it may be changed in, and the largest step of one change."),
    ] = {}

    def is_locked(self, name: str) -> bool:
        """Whether this property may not be changed."""
        return self.locked if isinstance(self.locked, bool) else name in self.locked

    def bounds_of(self, name: str) -> Bounds:
        """The range of a property; without an end where the policy gives none."""
        return self.bounds.get(name, _ANY)


class QuietHours(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A time of the day, or of some days, in which nothing is applied."""

    begin: Annotated[str, Meta(pattern=_TIME, description="Local time at which they begin, as `22:00`.")]
    end: Annotated[str, Meta(pattern=_TIME, description="Local time at which they end; before `begin`: the next day.")]
    days: Annotated[
        tuple[Annotated[int, Meta(ge=1, le=7)], ...],
        Meta(description="Days of the week on which they begin, 1 for Monday to 7 for Sunday."),
    ] = (1, 2, 3, 4, 5, 6, 7)

    def hold_at(self, moment: datetime) -> bool:
        """Whether they hold at this local time."""
        now, today = f"{moment:%H:%M}", moment.isoweekday()
        yesterday = 7 if today == 1 else today - 1
        if self.begin <= self.end:
            return today in self.days and self.begin <= now < self.end
        return (today in self.days and now >= self.begin) or (yesterday in self.days and now < self.end)


class Policy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All that a policy file says."""

    mode: Annotated[
        Mode,
        Meta(
            description="`off`: nothing is looked at; `recommend`: plans are made and told; `apply`: they are applied."
        ),
    ] = Mode.RECOMMEND
    objective: Annotated[
        Objective,
        Meta(
            description="`mean` latency, mean bounded `slowdown`, or `target-miss`: the share of jobs that take longer "
            "than their queue's `target_latency_s`."
        ),
    ] = Objective.MEAN
    most_queue_loss_percent: (
        Annotated[
            float,
            Meta(ge=0, description="No queue's mean latency may get worse by more; null: whatever helps all together."),
        ]
        | None
    ) = 25.0
    least_gain_percent: Annotated[
        float, Meta(ge=0, le=100, description="A change that is predicted to bring less is not proposed.")
    ] = 1.0
    horizon_s: Annotated[float, Meta(gt=0, description="How far ahead a live forecast looks, in seconds.")] = 7200.0
    cool_down_s: Annotated[float, Meta(ge=0, description="Seconds after a change in which no other is applied.")] = (
        900.0
    )
    quiet_hours: Annotated[tuple[QuietHours, ...], Meta(description="When nothing is applied.")] = ()
    queues: Annotated[
        dict[str, QueuePolicy],
        Meta(
            description="By full path; `root.eng.*` stands for all queues below `root.eng`, `*` for all. Of several "
            "that fit, the longest name that says something about a field decides it."
        ),
    ] = {}

    def queue(self, path: str) -> QueuePolicy:
        """What holds for a queue: of all names that fit, the most specific for each field and each bound."""
        found = QueuePolicy()
        for name in sorted(
            (name for name in self.queues if _fits(name, path)), key=lambda name: (name == path, len(name))
        ):
            found = _over(found, self.queues[name])
        return found

    def is_quiet(self, moment: datetime) -> bool:
        """Whether nothing may be applied at this local time."""
        return any(hours.hold_at(moment) for hours in self.quiet_hours)


_ANY = Bounds()
NO_LIMITS = Policy()
"""The policy where there is no file: everything may be changed, by any step."""


def _fits(name: str, path: str) -> bool:
    return name in (path, "*") or (name.endswith(".*") and path.startswith(name[:-1]))


def _over(below: QueuePolicy, above: QueuePolicy) -> QueuePolicy:
    """The fields of the second where it says something, else those of the first."""
    default = QueuePolicy()
    said = {
        name: value
        for name in QueuePolicy.__struct_fields__
        if (value := getattr(above, name)) != getattr(default, name) and name != "bounds"
    }
    return msgspec.structs.replace(below, **said, bounds={**below.bounds, **above.bounds})
