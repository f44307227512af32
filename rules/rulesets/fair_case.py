"""A case under the Fair Scheduler, from its configuration to the tables that the simulation runs on.

A case goes through several configurations: the one at the start, and one for each update. An update's allocation file
takes effect if the ResourceManager would take it; otherwise the one before stays, as ``FairScheduler.reinitialize``
does it. Of yarn-site only the maximum allocation is read again.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rules.dialects.fair import AllocationFile, parse_allocations
from rules.dialects.fair_placement import PlacementRule, Submission, place, read_policy_element, rules_of_site
from rules.dialects.fair_site import FairSite, read_site
from rules.dialects.fair_validate import refusal, validate
from rules.engine import RuleEngine
from rules.limits import Limits
from rules.model import ROOT, Resources
from rules.rulesets.fair import FAIR_RULES, fair_engine
from rules.rulesets.fair_facts import FairFacts
from rules.rulesets.fair_notes import unmodelled_fair
from rules.simulation.fair.build import FairPlan, Layout, build_fair_memory, lay_out_queues
from rules.simulation.fair.hooks import ABOVE_MAXIMUM, NO_QUEUE, NO_RESOURCE, NOT_PLACED
from rules.simulation.java import hash_map_order
from rules.simulation.memory import Memory
from rules.simulation.tables import lay_out
from tuner.errors import InputError
from workloads.trace import Case, Job

__all__ = ["PreparedFair", "prepare_fair", "refusal_words"]


@dataclass(frozen=True)
class PreparedFair:
    """A case, ready to run.

    Attributes:
        memory: the tables before the first event.
        order: for each row of the jobs' table the job's place in ``case.jobs``.
        layout: what the rows of queues and users stand for.
        plans: the limits of each configuration.
        notes: what the configuration at the start asks for that is not modelled.
    """

    memory: Memory
    order: list[int]
    layout: Layout
    plans: tuple[FairPlan, ...]
    notes: tuple[str, ...]


def prepare_fair(case: Case, engine: RuleEngine | None = None) -> PreparedFair:
    """Derives the limits of all configurations of a case, and lays out the tables.

    Args:
        case: the case; its scheduler is ``fair``.
        engine: another rule set than the whole one, for example without a rule.

    Raises:
        InputError: the ResourceManager would not start with this configuration.
    """
    configurations = _configurations(case)
    core, order = lay_out(case, len(FAIR_RULES))
    jobs = [case.jobs[i] for i in order]
    placed = _place_jobs(jobs, configurations, [update.time_s for update in case.updates])
    paths = [path for path in placed if isinstance(path, str)]
    for facts in configurations:
        paths += facts.allocations.tree.queues
    layout = lay_out_queues(paths, [job.user for job in jobs])
    rows = {path: row for row, path in enumerate(layout.paths)}
    plans = _plans(configurations, layout, engine or fair_engine())
    parents = {path.rpartition(".")[0] for path in layout.paths}
    app_queues: NDArray[np.int64] = np.array([_row(path, rows, parents) for path in placed], np.int64)
    users = {user: row for row, user in enumerate(layout.users)}
    app_users: NDArray[np.int64] = np.array([users[job.user] for job in jobs], np.int64)
    leaves = _made_leaves(case, configurations, list(zip((job.submit_s for job in jobs), placed, strict=True)))
    memory = build_fair_memory(case, core, layout, plans, leaves, app_queues, app_users)
    conf = {key: text for key, text in case.conf.items() if text is not None}
    notes = unmodelled_fair(conf, configurations[0].site, configurations[0].allocations)
    return PreparedFair(memory, order, layout, plans, notes)


def _row(path: str | int, rows: Mapping[str, int], parents: set[str]) -> int:
    """The row of a job's leaf, or minus the reason for which it is refused."""
    if isinstance(path, int):
        return -path
    return -NO_QUEUE if path in parents else rows[path]


def _configurations(case: Case) -> list[FairFacts]:
    """The configuration at the start and after each update."""
    conf = {key: text for key, text in case.conf.items() if text is not None}
    site = read_site(conf)
    allocations = parse_allocations(case.allocations)
    finding = refusal(validate(allocations, site))
    if finding is not None:
        raise InputError(f"the ResourceManager does not start with this allocation file: {finding.message}")
    nodes = tuple(Resources(node.memory_mib, node.vcores) for node in case.nodes)
    found = [FairFacts(allocations, site, nodes)]
    for update in case.updates:
        for key, text in update.conf.items():
            if text is None:
                conf.pop(key, None)
            else:
                conf[key] = text
        allocations = _reloaded(allocations, update.allocations, site)
        found.append(FairFacts(allocations, _refreshed(site, conf), nodes))
    return found


