"""Node labels: a cluster's partitions, each as a case of its own.

A node has one label or none, and so has an application; each partition has its own capacities in every queue
(``accessible-node-labels.LABEL.capacity``), its own user limits, AM limits and order of queues. What they share is not
modelled: which users of a queue are active, limits on numbers of applications, and idle nodes of a label that is not
exclusive, which Hadoop also gives to applications without a label.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from rules.dialects.capacity import LABELS, parse, queue_property, split_names
from rules.dialects.capacity_properties import PREFIX
from rules.model import ROOT, Queue, QueueTree
from tuner.errors import InputError
from workloads.trace import Case, Job, Node, Update

__all__ = ["PARTITION_NOTE", "Part", "has_partitions", "split"]

PARTITION_NOTE = (
    "partitions are simulated one by one: users active in several count in each by itself, and idle nodes of a label "
    "are not given to applications without one"
)
_DEFAULT = "default-node-label-expression"


@dataclass(frozen=True)
class Part:
    """One partition.

    Attributes:
        label: of its nodes; empty for nodes without one.
        case: its nodes, its jobs, and the configuration with the label's capacities as the only ones.
        jobs: the places of its jobs.
    """

    label: str
    case: Case
    jobs: tuple[int, ...]


def has_partitions(case: Case) -> bool:
    """Whether any node or job has a label."""
    return any(node.label for node in case.nodes) or any(job.label for job in case.jobs)


def split(case: Case) -> tuple[tuple[Part, ...], Mapping[int, str]]:
    """Divides a case by the labels of its nodes and applications.

    Returns:
        The partitions, that without a label first, and by its place in the case why a job is refused: no node has its
        label, or its queue may not use it.

    Raises:
        InputError: the case is for the Fair Scheduler, which knows no labels; or its configuration cannot be read.
    """
    if case.scheduler == "fair":
        raise InputError("the Fair Scheduler knows no node labels", "take the labels out of the case")
    confs = _configurations(case)
    trees = [parse(conf) for conf in confs]
    labels = sorted({node.label for node in case.nodes})
    of_job = [job.label or _default_label(trees[0], job) for job in case.jobs]
    refused = dict(_refusals(case, trees[0], of_job, set(labels)))
    parts = []
    for label in labels:
        # Nodes of other partitions have nothing to give, but their heartbeats are those of the cluster.
        nodes = tuple(replace(node, label="") if node.label == label else Node(0, 0) for node in case.nodes)
        jobs = tuple(i for i, of in enumerate(of_job) if of == label and i not in refused)
        found = [_for_label(conf, tree, label) for conf, tree in zip(confs, trees, strict=True)]
        updates = tuple(
            Update(update.time_s, {**dict.fromkeys(before), **after}, update.allocations)
            for update, before, after in zip(case.updates, found, found[1:], strict=False)
        )
        own = replace(
            case,
            nodes=nodes,
            jobs=tuple(replace(case.jobs[i], label="") for i in jobs),
            conf=found[0],
            updates=updates,
        )
        parts.append(Part(label, own, jobs))
    return tuple(parts), refused


def _configurations(case: Case) -> list[dict[str, str]]:
    found: list[dict[str, str | None]] = [dict(case.conf)]
    for update in case.updates:
        found.append({**found[-1], **update.conf})
    return [{name: value for name, value in conf.items() if value is not None} for conf in found]


def _leaf(tree: QueueTree, job: Job) -> Queue | None:
    path = tree.resolve(job.queue)
    return None if path is None else tree[path]


def _default_label(tree: QueueTree, job: Job) -> str:
    """The label of the queue for applications that name none; the queue's, or the nearest one above."""
    queue = _leaf(tree, job)
    if queue is None:
        return ""
    for above in (queue, *tree.ancestors(queue.path)):
        if label := above.properties.get(_DEFAULT):
            return label.strip()
    return ""


def _accessible(tree: QueueTree, queue: Queue, label: str) -> bool:
    """Whether a queue may use a label: it or the nearest queue above that says so names it, or all (``*``)."""
    for above in (queue, *tree.ancestors(queue.path)):
        names = above.properties.get(LABELS)
        if names is not None:
            return label in split_names(names) or "*" in split_names(names)
    return True


def _refusals(case: Case, tree: QueueTree, of_job: Sequence[str], labels: set[str]) -> Iterator[tuple[int, str]]:
    for place, (job, label) in enumerate(zip(case.jobs, of_job, strict=True)):
        queue = _leaf(tree, job)
        if label and label not in labels:
            yield place, f"Invalid label resource request, cluster do not contain , label= {label}"
        elif label and queue is not None and not _accessible(tree, queue, label):
            yield place, f"Invalid resource request, queue={job.queue} doesn't have permission to access all labels"


def _for_label(conf: Mapping[str, str], tree: QueueTree, label: str) -> dict[str, str | None]:
    """The configuration as one partition sees it: its capacities in place of those without a label."""
    found: dict[str, str | None] = {
        name: value for name, value in conf.items() if f".{LABELS}" not in name and not name.endswith(_DEFAULT)
    }
    if not label:
        return found
    for queue in tree:
        base = f"{LABELS}.{label}"
        for name, otherwise in (("capacity", "0"), ("maximum-capacity", "100")):
            if queue.path != ROOT:
                found[queue_property(queue.path, name)] = queue.properties.get(f"{base}.{name}", otherwise)
        share = queue.properties.get(f"{base}.maximum-am-resource-percent")
        if share is not None:
            found[queue_property(queue.path, "maximum-am-resource-percent")] = share
        if queue.is_leaf:  # of all partitions the largest number counts
            most = conf.get(f"{PREFIX}maximum-applications", "10000")
            found.setdefault(queue_property(queue.path, "maximum-applications"), most)
    return found
