"""Sizes and times as Spark and YARN write them.

Spark's own reader is ``org.apache.spark.network.util.JavaUtils`` (``byteStringAs``, ``timeStringAs``): whole numbers
with a suffix, no fractions, upper or lower case. Memory inside yarntune is always MiB in an ``int``, time is always
seconds in a ``float``; text with a unit exists at the edges only.
"""

from __future__ import annotations

import re
from fractions import Fraction

from tuner.errors import InputError

_BYTES_PER_UNIT = {
    "b": 1,
    "k": 1024,
    "kb": 1024,
    "m": 1024**2,
    "mb": 1024**2,
    "g": 1024**3,
    "gb": 1024**3,
    "t": 1024**4,
    "tb": 1024**4,
    "p": 1024**5,
    "pb": 1024**5,
}
_SECONDS_PER_UNIT = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_SIZE = re.compile(r"([0-9]+)([a-z]+)?")
_TIME = re.compile(r"(-?[0-9]+)([a-z]+)?")
_FRACTION = re.compile(r"([0-9]+\.[0-9]+)([a-z]+)?")


def parse_bytes(text: str, *, default_unit: str) -> int:
    """Reads a size as Spark does.

    Args:
        text: for example ``4g``, ``512MB`` or ``4096``; blanks around it are allowed, inside it they are not.
        default_unit: the unit of a bare number, which differs from property to property (SPARK-32293).

    Returns:
        The size in bytes.

    Raises:
        InputError: for anything that Spark would refuse; fractions are named as such.
    """
    trimmed = text.strip().lower()
    match = _SIZE.fullmatch(trimmed)
    unit = (match.group(2) or default_unit) if match else None
    if match is None or unit not in _BYTES_PER_UNIT:
        fraction = _FRACTION.fullmatch(trimmed)
        if fraction:
            raise InputError(f"the size {text!r} has a fraction, which Spark refuses", _without_fraction(fraction))
        raise InputError(f"{text!r} is not a size", "write a whole number and a unit: k, m, g or t, for example 4g")
    return int(match.group(1)) * _BYTES_PER_UNIT[unit]


def _without_fraction(match: re.Match[str]) -> str:
    size = int(Fraction(match.group(1)) * _BYTES_PER_UNIT.get(match.group(2) or "", 0))
    if size < _BYTES_PER_UNIT["m"]:
        return "write it as a whole number of a smaller unit, for example 1536m for 1.5g"
    return f"write {size // _BYTES_PER_UNIT['m']}m"


def parse_memory_mib(text: str, *, default_unit: str = "m") -> int:
    """Reads a memory size, as :func:`parse_bytes`, in whole MiB (rounded down, as Spark does)."""
    return parse_bytes(text, default_unit=default_unit) // _BYTES_PER_UNIT["m"]


def format_memory(memory_mib: int) -> str:
    """Writes a memory size with its unit, always: ``4096`` alone means other things in other places."""
    if memory_mib < 0:
        raise InputError(f"a memory size cannot be negative: {memory_mib} MiB")
    return f"{memory_mib}m"


def parse_duration_s(text: str, *, default_unit: str = "s") -> float:
    """Reads a time as Spark does (``100ms``, ``2min``, ``30``), in seconds.

    Raises:
        InputError: where Spark would refuse the text.
    """
    match = _TIME.fullmatch(text.strip().lower())
    unit = (match.group(2) or default_unit) if match else None
    if match is None or unit not in _SECONDS_PER_UNIT:
        raise InputError(f"{text!r} is not a time", "write a whole number and a unit: ms, s, min, h or d")
    return int(match.group(1)) * _SECONDS_PER_UNIT[unit]


def gib_seconds(memory_seconds: float) -> float:
    """MiB·s, as the ResourceManager's ``memorySeconds``, in GiB·s."""
    return memory_seconds / 1024.0
