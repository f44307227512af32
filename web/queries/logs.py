"""Event logs that were analysed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from web import charts
from web.respond import View
from web.tables import Column, Table

_METRICS = (
    ("duration_s", "Time", "seconds"),
    ("driver_s", "Of it no task ran", "seconds"),
    ("tasks", "Tasks", "number"),
    ("failed_tasks", "Failed tasks", "number"),
    ("stages", "Stages", "number"),
    ("executors", "Executors", "number"),
    ("idle_share", "Idle task slots", "percent"),
    ("gc_share", "Garbage collection", "percent"),
    ("skew", "Longest task over median", "number"),
    ("input_bytes", "Input", "bytes"),
    ("shuffle_read_bytes", "Shuffle read", "bytes"),
    ("disk_spill_bytes", "Spilt to disk", "bytes"),
)


def logs(records: Sequence[Mapping[str, Any]], *, upload_limit_mib: int) -> View:
    """The form, and what was analysed before."""
    columns = (
        Column("name", "File", link=("logs.log", {"number": "id"})),
        Column("application", "Application", "code"),
        Column("application_name", "Name"),
        Column("findings", "Findings", "number"),
        Column("at", "When", "time"),
        Column("who", "By"),
    )
    table = Table("reports", "Analysed before", columns, records, "No event log was uploaded yet.")
    return View("logs", "Event logs", {"upload_limit_mib": upload_limit_mib}, (table,))


def log(number: str, record: Mapping[str, Any]) -> View:
    """One analysis."""
    report = record["report"]
    metrics = report["metrics"]
    memory = report.get("memory") or {}
    values = {
        "id": number,
        "name": record["name"],
        "at": record["at"],
        "increment_mib": record["increment_mib"],
        "report": report,
        "lines": [f"--conf {name}={value}" for name, value in report["configuration"].items()],
    }
    figures = [
        {"what": title, "value": metrics.get(key), "kind": kind}
        for key, title, kind in _METRICS
        if metrics.get(key) is not None
    ]
    tables = (_findings_table(report), _configuration_table(report), _memory_table(memory))
    return View("log", f"Event log {record['name']}", values, tables, (_memory_chart(memory),), {"figures": figures})


def _findings_table(report: Mapping[str, Any]) -> Table:
    columns = (
        Column("severity", "Severity", "state"),
        Column("title", "Finding"),
        Column("where", "Where"),
        Column("evidence", "Evidence"),
        Column("advice", "Advice"),
        Column("gain", "Brings"),
    )
    empty = "Nothing was found in what could be judged."
    return Table("findings", "Findings, the gravest first", columns, report["findings"], empty)


def _configuration_table(report: Mapping[str, Any]) -> Table:
    changes = {each["property"]: each for finding in report["findings"] for each in finding["changes"]}
    rows = [
        {
            "property": name,
            "before": changes.get(name, {}).get("before"),
            "after": value,
            "why": ", ".join(report["reasons"].get(name, ())),
        }
        for name, value in report["configuration"].items()
    ]
    columns = (
        Column("property", "Property", "code"),
        Column("before", "Was", "code"),
        Column("after", "Set", "code"),
        Column("why", "Because of"),
    )
    return Table("configuration", "What to set", columns, rows, "Nothing to change.")


def _memory_table(memory: Mapping[str, Any]) -> Table:
    parts = (
        ("container_mib", "Container, as granted"),
        ("heap_mib", "Heap"),
        ("overhead_mib", "Overhead"),
        ("off_heap_mib", "Off-heap"),
        ("pyspark_mib", "PySpark"),
        ("unified_peak_mib", "Execution and storage, at most"),
        ("native_peak_mib", "Native memory, at most"),
        ("python_peak_mib", "Python, at most"),
        ("suggested_container_mib", "Container, as suggested"),
    )
    rows = [{"what": title, "mib": memory[key]} for key, title in parts if memory.get(key)]
    columns = (Column("what", "What"), Column("mib", "Size", "mib"))
    return Table("memory", "One executor's memory", columns, rows, "The log says nothing of executors' memory.")


def _memory_chart(memory: Mapping[str, Any]) -> charts.Chart:
    table = _memory_table(memory)
    labels = [str(row["what"]) for row in table.rows]
    sizes = [row["mib"] / 1024 for row in table.rows]
    container, suggested = memory.get("container_mib"), memory.get("suggested_container_mib")
    summary = "The log says nothing of executors' memory."
    if container and suggested:
        summary = f"An executor's container has {container / 1024:.1f} GiB; {suggested / 1024:.1f} GiB are suggested."
    return charts.Chart(
        "memory-chart", "One executor's memory", summary, (charts.bars("GiB", labels, sizes),), "memory",
        {"xaxis": charts.axis("GiB", rangemode="tozero"), "yaxis": {"autorange": "reversed", "automargin": True}},
    )  # fmt: skip
