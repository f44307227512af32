"""Preemption: who is starved, which containers are killed for it, and who gets the room.

``FSLeafQueue.updateStarvedApps`` and ``FSPreemptionThread``, by the clock of the simulation; what the preemption thread
does at once in Hadoop happens right after the update step here. Containers of a node are looked at from the newest on
(Hadoop: in the order of a HashMap of container ids).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rules.simulation.compiled import compiled
from rules.simulation.fair.apps import add_used
from rules.simulation.fair.assign import ASSIGNED, assign_to_app, is_below, is_over_am_share
from rules.simulation.fair.held import KILLED, LIVE, MARKED, claim, drop_claims
from rules.simulation.fair.order import make_heap, pop_heap
from rules.simulation.fair.state import (
    DRF,
    app_at,
    claim_at,
    cluster_of,
    heap_at,
    held_at,
    host_at,
    kill_at,
    node_order_at,
    plan_of,
    queue_at,
    running_at,
)
from rules.simulation.tables import ask_at, job_at, node_at

__all__ = ["kill_marked", "look_for_starved", "milliseconds", "serve_claims"]


@compiled
def milliseconds(seconds: float) -> int:
    """The scheduler's clock."""
    return int(seconds * 1000.0 + 0.5)


@compiled
def look_for_starved(state: Any) -> None:
    """On a busy cluster, marks containers for the starved applications of all leaves (``shouldAttemptPreemption``)."""
    cluster, root = cluster_of(state), queue_at(state, 0)
    busy_memory = np.float32(np.float32(root.used_memory) / np.float32(cluster.memory))
    busy_vcores = np.float32(np.float32(root.used_vcores) / np.float32(cluster.vcores))
    if np.float32(cluster.utilization) >= max(busy_memory, busy_vcores):
        return
    now_ms = milliseconds(state.now)
    state.version += 1
    for q in range(state.queues_count):
        queue = queue_at(state, q)
        if queue.children == 0:
            length = _update_starved(state, q, now_ms)
            for i in range(length):
                job = heap_at(state, queue.first_app + i).row
                if app_at(state, job).in_line:
                    app_at(state, job).in_line = 0
                    _preempt_for(state, job)
                    app_at(state, job).next_check_ms = now_ms + cluster.next_check_ms


@compiled
def _update_starved(state: Any, q: int, now_ms: int) -> int:
    """``updateStarvedApps``; leaves the applications that want something in the leaf's stretch, in their order."""
    length = _sort_wanting(state, q, now_ms)
    first = queue_at(state, q).first_app
    fair_memory = fair_vcores = 0
    for i in range(length):
        app = app_at(state, heap_at(state, first + i).row)
        _update_fair_starvation(state, app, now_ms)
        if app.fair_starved_memory == 0 and app.fair_starved_vcores == 0:
            break
        app.in_line = 1
        fair_memory += app.fair_starved_memory
        fair_vcores += app.fair_starved_vcores
    memory, vcores = _minimum_starvation(state, q, now_ms)
    memory, vcores = max(memory - fair_memory, 0), max(vcores - fair_vcores, 0)
    for i in range(length):
        app = app_at(state, heap_at(state, first + i).row)
        if memory == 0 and vcores == 0:
            app.min_starved_memory = 0
            app.min_starved_vcores = 0
            continue
        more_memory = max(app.demand_memory - app.used_memory - app.fair_starved_memory, 0)
        more_vcores = max(app.demand_vcores - app.used_vcores - app.fair_starved_vcores, 0)
        if _is_more(state, q, more_memory, more_vcores, memory, vcores):
            # What is left over, not what is missing: so it is in Hadoop.
            more_memory, more_vcores = max(more_memory - memory, 0), max(more_vcores - vcores, 0)
            memory = vcores = 0
        else:
            memory, vcores = max(memory - more_memory, 0), max(vcores - more_vcores, 0)
        app.min_starved_memory = more_memory
        app.min_starved_vcores = more_vcores
        app.in_line = 1
    return int(length)


