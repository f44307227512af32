"""What-ifs: what the estimator says of another configuration of the queues."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from web import charts
from web.respond import View
from web.tables import Column, Table
from workloads.trace import Case


def form(
    names: Sequence[str],
    name: str,
    case: Case | None,
    properties: Mapping[str, str],
    changes: Mapping[str, str],
    allocations: str | None = None,
) -> View:
    """The form: which case, and which values.

    Args:
        names: of the cases there are.
        name: of the chosen one; empty for none.
        case: the chosen one.
        properties: what it sets.
        changes: what was changed, by property.
        allocations: the changed text of the Fair Scheduler's allocation file; None where it is the case's.
    """
    rows = [
        {"property": each, "now": value, "then": changes.get(each, value), "changed": each in changes}
        for each, value in properties.items()
    ]
    rows += [
        {"property": each, "now": None, "then": value, "changed": True}
        for each, value in changes.items()
        if each not in properties
    ]
    values = {
        "case": name,
        "changes": dict(changes),
        "jobs": None if case is None else len(case.jobs),
        "nodes": None if case is None else len(case.nodes),
        "memory_mib": None if case is None else sum(node.memory_mib for node in case.nodes),
        "scheduler": None if case is None else case.scheduler,
        "horizon_s": None if case is None else case.horizon_s,
        "allocations": None if case is None or case.scheduler != "fair" else allocations or case.allocations,
    }
    columns = (
        Column("property", "Property", "code"),
        Column("now", "Now", "code"),
        Column("then", "Then", "code"),
    )
    table = Table("properties", "Properties", columns, rows, "The case sets no property.")
    return View("whatif", "What if", values, (table,), (), {"names": names})


def result(name: str, changes: Mapping[str, str], found: Mapping[str, Any]) -> View:
    """What the estimator says."""
    queues = _queues_table(found["queues"])
    values = {
        "case": name,
        "changes": dict(changes),
        "elapsed_s": found["elapsed_s"],
        "utilisation": found["utilisation"],
        "verdict": verdict(found["queues"][0]),
    }
    tables = (queues, _rules_table(found["rules"]), _jobs_table(found["jobs"]))
    return View("whatif_result", "What if", values, tables, (_queues_chart(found["queues"]),))


def verdict(total: Mapping[str, Any]) -> str:
    """One sentence on the change over all queues, which says so where it is within the spread."""
    before, after = total["unfinished_before"], total["unfinished_after"]
    if before != after:
        return f"{after} jobs do not end, against {before} now."
    change, low, high = total["change_s"], total["low_s"], total["high_s"]
    if not total["jobs"] or change is None or not total["mean_before_s"]:
        return "There is no job to judge by."
    if change == 0 and low in (0, None):
        return "Nothing changes: no job is served otherwise."
    share = abs(change) / total["mean_before_s"]
    if low is not None and high is not None and low < 0 < high:
        return "No clear difference: the change is within the spread of the jobs."
    return f"The mean latency is {share:.0%} {'less' if change < 0 else 'more'}."


def _queues_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    columns = (
        Column("queue", "Queue"),
        Column("jobs", "Jobs", "number"),
        Column("change_s", "Mean change", "seconds"),
        Column("low_s", "At least", "seconds"),
        Column("high_s", "At most", "seconds"),
        Column("mean_before_s", "Mean now", "seconds"),
        Column("mean_after_s", "Then", "seconds"),
        Column("p95_before_s", "95th percentile now", "seconds"),
        Column("p95_after_s", "Then", "seconds"),
        Column("slowdown_before", "Slowdown now", "number"),
        Column("slowdown_after", "Then", "number"),
        Column("unfinished_before", "Unfinished now", "number"),
        Column("unfinished_after", "Then", "number"),
    )
    return Table("queues", "Latency by queue", columns, rows)


def _rules_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    columns = (
        Column("rule", "Rule", "code"),
        Column("before_s", "Waited for it now", "seconds"),
        Column("after_s", "Then", "seconds"),
    )
    return Table("rules", "Rules that bind: seconds that all jobs waited for each", columns, rows, "No job waits.")


def _jobs_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    columns = (
        Column("job", "Job", "code"),
        Column("queue", "Queue"),
        Column("before_s", "Latency now", "seconds"),
        Column("after_s", "Then", "seconds"),
        Column("binding", "Waited longest for", "code"),
    )
    return Table("jobs", "Jobs that change most", columns, rows, "There are no jobs.")


def _queues_chart(rows: Sequence[Mapping[str, Any]]) -> charts.Chart:
    names = [str(row["queue"]) for row in rows]
    layout = {
        "barmode": "group",
        "xaxis": charts.axis("Mean latency, s", rangemode="tozero"),
        "yaxis": {"autorange": "reversed", "automargin": True},
    }
    traces = (
        charts.bars("now", names, [row["mean_before_s"] for row in rows], colour="@muted"),
        charts.bars("then", names, [row["mean_after_s"] for row in rows]),
    )
    return charts.Chart("whatif-chart", "Mean latency by queue", verdict(rows[0]), traces, "queues", layout)
