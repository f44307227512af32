"""The Capacity Scheduler's way of writing a capacity, both ways, and the arithmetic of percentages and weights.

Sources: ``CapacitySchedulerConfiguration`` (``getNonLabeledQueueCapacity``, ``updateResourceValuesFromConfig``) and
``QueueCapacityConfigParser`` of Hadoop 3.4, ``UnitsConversionUtil`` for the units.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction

from rules.model import MEMORY, VCORES, Capacity, CapacityMode, ResourceShare
from tuner.errors import InputError

PRECISION = 0.0005
"""How far a sum of siblings may be from 1 (``AbstractParentQueue.PRECISION``), as a fraction."""

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_SHARE = re.compile(r"(?P<resource>[\w.\-/]+)=(?P<number>\d+(?:\.\d+)?)(?P<unit>[A-Za-z%]*)")
# UnitsConversionUtil; powers of 1000 in upper case but for k, powers of 1024 with an i. Its milli ("m"), micro, nano
# and pico make nothing of any memory, so they are refused here.
_BYTES_PER_UNIT = {
    "k": 1000,
    "M": 1000**2,
    "G": 1000**3,
    "T": 1000**4,
    "P": 1000**5,
    "Ki": 1024,
    "Mi": 1024**2,
    "Gi": 1024**3,
    "Ti": 1024**4,
    "Pi": 1024**5,
}
_MEBIBYTE = 1024**2


def parse_number(text: str) -> float:
    """Reads a plain decimal number.

    Raises:
        InputError: for anything else, Java's ``NaN``, ``Infinity`` and ``1f`` included, which the RM would take.
    """
    trimmed = text.strip()
    if not _NUMBER.fullmatch(trimmed):
        raise InputError(f"{text!r} is not a number", "write a plain number, for example 12.5")
    return float(trimmed)


def parse_capacity(text: str) -> Capacity:
    """Reads a capacity or a maximum capacity.

    Args:
        text: ``50`` (percent of the parent), ``4w`` (weight), ``[memory=4096,vcores=4]`` (absolute) or
            ``[memory=50%,vcores=2w]`` (vector). Memory without a unit is MiB; units are k, M, G, T, P and Ki to Pi.

    Raises:
        InputError: for anything that the RM refuses, or would take for something else than what is written.
    """
    trimmed = text.strip()
    if trimmed.startswith("["):
        return _parse_shares(trimmed)
    if trimmed.endswith("%"):
        raise InputError(
            f"capacity {text!r} has a percent sign, which the ResourceManager refuses outside of [...]",
            f"write {trimmed[:-1].strip() or '50'}",
        )
    number, mode = (trimmed[:-1], CapacityMode.WEIGHT) if trimmed.endswith("w") else (trimmed, CapacityMode.PERCENT)
    if not _NUMBER.fullmatch(number):
        raise InputError(
            f"{text!r} is not a capacity", "write a percentage (50), a weight (4w) or amounts ([memory=4096,vcores=4])"
        )
    return Capacity(mode, float(number))


def _parse_shares(text: str) -> Capacity:
    if not text.endswith("]"):
        raise InputError(f"capacity {text!r} has no closing bracket", "write [memory=4096,vcores=4]")
    parts = [part.replace(" ", "") for part in text[1:-1].split(",") if part.strip()]
    shares = tuple(_parse_share(part, text) for part in parts)
    names = [share.resource for share in shares]
    if len(set(names)) < len(names):
        raise InputError(f"capacity {text!r} names a resource twice", "write each resource once")
    if MEMORY not in names or any(share.resource == MEMORY and share.value == 0 for share in shares):
        raise InputError(
            f"capacity {text!r} gives no memory, and the ResourceManager then ignores all of it",
            "name the memory, for example [memory=4096,vcores=4]",
        )
    absolute = all(share.mode is CapacityMode.ABSOLUTE for share in shares)
    return Capacity(CapacityMode.ABSOLUTE if absolute else CapacityMode.VECTOR, 0.0, shares)


def _parse_share(part: str, text: str) -> ResourceShare:
    match = _SHARE.fullmatch(part)
    if match is None:
        raise InputError(f"{part!r} in capacity {text!r} is not NAME=AMOUNT", "write for example memory=4096")
    resource = MEMORY if match["resource"] in ("memory", MEMORY) else match["resource"]
    value, unit = float(match["number"]), match["unit"]
    if unit == "%":
        return ResourceShare(resource, CapacityMode.PERCENT, value)
    if unit == "w":
        return ResourceShare(resource, CapacityMode.WEIGHT, value)
    if unit and (resource == VCORES or unit not in _BYTES_PER_UNIT):
        raise InputError(
            f"{part!r} in capacity {text!r} has the unit {unit!r}, which YARN does not know there",
            "leave it out for MiB and vcores, or write Mi, Gi or Ti for memory",
        )
    if not value.is_integer():
        raise InputError(f"{part!r} in capacity {text!r} has a fraction", "write a whole number of a smaller unit")
    amount = int(value) * _BYTES_PER_UNIT[unit] // _MEBIBYTE if unit else int(value)
    return ResourceShare(resource, CapacityMode.ABSOLUTE, float(amount))


def format_capacity(capacity: Capacity) -> str:
    """Writes a capacity so that :func:`parse_capacity` reads the same.

    Raises:
        InputError: for one that is not set, which has no text.
    """
    if capacity.mode is CapacityMode.UNSET:
        raise InputError("a capacity that is not set cannot be written", "remove the property instead")
    if capacity.mode is CapacityMode.PERCENT:
        return format_number(capacity.value)
    if capacity.mode is CapacityMode.WEIGHT:
        return format_number(capacity.value) + "w"
    suffix = {CapacityMode.PERCENT: "%", CapacityMode.WEIGHT: "w", CapacityMode.ABSOLUTE: ""}
    parts = (
        f"{'memory' if share.resource == MEMORY else share.resource}={format_number(share.value)}{suffix[share.mode]}"
        for share in capacity.shares
    )
    return f"[{','.join(parts)}]"


def format_number(value: float) -> str:
    """Writes a number without exponent and without needless zeros: ``50``, ``33.333``."""
    text = format(Decimal(repr(float(value))), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def percentages(shares: Sequence[float | Fraction | Decimal], decimals: int = 3) -> list[Decimal]:
    """Turns shares into percentages of so many decimals that add up to exactly 100.

    Each is cut, and what is then missing goes step by step to those that lost most, of equal ones to the last, as in
    the published conversions of Fair weights (33.333, 33.333, 33.334). So none is off by a whole step.

    Raises:
        InputError: if a share is negative, or all are 0.
    """
    exact = [Fraction(share) for share in shares]
    total = sum(exact, Fraction(0))
    if any(share < 0 for share in exact) or total <= 0:
        raise InputError(f"these shares make no whole: {[str(share) for share in shares]}", "give at least one above 0")
    steps_in_all = 100 * 10**decimals
    steps = [share * steps_in_all / total for share in exact]
    whole = [int(step) for step in steps]
    by_loss = sorted(range(len(steps)), key=lambda index: (steps[index] - whole[index], index), reverse=True)
    for index in by_loss[: steps_in_all - sum(whole)]:
        whole[index] += 1
    return [Decimal(count).scaleb(-decimals) for count in whole]


def weights_to_percent(weights: Mapping[str, float], decimals: int = 3) -> dict[str, str]:
    """Turns siblings' weights into percentages, by name, that total exactly 100.

    Raises:
        InputError: if a weight is negative, or all are 0.
    """
    values = percentages([Decimal(repr(float(weight))) for weight in weights.values()], decimals)
    return {name: format_number(float(value)) for name, value in zip(weights, values, strict=True)}


def undrift(text: str, decimals: int = 3) -> str:
    """Takes the noise of single precision off a percentage: ``30.000002`` becomes ``30``.

    The RM reports percentages as float32; written back as they are, the siblings' sum drifts with each round. Numbers
    that single precision does not explain, and everything that is not a percentage, stay as they are.
    """
    capacity = parse_capacity(text)
    if capacity.mode is not CapacityMode.PERCENT:
        return text
    exact = Decimal(repr(capacity.value))
    near = exact.quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)
    # A float32 has 24 bits; pct/100f and back loses a few units in the last place.
    noise = max(abs(near), Decimal(1)) * Decimal(2) ** -21
    return format_number(float(near)) if abs(exact - near) <= noise else text


def settle(siblings: Mapping[str, str], decimals: int = 3) -> dict[str, str]:
    """Makes siblings' reported percentages fit to be written back: without noise, and exactly 100 in all.

    Args:
        siblings: capacities by name, as the RM reports them.
        decimals: of the percentages.

    Returns:
        The same without the noise. Percentages that were meant to be 100 (within :data:`PRECISION`) are then brought
        to exactly 100; a sum that is truly another one stays, for the checks to tell.
    """
    plain = {name: undrift(text, decimals) for name, text in siblings.items()}
    capacities = [parse_capacity(text) for text in plain.values()]
    total = sum((Decimal(repr(capacity.value)) for capacity in capacities), Decimal(0))
    all_percent = all(capacity.mode is CapacityMode.PERCENT for capacity in capacities)
    if not all_percent or total == 100 or abs(total - 100) > Decimal(repr(100 * PRECISION)):
        return plain
    return weights_to_percent({name: float(text) for name, text in plain.items()}, decimals)
