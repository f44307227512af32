"""Node labels: who may use which nodes, and shares of them."""

from __future__ import annotations

from collections.abc import Iterator

from rules.dialects.capacity import LABELS, queue_property
from rules.dialects.capacity_checks.context import ALL_LABELS, Context, Hit
from rules.model import DEFAULT_LABEL, ROOT


def label_without_parent(context: Context) -> Iterator[Hit]:
    """A share of a label's nodes is a share of the parent's share of them."""
    for queue in context.tree:
        parent = context.tree[queue.parent] if queue.parent else None
        for label in queue.capacities:
            if parent is not None and label != DEFAULT_LABEL and label not in parent.capacities:
                full = queue_property(queue.path, f"{LABELS}.{label}.capacity")
                example = queue_property(parent.path, f"{LABELS}.{label}.capacity")
                example += "=100" if parent.path == ROOT else ""
                yield Hit(queue.path, full, f"{full} has no effect: {parent.path} has no share of it; set {example}")


def label_not_accessible(context: Context) -> Iterator[Hit]:
    """A share of nodes that the queue may not use; it breaks the creation of queues later (YARN-11971)."""
    for queue in context.tree:
        accessible = context.accessible_labels(queue)
        for label in queue.capacities:
            if label not in (DEFAULT_LABEL, *accessible) and ALL_LABELS not in accessible:
                full = queue_property(queue.path, f"{LABELS}.{label}.capacity")
                allowed = queue_property(queue.path, LABELS)
                yield Hit(
                    queue.path,
                    full,
                    f"{queue.path} has a share of label {label!r} but may not use it; add it to {allowed}",
                )


def label_not_in_parent(context: Context) -> Iterator[Hit]:
    """A queue's labels are among its parent's; its default label is among its own."""
    for queue in context.tree:
        own = context.accessible_labels(queue)
        if queue.parent is not None:
            above = context.accessible_labels(context.tree[queue.parent])
            extra = own - above
            if extra and ALL_LABELS not in above:
                full = queue_property(queue.path, LABELS)
                names = ", ".join(sorted(extra))
                yield Hit(queue.path, full, f"{full} has {names}, which {queue.parent} may not use; add it there first")
        default = queue.properties.get("default-node-label-expression", "")
        if default and default not in own and ALL_LABELS not in own:
            full = queue_property(queue.path, "default-node-label-expression")
            yield Hit(queue.path, full, f"{full} is {default!r}, which {queue.path} may not use; add it to its labels")
