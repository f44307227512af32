"""Which applications may run at once (``MaxRunningAppsEnforcer``), and their lists."""

from __future__ import annotations

from typing import Any, Final, cast

import numpy as np

from rules.simulation.binding import bind, enter
from rules.simulation.compiled import compiled
from rules.simulation.fair.order import is_older
from rules.simulation.fair.reasons import MAX_RUNNING_APPS, UPDATE_STEP, USER_MAX_RUNNING_APPS
from rules.simulation.fair.state import (
    RUNNABLE,
    UNBOUNDED,
    WAITING_TO_RUN,
    app_at,
    most_apps_of,
    plan_of,
    queue_at,
    running_at,
    user_at,
    waiting_at,
    wanting_at,
)

__all__ = ["add_app", "add_used", "let_all_run", "remove_app", "want", "want_nothing"]

ALL_QUEUES: Final = cast(int, np.int64(0))
"""The one gate, which is never closed: while no node has room, all that run wait for that."""


@compiled
def add_used(state: Any, q: int, memory: int, vcores: int) -> None:
    """The queue and all above it hold more, or less."""
    while q >= 0:
        queue = queue_at(state, q)
        queue.held_mib_s += queue.used_memory * (state.now - queue.held_since)
        queue.held_since = state.now
        queue.used_memory += memory
        queue.used_vcores += vcores
        q = queue.parent


@compiled
def want(state: Any, job: int) -> None:
    """Puts an application on the list of those that ask for something, if it does and runs."""
    app = app_at(state, job)
    if app.place > 0 or app.standing != RUNNABLE or (app.pending_memory <= 0 and app.pending_vcores <= 0):
        return
    queue = queue_at(state, app.queue)
    wanting_at(state, queue.first_app + queue.wanting).row = job
    queue.wanting += 1
    app.place = queue.wanting


@compiled
def want_nothing(state: Any, job: int) -> None:
    """Takes it off the list; the last one gets its place."""
    app, queue = app_at(state, job), queue_at(state, app_at(state, job).queue)
    if app.place == 0:
        return
    last = wanting_at(state, queue.first_app + queue.wanting - 1).row
    wanting_at(state, queue.first_app + app.place - 1).row = last
    app_at(state, last).place = app.place
    app.place = 0
    queue.wanting -= 1


@compiled
def add_app(state: Any, job: int) -> None:
    """A new application runs if its user and all its queues allow one more; else it waits."""
    if _may_run(state, job):
        _run(state, job)
        return
    app_at(state, job).standing = WAITING_TO_RUN
    user = app_at(state, job).user
    by_user = user_at(state, user).running >= most_apps_of(state, user)
    bind(state, job, USER_MAX_RUNNING_APPS if by_user else MAX_RUNNING_APPS)
    place = state.waiting_apps
    while place > 0 and is_older(state, job, waiting_at(state, place - 1).row):
        waiting_at(state, place).row = waiting_at(state, place - 1).row
        place -= 1
    waiting_at(state, place).row = job
    state.waiting_apps += 1


@compiled
def remove_app(state: Any, job: int) -> None:
    """An application goes; those that waited for its place may run."""
    app = app_at(state, job)
    if app.standing == WAITING_TO_RUN:
        _drop_waiting(state, job)
        return
    queue = queue_at(state, app.queue)
    want_nothing(state, job)
    for place in range(queue.first_app, queue.first_app + queue.running):
        if running_at(state, place).row == job:
            running_at(state, place).row = running_at(state, queue.first_app + queue.running - 1).row
            break
    if app.am_running:
        queue.am_memory -= app.am_memory
        queue.am_vcores -= app.am_vcores
    user_at(state, app.user).running -= 1
    _count_running(state, app.queue, -1)
    _let_next_run(state, job)


@compiled
def let_all_run(state: Any) -> None:
    """``updateRunnabilityOnReload``: the limits have changed."""
    _gather(state, 0)
    _let_run(state, -1, UNBOUNDED)


@compiled
def _may_run(state: Any, job: int) -> bool:
    user = app_at(state, job).user
    if user_at(state, user).running >= most_apps_of(state, user):
        return False
    q = app_at(state, job).queue
    while q >= 0:
        if queue_at(state, q).running >= plan_of(state, q).most_apps:
            return False
        q = queue_at(state, q).parent
    return True


@compiled
def _run(state: Any, job: int) -> None:
    app = app_at(state, job)
    queue = queue_at(state, app.queue)
    running_at(state, queue.first_app + queue.running).row = job
    app.standing = RUNNABLE
    state.listings += 1
    app.listed = state.listings
    bind(state, job, UPDATE_STEP)
    enter(state, job, ALL_QUEUES)
    state.loosened += 1
    want(state, job)
    user_at(state, app.user).running += 1
    _count_running(state, app.queue, 1)


@compiled
def _count_running(state: Any, q: int, change: int) -> None:
    while q >= 0:
        queue_at(state, q).running += change
        q = queue_at(state, q).parent


@compiled
def _drop_waiting(state: Any, job: int) -> None:
    count = state.waiting_apps
    place = 0
    while waiting_at(state, place).row != job:
        place += 1
    for i in range(place, count - 1):
        waiting_at(state, i).row = waiting_at(state, i + 1).row
    state.waiting_apps = count - 1


@compiled
def _let_next_run(state: Any, job: int) -> None:
    """``updateRunnabilityOnAppRemoval``: looks where the removed application was the one too many.

    As many may start as there are lists looked through: leaves below the highest such queue, and the user's.
    """
    if state.waiting_apps == 0:
        return
    app = app_at(state, job)
    q, highest = app.queue, -1
    while q >= 0:
        if queue_at(state, q).running == plan_of(state, q).most_apps - 1:
            highest = q
        q = queue_at(state, q).parent
    lists = 0
    for other in range(state.queues_count):
        queue_at(state, other).gathered = 0
    if highest >= 0:
        lists = _gather(state, highest)
    user = -1
    if user_at(state, app.user).running == most_apps_of(state, app.user) - 1:
        user, lists = app.user, lists + 1
    if lists > 0:
        _let_run(state, user, lists)


@compiled
def _gather(state: Any, top: int) -> int:
    """Marks the leaves under a queue that could run more, with all queues on the way down; says how many."""
    for q in range(state.queues_count):
        queue_at(state, q).gathered = 0
    leaves = 0
    for q in range(top, state.queues_count):  # parents come before children
        queue = queue_at(state, q)
        reached = q == top or (queue.parent >= 0 and queue_at(state, queue.parent).gathered)
        if reached and queue.running < plan_of(state, q).most_apps:
            queue.gathered = 1
            if queue.children == 0:
                leaves += 1
    return leaves


@compiled
def _let_run(state: Any, user: int, most: int) -> None:
    """Goes through the gathered leaves' (and this user's) waiting applications, oldest first."""
    started, kept = 0, 0
    count = state.waiting_apps
    for place in range(count):
        job = waiting_at(state, place).row
        app = app_at(state, job)
        looked_at = queue_at(state, app.queue).gathered or app.user == user
        if looked_at and started < most and _may_run(state, job):
            _run(state, job)
            started += 1
        else:
            waiting_at(state, kept).row = job
            kept += 1
    state.waiting_apps = kept
