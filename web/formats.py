"""How values are written for people. Pure."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from markupsafe import Markup, escape

from web.tables import Kind, plain

NOTHING = "–"  # noqa: RUF001 - an en dash, as tables have it

_STATES = {
    "good": {"SUCCEEDED", "FINISHED", "APPLIED", "VERIFIED", "done", "RUNNING", "ok", "KEPT"},
    "bad": {"FAILED", "LOST", "REJECTED", "ERROR", "critical", "failed", "STOPPED", "refused"},
    "warn": {"KILLED", "INTERRUPTED", "WARNING", "warning", "UNKNOWN", "STALE", "ROLLED_BACK", "DRAINING", "LOST"},
}


def tone(state: Any) -> str:
    """The colour class of a state: good, bad, warn or plain. The word is always there too."""
    text = str(plain(state))
    return next((name for name, states in _STATES.items() if text in states), "plain")


def seconds(value: float | None) -> str:
    """A time: 12.3 s, 4 min 05 s, 2 h 03 min."""
    if value is None:
        return NOTHING
    if abs(value) < 60:
        return f"{value:.1f} s"
    whole = round(abs(value))
    sign = "-" if value < 0 else ""
    if whole < 3600:
        return f"{sign}{whole // 60} min {whole % 60:02} s"
    if whole < 86400:
        return f"{sign}{whole // 3600} h {whole % 3600 // 60:02} min"
    return f"{sign}{whole // 86400} d {whole % 86400 // 3600:02} h"


def number(value: float | None, digits: int = 1) -> str:
    """A number with thousands apart; a whole one without a fraction."""
    if value is None:
        return NOTHING
    if isinstance(value, int) or float(value).is_integer():
        return f"{int(value):,}"
    return f"{value:,.{digits}f}" if abs(value) < 1000 else f"{value:,.0f}"


def gib_s(value: float | None) -> str:
    """GiB·s; from 10,000 on GiB·h."""
    if value is None:
        return NOTHING
    return f"{number(value / 3600)} GiB·h" if abs(value) >= 10_000 else f"{number(value)} GiB·s"


def mib(value: float | None) -> str:
    """Memory: MiB, from 1,024 on GiB."""
    if value is None:
        return NOTHING
    return f"{value / 1024:,.1f} GiB" if abs(value) >= 1024 else f"{value:,.0f} MiB"


def size(value: float | None) -> str:
    """Bytes with a binary unit."""
    if value is None:
        return NOTHING
    amount = float(value)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(amount) < 1024:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} TiB"


def percent(value: float | None) -> str:
    """A fraction as percents."""
    return NOTHING if value is None else f"{value:.0%}"


def change(value: float | None) -> str:
    """A relative change with its sign."""
    return NOTHING if value is None else f"{value:+.1%}"


def moment(at: float | None) -> str:
    """A time of the clock, in UTC; the page turns it into the reader's own."""
    return NOTHING if at is None else datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S")


def iso(at: float) -> str:
    """A time for machines."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def ago(at: float | None, now: float) -> str:
    """How long ago something was."""
    if at is None:
        return "never"
    age_s = max(0.0, now - at)
    for limit, length, unit in ((60, 1, "s"), (3600, 60, "min"), (86400 * 2, 3600, "h")):
        if age_s < limit:
            return f"{age_s // length:.0f} {unit} ago"
    return f"{age_s // 86400:.0f} days ago"


def money(value: float | None, currency: str) -> str:
    """An amount of money; small ones with the digits that matter."""
    if value is None:
        return NOTHING
    digits = 2 if abs(value) >= 1 or value == 0 else 4
    return f"{value:,.{digits}f} {currency}"


_WRITERS = {
    "number": number,
    "seconds": seconds,
    "gib_s": gib_s,
    "mib": mib,
    "bytes": size,
    "percent": percent,
    "change": change,
    "time": moment,
}


def ticks(text: str) -> Markup:
    """A sentence whose parts in backticks are code."""
    parts = str(text).split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if i % 2 else escape(part) for i, part in enumerate(parts)
    )


def cell(value: Any, kind: Kind) -> str:
    """A table's cell for people."""
    value = plain(value)
    if value is None or value == "":
        return NOTHING
    writer = _WRITERS.get(kind)
    if writer is None:
        return str(value)
    return writer(value)
