"""Tunings that this server has started."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from web.respond import View
from web.tables import Column, Table
from web.tunings import Tuning


def tunings(found: Sequence[Tuning]) -> View:
    """The list, newest first."""
    columns = (
        Column("id", "Tuning", "number", ("tunings.tuning", {"number": "id"})),
        Column("program", "Program", "code"),
        Column("state", "State", "state"),
        Column("trials", "Runs wanted", "number"),
        Column("started_at", "Began", "time"),
        Column("who", "By"),
    )
    empty = "None was started from here yet. Those from the command line are on the pages of their jobs."
    return View(
        "tunings", "Tunings", {}, (Table("tunings", "Started here", columns, [row(each) for each in found], empty),)
    )


def row(tuning: Tuning) -> dict[str, Any]:
    """One of them."""
    return {
        "id": tuning.id,
        "program": tuning.order.program,
        "state": state(tuning),
        "trials": tuning.order.trials,
        "started_at": tuning.started_at,
        "who": tuning.who,
        "exit_status": tuning.status,
    }


def state(tuning: Tuning) -> str:
    """How far it is, in a word."""
    if tuning.running:
        return "RUNNING"
    if tuning.status is None:
        return "ended"
    return {0: "FINISHED", 130: "INTERRUPTED"}.get(tuning.status, "FAILED")
