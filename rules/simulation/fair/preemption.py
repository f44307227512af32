"""Preemption: who is starved, which containers are killed for it, and who gets the room.

``FSLeafQueue.updateStarvedApps`` and ``FSPreemptionThread``, by the clock of the simulation; what the preemption thread
does at once in Hadoop happens right after the update step here.
"""

from __future__ import annotations

from typing import Any, Final, cast

import numpy as np

from rules.simulation.application_ids import application_bucket
from rules.simulation.compiled import compiled
from rules.simulation.containers import LIVE, MARKED
from rules.simulation.fair.assign import ASSIGNED, assign_to_app, is_below, is_over_am_share
from rules.simulation.fair.held import claim, drop_claims
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
    leaf_at,
    node_order_at,
    plan_of,
    queue_at,
    running_at,
    starved_at,
)
from rules.simulation.kills import kill_container
from rules.simulation.tables import ask_at, container_at, job_at, node_at

__all__ = ["kill_marked", "look_for_starved", "milliseconds", "serve_claims"]

NO_SUCH_NODE: Final = cast(int, np.int64(2**31 - 1))
"""More AMs than there are: where it would take them, the node does not come into question."""


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
    state.loosened += 1
    for i in range(state.leaves_count):
        _update_starved(state, leaf_at(state, i).row, now_ms)
    while state.starving > 0:
        job = _take_starved(state)
        _preempt_for(state, job)
        app_at(state, job).next_check_ms = now_ms + cluster.next_check_ms


@compiled
def _fits_in(a: Any, b: Any) -> bool:
    """``FSStarvedApps.StarvationComparator``: whether one application's starvation fits into another one's."""
    if a.fair_starved_memory + a.min_starved_memory > b.fair_starved_memory + b.min_starved_memory:
        return False
    return bool(a.fair_starved_vcores + a.min_starved_vcores <= b.fair_starved_vcores + b.min_starved_vcores)


@compiled
def _add_starved(state: Any, job: int) -> None:
    """Into the heap of starved applications, as ``java.util.PriorityQueue`` does it: the comparator is no order."""
    app = app_at(state, job)
    if app.in_line:
        return
    app.in_line = 1
    place = state.starving
    state.starving += 1
    while place > 0:
        parent = (place - 1) >> 1
        if not _fits_in(app, app_at(state, starved_at(state, parent).row)):
            break
        starved_at(state, place).row = starved_at(state, parent).row
        place = parent
    starved_at(state, place).row = job


@compiled
def _take_starved(state: Any) -> int:
    """Takes the first one out of the heap."""
    first = starved_at(state, 0).row
    state.starving -= 1
    length = state.starving
    last, place = starved_at(state, length).row, 0
    while place < length >> 1:
        child = 2 * place + 1
        app, right = app_at(state, starved_at(state, child).row), child + 1
        if right < length and not _fits_in(app, app_at(state, starved_at(state, right).row)):
            child = right
        if _fits_in(app_at(state, last), app_at(state, starved_at(state, child).row)):
            break
        starved_at(state, place).row = starved_at(state, child).row
        place = child
    starved_at(state, place).row = last
    app_at(state, first).in_line = 0
    return int(first)


