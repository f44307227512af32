"""The queues as the ResourceManager shows them, and who waits in them and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tuner.yarn.model import QueueInfo, Resource
from web.live import ClusterState, Reading
from web.respond import View
from web.tables import Column, Table

_MOST_WAITING = 200


@dataclass(frozen=True)
class QueueNode:
    """One queue of the tree, with the shares that its bar is drawn from; shares are of the whole cluster.

    Attributes:
        over: whether it uses more than it is guaranteed.
        level: how deep it is; root is 0.
    """

    path: str
    name: str
    level: int
    leaf: bool
    state: str
    used_mib: int
    guaranteed_mib: int | None
    maximum_mib: int | None
    pending_mib: int | None
    used_share: float
    guaranteed_share: float
    maximum_share: float
    running: int | None
    waiting: int | None
    over: bool
    children: tuple[QueueNode, ...]


def queues(state: ClusterState) -> View:
    """The tree of queues, and the applications that wait."""
    reading = state.reading
    values: dict[str, Any] = {"at": None, "stale": state.stale, "scheduler": None, "source": None}
    rows: list[dict[str, Any]] = []
    waiting: list[dict[str, Any]] = []
    root: QueueNode | None = None
    notes: tuple[str, ...] = ()
    if reading is not None:
        cluster = reading.cluster
        values |= {
            "at": reading.at,
            "scheduler": cluster.scheduler,
            "source": cluster.source,
            "hadoop_version": cluster.hadoop_version,
            "total_mib": reading.metrics.total.memory_mib,
        }
        root = tree(reading)
        rows = [_row(node) for node in _walk(root)]
        waiting = waiting_rows(reading)
        notes = getattr(cluster.configuration, "notes", ())
    tables = (_queues_table(rows), _waiting_table(waiting, known=reading is not None))
    return View("queues", "Queues", {**values, "notes": list(notes)}, tables, (), {"cluster": state, "root": root})


def tree(reading: Reading) -> QueueNode:
    """The queues with their shares of the cluster."""
    total = reading.metrics.total.memory_mib or reading.cluster.snapshot.total.memory_mib
    return _node(reading.cluster.queues.root, max(1, total), 0)


def _node(queue: QueueInfo, total_mib: int, level: int) -> QueueNode:
    guaranteed, maximum = _memory(queue.guaranteed), _memory(queue.maximum)
    if level == 0:
        # Some versions give the root no figures of its own: it is the cluster.
        guaranteed, maximum = guaranteed or total_mib, maximum or total_mib
    return QueueNode(
        path=queue.path,
        name=queue.name,
        level=level,
        leaf=queue.leaf,
        state=queue.state,
        used_mib=queue.used.memory_mib,
        guaranteed_mib=guaranteed,
        maximum_mib=maximum,
        pending_mib=_memory(queue.pending),
        used_share=_share(queue.used.memory_mib, total_mib),
        guaranteed_share=_share(guaranteed or 0, total_mib),
        maximum_share=_share(maximum or total_mib, total_mib),
        running=queue.active_applications,
        waiting=queue.pending_applications,
        over=guaranteed is not None and queue.used.memory_mib > guaranteed,
        children=tuple(_node(child, total_mib, level + 1) for child in queue.children),
    )


def _memory(resource: Resource | None) -> int | None:
    return None if resource is None else resource.memory_mib


def _share(amount: int, total: int) -> float:
    return min(1.0, max(0.0, amount / total))


def _walk(node: QueueNode) -> list[QueueNode]:
    return [node, *(below for child in node.children for below in _walk(child))]


def _row(node: QueueNode) -> dict[str, Any]:
    return {
        "queue": node.path,
        "state": node.state,
        "used_mib": node.used_mib,
        "guaranteed_mib": node.guaranteed_mib,
        "maximum_mib": node.maximum_mib,
        "pending_mib": node.pending_mib,
        "running": node.running,
        "waiting": node.waiting,
        "used_of_guaranteed": node.used_mib / node.guaranteed_mib if node.guaranteed_mib else None,
    }


def _queues_table(rows: Sequence[dict[str, Any]]) -> Table:
    columns = (
        Column("queue", "Queue"),
        Column("state", "State", "state"),
        Column("used_mib", "Used", "mib"),
        Column("guaranteed_mib", "Guaranteed", "mib"),
        Column("maximum_mib", "Maximum", "mib"),
        Column("pending_mib", "Asked for", "mib"),
        Column("used_of_guaranteed", "Used of guaranteed", "percent"),
        Column("running", "Running", "number"),
        Column("waiting", "Waiting", "number"),
    )
    return Table("queues", "Queues in numbers", columns, rows, "The queues were not seen yet.")


def waiting_rows(reading: Reading) -> list[dict[str, Any]]:
    """The applications that wait, with the rule that binds and what would free them."""
    why = {each["application"]: each for each in reading.reasons}
    rows = []
    for application in reading.cluster.applications:
        if not application.waiting:
            continue
        reason = why.get(application.id, {})
        rows.append(
            {
                "application": application.id,
                "name": application.name,
                "user": application.user,
                "queue": application.queue,
                "state": application.state,
                "since": application.submitted_s,
                "asks_mib": application.asked.memory_mib,
                "holds_mib": application.held.memory_mib,
                "rule": reason.get("rule"),
                "why": reason.get("why") or application.diagnostics or None,
                "frees": reason.get("frees"),
            }
        )
    return rows[:_MOST_WAITING]


def _waiting_table(rows: Sequence[dict[str, Any]], *, known: bool) -> Table:
    columns = (
        Column("application", "Application", "code"),
        Column("name", "Name"),
        Column("user", "User"),
        Column("queue", "Queue"),
        Column("since", "Submitted", "time"),
        Column("asks_mib", "Asks for", "mib"),
        Column("rule", "Rule that binds", "code"),
        Column("why", "Why it waits"),
        Column("frees", "What would free it"),
    )
    empty = "No application waits." if known else "Not seen yet."
    return Table("waiting", "Who waits, and why", columns, rows, empty)
