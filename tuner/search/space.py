"""The space that a study searches: the dimensions, and the way from a point to Spark properties and back."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from tuner.errors import InputError
from tuner.model.limits import ClusterLimits
from tuner.spark.params import ParamSpec, Value

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

Point: TypeAlias = dict[str, Value]

_SLOTS = ("spark.executor.instances", "spark.executor.cores")
_SLOTS_SCALE = 5.0
"""Doublings of parallelism that count as much as the whole range of one property."""


@dataclass(frozen=True)
class Dimension:
    """One tuned property on this cluster.

    Attributes:
        spec: its row in the table of properties.
        low: smallest value on this cluster, in the row's unit; 0 for a choice.
        high: greatest value on this cluster; 0 for a choice.
        default: what holds where nobody sets the property.
    """

    spec: ParamSpec
    low: float
    high: float
    default: Value

    @classmethod
    def on(cls, spec: ParamSpec, limits: ClusterLimits, default: Value) -> Dimension:
        """The row's dimension on a cluster."""
        within = spec.range_on(limits)
        return cls(spec, within.low if within else 0.0, within.high if within else 0.0, default)

    @property
    def name(self) -> str:
        """The property's name."""
        return self.spec.name

    @property
    def choices(self) -> tuple[Value, ...]:
        """The values of a choice; empty for a number."""
        return (False, True) if self.spec.kind == "bool" else self.spec.choices

    @property
    def _whole(self) -> bool:
        return self.spec.kind in ("int", "memory")

    def distribution(self) -> BaseDistribution:
        """The dimension as Optuna knows it; steps are kept by :meth:`clamp`."""
        from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

        if self.choices:
            return CategoricalDistribution(self.choices)
        if self._whole:
            return IntDistribution(int(self.low), int(self.high))
        return FloatDistribution(self.low, self.high)

    def clamp(self, value: Value) -> Value:
        """The nearest value that the dimension has; samplers can leave the range by rounding."""
        if self.choices:
            return value if value in self.choices else self.choices[0]
        step = self.spec.step or (1.0 if self._whole else 1e-9)
        # Multiples of the step rather than low + steps: 1024 and not 1088 where low is 512 + 64.
        number = min(max(round(float(value) / step) * step, self.low), self.high)
        return int(number) if self._whole else round(number, 6)

    def to_unit(self, value: Value) -> float:
        """The value's place in [0, 1]; choices are spread evenly."""
        if self.choices:
            return self.choices.index(value) / max(1, len(self.choices) - 1)
        if self.high <= self.low:
            return 0.0
        if self.spec.log:
            return math.log(float(value) / self.low) / math.log(self.high / self.low)
        return (float(value) - self.low) / (self.high - self.low)

    def from_unit(self, place: float) -> Value:
        """The value nearest to a place in [0, 1]."""
        if self.choices:
            return self.choices[min(int(place * len(self.choices)), len(self.choices) - 1)]
        if self.spec.log and self.high > self.low:
            return self.clamp(self.low * (self.high / self.low) ** place)
        return self.clamp(self.low + place * (self.high - self.low))


@dataclass(frozen=True)
class SearchSpace:
    """The dimensions of a study, without the pinned properties."""

    dimensions: tuple[Dimension, ...]

    def __post_init__(self) -> None:
        names = [dimension.name for dimension in self.dimensions]
        if not names:
            raise InputError("there is nothing left to tune: every property is pinned", "take a --pin away")
        if len(set(names)) != len(names):
            raise InputError(f"a property stands twice in the search space: {sorted(names)}")

    @property
    def hash(self) -> str:
        """Fingerprint of the dimensions: a study is gone on with only over the same ones (Optuna refuses others)."""
        rows = [[d.name, d.spec.kind, d.low, d.high, d.spec.step, [str(c) for c in d.choices]] for d in self.dimensions]
        return hashlib.sha256(json.dumps(rows).encode()).hexdigest()[:16]

    def distributions(self) -> dict[str, BaseDistribution]:
        """The space as Optuna knows it."""
        return {dimension.name: dimension.distribution() for dimension in self.dimensions}

    def render(self, point: Mapping[str, Value]) -> dict[str, str]:
        """The point as Spark properties."""
        return {d.name: d.spec.format(point[d.name]) for d in self.dimensions}

    def point_of(self, configuration: Mapping[str, str]) -> Point:
        """The point nearest to a configuration; properties that it lacks have their defaults."""
        return {
            d.name: d.clamp(d.spec.parse(configuration[d.name]) if d.name in configuration else d.default)
            for d in self.dimensions
        }

    def from_unit(self, places: Sequence[float]) -> Point:
        """The point nearest to a place in the unit cube, one number in [0, 1] for each dimension."""
        return {d.name: d.from_unit(place) for d, place in zip(self.dimensions, places, strict=True)}

    def to_unit(self, point: Mapping[str, Value]) -> list[float]:
        """The point's place in the unit cube."""
        return [d.to_unit(point[d.name]) for d in self.dimensions]

    def features(self, point: Mapping[str, Value]) -> list[float]:
        """What a model of time sees of a point: its place, and the number of tasks that run at once.

        Two executors of one core and one of two are far apart in the cube and nearly the same to a job.
        """
        slots = [math.log2(max(1.0, float(point[name]))) for name in _SLOTS if name in point]
        return [*self.to_unit(point), sum(slots) / _SLOTS_SCALE]
