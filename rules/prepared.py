"""A case of either scheduler, from its file to the tables that the simulation runs on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rules.engine import RuleEngine
from rules.limits import Limits
from rules.partitions import Partitions, has_partitions
from rules.rulesets.capacity import RULES
from rules.rulesets.capacity_case import prepare_capacity, rejection_words
from rules.rulesets.capacity_facts import CapacityRules
from rules.simulation.memory import Memory
from tuner.errors import InputError
from workloads.trace import Case, Job

__all__ = ["PreparedCase", "RuleSet", "prepare"]

RuleSet = CapacityRules | RuleEngine
"""The rules of the Capacity Scheduler, or those of the Fair Scheduler."""


@dataclass(frozen=True)
class PreparedCase:
    """A case, ready to run.

    Attributes:
        memory: the tables before the first event.
        order: for each row of the jobs' table the job's place in ``case.jobs``.
        paths: full paths of the queues, in the order of their rows; once for each partition.
        limits: the limits of the configuration at the start and after each update.
        rule_ids: the rules that waiting times are put down to, by the numbers that the simulation knows them by.
        rejection_words: why a job was refused, from the number in its row.
        notes: what the configuration asks for that is not modelled, and what is done instead.
    """

    memory: Memory
    order: list[int]
    paths: tuple[str, ...]
    limits: tuple[Limits, ...]
    rule_ids: tuple[str, ...]
    rejection_words: Callable[[int, Job], str]
    notes: tuple[str, ...] = ()


def prepare(case: Case, rules: RuleSet | None = None, partitions: Partitions | None = None) -> PreparedCase:
    """Derives the limits of all configurations of a case, and lays out the tables.

    Args:
        case: the case.
        rules: another rule set than the whole one of the case's scheduler, for example without a rule.
        partitions: how its nodes and jobs are divided by node labels, which are then not in the case itself.

    Raises:
        InputError: the configuration cannot be read, or is not one that the ResourceManager would start with.
    """
    if has_partitions(case):
        raise InputError("a case with node labels is simulated by estimate alone", "take the labels out of it")
    if case.scheduler == "fair":
        return _prepare_fair(case, rules if isinstance(rules, RuleEngine) else None)
    found = prepare_capacity(case, rules if isinstance(rules, CapacityRules) else None, partitions)
    rule_ids = tuple(rule.id for rule in RULES)
    return PreparedCase(found.memory, found.order, found.paths, found.limits, rule_ids, rejection_words, found.notes)


def _prepare_fair(case: Case, rules: RuleEngine | None) -> PreparedCase:
    from rules.rulesets.fair import FAIR_RULES
    from rules.rulesets.fair_case import prepare_fair, refusal_words

    found = prepare_fair(case, rules)
    limits = tuple(plan.limits for plan in found.plans)
    rule_ids = tuple(rule.id for rule in FAIR_RULES)
    return PreparedCase(found.memory, found.order, found.layout.paths, limits, rule_ids, refusal_words, found.notes)
