"""What the wrapper itself is told, apart from what is for spark-submit."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from tuner.errors import InputError

JOB_FLAG: Final = "--yarntune-job"
EXPLORE_EVERY: Final = 10


class Mode(StrEnum):
    """What the wrapper does with what is advised."""

    OFF = "off"
    """Nothing at all; the run is not recorded either."""
    RECOMMEND = "recommend"
    """Says what it would set, and submits what the user wrote."""
    APPLY = "apply"
    """Sets it."""
    EXPLORE = "explore"
    """As apply; now and then another configuration near it, to learn from."""


@dataclass(frozen=True)
class SubmitOrder:
    """One call of the wrapper.

    Attributes:
        tokens: for spark-submit, as the user wrote them.
        mode: see :class:`Mode`.
        job: the name that the user gives the job; None to know it by program, class, arguments and queue.
        pins: properties that are set in this run and not touched otherwise; None as a value where only the latter.
        explore_every: of so many runs, one may explore.
    """

    tokens: tuple[str, ...]
    mode: Mode = Mode.APPLY
    job: str | None = None
    pins: Mapping[str, str | None] = field(default_factory=dict)
    explore_every: int = EXPLORE_EVERY


def order_from(tokens: Sequence[str], environ: Mapping[str, str]) -> SubmitOrder:
    """Reads YARNTUNE_MODE, _JOB, _PIN and _EXPLORE_EVERY, and a ``--yarntune-job`` among the options.

    Args:
        tokens: all that comes after ``yarntune-submit``.
        environ: the environment.

    Raises:
        InputError: for a value of one of the variables that is none.
    """
    job, rest = _take_job(tokens)
    return SubmitOrder(
        tokens=rest,
        mode=read_mode(environ.get("YARNTUNE_MODE") or Mode.APPLY),
        job=job or environ.get("YARNTUNE_JOB") or None,
        pins=read_pins(_split(environ.get("YARNTUNE_PIN", ""))),
        explore_every=read_every(environ.get("YARNTUNE_EXPLORE_EVERY") or str(EXPLORE_EVERY)),
    )


def read_mode(text: str) -> Mode:
    """The mode of that name.

    Raises:
        InputError: there is none.
    """
    try:
        return Mode(text.strip().lower())
    except ValueError:
        raise InputError(f"{text!r} is no mode", f"one of: {', '.join(Mode)}") from None


def read_every(text: str) -> int:
    """Of how many runs one may explore.

    Raises:
        InputError: it is no whole number of at least 1.
    """
    if not text.strip().isdecimal() or int(text) < 1:
        raise InputError(f"YARNTUNE_EXPLORE_EVERY is {text!r}", "set a whole number of at least 1")
    return int(text)


def read_pins(texts: Sequence[str]) -> dict[str, str | None]:
    """Reads ``spark.name=value``, or ``spark.name`` alone to keep it from being touched.

    Raises:
        InputError: for a name that does not begin with ``spark.``.
    """
    pins: dict[str, str | None] = {}
    for text in texts:
        name, separator, value = text.partition("=")
        if not name.startswith("spark."):
            raise InputError(f"the pin {text!r} does not begin with spark.", "write spark.executor.memory=4g")
        pins[name] = value if separator else None
    return pins


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise InputError(f"YARNTUNE_PIN cannot be read: {error}", "quote it as a shell would") from None


def _take_job(tokens: Sequence[str]) -> tuple[str | None, tuple[str, ...]]:
    """Takes our own option out, wherever it stands before the application.

    Only up to the first token that is no option and no option's value: the application's arguments are its own.
    """
    from tuner.spark.argv import parse

    rest = list(tokens)
    for at, token in enumerate(rest):
        if token != JOB_FLAG and not token.startswith(f"{JOB_FLAG}="):
            continue
        try:
            before = parse(rest[:at])
        except InputError:
            # An option before it still waits for its value: this is that value, or spark-submit will complain.
            continue
        if before.application is not None:
            break
        if token == JOB_FLAG:
            if at + 1 == len(rest):
                raise InputError(f"{JOB_FLAG} needs a name")
            return rest[at + 1], (*rest[:at], *rest[at + 2 :])
        return token.partition("=")[2], (*rest[:at], *rest[at + 1 :])
    return None, tuple(tokens)
