"""Which applications may start their AM (``AbstractLeafQueue.activateApplications``)."""

from __future__ import annotations

from typing import Any

import numpy as np

from rules.simulation.binding import bind, enter
from rules.simulation.capacity.arithmetic import compare, multiply_up
from rules.simulation.capacity.order import insert, wanting_begin
from rules.simulation.capacity.reasons import AM_LIMIT, APPLICATION_ORDER, HEARTBEAT, USER_AM_LIMIT
from rules.simulation.capacity.reservations import NONE
from rules.simulation.capacity.state import app_at, cluster_of, limits_of, look_at_job, pending_at, queue_at, user_at
from rules.simulation.compiled import compiled
from rules.simulation.tables import ask_at, job_at

__all__ = ["activate_applications"]


@compiled
def activate_applications(state: Any, q: int) -> None:
    """Activates what the AM limits of the queue and of the user allow.

    In the order of submission; one that does not fit is passed over and does not hold up those behind it. A queue
    without active applications always gets one, and so does one whose AMs use nothing. The limits are those of the
    partition of the application's AM.

    Args:
        state: the Capacity Scheduler's state.
        q: the leaf's row of nodes without a label.
    """
    queue, looked_at = queue_at(state, q), state.partition
    for partition in range(state.partitions):
        queue_at(state, partition * (state.queues_count // state.partitions) + q).user_am_memory = NONE
    kept = queue.first_app
    for place in range(queue.first_app, queue.first_app + queue.pending):
        job = pending_at(state, place).row
        look_at_job(state, job)
        app, ask = app_at(state, job), ask_at(state, job_at(state, job).am_ask)
        user, here, limit = user_at(state, app.user), queue_at(state, app.queue), limits_of(state, app.queue)
        most_m, most_v = _queue_am_limit(state, app.queue)
        fits = True
        if limit.am_fraction >= 0:
            fits = here.am_memory + ask.memory <= most_m and here.am_vcores + ask.vcores <= most_v
        in_queue = fits
        is_free = _is_free(queue, here)
        # One limit for all users, by the weight of the first who gets so far.
        if here.user_am_memory == NONE and (fits or is_free):
            here.user_am_memory, here.user_am_vcores = _user_am_limit(state, app.queue, user.weight, most_m, most_v)
        if limit.user_am_fraction >= 0:
            fits = fits and user.am_memory + ask.memory <= here.user_am_memory
            fits = fits and user.am_vcores + ask.vcores <= here.user_am_vcores
        if not fits and not is_free:
            bind(state, job, USER_AM_LIMIT if in_queue else AM_LIMIT)
            pending_at(state, kept).row = job
            kept += 1
            continue
        _activate(state, q, job)
    queue.pending = kept - queue.first_app
    state.partition = looked_at


@compiled
def _is_free(queue: Any, here: Any) -> bool:
    """Whether the AM limits are waived: nothing is active, or no AM uses anything in the partition."""
    return bool(queue.active < 1 or (here.am_memory <= 0 and here.am_vcores <= 0))


@compiled
def _activate(state: Any, q: int, job: int) -> None:
    app, ask = app_at(state, job), ask_at(state, job_at(state, job).am_ask)
    queue, here, user = queue_at(state, q), queue_at(state, app.queue), user_at(state, app.user)
    user_at(state, app.member).pending -= 1
    user_at(state, app.member).active += 1
    here.am_memory += ask.memory
    here.am_vcores += ask.vcores
    user.am_memory += ask.memory
    user.am_vcores += ask.vcores
    app.active = 1
    bind(state, job, APPLICATION_ORDER if queue.wanting > 0 else HEARTBEAT)
    enter(state, job, app.queue)
    insert(state, queue.first_app, queue.active, job)
    queue.active += 1
    if app.outstanding > 0:
        insert(state, wanting_begin(state, q), queue.wanting, job)
        queue.wanting += 1


@compiled
def _queue_am_limit(state: Any, q: int) -> tuple[int, int]:
    """The AM share of what the queue is sure of, or of what it could have by the last limit handed down, if more."""
    queue, limit, cluster = queue_at(state, q), limits_of(state, q), cluster_of(state)
    base_m, base_v = limit.guaranteed_memory, limit.guaranteed_vcores
    if base_m <= queue.current_memory and base_v <= queue.current_vcores:
        base_m, base_v = queue.current_memory, queue.current_vcores
    most_m = multiply_up(cluster, base_m, limit.am_fraction, cluster.step_memory)
    most_v = multiply_up(cluster, base_v, limit.am_fraction, cluster.step_vcores)
    return most_m, most_v


@compiled
def _user_am_limit(state: Any, q: int, weight: float, most_m: int, most_v: int) -> tuple[int, int]:
    """A user's part of the AM share: of an equal share (at least the minimum percent), times the factor."""
    queue, limit, cluster = queue_at(state, q), limits_of(state, q), cluster_of(state)
    part = np.float32(limit.user_am_fraction)
    if limit.user_factor != -1:
        home = queue_at(state, queue.home)
        users = max(home.active_users + home.waiting_users, 1)
        share = max(np.float32(np.float32(limit.user_percent) / np.float32(100)), np.float32(1) / np.float32(users))
        share = min(np.float32(share * np.float32(weight)), np.float32(1))
        part = np.float32(np.float32(part * share) * np.float32(limit.user_factor))
    user_m = multiply_up(cluster, limit.guaranteed_memory, float(part), cluster.step_memory)
    user_v = multiply_up(cluster, limit.guaranteed_vcores, float(part), cluster.step_vcores)
    if limit.am_fraction >= 0 and compare(cluster, user_m, user_v, most_m, most_v) > 0:
        return most_m, most_v
    return user_m, user_v
