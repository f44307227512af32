"""The update step: what everyone demands, and what everyone is due (``FairScheduler.update``)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rules.simulation.compiled import compiled
from rules.simulation.fair.state import (
    DRF,
    FIFO,
    UNBOUNDED,
    app_at,
    cluster_of,
    plan_of,
    queue_at,
    running_at,
    waiting_at,
)

__all__ = ["update"]

# ComputeFairShares.COMPUTE_FAIR_SHARES_ITERATIONS
_ITERATIONS = 25


@compiled
def update(state: Any) -> None:
    """Demand from the applications up to root, then fair shares from root down to the applications."""
    _update_demand(state)
    queue_at(state, 0).share_memory = cluster_of(state).memory
    queue_at(state, 0).share_vcores = cluster_of(state).vcores
    for q in range(state.queues_count):
        queue, policy = queue_at(state, q), plan_of(state, q).policy
        if queue.children > 0:
            _divide_among_queues(state, q, False)
            if policy == DRF:
                _divide_among_queues(state, q, True)
        elif queue.running > 0:
            if policy == FIFO:
                _give_to_oldest(state, q)
            else:
                _divide_among_apps(state, q, False)
                if policy == DRF:
                    _divide_among_apps(state, q, True)
    state.free_memory = cluster_of(state).memory - queue_at(state, 0).used_memory
    state.free_vcores = cluster_of(state).vcores - queue_at(state, 0).used_vcores
    state.changed = 0
    state.version += 1
    state.loosened += 1


@compiled
def _update_demand(state: Any) -> None:
    """An application demands what it holds and asks for; a queue at most its maximum of what its applications do."""
    for q in range(state.queues_count):
        queue_at(state, q).demand_memory = 0
        queue_at(state, q).demand_vcores = 0
    for q in range(state.queues_count):
        queue = queue_at(state, q)
        if queue.children == 0:
            for place in range(queue.first_app, queue.first_app + queue.running):
                _demand_of_app(state, running_at(state, place).row)
    for place in range(state.waiting_apps):
        _demand_of_app(state, waiting_at(state, place).row)
    for q in range(state.queues_count - 1, -1, -1):
        queue, plan = queue_at(state, q), plan_of(state, q)
        queue.demand_memory = min(queue.demand_memory, plan.most_memory)
        queue.demand_vcores = min(queue.demand_vcores, plan.most_vcores)
        if queue.parent >= 0:
            queue_at(state, queue.parent).demand_memory += queue.demand_memory
            queue_at(state, queue.parent).demand_vcores += queue.demand_vcores


@compiled
def _demand_of_app(state: Any, job: int) -> None:
    app = app_at(state, job)
    app.demand_memory = app.used_memory + app.pending_memory
    app.demand_vcores = app.used_vcores + app.pending_vcores
    app.weight = 1.0
    if cluster_of(state).size_based:
        app.weight = np.float32(math.log1p(float(app.demand_memory)) / math.log(2.0))
    queue_at(state, app.queue).demand_memory += app.demand_memory
    queue_at(state, app.queue).demand_vcores += app.demand_vcores


@compiled
def _give_to_oldest(state: Any, q: int) -> None:
    """``FifoPolicy.computeShares``: the oldest is due all; the others keep what they were due before."""
    queue = queue_at(state, q)
    oldest = running_at(state, queue.first_app).row
    for place in range(queue.first_app + 1, queue.first_app + queue.running):
        app, first = app_at(state, running_at(state, place).row), app_at(state, oldest)
        if (app.start_ms, app.listed) < (first.start_ms, first.listed):
            oldest = running_at(state, place).row
    app_at(state, oldest).share_memory = queue.share_memory
    app_at(state, oldest).share_vcores = queue.share_vcores


@compiled
def _share(weight: float, least: int, most: int, ratio: float) -> int:
    """``ComputeFairShares.computeShare``: weight times ratio, but not below the minimum or above the maximum."""
    share = min(max(weight * ratio, float(least)), float(most))
    return UNBOUNDED if share >= 9.2233720368547e18 else int(share)


@compiled
def _add(a: int, b: int) -> int:
    return UNBOUNDED if a > UNBOUNDED - b else a + b


@compiled
def _bounds(state: Any, q: int, of_vcores: bool) -> tuple[int, int]:
    plan = plan_of(state, q)
    if of_vcores:
        return plan.least_vcores, plan.most_vcores
    return plan.least_memory, plan.most_memory


@compiled
def _fixed_share(state: Any, q: int, of_vcores: bool) -> int:
    """The share of a queue that takes no part in the division, -1 for one that does."""
    least, most = _bounds(state, q, of_vcores)
    if most <= 0 or queue_at(state, q).running == 0:
        return 0
    return max(least, 0) if plan_of(state, q).weight <= 0.0 else -1


@compiled
def _set_queue_share(state: Any, q: int, of_vcores: bool, share: int) -> None:
    if of_vcores:
        queue_at(state, q).share_vcores = share
    else:
        queue_at(state, q).share_memory = share


@compiled
def _queues_take(state: Any, first: int, last: int, of_vcores: bool, ratio: float) -> int:
    taken = 0
    for q in range(first, last):
        if _fixed_share(state, q, of_vcores) < 0:
            least, most = _bounds(state, q, of_vcores)
            taken = _add(taken, _share(plan_of(state, q).weight, least, most, ratio))
    return taken


@compiled
def _divide_among_queues(state: Any, parent: int, of_vcores: bool) -> None:
    """``ComputeFairShares.computeShares`` among the children of a queue."""
    first = queue_at(state, parent).first_child
    last = first + queue_at(state, parent).children
    total = queue_at(state, parent).share_vcores if of_vcores else queue_at(state, parent).share_memory
    taken, most_together, dividing = 0, 0, False
    for q in range(first, last):
        share = _fixed_share(state, q, of_vcores)
        if share >= 0:
            _set_queue_share(state, q, of_vcores, share)
            taken = _add(taken, share)
        else:
            dividing = True
            most_together = _add(most_together, _bounds(state, q, of_vcores)[1])
    if not dividing:
        return
    total = min(most_together, max(total - taken, 0))
    high = 1.0
    while _queues_take(state, first, last, of_vcores, high) < total:
        high *= 2.0
    low = 0.0
    for _ in range(_ITERATIONS):
        middle = (low + high) / 2.0
        planned = _queues_take(state, first, last, of_vcores, middle)
        if planned < total:
            low = middle
        else:
            high = middle
            if planned == total:
                break
    for q in range(first, last):
        if _fixed_share(state, q, of_vcores) < 0:
            least, most = _bounds(state, q, of_vcores)
            _set_queue_share(state, q, of_vcores, _share(plan_of(state, q).weight, least, most, high))


@compiled
def _apps_take(state: Any, first: int, last: int, ratio: float) -> int:
    if not cluster_of(state).size_based:  # all weigh the same
        return (last - first) * int(ratio)
    taken = 0
    for place in range(first, last):
        taken += int(app_at(state, running_at(state, place).row).weight * ratio)
    return taken


@compiled
def _divide_among_apps(state: Any, q: int, of_vcores: bool) -> None:
    """``ComputeFairShares.computeShares`` among the applications of a leaf, which have no bounds of their own."""
    first, last = queue_at(state, q).first_app, queue_at(state, q).first_app + queue_at(state, q).running
    total = queue_at(state, q).share_vcores if of_vcores else queue_at(state, q).share_memory
    dividing = False
    for place in range(first, last):
        dividing = dividing or app_at(state, running_at(state, place).row).weight > 0.0
    low, high = 0.0, 1.0
    if dividing:
        while _apps_take(state, first, last, high) < total:
            high *= 2.0
        for _ in range(_ITERATIONS):
            middle = (low + high) / 2.0
            planned = _apps_take(state, first, last, middle)
            if planned < total:
                low = middle
            else:
                high = middle
                if planned == total:
                    break
    for place in range(first, last):
        app = app_at(state, running_at(state, place).row)
        share = int(app.weight * high) if app.weight > 0.0 else 0
        if of_vcores:
            app.share_vcores = share
        else:
            app.share_memory = share
