"""Limits: what the rules derive from a configuration and the simulation obeys.

A limit is a term with coefficients, not a number: a user's share depends on how many users are active, so the rule
gives the percent and the factor, and the simulation evaluates the term against its state. The simulation has no limit
of its own: where no rule gives one, it acts as a scheduler without that mechanism.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

__all__ = ["Limit", "Limits"]


@dataclass(frozen=True, slots=True)
class Limit:
    """One term.

    Attributes:
        rule: id of the rule that derived it.
        kind: what it limits; the kinds of each scheduler are in its rule set.
        queue: full path of the queue that it holds for, empty for the whole cluster.
        coefficients: the term's parameters by name; units are in the names.
    """

    rule: str
    kind: str
    queue: str
    coefficients: Mapping[str, float] = field(hash=False)

    def __getitem__(self, name: str) -> float:
        return self.coefficients[name]


@dataclass(frozen=True)
class Limits:
    """The limits of one configuration, at most one of a kind for each queue."""

    _by_place: Mapping[tuple[str, str], Limit]

    @classmethod
    def of(cls, limits: Iterable[Limit]) -> Limits:
        """Collects limits.

        Raises:
            ValueError: two rules gave a limit of the same kind for the same queue.
        """
        by_place: dict[tuple[str, str], Limit] = {}
        for limit in limits:
            other = by_place.setdefault((limit.queue, limit.kind), limit)
            if other is not limit:
                raise ValueError(f"rules {other.rule} and {limit.rule} both give {limit.kind} of {limit.queue!r}")
        return cls(by_place)

    def get(self, kind: str, queue: str = "") -> Limit | None:
        """The limit of a kind for a queue, None where no rule gave one."""
        return self._by_place.get((queue, kind))

    def __iter__(self) -> Iterator[Limit]:
        return iter(self._by_place.values())

    def __len__(self) -> int:
        return len(self._by_place)
