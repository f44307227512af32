"""What each queue should have, and what is to be preempted from it (``PreemptableResourceCalculator``).

Amounts are pairs of memory and vcores, compared as the resource calculator does: by memory, or under the
DominantResourceCalculator by the larger of the shares of what the parent has to give, then by the other.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rules.simulation.capacity.preemption_tables import (
    monitor_at,
    needy_at,
    room_at,
    spared_at,
    tier_at,
    underserved_at,
)
from rules.simulation.capacity.state import app_at, child_at, cluster_of, limits_of, queue_at, served_at, user_at
from rules.simulation.capacity.users import update_user_limit, user_limit
from rules.simulation.compiled import compiled
from rules.simulation.tables import ask_at, job_at

__all__ = ["any_above_zero", "compare_in", "is_spared", "monitor_of", "multiply_up_by", "share_out"]

_MOST = 2**62


@compiled
def monitor_of(state: Any) -> Any:
    """The present configuration's."""
    return monitor_at(state, state.configuration)


@compiled
def is_spared(state: Any, q: int) -> bool:
    """Whether the queue has disable_preemption."""
    return bool(spared_at(state, state.configuration * (state.queues_count // state.partitions) + q).disabled)


@compiled
def compare_in(state: Any, of_m: int, of_v: int, memory_a: int, vcores_a: int, memory_b: int, vcores_b: int) -> int:
    """``ResourceCalculator.compare`` with these amounts for the cluster; -1, 0 or 1."""
    if memory_a == memory_b and vcores_a == vcores_b:
        return 0
    if cluster_of(state).vcores == 0:
        return 1 if memory_a > memory_b else -1 if memory_a < memory_b else 0
    if of_m == 0 and of_v == 0:
        more, less = memory_a > memory_b or vcores_a > vcores_b, memory_a < memory_b or vcores_a < vcores_b
        return 0 if more == less else 1 if more else -1
    a, b = memory_a / of_m, vcores_a / of_v
    c, d = memory_b / of_m, vcores_b / of_v
    if b > a:
        a, b = b, a
    if d > c:
        c, d = d, c
    if a != c:
        return 1 if a > c else -1
    return 1 if b > d else -1 if b < d else 0


@compiled
def _divide(state: Any, of_m: int, of_v: int, memory_a: int, vcores_a: int, memory_b: int, vcores_b: int) -> float:
    """``ResourceCalculator.divide``: the ratio of the largest shares, as a float."""
    if cluster_of(state).vcores == 0:
        return float(np.float32(memory_a) / np.float32(memory_b)) if memory_b != 0 else 0.0
    a = max(memory_a / of_m, vcores_a / of_v, 0.0)
    b = max(memory_b / of_m, vcores_b / of_v, 0.0)
    return float(np.float32(a / b))


@compiled
def any_above_zero(state: Any, memory: int, vcores: int) -> bool:
    """``isAnyMajorResourceAboveZero``."""
    return bool(memory > 0 or (cluster_of(state).vcores > 0 and vcores > 0))


@compiled
def multiply_up_by(state: Any, amount: int, by: float) -> int:
    """``multiplyAndNormalizeUp`` with a step of 1 and one factor; memory alone is rounded to the nearest."""
    if cluster_of(state).vcores == 0:
        return int(amount * by + 0.5)
    return math.ceil(np.float32(amount * by))


@compiled
def _part(state: Any, amount: int, by: float) -> int:
    """The same with a factor for each resource, where nothing is cut to a float."""
    return int(amount * by + 0.5) if cluster_of(state).vcores == 0 else math.ceil(amount * by)


@compiled
def share_out(state: Any, allowed_m: int, allowed_v: int) -> None:
    """``computeIdealAllocation``: from what queues hold and ask for to what each should have, from root down."""
    count = state.queues_count // state.partitions
    for q in range(count):
        if limits_of(state, q).present:
            _sum_demand(state, q)
    for q in range(count - 1, -1, -1):
        if limits_of(state, q).present:
            _add_up(state, q)
    root = tier_at(state, 0)
    root.ideal_memory, root.ideal_vcores = limits_of(state, 0).guaranteed_memory, limits_of(state, 0).guaranteed_vcores
    for q in range(count):
        if limits_of(state, q).present:
            if queue_at(state, q).leaf:
                _set_target(state, q)
            else:
                _divide_among_children(state, q, allowed_m, allowed_v)


@compiled
def _sum_demand(state: Any, q: int) -> None:
    """``getTotalPendingResourcesConsideringUserLimit``: what users ask for and may have; with reservations, without."""
    tier, queue = tier_at(state, q), queue_at(state, q)
    tier.pending_memory = tier.pending_vcores = tier.asked_memory = tier.asked_vcores = 0
    if not queue.leaf or queue.active == 0:
        return
    update_user_limit(state, q)
    for less_reserved in range(2):
        for row in range(queue.first_user, queue.first_user + queue.users):
            room_at(state, row).known = 0
        for i in range(queue.first_app, queue.first_app + queue.active):
            job = served_at(state, i).row
            if app_at(state, job).queue != q:
                continue
            app, room = app_at(state, job), _room_of(state, job)
            memory = vcores = 0
            for ask_row in range(job_at(state, job).am_ask, job_at(state, job).ask_end):
                memory += ask_at(state, ask_row).pending * ask_at(state, ask_row).memory
                vcores += ask_at(state, ask_row).pending * ask_at(state, ask_row).vcores
            if less_reserved:
                memory, vcores = memory - app.reserved_memory, vcores - app.reserved_vcores
            memory, vcores = min(max(memory, 0), room.memory), min(max(vcores, 0), room.vcores)
            room.memory -= memory
            room.vcores -= vcores
            if less_reserved:
                tier.asked_memory += memory
                tier.asked_vcores += vcores
            else:
                tier.pending_memory += memory
                tier.pending_vcores += vcores


@compiled
def _room_of(state: Any, job: int) -> Any:
    """What the application's user may still get, of which other applications have had their part."""
    row = app_at(state, job).user
    room, user = room_at(state, row), user_at(state, row)
    if not room.known:
        room.known = 1
        room.memory = room.vcores = _MOST
        if limits_of(state, app_at(state, job).queue).user_limited:
            limit_m, limit_v = user_limit(state, job)
            room.memory, room.vcores = max(limit_m - user.used_memory, 0), max(limit_v - user.used_vcores, 0)
    return room


@compiled
def _add_up(state: Any, q: int) -> None:
    """``updatePreemptableExtras``, children first, and what they ask for."""
    tier, queue, limit, cluster = tier_at(state, q), queue_at(state, q), limits_of(state, q), cluster_of(state)
    extra_m, extra_v = queue.used_memory - limit.guaranteed_memory, queue.used_vcores - limit.guaranteed_vcores
    if compare_in(state, cluster.memory, cluster.vcores, extra_m, extra_v, 0, 0) < 0:
        extra_m = extra_v = 0
    tier.untouchable_memory = tier.untouchable_vcores = 0
    if queue.leaf:
        if is_spared(state, q):
            tier.untouchable_memory, tier.untouchable_vcores = extra_m, extra_v
            extra_m = extra_v = 0
        tier.extra_memory, tier.extra_vcores = extra_m, extra_v
        return
    below_m = below_v = 0
    for i in range(queue.first_child, queue.first_child + queue.children):
        if limits_of(state, child_at(state, i).row).present:
            child = tier_at(state, child_at(state, i).row)
            tier.pending_memory += child.pending_memory
            tier.pending_vcores += child.pending_vcores
            tier.asked_memory += child.asked_memory
            tier.asked_vcores += child.asked_vcores
            below_m += child.extra_memory
            below_v += child.extra_vcores
    if compare_in(state, cluster.memory, cluster.vcores, below_m, below_v, extra_m, extra_v) < 0:
        tier.untouchable_memory, tier.untouchable_vcores = extra_m - below_m, extra_v - below_v
    if compare_in(state, cluster.memory, cluster.vcores, below_m, below_v, extra_m, extra_v) <= 0:
        extra_m, extra_v = below_m, below_v
    tier.extra_memory, tier.extra_vcores = extra_m, extra_v


@compiled
def _divide_among_children(state: Any, parent: int, allowed_m: int, allowed_v: int) -> None:
    """``computeIdealResourceDistribution``: first among those with a guarantee, then what is left among the others."""
    total = tier_at(state, parent)
    of_m, of_v = total.ideal_memory, total.ideal_vcores
    left_m, left_v = of_m, of_v
    queue = queue_at(state, parent)
    left_m, left_v, _ = _fill_up(state, parent, of_m, of_v, left_m, left_v, True)
    without = _count_without(state, parent, of_m, of_v)
    if without > 0 and compare_in(state, of_m, of_v, left_m, left_v, 0, 0) > 0:
        _fill_up(state, parent, of_m, of_v, left_m, left_v, False)
    need_m = need_v = 0
    for i in range(queue.first_child, queue.first_child + queue.children):
        child = child_at(state, i).row
        held, tier = queue_at(state, child), tier_at(state, child)
        over = compare_in(state, of_m, of_v, held.used_memory, held.used_vcores, tier.ideal_memory, tier.ideal_vcores)
        if limits_of(state, child).present and over > 0:
            need_m += held.used_memory - tier.ideal_memory
            need_v += held.used_vcores - tier.ideal_vcores
    scale = 1.0
    if compare_in(state, of_m, of_v, need_m, need_v, allowed_m, allowed_v) > 0:
        scale = _divide(state, of_m, of_v, allowed_m, allowed_v, need_m, need_v)
    for i in range(queue.first_child, queue.first_child + queue.children):
        if limits_of(state, child_at(state, i).row).present:
            _set_excess(state, child_at(state, i).row, of_m, of_v, scale)


@compiled
def _guaranteed(state: Any, q: int, of_m: int, of_v: int) -> bool:
    limit = limits_of(state, q)
    return bool(compare_in(state, of_m, of_v, limit.guaranteed_memory, limit.guaranteed_vcores, 0, 0) > 0)


@compiled
def _count_without(state: Any, parent: int, of_m: int, of_v: int) -> int:
    """How many children have no guarantee."""
    queue, count = queue_at(state, parent), 0
    for i in range(queue.first_child, queue.first_child + queue.children):
        child = child_at(state, i).row
        if limits_of(state, child).present and not _guaranteed(state, child, of_m, of_v):
            count += 1
    return int(count)


@compiled
def _fill_up(
    state: Any, parent: int, of_m: int, of_v: int, left_m: int, left_v: int, guaranteed: bool
) -> tuple[int, int, int]:
    """``computeFixpointAllocation``: everyone gets what it holds of its guarantee; the rest goes to the neediest.

    Returns:
        What the caller sees left over: Hadoop takes from its amount only what the first of the neediest took.
    """
    queue = queue_at(state, parent)
    state.needy_queues = 0
    for i in range(queue.first_child, queue.first_child + queue.children):
        child = child_at(state, i).row
        if not limits_of(state, child).present or _guaranteed(state, child, of_m, of_v) != guaranteed:
            continue
        tier, held = tier_at(state, child), queue_at(state, child)
        _set_initial(state, child, of_m, of_v)
        left_m -= tier.ideal_memory
        left_v -= tier.ideal_vcores
        most_m, most_v = held.used_memory + tier.pending_memory, held.used_vcores + tier.pending_vcores
        if compare_in(state, of_m, of_v, tier.ideal_memory, tier.ideal_vcores, most_m, most_v) < 0:
            _add_needy(state, child, of_m, of_v)
    seen_m, seen_v, turns = left_m, left_v, 0
    while state.needy_queues > 0 and compare_in(state, of_m, of_v, left_m, left_v, 0, 0) > 0:
        _set_parts(state, guaranteed)
        _take_neediest(state, of_m, of_v)
        round_m, round_v = left_m, left_v
        for i in range(state.underserved_queues):
            if not any_above_zero(state, left_m, left_v):
                break
            child = underserved_at(state, i).row
            tier = tier_at(state, child)
            offered_m = min(_part(state, round_m, tier.part_memory), left_m)
            offered_v = min(_part(state, round_v, tier.part_vcores), left_v)
            taken_m, taken_v = _offer(state, child, of_m, of_v, offered_m, offered_v)
            if compare_in(state, of_m, of_v, taken_m, taken_v, 0, 0) > 0:
                _add_needy(state, child, of_m, of_v)
            if turns == 0:
                seen_m, seen_v = left_m - taken_m, left_v - taken_v
            turns += 1
            left_m, left_v = max(left_m - taken_m, 0), max(left_v - taken_v, 0)
    return seen_m, seen_v, turns


@compiled
def _set_initial(state: Any, q: int, of_m: int, of_v: int) -> None:
    """A queue should have what it holds, up to its guarantee, and what may not be preempted."""
    tier, held, limit = tier_at(state, q), queue_at(state, q), limits_of(state, q)
    tier.ideal_memory, tier.ideal_vcores = held.used_memory, held.used_vcores
    over = compare_in(
        state, of_m, of_v, held.used_memory, held.used_vcores, limit.guaranteed_memory, limit.guaranteed_vcores
    )
    if over > 0:
        tier.ideal_memory = min(limit.guaranteed_memory, held.used_memory) + tier.untouchable_memory
        tier.ideal_vcores = min(limit.guaranteed_vcores, held.used_vcores) + tier.untouchable_vcores


@compiled
def _set_parts(state: Any, guaranteed: bool) -> None:
    """``resetCapacity``: the neediest get in proportion to their guarantees, those without one get equal parts."""
    count, memory, vcores, absolute = state.needy_queues, 0, 0, np.float32(0)
    for i in range(count):
        limit = limits_of(state, needy_at(state, i).row)
        memory += limit.guaranteed_memory
        vcores += limit.guaranteed_vcores
        absolute = np.float32(absolute + np.float32(limit.absolute))
    by_capacity_m = by_capacity_v = False
    for i in range(count):
        limit = limits_of(state, needy_at(state, i).row)
        by_capacity_m |= limit.guaranteed_memory == 0 and limit.absolute != 0 and memory != 0
        by_capacity_v |= limit.guaranteed_vcores == 0 and limit.absolute != 0 and vcores != 0
    for i in range(count):
        tier, limit = tier_at(state, needy_at(state, i).row), limits_of(state, needy_at(state, i).row)
        evenly = float(np.float32(1) / np.float32(count))
        of_capacity = float(np.float32(limit.absolute) / absolute) if absolute != 0 else 0.0
        tier.part_memory = tier.part_vcores = evenly
        if guaranteed and by_capacity_m:
            tier.part_memory = of_capacity
        elif guaranteed and memory != 0 and absolute != 0:
            tier.part_memory = float(np.float32(limit.guaranteed_memory) / np.float32(memory))
        if guaranteed and by_capacity_v:
            tier.part_vcores = of_capacity
        elif guaranteed and vcores != 0 and absolute != 0:
            tier.part_vcores = float(np.float32(limit.guaranteed_vcores) / np.float32(vcores))


@compiled
def _filled(state: Any, q: int, of_m: int, of_v: int) -> float:
    """``TQComparator.getIdealPctOfGuaranteed``."""
    tier, limit = tier_at(state, q), limits_of(state, q)
    if not _guaranteed(state, q, of_m, of_v):
        return 2147483647.0
    least_m, least_v = limit.guaranteed_memory, limit.guaranteed_vcores
    return float(_divide(state, of_m, of_v, tier.ideal_memory, tier.ideal_vcores, least_m, least_v))


@compiled
def _compare_need(state: Any, a: int, b: int, of_m: int, of_v: int) -> int:
    """``PriorityUtilizationQueueOrderingPolicy.compare``: on the same side of the guarantee, by priority."""
    filled_a, filled_b = _filled(state, a, of_m, of_v), _filled(state, b, of_m, of_v)
    if limits_of(state, queue_at(state, a).parent).by_priority:
        priority_a, priority_b = limits_of(state, a).priority, limits_of(state, b).priority
        if priority_a != priority_b and (filled_a < 1) == (filled_b < 1):
            return 1 if priority_a < priority_b else -1
    return 1 if filled_a > filled_b else -1 if filled_a < filled_b else 0


@compiled
def _add_needy(state: Any, q: int, of_m: int, of_v: int) -> None:
    """Into the heap, as ``java.util.PriorityQueue`` does it, whose order decides ties."""
    place = state.needy_queues
    state.needy_queues += 1
    while place > 0:
        parent = (place - 1) >> 1
        if _compare_need(state, q, needy_at(state, parent).row, of_m, of_v) >= 0:
            break
        needy_at(state, place).row = needy_at(state, parent).row
        place = parent
    needy_at(state, place).row = q


@compiled
def _take_needy(state: Any, of_m: int, of_v: int) -> int:
    first = needy_at(state, 0).row
    state.needy_queues -= 1
    length = state.needy_queues
    last, place = needy_at(state, length).row, 0
    while place < length >> 1:
        child = 2 * place + 1
        right = child + 1
        if right < length:
            order = _compare_need(state, needy_at(state, child).row, needy_at(state, right).row, of_m, of_v)
            child = right if order > 0 else child
        if _compare_need(state, last, needy_at(state, child).row, of_m, of_v) <= 0:
            break
        needy_at(state, place).row = needy_at(state, child).row
        place = child
    needy_at(state, place).row = last
    return int(first)


@compiled
def _take_neediest(state: Any, of_m: int, of_v: int) -> None:
    """``getMostUnderservedQueues``: the first, and those that are just as needy."""
    state.underserved_queues = 0
    while state.needy_queues > 0:
        q = _take_needy(state, of_m, of_v)
        underserved_at(state, state.underserved_queues).row = q
        state.underserved_queues += 1
        if state.needy_queues > 0 and _compare_need(state, q, needy_at(state, 0).row, of_m, of_v) < 0:
            return


@compiled
def _offer(state: Any, q: int, of_m: int, of_v: int, offered_m: int, offered_v: int) -> tuple[int, int]:
    """``TempQueuePerPartition.offer``: a queue takes what it asks for, up to its maximum; returns what it took.

    A leaf takes no more than what it holds or its guarantee, whichever is more.
    """
    tier, held, limit = tier_at(state, q), queue_at(state, q), limits_of(state, q)
    asked_m, asked_v = tier.asked_memory, tier.asked_vcores
    if monitor_of(state).reserved_demand:
        asked_m, asked_v = tier.pending_memory, tier.pending_vcores
    take_m, take_v = held.used_memory + asked_m - tier.ideal_memory, held.used_vcores + asked_v - tier.ideal_vcores
    if compare_in(state, of_m, of_v, offered_m, offered_v, take_m, take_v) <= 0:
        take_m, take_v = offered_m, offered_v
    take_m = min(max(limit.maximum_memory - tier.ideal_memory, 0), take_m)
    take_v = min(max(limit.maximum_vcores - tier.ideal_vcores, 0), take_v)
    if held.leaf:
        most_m, most_v = limit.guaranteed_memory, limit.guaranteed_vcores
        if compare_in(state, of_m, of_v, held.used_memory, held.used_vcores, most_m, most_v) >= 0:
            most_m, most_v = held.used_memory, held.used_vcores
        most_m, most_v = most_m - tier.ideal_memory, most_v - tier.ideal_vcores
        if compare_in(state, of_m, of_v, most_m, most_v, 0, 0) < 0:
            most_m = most_v = 0
        if compare_in(state, of_m, of_v, take_m, take_v, most_m, most_v) > 0:
            take_m, take_v = most_m, most_v
    take_m, take_v = min(max(take_m, 0), offered_m), min(max(take_v, 0), offered_v)
    tier.ideal_memory += take_m
    tier.ideal_vcores += take_v
    return take_m, take_v


@compiled
def _set_excess(state: Any, q: int, of_m: int, of_v: int, scale: float) -> None:
    """``assignPreemption``: a part of what the queue holds beyond what it should have."""
    tier, held, limit = tier_at(state, q), queue_at(state, q), limits_of(state, q)
    least_m, least_v = held.used_memory + tier.pending_memory, held.used_vcores + tier.pending_vcores
    guaranteed_m, guaranteed_v = limit.guaranteed_memory, limit.guaranteed_vcores
    if compare_in(state, of_m, of_v, least_m, least_v, guaranteed_m, guaranteed_v) > 0:
        least_m, least_v = guaranteed_m, guaranteed_v
    if compare_in(state, of_m, of_v, least_m, least_v, tier.ideal_memory, tier.ideal_vcores) < 0:
        least_m, least_v = tier.ideal_memory, tier.ideal_vcores
    tier.excess_memory = tier.excess_vcores = 0
    if compare_in(state, of_m, of_v, held.used_memory, held.used_vcores, least_m, least_v) > 0:
        tier.excess_memory = int((held.used_memory - least_m) * scale)
        tier.excess_vcores = int((held.used_vcores - least_v) * scale)


@compiled
def _set_target(state: Any, q: int) -> None:
    """``calculateResToObtainByPartitionForLeafQueues``: outside the dead zone, the part that will not end by itself."""
    tier, held, limit, cluster = tier_at(state, q), queue_at(state, q), limits_of(state, q), cluster_of(state)
    monitor = monitor_of(state)
    by = 1.0 + monitor.over_capacity
    most_m, most_v = int(limit.guaranteed_memory * by), int(limit.guaranteed_vcores * by)
    tier.target_memory = tier.target_vcores = 0
    of_m, of_v = cluster.memory, cluster.vcores
    if is_spared(state, q) or compare_in(state, of_m, of_v, held.used_memory, held.used_vcores, most_m, most_v) <= 0:
        return
    tier.target_memory, tier.target_vcores = tier.excess_memory, tier.excess_vcores
    if compare_in(state, of_m, of_v, tier.excess_memory, tier.excess_vcores, 0, 0) > 0:
        tier.target_memory = multiply_up_by(state, tier.excess_memory, monitor.termination)
        tier.target_vcores = multiply_up_by(state, tier.excess_vcores, monitor.termination)
