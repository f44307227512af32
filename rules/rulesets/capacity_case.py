"""A case under the Capacity Scheduler, from its configuration to the tables that the simulation runs on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from rules.dialects.capacity import parse
from rules.dialects.capacity_properties import PREFIX
from rules.dialects.capacity_validation import RULES, errors, validate
from rules.limits import Limits
from rules.model import QueueTree, Resources
from rules.partitions import Partitions
from rules.rulesets.capacity_facts import CapacityRules
from rules.rulesets.capacity_notes import unmodelled
from rules.rulesets.capacity_preemption import preemption_notes
from rules.simulation.capacity.build import build
from rules.simulation.capacity.scheduler import (
    ABOVE_MAXIMUM,
    CLUSTER_FULL,
    NOT_A_LEAF,
    QUEUE_FULL,
    STOPPED,
    UNKNOWN_QUEUE,
    USER_FULL,
)
from rules.simulation.memory import Memory
from tuner.errors import InputError
from workloads.trace import Case, Job, Node

__all__ = [
    "PreparedCapacity",
    "capacity_rules",
    "check_capacity",
    "configurations",
    "prepare_capacity",
    "rejection_words",
]


_LEGACY_RULES = {"sibling-sum", "mixed-modes"}


@dataclass(frozen=True)
class PreparedCapacity:
    """A case, ready to run.

    Attributes:
        memory: the tables before the first event.
        order: for each row of the jobs' table the job's place in ``case.jobs``.
        paths: full paths of the queues, in the order of their rows; once for each partition.
        limits: the limits of the configuration at the start and after each update, on nodes without a label.
        notes: what the configurations ask for that is not modelled.
    """

    memory: Memory
    order: list[int]
    paths: tuple[str, ...]
    limits: tuple[Limits, ...]
    notes: tuple[str, ...]


@cache
def capacity_rules() -> CapacityRules:
    """The whole rule set; one for the process, since it keeps what it has derived."""
    return CapacityRules()


def prepare_capacity(
    case: Case, rules: CapacityRules | None = None, partitions: Partitions | None = None
) -> PreparedCapacity:
    """Derives the limits of all configurations of a case, and lays out the tables.

    Args:
        case: the case, without labels; its scheduler is ``capacity``.
        rules: another rule set than the whole one, for example without a rule.
        partitions: how its nodes and jobs are divided, where they are.

    Raises:
        InputError: the configuration cannot be read, or an update removes a queue.
    """
    found = rules or capacity_rules()
    trees = [parse(_without_none(conf)) for conf in configurations(case)]
    _check_queues(trees)
    if partitions is None:
        limits = [tuple(found.derive(tree, _sum(case.nodes)) for tree in trees)]
        memory, order, paths = build(case, trees, limits)
    else:
        limits = [_limits_in(case, found, partitions, number) for number in range(len(partitions.labels))]
        memory, order, paths = build(case, trees, limits, partitions.of_node, partitions.of_job)
    notes = tuple(dict.fromkeys(note for tree in trees for note in (*unmodelled(tree), *preemption_notes(tree))))
    return PreparedCapacity(memory, order, tuple(paths) * len(limits), limits[0], notes)


def _sum(nodes: Iterable[Node]) -> Resources:
    found = tuple(nodes)
    return Resources(sum(node.memory_mib for node in found), sum(node.vcores for node in found))


def _limits_in(case: Case, rules: CapacityRules, partitions: Partitions, number: int) -> tuple[Limits, ...]:
    nodes = _sum(node for node, of in zip(case.nodes, partitions.of_node, strict=True) if of == number)
    if nodes == Resources(0, 0):  # all nodes have a label
        nodes = Resources(1, 1)
    return tuple(rules.derive(parse(conf), nodes) for conf in partitions.confs[number])


def configurations(case: Case) -> list[Mapping[str, str | None]]:
    """The properties at the start and after each update, in turn."""
    found: list[Mapping[str, str | None]] = [dict(case.conf)]
    for update in case.updates:
        found.append({**found[-1], **update.conf})
    return found


def check_capacity(case: Case) -> None:
    """Checks that the ResourceManager would start with a case's configuration, and take its updates.

    Apart from :func:`prepare_capacity`, since whoever tries many configurations makes them valid in the first place.

    Raises:
        InputError: with what it would refuse, and after which update.
    """
    refused = {rule.rule_id for rule in RULES if rule.rm_refuses}
    for number, conf in enumerate(configurations(case)):
        # Without legacy mode siblings may be of several kinds and add up to anything.
        legacy = str(conf.get(f"{PREFIX}legacy-queue-mode.enabled")).strip().lower() != "false"
        for finding in errors(validate(_without_none(conf), version=(3, 4))):
            if finding.rule_id in refused and (legacy or finding.rule_id not in _LEGACY_RULES):
                where = f"updates[{number - 1}]" if number else "conf"
                raise InputError(f"{where}: the ResourceManager refuses this configuration: {finding.message}")


def _without_none(conf: Mapping[str, str | None]) -> dict[str, str]:
    return {name: value for name, value in conf.items() if value is not None}


def _check_queues(trees: list[QueueTree]) -> None:
    for before, after in pairwise(trees):
        gone = [queue.path for queue in before if queue.path not in after]
        if gone:
            raise InputError(
                f"an update removes the queue {gone[0]}, which the scheduler refuses while it is not stopped",
                "leave the queue in, with capacity 0 or stopped",
            )


def rejection_words(code: int, job: Job) -> str:
    """Why the ResourceManager refuses a job, in its words as far as they do not carry run-time ids."""
    return {
        UNKNOWN_QUEUE: f"submitted by user {job.user} to unknown queue: {job.queue}",
        NOT_A_LEAF: f"submitted by user {job.user} to non-leaf queue: {job.queue}",
        STOPPED: f"Queue {job.queue} is STOPPED. Cannot accept submission of application",
        QUEUE_FULL: f"Queue {job.queue} already has the maximum number of applications",
        USER_FULL: f"Queue {job.queue} already has the maximum number of applications from user {job.user}",
        CLUSTER_FULL: "Maximum system application limit reached, cannot accept submission of application",
        ABOVE_MAXIMUM: "Invalid resource request! Cannot allocate containers as requested resource is greater than "
        "maximum allowed allocation",
    }[code]
