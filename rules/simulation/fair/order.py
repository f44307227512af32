"""Who is served first: the comparators of the scheduling policies, and a heap that goes by them.

A leaf sorts its applications and a parent its children anew for every assignment. What comes first mostly gets the
container, so only as much is sorted as is looked at.
"""

from __future__ import annotations

from typing import Any

from rules.simulation.compiled import compiled
from rules.simulation.fair.state import DRF, FAIR, FIFO, app_at, cluster_of, heap_at, plan_of, queue_at

__all__ = ["goes_before", "is_older", "make_heap", "pop_heap"]


@compiled
def _sign(a: float, b: float) -> int:
    """``(int) Math.signum(a - b)``; 0 where one is no number."""
    return 1 if a > b else -1 if a < b else 0


@compiled
def _by_demand(demand_a: int, demand_b: int) -> int:
    """Who demands nothing comes last."""
    if demand_a == 0 and demand_b > 0:
        return 1
    return -1 if demand_b == 0 and demand_a > 0 else 0


@compiled
def _by_use(used_a: int, used_b: int, weight_a: float, weight_b: float) -> int:
    """Memory in use by weight; without a weight above 0 in both, the heavier one first."""
    if weight_a > 0.0 and weight_b > 0.0:
        return int(_sign(used_a / weight_a, used_b / weight_b))
    return int(_sign(used_a, used_b) if weight_a == weight_b else _sign(-weight_a, -weight_b))


@compiled
def _shares(cluster: Any, memory: int, vcores: int) -> tuple[float, float, int]:
    """Shares of the cluster, and which of them is dominant (1: vcores)."""
    memory_share, vcores_share = memory / cluster.memory, vcores / cluster.vcores
    return memory_share, vcores_share, 1 if vcores_share > memory_share else 0


@compiled
def _by_ratios(first: int, memory_a: float, vcores_a: float, second: int, memory_b: float, vcores_b: float) -> int:
    """By the ratio of the dominant resource, then by that of the other."""
    order = _sign(vcores_a if first else memory_a, vcores_b if second else memory_b)
    return int(order if order != 0 else _sign(memory_a if first else vcores_a, memory_b if second else vcores_b))


@compiled
def _compare_apps(state: Any, policy: int, a: int, b: int) -> int:
    """Applications have no minimum, and their age decides where all else is equal."""
    one, two = app_at(state, a), app_at(state, b)
    order = 0
    if policy == FAIR:
        order = _by_demand(one.demand_memory, two.demand_memory)
        if order == 0:
            order = _by_use(one.used_memory, two.used_memory, one.weight, two.weight)
    elif policy == DRF:
        cluster = cluster_of(state)
        memory_a, vcores_a, first = _shares(cluster, one.used_memory, one.used_vcores)
        memory_b, vcores_b, second = _shares(cluster, two.used_memory, two.used_vcores)
        order = _by_ratios(
            first, memory_a / one.weight, vcores_a / one.weight, second, memory_b / two.weight, vcores_b / two.weight
        )
    return order if order != 0 else (-1 if is_older(state, a, b) else 1)


@compiled
def is_older(state: Any, a: int, b: int) -> bool:
    """By the start of the attempt, then by application id."""
    start_a, start_b = app_at(state, a).start_ms, app_at(state, b).start_ms
    return bool(a < b) if start_a == start_b else bool(start_a < start_b)


@compiled
def _compare_queues(state: Any, policy: int, a: int, b: int) -> int:
    order = 0
    if policy == FAIR:
        order = _compare_fair(queue_at(state, a), queue_at(state, b), plan_of(state, a), plan_of(state, b))
    elif policy == DRF:
        order = _compare_drf(
            cluster_of(state), queue_at(state, a), queue_at(state, b), plan_of(state, a), plan_of(state, b)
        )
    return order if order != 0 else _sign(queue_at(state, a).rank, queue_at(state, b).rank)


