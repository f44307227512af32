"""``yarntune scheduler show``: the queues of a live cluster."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from tuner.cli.output import json_option, print_json, render_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rules.live.model import LiveCluster
    from tuner.yarn.model import QueueInfo, QueueUser, Resource

__all__ = ["as_text", "show_command"]

_WIDEST_QUEUE = 18
_WIDEST_LINE = 80


@click.command("show")
@json_option
def show_command(as_json: bool) -> None:
    """Show the queues of the cluster: what each is sure of, may reach, uses and waits for.

    The cluster is the one that YARNTUNE_RM_URL, HADOOP_CONF_DIR or an embedded cluster names. Nothing is changed.
    """
    from rules.live.document import cluster_document
    from rules.live.read import connect, read_cluster
    from tuner.settings import Settings

    client, target = connect(Settings.from_environment())
    with client:
        live = read_cluster(client, target, time.time(), most_detailed=0)
    if as_json:
        print_json(cluster_document(live))
    else:
        click.echo(as_text(live))


def as_text(live: LiveCluster) -> str:
    """The cluster for people, in 80 columns; memory in GiB."""
    lines = [*_heading(live), "", _queue_table(live)]
    if users := _user_rows(live):
        header = ("USER", "QUEUE", "GiB", "VCORES", "LIMIT", "RUN", "WAIT")
        lines += ["", render_table(header, users)]
    if live.scheduler == "fair":
        lines += ["", "Memory in GiB. FAIR: its fair share now. WANT: what it waits for."]
    else:
        lines += ["", "Memory in GiB. CONF: as configured. SURE: guaranteed. WANT: what it waits for."]
    if any(node.label for node in live.snapshot.nodes):
        labels = [f"  {queue.path}: {', '.join(queue.labels)}" for queue in live.queues.root.walk() if queue.labels]
        lines += ["", "Node labels that queues may use (* for all)", *labels]
    return "\n".join(lines)


def _heading(live: LiveCluster) -> Iterator[str]:
    from rules.live.document import manager_state
    from rules.live.model import Unreadable

    at = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(live.time_s))
    kind = {"capacity": "Capacity", "fair": "Fair"}[live.scheduler]
    yield f"{kind} Scheduler, Hadoop {live.hadoop_version}, at {at} UTC"
    for probe in live.managers:
        yield from _wrapped(f"ResourceManager {probe.url}: {manager_state(probe)}")
    found = live.configuration
    if isinstance(found, Unreadable):
        yield from _wrapped(f"Configuration: not seen; {found.reason} ({found.hint})")
    else:
        version = "" if found.version is None else f", version {found.version}"
        yield from _wrapped(f"Configuration: {found.where}{version}")
        for note in found.notes:
            yield from _wrapped(f"Careful: {note}")
    total, used = live.snapshot.total, live.snapshot.use["root"].used
    yield (
        f"Nodes: {len(live.snapshot.nodes)}; memory {_gib(used.memory_mib)} of {_gib(total.memory_mib)} GiB, "
        f"vcores {used.vcores} of {total.vcores} in use"
    )
    if live.absent:
        states = sorted(live.absent.values())
        counts = ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states))
        yield f"Nodes that do not run: {counts}"


def _wrapped(text: str) -> list[str]:
    import textwrap

    return textwrap.wrap(
        text, _WIDEST_LINE, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    ) or [text]


def _queue_table(live: LiveCluster) -> str:
    titles = ("QUEUE", "WEIGHT", "FAIR", "MAX") if live.scheduler == "fair" else ("QUEUE", "CONF", "SURE", "MAX")
    rows = [_queue_row(live, queue, "  " * depth) for queue, depth in _with_depth(live.queues.root, 0)]
    return render_table((*titles, "USED", "WANT", "RUN", "WAIT", "STATE"), rows)


def _with_depth(queue: QueueInfo, depth: int) -> Iterator[tuple[QueueInfo, int]]:
    yield queue, depth
    for child in queue.children:
        yield from _with_depth(child, depth + 1)


def _fair_or_guaranteed(queue: QueueInfo) -> Resource | None:
    return queue.guaranteed if queue.fair is None else queue.fair.fair_share


def _queue_row(live: LiveCluster, queue: QueueInfo, indent: str) -> tuple[str, ...]:
    from rules.live.document import configured_capacity

    use, total_mib = live.snapshot.use[queue.path], live.snapshot.total.memory_mib
    return (
        _shortened(indent + queue.name, _WIDEST_QUEUE),
        _shortened(configured_capacity(live, queue) or "-", 7),
        _share(_fair_or_guaranteed(queue), total_mib),
        _share(queue.maximum, total_mib),
        _gib(use.used.memory_mib),
        _gib(use.pending.memory_mib),
        str(use.running_applications),
        str(use.pending_applications),
        queue.state,
    )


def _share(amount: Resource | None, most_mib: int) -> str:
    # Without a limit the Fair Scheduler shows the largest number there is.
    return "-" if amount is None else _gib(min(amount.memory_mib, most_mib))


def _gib(memory_mib: int) -> str:
    gib = memory_mib / 1024
    return f"{gib:.1f}" if gib < 1000 else f"{gib:.0f}"


def _shortened(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def _user_rows(live: LiveCluster) -> list[tuple[str, ...]]:
    return [
        _user_row(queue, user, live.snapshot.total.memory_mib)
        for queue in live.queues.root.walk()
        for user in (queue.capacity.users if queue.capacity else ())
    ]


def _user_row(queue: QueueInfo, user: QueueUser, total_mib: int) -> tuple[str, ...]:
    return (
        _shortened(user.name, 16),
        _shortened(queue.path, 28),
        _gib(user.used.memory_mib),
        str(user.used.vcores),
        _share(user.limit, total_mib),
        str(user.active_applications),
        str(user.pending_applications),
    )
