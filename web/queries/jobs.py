"""The list of jobs."""

from __future__ import annotations

from typing import Any

from tuner.settings import MemoryPrice
from tuner.store import Store
from tuner.store.statistics import JobSaving, JobTotals
from tuner.units import gib_seconds
from web.queries.overview import JOB_LINK
from web.respond import View
from web.tables import Column, Table

PAGE_SIZE = 50

_EMPTY = "No jobs yet: `yarntune tune APP` tunes one, `yarntune submit` records the runs of one."
_NOT_FOUND = "No job has this in its name, its program or its queue."


def jobs(
    store: Store,
    price: MemoryPrice | None,
    *,
    search: str = "",
    sort: str = "last",
    page: int = 1,
    limit: int = PAGE_SIZE,
    before_id: int | None = None,
) -> View:
    """A page of jobs with what is known of their runs.

    Args:
        store: the store.
        price: of memory, where it is set.
        search: part of a name, a program or a queue.
        sort: see :meth:`tuner.store.statistics.Statistics.jobs`.
        page: counted from 1.
        limit: how many jobs a page has.
        before_id: only jobs that are older than this one.
    """
    found, total = store.statistics.jobs(
        search=search, sort=sort, limit=limit, offset=(page - 1) * limit, before_id=before_id
    )
    savings = {each.job_id: each for each in store.statistics.savings(job_ids=[each.job.id for each in found])}
    columns = (
        Column("name", "Job", link=JOB_LINK),
        Column("queue", "Queue"),
        Column("runs", "Runs", "number"),
        Column("succeeded", "Succeeded", "number"),
        Column("failed", "Failed", "number"),
        Column("last_submitted_at", "Newest run", "time"),
        Column("best_change", "Best against default", "change"),
        Column("saved_per_run_gib_s", "Saves at each run", "gib_s"),
        Column("status", "Tuning", "state"),
    )
    rows = [_row(each, savings.get(each.job.id)) for each in found]
    table = Table("jobs", "Jobs", columns, rows, _NOT_FOUND if search else _EMPTY)
    values = {
        "total": total,
        "page": page,
        "pages": max(1, -(-total // limit)),
        "search": search,
        "sort": sort,
        "price": None if price is None else f"{price.per_gib_hour:g} {price.currency}",
    }
    return View("jobs", "Jobs", values, (table,))


def _row(totals: JobTotals, saving: JobSaving | None) -> dict[str, Any]:
    job = totals.job
    change = None
    if saving is not None and saving.baseline_memory_seconds:
        change = saving.best_memory_seconds / saving.baseline_memory_seconds - 1
    return {
        "job_id": job.id,
        "key": job.key,
        "name": job.name,
        "program": job.program,
        "queue": job.queue,
        "runs": totals.runs,
        "succeeded": totals.succeeded,
        "failed": totals.failed,
        "last_submitted_at": totals.last_submitted_at,
        "best_change": change,
        "saved_per_run_gib_s": None if saving is None else gib_seconds(saving.per_run),
        "status": "RUNNING" if totals.tuning else ("tuned" if saving is not None else ""),
    }