@compiled
def _compare_fair(one: Any, two: Any, plan_a: Any, plan_b: Any) -> int:
    """``FairSharePolicy.FairShareComparator``: no demand last, below the minimum first, then use by weight."""
    order = _by_demand(one.demand_memory, two.demand_memory)
    if order != 0:
        return int(order)
    least_a, least_b = min(plan_a.least_memory, one.demand_memory), min(plan_b.least_memory, two.demand_memory)
    needy_a, needy_b = one.used_memory < least_a, two.used_memory < least_b
    if needy_a and needy_b:
        ratio_a, ratio_b = float(one.used_memory), float(two.used_memory)
        order = _sign(ratio_a / least_a if least_a > 1 else ratio_a, ratio_b / least_b if least_b > 1 else ratio_b)
    elif needy_a or needy_b:
        order = -1 if needy_a else 1
    if order != 0:
        return int(order)
    return int(_by_use(one.used_memory, two.used_memory, plan_a.weight, plan_b.weight))


@compiled
def _compare_drf(cluster: Any, one: Any, two: Any, plan_a: Any, plan_b: Any) -> int:
    """``DominantResourceFairnessPolicy.DominantResourceFairnessComparator2``."""
    memory_a, vcores_a, first = _shares(cluster, one.used_memory, one.used_vcores)
    memory_b, vcores_b, second = _shares(cluster, two.used_memory, two.used_vcores)
    needy_a = one.used_vcores < plan_a.least_vcores if first else one.used_memory < plan_a.least_memory
    needy_b = two.used_vcores < plan_b.least_vcores if second else two.used_memory < plan_b.least_memory
    if needy_a and needy_b:
        return int(
            _by_ratios(
                first,
                one.used_memory / plan_a.least_memory,
                one.used_vcores / plan_a.least_vcores,
                second,
                two.used_memory / plan_b.least_memory,
                two.used_vcores / plan_b.least_vcores,
            )
        )
    if needy_a or needy_b:
        return -1 if needy_a else 1
    return int(
        _by_ratios(
            first,
            memory_a / plan_a.weight,
            vcores_a / plan_a.weight,
            second,
            memory_b / plan_b.weight,
            vcores_b / plan_b.weight,
        )
    )


@compiled
def goes_before(state: Any, policy: int, a: int, b: int) -> bool:
    """Whether an application is served before another one."""
    return bool(is_older(state, a, b) if policy == FIFO else _compare_apps(state, policy, a, b) < 0)


@compiled
def _before(state: Any, of_apps: bool, policy: int, a: int, b: int) -> bool:
    if of_apps:
        return bool(goes_before(state, policy, a, b))
    return bool(_compare_queues(state, policy, a, b) < 0)


@compiled
def _sift(state: Any, of_apps: bool, policy: int, begin: int, length: int, hole: int) -> None:
    """Moves down what is at the hole until all below it come later."""
    item = heap_at(state, begin + hole).row
    while True:
        child = 2 * hole + 1
        if child >= length:
            break
        if child + 1 < length and _before(
            state, of_apps, policy, heap_at(state, begin + child + 1).row, heap_at(state, begin + child).row
        ):
            child += 1
        if not _before(state, of_apps, policy, heap_at(state, begin + child).row, item):
            break
        heap_at(state, begin + hole).row = heap_at(state, begin + child).row
        hole = child
    heap_at(state, begin + hole).row = item


@compiled
def make_heap(state: Any, of_apps: bool, policy: int, begin: int, length: int) -> None:
    """Orders a stretch of applications (or of queues) so far that the first one is on top."""
    for hole in range(length // 2 - 1, -1, -1):
        _sift(state, of_apps, policy, begin, length, hole)


@compiled
def pop_heap(state: Any, of_apps: bool, policy: int, begin: int, length: int) -> int:
    """Takes the first one off a heap of this length."""
    first = heap_at(state, begin).row
    heap_at(state, begin).row = heap_at(state, begin + length - 1).row
    _sift(state, of_apps, policy, begin, length - 1, 0)
    return int(first)