@compiled
def _sort_wanting(state: Any, q: int, now_ms: int) -> int:
    """``fetchAppsWithDemand(false)``: sorted, without those that preempted a short time ago."""
    queue, policy = queue_at(state, q), plan_of(state, q).policy
    length = 0
    for place in range(queue.first_app, queue.first_app + queue.running):
        app = app_at(state, running_at(state, place).row)
        wants = app.demand_memory != app.used_memory or app.demand_vcores != app.used_vcores
        if wants and now_ms >= app.next_check_ms:
            heap_at(state, queue.first_app + length).row = running_at(state, place).row
            length += 1
    make_heap(state, True, policy, queue.first_app, length)
    for left in range(length, 0, -1):  # what is popped goes behind the rest of the heap, so the first comes last
        first = pop_heap(state, True, policy, queue.first_app, left)
        heap_at(state, queue.first_app + left - 1).row = first
    for i in range(length // 2):
        one, two = heap_at(state, queue.first_app + i), heap_at(state, queue.first_app + length - 1 - i)
        one.row, two.row = two.row, one.row
    return length


@compiled
def _update_fair_starvation(state: Any, app: Any, now_ms: int) -> None:
    """``FSAppAttempt.fairShareStarvation``."""
    plan = plan_of(state, app.queue)
    due_memory = min(int(app.share_memory * plan.threshold), app.demand_memory)
    due_vcores = min(int(app.share_vcores * plan.threshold), app.demand_vcores)
    starved = is_below(state, plan.policy, app.used_memory, app.used_vcores, due_memory, due_vcores)
    if not starved:
        app.at_fair_share_ms = now_ms
    app.fair_starved_memory = 0
    app.fair_starved_vcores = 0
    if starved and now_ms - app.at_fair_share_ms >= plan.fair_timeout_ms:
        app.fair_starved_memory = max(due_memory - app.used_memory, 0)
        app.fair_starved_vcores = max(due_vcores - app.used_vcores, 0)


@compiled
def _minimum_starvation(state: Any, q: int, now_ms: int) -> tuple[int, int]:
    """``FSLeafQueue.minShareStarvation``."""
    queue, plan = queue_at(state, q), plan_of(state, q)
    memory = max(min(plan.least_memory, queue.demand_memory) - queue.used_memory, 0)
    vcores = max(min(plan.least_vcores, queue.demand_vcores) - queue.used_vcores, 0)
    if memory == 0 and vcores == 0:
        queue.at_min_share_ms = now_ms
    if now_ms - queue.at_min_share_ms < plan.min_timeout_ms:
        return 0, 0
    return memory, vcores


@compiled
def _is_more(state: Any, q: int, memory: int, vcores: int, than_memory: int, than_vcores: int) -> bool:
    """``Resources.greaterThan`` with the calculator of the leaf's policy."""
    if plan_of(state, q).policy != DRF:
        return bool(memory > than_memory)
    cluster = cluster_of(state)
    a, b = memory / cluster.memory, vcores / cluster.vcores
    c, d = than_memory / cluster.memory, than_vcores / cluster.vcores
    return bool(max(a, b) > max(c, d) or (max(a, b) == max(c, d) and min(a, b) > min(c, d)))


@compiled
def _preempt_for(state: Any, job: int) -> None:
    """``identifyContainersToPreempt``: for each container that the application lacks, those of one node."""
    app = app_at(state, job)
    lacking = app.fair_starved_memory + app.min_starved_memory
    for ask_row in range(job_at(state, job).am_ask, job_at(state, job).ask_end):
        ask = ask_at(state, ask_row)
        if ask.pending > 0 and lacking > 0:
            count = min(lacking // ask.memory, ask.pending)
            for _ in range(count):
                _preempt_one(state, job, ask.memory, ask.vcores)
            lacking = max(lacking - count * ask.memory, 0)


@compiled
def _preempt_one(state: Any, job: int, memory: int, vcores: int) -> None:
    """``identifyContainersToPreemptForOneContainer``: the first node on which it works out without an AM."""
    for i in range(state.nodes_count):
        node_row = node_order_at(state, i).row
        if _choose_on_node(state, node_row, memory, vcores):
            _mark_chosen(state, job, node_row)
            return


@compiled
def _choose_on_node(state: Any, node_row: int, memory: int, vcores: int) -> bool:
    """``identifyContainersToPreemptOnNode``: chooses until the container would fit."""
    node, host = node_at(state, node_row), host_at(state, node_row)
    free_memory, free_vcores = node.free_memory - host.claimed_memory, node.free_vcores - host.claimed_vcores
    if node.reserved_by >= 0:
        free_memory -= ask_at(state, node.reserved_ask).memory
        free_vcores -= ask_at(state, node.reserved_ask).vcores
    free_memory, free_vcores = max(free_memory, 0), max(free_vcores, 0)
    row, fits = host.first_held, False
    while row > 0 and not fits:
        held = held_at(state, row - 1)
        ask, app = ask_at(state, held.ask), app_at(state, held.job)
        if held.standing == LIVE and held.ask != job_at(state, held.job).am_ask:
            if _can_be_preempted(state, held.job, ask.memory, ask.vcores):
                held.chosen = 1
                app.chosen_memory += ask.memory
                app.chosen_vcores += ask.vcores
                free_memory += ask.memory
                free_vcores += ask.vcores
            fits = memory <= free_memory and vcores <= free_vcores
        row = held.next
    _forget_choice(state, host.first_held, fits)
    return bool(fits)


@compiled
def _forget_choice(state: Any, first: int, keep: bool) -> None:
    """Takes the choice off the applications' books, and off the containers unless it stands."""
    row = first
    while row > 0:
        held = held_at(state, row - 1)
        if held.chosen:
            app_at(state, held.job).chosen_memory = 0
            app_at(state, held.job).chosen_vcores = 0
            held.chosen = 1 if keep else 0
        row = held.next


@compiled
def _can_be_preempted(state: Any, job: int, memory: int, vcores: int) -> bool:
    """``canContainerBePreempted``: its application must not fall below its fair share."""
    app = app_at(state, job)
    plan = plan_of(state, app.queue)
    if not plan.allow_preemption:
        return False
    left_memory = app.used_memory - app.marked_memory - memory - app.chosen_memory
    left_vcores = app.used_vcores - app.marked_vcores - vcores - app.chosen_vcores
    return not is_below(state, plan.policy, left_memory, left_vcores, app.share_memory, app.share_vcores)


@compiled
def _mark_chosen(state: Any, job: int, node_row: int) -> None:
    """``trackPreemptionsAgainstNode`` and ``preemptContainers``: they are killed after the waiting time."""
    row, memory, vcores = host_at(state, node_row).first_held, 0, 0
    while row > 0:
        held = held_at(state, row - 1)
        if held.chosen:
            held.chosen = 0
            held.standing = MARKED
            ask, app = ask_at(state, held.ask), app_at(state, held.job)
            app.marked_memory += ask.memory
            app.marked_vcores += ask.vcores
            memory += ask.memory
            vcores += ask.vcores
            kill = kill_at(state, (state.first_kill + state.kills) % state.kill_rows_count)
            kill.row = row - 1
            kill.serial = held.serial
            kill.time_ms = milliseconds(state.now) + cluster_of(state).wait_before_kill_ms
            state.kills += 1
        row = held.next
    if memory > 0:
        claim(state, job, node_row, memory, vcores)


@compiled
def kill_marked(state: Any) -> None:
    """Kills what is due, unless it has ended by itself."""
    now_ms = milliseconds(state.now)
    while state.kills > 0 and kill_at(state, state.first_kill).time_ms <= now_ms:
        kill = kill_at(state, state.first_kill)
        state.first_kill = (state.first_kill + 1) % state.kill_rows_count
        state.kills -= 1
        held = held_at(state, kill.row)
        if held.serial == kill.serial and held.standing == MARKED:
            _kill(state, held)


@compiled
def _kill(state: Any, held: Any) -> None:
    ask, app, node = ask_at(state, held.ask), app_at(state, held.job), node_at(state, held.node)
    held.standing = KILLED
    app.marked_memory -= ask.memory
    app.marked_vcores -= ask.vcores
    node.free_memory += ask.memory
    node.free_vcores += ask.vcores
    app.used_memory -= ask.memory
    app.used_vcores -= ask.vcores
    add_used(state, app.queue, -ask.memory, -ask.vcores)
    state.free_memory = cluster_of(state).memory - queue_at(state, 0).used_memory
    state.free_vcores = cluster_of(state).vcores - queue_at(state, 0).used_vcores
    state.changed = 1
    state.version += 1


@compiled
def serve_claims(state: Any, node_row: int) -> None:
    """``assignPreemptedContainers``: applications take what was preempted for them on this node, oldest claim first."""
    i = 0
    while i < state.claims:
        row = claim_at(state, i)
        if row.node != node_row:
            i += 1
            continue
        job = row.job
        if not _is_starved(state, job):
            drop_claims(state, job, node_row)
            continue
        memory, vcores, before = row.memory, row.vcores, state.claims
        while memory > 0 or vcores > 0:
            state.assigned_memory = 0
            state.assigned_vcores = 0
            if is_over_am_share(state, job) or assign_to_app(state, job, node_row) != ASSIGNED:
                break
            memory = max(memory - state.assigned_memory, 0)
            vcores = max(vcores - state.assigned_vcores, 0)
        if state.claims == before:
            i += 1


@compiled
def _is_starved(state: Any, job: int) -> bool:
    """``cleanupPreemptionList``: below its fair share or minimum, and known to be starved."""
    app = app_at(state, job)
    policy = plan_of(state, app.queue).policy
    below = is_below(state, policy, app.used_memory, app.used_vcores, app.share_memory, app.share_vcores)
    fair = app.fair_starved_memory != 0 or app.fair_starved_vcores != 0
    least = app.min_starved_memory != 0 or app.min_starved_vcores != 0
    return bool((below or least) and (fair or least))
