"""One run: how it went, what it was configured to, and what its event log says."""

from __future__ import annotations

from typing import Any

from tuner.store import Job, Run
from web.queries.job import run_row
from web.respond import View
from web.tables import Column, Table


def run(found: Run, job: Job) -> View:
    """Everything of one run."""
    values: dict[str, Any] = {
        "run": {
            **run_row(found, set()),
            "job_id": job.id,
            "job": job.name,
            "study_id": found.study_id,
            "queue": found.queue,
            "finished_at": found.finished_at,
            "vcore_seconds": found.vcore_seconds,
            "input_bytes": found.input_bytes,
            "spark_version": found.spark_version,
            "arguments": list(found.arguments),
        }
    }
    pair = (Column("name", "Name", "code"), Column("value", "Value", "code"))
    tables = (
        Table("configuration", "Configuration", pair, _rows(found.configuration), "Nothing was set."),
        Table("metrics", "What its event log says", pair, _rows(found.metrics), "It has no event log."),
        Table("load", "Load when it was submitted", pair, _rows(found.load or {}), "The load was not recorded."),
    )
    return View("run", f"Run {found.id}", values, tables)


def _rows(values: Any) -> list[dict[str, Any]]:
    return [{"name": name, "value": _text(value)} for name, value in values.items()]


def _text(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, float):
        return f"{value:g}"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