@compiled
def _update_starved(state: Any, q: int, now_ms: int) -> None:
    """``updateStarvedApps``: for want of their fair share in the order of the policy, then for want of the minimum."""
    length = _sort_wanting(state, q, now_ms)
    first = queue_at(state, q).first_app
    fair_memory = fair_vcores = 0
    for i in range(length):
        app = app_at(state, heap_at(state, first + i).row)
        _update_fair_starvation(state, app, now_ms)
        if app.fair_starved_memory == 0 and app.fair_starved_vcores == 0:
            break
        _add_starved(state, heap_at(state, first + i).row)
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
        _add_starved(state, heap_at(state, first + i).row)


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
    app, row = app_at(state, job), job_at(state, job)
    lacking = app.fair_starved_memory + app.min_starved_memory
    sizes = row.ask_end - row.am_ask - 1
    for place in range(-1, sizes):
        ask = ask_at(state, row.am_ask if place < 0 else row.am_ask + 1 + _asked_place(place, sizes))
        if ask.pending > 0 and lacking > 0:
            count = min(lacking // ask.memory, ask.pending)
            for _ in range(count):
                _preempt_one(state, job, ask.memory, ask.vcores)
            lacking = max(lacking - count * ask.memory, 0)


@compiled
def _asked_place(place: int, sizes: int) -> int:
    """Which size stands at a place of the ConcurrentHashMap of an application's asks, whose priorities begin at 20.

    Buckets of the priorities 20, 21, ... are 14, 1, 0, 3, 2, and so on in pairs, up to 12 in all; 20 comes last.
    """
    if place == sizes - 1:
        return 0
    other = place ^ 1
    return other + 1 if other < sizes - 1 else place + 1


@compiled
def _preempt_one(state: Any, job: int, memory: int, vcores: int) -> None:
    """``identifyContainersToPreemptForOneContainer``: the first node of those that it takes fewest AMs on."""
    best, fewest = -1, NO_SUCH_NODE
    for i in range(state.nodes_count):
        node_row = node_order_at(state, i).row
        ams = _choose_on_node(state, node_row, memory, vcores, fewest)
        if ams < fewest:
            best, fewest = node_row, ams
        if fewest == 0:
            break
        _forget_choice(state, node_row)
    if best >= 0:
        if fewest > 0:
            _choose_on_node(state, best, memory, vcores, NO_SUCH_NODE)
        _mark_chosen(state, job, best)
        _forget_choice(state, best)


@compiled
def _choose_on_node(state: Any, node_row: int, memory: int, vcores: int, most_ams: int) -> int:
    """``identifyContainersToPreemptOnNode``: chooses until the container would fit.

    Returns:
        How many AMs were chosen; NO_SUCH_NODE where the container would not fit, or ``most_ams`` were come to.
    """
    node, host = node_at(state, node_row), host_at(state, node_row)
    free_memory, free_vcores = node.free_memory - host.claimed_memory, node.free_vcores - host.claimed_vcores
    if node.reserved_by >= 0:
        free_memory -= ask_at(state, node.reserved_ask).memory
        free_vcores -= ask_at(state, node.reserved_ask).vcores
    free_memory, free_vcores = max(free_memory, 0), max(free_vcores, 0)
    ams = 0
    for of_ams in range(2):
        row = host.first_am if of_ams else host.first_worker
        while row > 0:
            held, container = held_at(state, row - 1), container_at(state, row - 1)
            row = held.next
            if container.standing != LIVE:
                continue
            ask = ask_at(state, container.ask)
            if _can_be_preempted(state, container.job, ask.memory, ask.vcores, of_ams > 0):
                ams += of_ams
                if ams >= most_ams:
                    return NO_SUCH_NODE
                held.chosen = 1
                app_at(state, container.job).chosen_memory += ask.memory
                app_at(state, container.job).chosen_vcores += ask.vcores
                free_memory += ask.memory
                free_vcores += ask.vcores
            if memory <= free_memory and vcores <= free_vcores:
                return ams
    return NO_SUCH_NODE


@compiled
def _forget_choice(state: Any, node_row: int) -> None:
    """Takes what was chosen on a node off the books."""
    host = host_at(state, node_row)
    for of_ams in range(2):
        row = host.first_am if of_ams else host.first_worker
        while row > 0:
            held = held_at(state, row - 1)
            if held.chosen:
                held.chosen = 0
                app_at(state, container_at(state, row - 1).job).chosen_memory = 0
                app_at(state, container_at(state, row - 1).job).chosen_vcores = 0
            row = held.next


@compiled
def _can_be_preempted(state: Any, job: int, memory: int, vcores: int, is_am: bool) -> bool:
    """``canContainerBePreempted``: its application must not fall below its fair share."""
    app = app_at(state, job)
    plan = plan_of(state, app.queue)
    if not plan.allow_preemption or (is_am and not plan.am_preemption):
        return False
    left_memory = app.used_memory - app.marked_memory - memory - app.chosen_memory
    left_vcores = app.used_vcores - app.marked_vcores - vcores - app.chosen_vcores
    return not is_below(state, plan.policy, left_memory, left_vcores, app.share_memory, app.share_vcores)


@compiled
def _mark_chosen(state: Any, job: int, node_row: int) -> None:
    """``trackPreemptionsAgainstNode`` and ``preemptContainers``: they are killed after the waiting time.

    In the order of a HashMap of their applications, which is the order in which killed AMs begin anew.
    """
    host, memory, vcores = host_at(state, node_row), 0, 0
    for turn in range(32):
        row = host.first_am if turn % 2 else host.first_worker
        while row > 0:
            container = container_at(state, row - 1)
            if held_at(state, row - 1).chosen and application_bucket(container.job) == turn // 2:
                container.standing = MARKED
                ask, app = ask_at(state, container.ask), app_at(state, container.job)
                app.marked_memory += ask.memory
                app.marked_vcores += ask.vcores
                memory += ask.memory
                vcores += ask.vcores
                _schedule_kill(state, row)
            row = held_at(state, row - 1).next
    if memory > 0:
        claim(state, job, node_row, memory, vcores)


@compiled
def _schedule_kill(state: Any, row: int) -> None:
    if state.kills == state.kill_rows_count:
        _forget_ended(state)
    kill = _kill_place(state, state.kills)
    kill.row = row
    kill.serial = container_at(state, row - 1).serial
    kill.time_ms = milliseconds(state.now) + cluster_of(state).wait_before_kill_ms
    state.kills += 1


@compiled
def _kill_place(state: Any, place: int) -> Any:
    return kill_at(state, (state.first_kill + place) % state.kill_rows_count)


@compiled
def _is_due(state: Any, kill: Any) -> bool:
    """Whether the container is still there, and not another one in its row."""
    container = container_at(state, kill.row - 1)
    return bool(container.serial == kill.serial and container.standing == MARKED)


@compiled
def _forget_ended(state: Any) -> None:
    """Makes room: takes out the containers that have ended by themselves. Of the others there are fewer than rows."""
    kept = 0
    for i in range(state.kills):
        kill, place = _kill_place(state, i), _kill_place(state, kept)
        if _is_due(state, kill):
            place.row = kill.row
            place.serial = kill.serial
            place.time_ms = kill.time_ms
            kept += 1
    state.kills = kept


@compiled
def kill_marked(state: Any) -> None:
    """Kills what is due, unless it has ended by itself."""
    now_ms = milliseconds(state.now)
    while state.kills > 0 and kill_at(state, state.first_kill).time_ms <= now_ms:
        kill = kill_at(state, state.first_kill)
        state.first_kill = (state.first_kill + 1) % state.kill_rows_count
        state.kills -= 1
        if _is_due(state, kill):
            state.clock_ms = kill.time_ms
            kill_container(state, kill.row)


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
            state.loosened += 1
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
