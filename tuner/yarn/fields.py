"""Reading one value out of a JSON answer, whatever type this version of Hadoop gives it.

Numbers come as numbers, as text, as ``"NaN"`` or not at all; lists come as a list, as the only element bare, as ``{}``
or as null. What cannot be understood is refused with a sentence that names the place.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from tuner.yarn.errors import YarnProtocolError
from tuner.yarn.model import Resource

Document = dict[str, Any]

_SHOWN_CHARACTERS = 80


def parse(text: str) -> Document:
    """Parses the body of an answer.

    A key that an object has several times, as Jersey 1 writes the entries of a map (Hadoop up to 3.4), becomes a list
    of all its values, where Python's reader would keep the last one.

    Raises:
        YarnProtocolError: the body is not a JSON object; what it is instead is named.
    """
    text = text.removeprefix("\ufeff")
    try:
        document = json.loads(text, object_pairs_hook=_merge)
    except (ValueError, RecursionError):
        raise YarnProtocolError(
            f"the answer is {_looks_like(text)} where JSON was expected: {excerpt(text)}",
            "look whether the address is the ResourceManager's own (YARNTUNE_RM_URL)",
        ) from None
    if not isinstance(document, dict):
        raise YarnProtocolError(f"the answer is not a JSON object: {excerpt(text)}")
    return document


def excerpt(text: str) -> str:
    """The beginning of a text, in one line, for a message."""
    line = " ".join(text.split())
    return repr(line if len(line) <= _SHOWN_CHARACTERS else line[:_SHOWN_CHARACTERS] + "…")


def _merge(pairs: list[tuple[str, Any]]) -> Document:
    merged: Document = {}
    repeated: set[str] = set()
    for key, value in pairs:
        if key not in merged:
            merged[key] = value
        elif key in repeated:
            merged[key].append(value)
        else:
            merged[key] = [merged[key], value]
            repeated.add(key)
    return merged


def _looks_like(text: str) -> str:
    start = text.lstrip()[:200].lower()
    if not start:
        return "empty"
    if start.startswith(("<!doctype html", "<html")):
        return "a web page"
    if start.startswith("<"):
        return "XML"
    return "plain text"


def member(document: Document, key: str) -> Document:
    """The object under a key that has to be there.

    Raises:
        YarnProtocolError: it is not, or is something else.
    """
    value = document.get(key)
    if isinstance(value, dict):
        return value
    found = ", ".join(list(document)[:5]) or "nothing"
    raise YarnProtocolError(
        f"the answer has no object {key!r}; it has {found}",
        "look whether the address is the ResourceManager's, and report the version of Hadoop if it is",
    )


def items(document: Document, *keys: str) -> list[Document]:
    """The objects of a list under a path of keys; empty where any part of the path is missing, null or empty.

    Raises:
        YarnProtocolError: what is there is neither an object nor a list of objects.
    """
    value: Any = document
    for key in keys:
        # Hadoop 2 leaves out the inner name of some lists ("childQueues": [...]).
        value = value.get(key) if isinstance(value, dict) else value
        if value is None or value in ({}, [], ""):
            return []
    found = value if isinstance(value, list) else [value]
    # Some versions write an empty list as [null].
    found = [item for item in found if item is not None]
    if not all(isinstance(item, dict) for item in found):
        raise YarnProtocolError(f"{'.'.join(keys)!r} holds {excerpt(str(found))}, where objects were expected")
    return found


def number(document: Document, key: str) -> float | None:
    """A number, from a number or its text; None where it is missing, null or not a number ("NaN").

    Raises:
        YarnProtocolError: it is something else.
    """
    value = document.get(key)
    if value is None or value == "":
        return None
    try:
        if isinstance(value, (bool, dict, list)):
            raise ValueError
        result = float(value)
    except (ValueError, OverflowError):
        raise YarnProtocolError(f"{key!r} is {excerpt(str(value))}, where a number was expected") from None
    return result if math.isfinite(result) else None


def integer(document: Document, key: str) -> int | None:
    """A whole number, exact however large; None as in :func:`number`."""
    value = document.get(key)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    result = number(document, key)
    return None if result is None else int(result)


def count(document: Document, key: str) -> int:
    """A whole number that is 0 where it is missing."""
    return integer(document, key) or 0


def text(document: Document, key: str, default: str = "") -> str:
    """A text; the default where it is missing or null."""
    value = document.get(key)
    return default if value is None else str(value)


def required_text(document: Document, key: str) -> str:
    """A text that has to be there.

    Raises:
        YarnProtocolError: it is missing or empty.
    """
    value = text(document, key)
    if not value:
        found = ", ".join(list(document)[:5]) or "nothing"
        raise YarnProtocolError(f"the answer has no {key!r}; it has {found}")
    return value


def flag(document: Document, key: str) -> bool | None:
    """True or false, from a boolean or its text; None where it is missing."""
    value = document.get(key)
    return None if value is None else str(value).lower() == "true"


def seconds(document: Document, key: str) -> float | None:
    """A time in seconds, from milliseconds; None where it is missing, or 0 or less, as what has not happened yet."""
    value = number(document, key)
    return None if value is None or value <= 0 else value / 1000.0


def resource(document: Document, key: str) -> Resource | None:
    """A resource object; None where it is missing.

    Raises:
        YarnProtocolError: it is something else.
    """
    value = document.get(key)
    if value is None or value == "":
        return None
    if not isinstance(value, dict):
        raise YarnProtocolError(f"{key!r} is {excerpt(str(value))}, where a resource was expected")
    return Resource(memory_mib=count(value, "memory"), vcores=count(value, "vCores"))


def names(value: Any) -> tuple[str, ...]:
    """Names from a list, a text with commas, or a wrapper object such as ``{"nodeLabelInfo": [{"name": ...}]}``."""
    if isinstance(value, str):
        return tuple(name for part in value.split(",") if (name := part.strip()))
    if isinstance(value, dict):
        return names(value["name"]) if "name" in value else names(list(value.values()))
    if isinstance(value, Sequence):
        return tuple(name for item in value for name in names(item))
    return ()
