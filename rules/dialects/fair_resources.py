"""The ways in which an allocation file writes an amount of resources.

``FairSchedulerConfiguration.parseResourceConfigValue`` reads them all: ``4096 mb, 4 vcores`` (also without the comma),
``50%``, ``50% memory, 20% cpu``, ``vcores=4, memory-mb=4096`` and ``vcores=20%, memory-mb=50%``; other resource types
may follow in the two new styles.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from tuner.errors import InputError

UNBOUNDED = 2**63 - 1
UNBOUNDED_VCORES = 2**31 - 1
MEMORY = "memory-mb"
VCORES = "vcores"

_PERCENT = re.compile(r"(-?(\d+)(\.\d*)?)\s*%\s*")
_AMOUNT = re.compile(r"\s*(-?\d+)(?:\.\d*)?\s*")
_SPACED = re.compile(r"-?\d+(?:\.\d*)?\s*[a-z]+\s*")
_INTEGER = re.compile(r"[+-]?\d+")

Style = Literal["old", "percent", "named", "named-percent"]


@dataclass(frozen=True)
class ResourceSpec:
    """An amount of resources as an allocation file states it.

    Attributes:
        style: how it was written, so that it can be written that way again.
        amounts: MiB, vcores and other types by name; what is absent is unbounded in a maximum, 0 in a minimum.
        fractions: parts of the cluster by name (0.5 for ``50%``); what is absent is the whole cluster.
    """

    style: Style
    amounts: tuple[tuple[str, int], ...] = ()
    fractions: tuple[tuple[str, float], ...] = ()

    @property
    def is_fraction(self) -> bool:
        """Whether it is a part of the cluster rather than an amount."""
        return self.style in ("percent", "named-percent")

    def resolve(self, cluster_memory_mib: int, cluster_vcores: int, *, missing: int) -> tuple[int, int]:
        """MiB and vcores on a cluster (``ConfigurableResource.getResource``; fractions are cut to whole numbers).

        Args:
            cluster_memory_mib: memory of all nodes.
            cluster_vcores: vcores of all nodes.
            missing: the amount of a type that is not named: 0 in a minimum, UNBOUNDED in a maximum.
        """
        if self.is_fraction:
            parts = dict(self.fractions)
            return int(cluster_memory_mib * parts.get(MEMORY, 1.0)), int(cluster_vcores * parts.get(VCORES, 1.0))
        given = dict(self.amounts)
        return given.get(MEMORY, missing), given.get(VCORES, min(missing, UNBOUNDED_VCORES))

    def format(self) -> str:
        """The amount as text, in the style in which it was written."""
        if self.style == "old":
            given = dict(self.amounts)
            return f"{given[MEMORY]} mb,{given[VCORES]} vcores"
        if self.style == "named":
            return ",".join(f"{name}={amount}" for name, amount in self.amounts)
        if self.style == "named-percent":
            return ",".join(f"{name}={_percent_text(part)}" for name, part in self.fractions)
        parts = dict(self.fractions)
        if len(set(parts.values())) == 1:
            return _percent_text(parts[MEMORY])
        return f"{_percent_text(parts[MEMORY])} memory, {_percent_text(parts[VCORES])} cpu"


def absolute(memory_mib: int, vcores: int) -> ResourceSpec:
    """An amount in the style that every version of the Fair Scheduler reads."""
    return ResourceSpec("old", ((MEMORY, memory_mib), (VCORES, vcores)))


def parse_resources(text: str) -> ResourceSpec:
    """Reads an amount of resources as the ResourceManager does.

    Raises:
        InputError: for all that the ResourceManager refuses, with its reason.
    """
    if not text.strip():
        raise InputError("the amount of resources is empty", "write for example 4096 mb,4 vcores")
    if "=" in text:
        return _parse_named(text)
    if "%" in text:
        return _parse_percent(text.lower())
    return _parse_old(text.lower(), text)


def _parse_named(text: str) -> ResourceSpec:
    percent = "%" in text
    amounts: dict[str, int] = {}
    fractions: dict[str, float] = {}
    for part in text.rstrip(",").split(","):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not name or not value or "=" in value:
            raise InputError(f"{text!r}: every resource must be of the form name=value", "for example memory-mb=4096")
        if percent:
            fractions[name] = _fraction(value, name, text)
        else:
            amounts[name] = _whole(value, name, text)
    if percent:
        return ResourceSpec("named-percent", fractions=tuple(fractions.items()))
    return ResourceSpec("named", tuple(amounts.items()))


def _whole(value: str, name: str, text: str) -> int:
    if not _INTEGER.fullmatch(value):
        raise InputError(f"{text!r}: the amount of {name}, {value!r}, is not a whole number")
    if int(value) < 0:
        raise InputError(f"{text!r}: the amount of {name}, {value}, is negative")
    return int(value)


def _fraction(value: str, name: str, text: str) -> float:
    match = _PERCENT.fullmatch(value)
    if match is None or float(match.group(1)) < 0:
        raise InputError(f"{text!r}: {value!r} for {name} is not a percentage, or is negative", "write for example 50%")
    return float(match.group(1)) / 100.0


def _parse_percent(text: str) -> ResourceSpec:
    pieces = text.split(",")
    if len(pieces) == 1:
        part = _fraction(text.strip(), "all resources", text)
        return ResourceSpec("percent", fractions=((MEMORY, part), (VCORES, part)))
    found = []
    for word in ("memory", "cpu"):
        piece = next((p.strip() for p in pieces if word in p), None)
        if piece is None:
            raise InputError(f"{text!r}: no percentage of {word}", "write for example 50% memory, 20% cpu")
        if not piece.endswith(word):
            raise InputError(f"{text!r}: {piece!r} is not a percentage of {word}")
        found.append(_fraction(piece.removesuffix(word), word, text))
    return ResourceSpec("percent", fractions=((MEMORY, found[0]), (VCORES, found[1])))


def _parse_old(text: str, written: str) -> ResourceSpec:
    pieces = text.split(",")
    if len(pieces) != 2:
        pieces = _SPACED.findall(text)
    if len(pieces) != 2:
        raise InputError(f"{written!r} is not an amount of resources", "write for example 4096 mb,4 vcores")
    amounts = []
    for word, name in (("mb", MEMORY), ("vcores", VCORES)):
        piece = next((p for p in pieces if word in p), None)
        match = re.match(_AMOUNT.pattern + word, piece) if piece else None
        if match is None:
            raise InputError(f"{written!r}: no amount of {word}", "write for example 4096 mb,4 vcores")
        amount = int(match.group(1))
        if amount < 0:
            raise InputError(f"{written!r}: {amount} {word} is negative")
        if amount > UNBOUNDED_VCORES:
            raise InputError(f"{written!r}: {amount} {word} is more than the ResourceManager can read (2147483647)")
        amounts.append((name, amount))
    return ResourceSpec("old", tuple(amounts))


def _percent_text(part: float) -> str:
    return f"{part * 100:.10g}%"
