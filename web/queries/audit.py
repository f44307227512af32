"""The audit: who changed what, when, why, and how it went."""

from __future__ import annotations

from dataclasses import replace

from tuner.store import Store
from web.queries.overview import audit_table
from web.respond import View
from web.tables import Column

PAGE_SIZE = 100


def audit(store: Store, *, subject: str = "", before_id: int | None = None, limit: int = PAGE_SIZE) -> View:
    """A page of the audit, newest first.

    Args:
        store: the store.
        subject: of this subject only, for example ``plan 12``.
        before_id: the last id of the page before.
        limit: how many rows a page has.
    """
    rows = store.audit.list(subject=subject or None, limit=limit, before_id=before_id)
    table = audit_table(rows)
    table = replace(table, columns=(Column("id", "No.", "number"), *table.columns))
    if subject:
        table = replace(table, empty=f"Nothing was ever done to {subject!r}.")
    values = {"subject": subject, "next_before": rows[-1].id if len(rows) == limit else None}
    return View("audit", "Audit", values, (table,))
