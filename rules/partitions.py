"""Node labels: the partitions that a cluster's nodes and applications are divided into.

A node has one label or none, and so has an application; each partition has its own capacities in every queue
(``accessible-node-labels.LABEL.capacity``), its own user limits, AM limits and order of queues. What they share are the
users of a queue who are active, its applications and their order, and the limits on their number. Labels are taken as
exclusive: Hadoop also gives idle nodes of one that is not to applications without a label, which is not modelled.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from rules.dialects.capacity import LABELS, parse, queue_property, split_names
from rules.model import ROOT, Queue, QueueTree
from tuner.errors import InputError
from workloads.trace import Case, Job

__all__ = ["PARTITION_NOTE", "Partitions", "divide", "has_partitions"]

PARTITION_NOTE = "node labels are taken as exclusive: idle nodes of a label are not given to applications without one"
_DEFAULT = "default-node-label-expression"


@dataclass(frozen=True)
class Partitions:
    """How a case is divided.

    Attributes:
        labels: of the partitions, in the order of their numbers; the first is empty, for nodes without one.
        confs: for each partition the configuration at the start and after each update, with the label's capacities as
            the only ones.
        of_node: the partition of each node.
        of_job: the partition of each job.
    """

    labels: tuple[str, ...]
    confs: tuple[tuple[Mapping[str, str], ...], ...]
    of_node: tuple[int, ...]
    of_job: tuple[int, ...]


def has_partitions(case: Case) -> bool:
    """Whether any node or job has a label."""
    return any(node.label for node in case.nodes) or any(job.label for job in case.jobs)


def divide(case: Case) -> tuple[Case, Partitions, tuple[int, ...], Mapping[int, str]]:
    """Divides a case by the labels of its nodes and applications.

    Returns:
        The case without labels, and without the jobs that are refused; its partitions; the places of its jobs in the
        case as it was given; and by its place there why a job is refused: no node has its label, or its queue may not
        use it.

    Raises:
        InputError: the case is for the Fair Scheduler, which knows no labels; or its configuration cannot be read.
    """
    if case.scheduler == "fair":
        raise InputError("the Fair Scheduler knows no node labels", "take the labels out of the case")
    confs = _configurations(case)
    trees = [parse(conf) for conf in confs]
    labels = sorted({"", *(node.label for node in case.nodes)})
    of_job = [job.label or _default_label(trees[0], job) for job in case.jobs]
    refused = dict(_refusals(case, trees[0], of_job, set(labels)))
    places = tuple(place for place in range(len(case.jobs)) if place not in refused)
    found = Partitions(
        labels=tuple(labels),
        confs=tuple(
            tuple(_for_label(conf, tree, label) for conf, tree in zip(confs, trees, strict=True)) for label in labels
        ),
        of_node=tuple(labels.index(node.label) for node in case.nodes),
        of_job=tuple(labels.index(of_job[place]) for place in places),
    )
    plain = replace(
        case,
        nodes=tuple(replace(node, label="") for node in case.nodes),
        jobs=tuple(replace(case.jobs[place], label="") for place in places),
    )
    return plain, found, places, refused


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


def _for_label(conf: Mapping[str, str], tree: QueueTree, label: str) -> dict[str, str]:
    """The configuration as one partition sees it: its capacities in place of those without a label."""
    found = {name: value for name, value in conf.items() if f".{LABELS}" not in name and not name.endswith(_DEFAULT)}
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
    return found