def _made_leaves(
    case: Case, configurations: Sequence[FairFacts], placed: Sequence[tuple[float, str | int]]
) -> list[str]:
    """The leaves in the order of their making, which is that in which preemption looks through them.

    Those of a file in the order of a HashSet of their paths; others at the first application for them.
    """
    made: dict[str, None] = {}
    update_times_s = [update.time_s for update in case.updates]
    pending = list(placed)
    for facts, until_s in zip(configurations, [*update_times_s, float("inf")], strict=True):
        allocations = facts.allocations
        leaves = [path for path in allocations.tree.queues if path != ROOT and not allocations.is_parent(path)]
        made |= dict.fromkeys(hash_map_order(leaves))
        while pending and pending[0][0] < until_s:
            _, path = pending.pop(0)
            if isinstance(path, str):
                made.setdefault(path)
    return list(made)


def _reloaded(before: AllocationFile, text: str | None, site: FairSite) -> AllocationFile:
    """The file after an update: the old one where there is no new one that the ResourceManager takes."""
    if text is None:
        return before
    try:
        after = parse_allocations(text)
    except InputError:
        return before
    return before if refusal(validate(after, site)) else after


def _refreshed(site: FairSite, conf: Mapping[str, str]) -> FairSite:
    """``refreshMaximumAllocation``: all else of yarn-site stays as it was at the start."""
    try:
        now = read_site(conf)
    except InputError:
        return site
    return replace(site, maximum_mib=now.maximum_mib, maximum_vcores=now.maximum_vcores)


def _plans(configurations: Sequence[FairFacts], layout: Layout, engine: RuleEngine) -> tuple[FairPlan, ...]:
    plans: list[FairPlan] = []
    for i, facts in enumerate(configurations):
        if i > 0 and facts == configurations[i - 1]:
            plans.append(plans[-1])
            continue
        known = facts.facts(layout.paths, layout.users)
        limits = Limits.of(engine.evaluate(known))
        present: set[str] = set()
        for fact in known:
            path = str(fact.get("queue", ""))
            above, policy = fact.get("parent_policy"), fact.get("policy")
            # SchedulingPolicy.isChildPolicyAllowed: such a queue is never made, and nothing below it.
            allowed = above != "fifo" and not (above == "fair" and policy == "drf")
            if fact["kind"] == "queue" and (path == ROOT or (path.rpartition(".")[0] in present and allowed)):
                present.add(path)
        plans.append(FairPlan(limits, frozenset(present)))
    return tuple(plans)


def _place_jobs(
    jobs: Sequence[Job], configurations: Sequence[FairFacts], update_times_s: Sequence[float]
) -> list[str | int]:
    """For each job, in the order of submission, the full path of its queue, or why it is refused."""
    placed: list[str | int] = []
    dynamic: set[str] = set()
    rules = [_rules(facts) for facts in configurations]
    for job in jobs:
        number = bisect_right(update_times_s, job.submit_s)
        facts = configurations[number]
        tree = facts.allocations.tree
        path = place(rules[number], Submission(job.queue, job.user), tree.__contains__)
        if path is None:
            placed.append(NOT_PLACED)
        elif _is_leaf(facts.allocations, path, dynamic):
            if path not in tree:
                dynamic.add(path)
            placed.append(path)
        else:
            placed.append(NO_QUEUE)
    return placed


def _is_leaf(allocations: AllocationFile, path: str, dynamic: set[str]) -> bool:
    """Whether applications can go there: ``QueueManager.createQueue`` makes what is missing below a parent."""
    tree = allocations.tree
    if path == ROOT or (path in tree and allocations.is_parent(path)) or any(q.startswith(f"{path}.") for q in dynamic):
        return False
    above = path.rpartition(".")[0]
    while above:
        if above in dynamic or (above in tree and not allocations.is_parent(above)):
            return False
        above = above.rpartition(".")[0]
    return all(part and part == part.strip() for part in path.split("."))


def _rules(facts: FairFacts) -> tuple[PlacementRule, ...]:
    if facts.allocations.placement is not None:
        return read_policy_element(facts.allocations.placement)
    return rules_of_site(facts.site.allow_undeclared, facts.site.user_as_default)


def refusal_words(reason: int, job: Job) -> str:
    """Why a job was refused, in words near the ResourceManager's."""
    words = {
        NO_QUEUE: f"{job.queue} is not a leaf queue",
        NOT_PLACED: f"application of user {job.user} for queue {job.queue} rejected by placement rules",
        NO_RESOURCE: f"queue {job.queue} has zero amount of resource for a requested resource",
        ABOVE_MAXIMUM: "Invalid resource request! Cannot allocate containers as requested resource is greater than "
        "maximum allowed allocation",
    }
    return words[reason]
