"""Reads what is in a query or a form, and refuses what cannot be meant."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping

from flask import request

from web.errors import Refused

_LARGEST = 2**62
_LONGEST = 2_000


def whole(
    name: str, default: int, *, least: int = 1, most: int = _LARGEST, source: Mapping[str, str] | None = None
) -> int:
    """A whole number.

    Raises:
        Refused: 400 where it is none, or out of bounds.
    """
    return _whole(name, _text(name, source), least, most) if _text(name, source) else default


def optional_whole(name: str, *, least: int = 1, most: int = _LARGEST) -> int | None:
    """A whole number; None where it is not given.

    Raises:
        Refused: 400 where it is none, or out of bounds.
    """
    return _whole(name, _text(name, None), least, most) if _text(name, None) else None


def fraction(name: str, default: float, *, source: Mapping[str, str] | None = None) -> float:
    """A number from 0 to 1.

    Raises:
        Refused: 400 where it is none.
    """
    text = _text(name, source)
    if not text:
        return default
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise Refused(400, f"{name} is {text!r}, which is not a number from 0 to 1")
    return value


def number(name: str, *, least: float, most: float) -> float | None:
    """A number; None where it is not given.

    Raises:
        Refused: 400 where it is none, or out of bounds.
    """
    text = _text(name, None)
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not least <= value <= most:
        raise Refused(400, f"{name} is {text!r}, which is not a number from {least:g} to {most:g}")
    return value


def choice(name: str, choices: Collection[str], default: str) -> str:
    """One of several.

    Raises:
        Refused: 400 where it is none of them.
    """
    text = _text(name, None) or default
    if text not in choices:
        raise Refused(400, f"{name} is {text!r}", f"it can be {', '.join(choices)}")
    return text


def words(name: str, *, source: Mapping[str, str] | None = None) -> str:
    """Text, empty where it is not given.

    Raises:
        Refused: 400 where it is too long, or not text.
    """
    return _text(name, source)


def _whole(name: str, text: str, least: int, most: int) -> int:
    value = int(text) if text.isascii() and text.isdigit() and len(text) < 20 else -1
    if not least <= value <= most:
        bounds = f"of at least {least}" if most == _LARGEST else f"from {least} to {most}"
        raise Refused(400, f"{name} is {text!r}, which is not a whole number {bounds}")
    return value


def _text(name: str, source: Mapping[str, str] | None) -> str:
    text = (request.args if source is None else source).get(name, "").strip()
    if len(text) > _LONGEST:
        raise Refused(400, f"{name} is longer than {_LONGEST} characters")
    if "\x00" in text:
        raise Refused(400, f"{name} has a NUL in it")
    return text
