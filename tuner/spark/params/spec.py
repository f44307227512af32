"""What a row of the table of tuned properties is: its type, its bounds, and how its values are read and written."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from tuner.errors import InputError
from tuner.model.limits import ClusterLimits
from tuner.units import parse_bytes, parse_duration_s

Kind = Literal["int", "float", "memory", "duration", "bool", "choice"]
Value = int | float | bool | str
SparkVersion = tuple[int, int]

NEWEST: SparkVersion = (4, 3)
"""The newest Spark that the table was held against."""

_UNIT_BYTES = {"k": 1024, "m": 1024**2}


def parse_version(text: str) -> SparkVersion:
    """Major and minor of a version such as ``3.5.6`` or ``4.1.0-preview1``.

    Raises:
        InputError: where there are none.
    """
    match = re.match(r"(\d+)\.(\d+)", text)
    if match is None:
        raise InputError(f"{text!r} is not a version of Spark", "write it as 3.5 or 4.3.0")
    return int(match.group(1)), int(match.group(2))


@dataclass(frozen=True)
class Bound:
    """A bound that depends on the cluster: in words for people, as a function for the search."""

    words: str
    of: Callable[[ClusterLimits], float]


@dataclass(frozen=True)
class Requirement:
    """Another property that must have this value for the row to have an effect."""

    name: str
    value: str


@dataclass(frozen=True)
class Range:
    """The values that the search may take on one cluster, both ends included, in the row's own unit."""

    low: float
    high: float


@dataclass(frozen=True)
class ParamSpec:
    """One property of Spark.

    Args:
        name: Spark's name.
        kind: ``memory`` values are whole numbers of ``unit``, ``duration`` values are seconds.
        group: a key of :data:`tuner.spark.params.GROUPS`.
        default: Spark's own default as text; None where there is none, or Spark computes it.
        description: what it does.
        risk: what a wrong value costs.
        low: the least value that the search takes (not the least that Spark accepts).
        high: the greatest.
        step: distance between values; None for any.
        log: whether the search should work on the logarithm.
        unit: for memory, the unit of the values here: ``k`` or ``m``.
        bare_unit: the unit that Spark gives to a number without one.
        choices: for a choice, all of them.
        off: text of a value outside the bounds that switches the thing off, for example ``-1``.
        since: first version that has it; earlier than 3.0 is not recorded.
        until: first version that no longer has it.
        earlier_defaults: (version, default) pairs, newest last: the default in versions *before* that version.
        requires: what must hold for it to have an effect.
        runtime: whether a running application can change it (SQL properties); else it needs a new application.
        core: whether a first, short tuning should include it.
        tuned: False for what the models must know, but a search should not touch.
        link: address of its documentation; the group's where empty.
    """

    name: str
    kind: Kind
    group: str
    default: str | None
    description: str
    risk: str
    low: float | Bound | None = None
    high: float | Bound | None = None
    step: float | None = None
    log: bool = False
    unit: Literal["", "k", "m"] = ""
    bare_unit: str = ""
    choices: tuple[str, ...] = ()
    off: str | None = None
    since: SparkVersion = (3, 0)
    until: SparkVersion | None = None
    earlier_defaults: tuple[tuple[SparkVersion, str], ...] = ()
    requires: tuple[Requirement, ...] = ()
    runtime: bool = False
    core: bool = False
    tuned: bool = True
    link: str = ""

    def exists_in(self, version: SparkVersion) -> bool:
        """Whether that version of Spark knows the property."""
        return self.since <= version and (self.until is None or version < self.until)

    def default_in(self, version: SparkVersion) -> str | None:
        """Spark's default in that version, as text."""
        for before, default in self.earlier_defaults:
            if version < before:
                return default
        return self.default

    def default_value(self, version: SparkVersion = NEWEST) -> Value | None:
        """Spark's default in that version, as :meth:`parse` gives it."""
        text = self.default_in(version)
        return None if text is None else self.parse(text)

    def parse(self, text: str) -> Value:
        """Reads a value as Spark does.

        Returns:
            Memory in whole units of :attr:`unit` (rounded down), durations in seconds, else the value itself.

        Raises:
            InputError: for what Spark would refuse; the message names the property.
        """
        try:
            return self._parse(text.strip())
        except InputError as error:
            raise InputError(f"{self.name}: {error.message}", error.hint) from None

    def _parse(self, text: str) -> Value:
        if self.off is not None and text == self.off:
            return int(text)
        if self.kind == "memory":
            return parse_bytes(text, default_unit=self.bare_unit) // _UNIT_BYTES[self.unit]
        if self.kind == "duration":
            return parse_duration_s(text, default_unit=self.bare_unit)
        if self.kind == "bool":
            if text.lower() not in ("true", "false"):
                raise InputError(f"{text!r} is not true or false")
            return text.lower() == "true"
        if self.kind == "choice":
            return text
        return _parse_number(text, whole=self.kind == "int")

    def format(self, value: Value) -> str:
        """Writes a value so that Spark reads the same back; memory and durations always with their unit."""
        if self.off is not None and value == int(self.off):
            return self.off
        if self.kind == "memory":
            return f"{int(value)}{self.unit}"
        if self.kind == "duration":
            seconds = float(value)
            return f"{int(seconds)}s" if seconds == int(seconds) else f"{round(seconds * 1000)}ms"
        if self.kind == "bool":
            return "true" if value else "false"
        if self.kind == "float":
            return f"{float(value):.10g}"
        return str(value)

    def with_unit(self, text: str) -> str:
        """The same size or time with its unit written out; every other text as it is."""
        return f"{text.strip()}{self.bare_unit}" if self.bare_unit and text.strip().isdecimal() else text

    def range_on(self, limits: ClusterLimits) -> Range | None:
        """What the search may take on this cluster; None for a row without bounds (bool, choice).

        On a very small cluster the low end gives way: the range is then one value, the greatest that fits.
        """
        if self.low is None or self.high is None:
            return None
        low, high = _bound(self.low, limits), _bound(self.high, limits)
        return Range(min(low, high), high)

    def problem(self, value: Value, limits: ClusterLimits) -> str | None:
        """Why the search must not use this value on this cluster; None where it may.

        Every suggestion goes through here before it is used, because a sampler can leave its own bounds.
        """
        if self.kind == "choice":
            return None if value in self.choices else f"{self.name}={value!r} is none of {', '.join(self.choices)}"
        if self.kind == "bool":
            return None if isinstance(value, bool) else f"{self.name}={value!r} is not true or false"
        if isinstance(value, (bool, str)):
            return f"{self.name}={value!r} is not a number"
        if self.kind in ("int", "memory") and value != int(value):
            return f"{self.name}={value!r} is not a whole number"
        if self.off is not None and value == int(self.off):
            return None
        within = self.range_on(limits)
        if within is not None and not within.low <= value <= within.high:
            return f"{self.name}={self.format(value)} is outside {within.low:g} to {within.high:g} {self.unit}".rstrip()
        return None


def _bound(bound: float | Bound, limits: ClusterLimits) -> float:
    return bound.of(limits) if isinstance(bound, Bound) else bound


def _parse_number(text: str, *, whole: bool) -> int | float:
    try:
        return int(text) if whole else float(text)
    except ValueError:
        raise InputError(f"{text!r} is not a {'whole ' if whole else ''}number") from None
