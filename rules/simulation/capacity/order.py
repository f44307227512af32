"""The order in which a leaf serves its applications (``policy.FifoOrderingPolicy`` and ``FairOrderingPolicy``).

Lists of jobs kept sorted by key and then by application id; the key of FIFO is 0. For each leaf there are two in the
table ``served``: of its active applications, and of those of them that ask for something.
"""

from __future__ import annotations

import math
from typing import Any

from rules.simulation.capacity.state import app_at, limits_of, queue_at, served_at, stale_at
from rules.simulation.compiled import compiled
from rules.simulation.tables import ask_at, job_at

__all__ = ["insert", "mark_stale", "place_stale", "remove", "reorder", "wanting_begin"]


@compiled
def wanting_begin(state: Any, q: int) -> int:
    """Where the list of a leaf's applications that ask for something begins."""
    return int(state.jobs_count + queue_at(state, q).first_app)


@compiled
def _goes_before(state: Any, job_a: int, job_b: int) -> bool:
    key_a, key_b = app_at(state, job_a).order_key, app_at(state, job_b).order_key
    if key_a != key_b:
        return bool(key_a < key_b)
    if limits_of(state, app_at(state, job_a).queue).fair:  # ``FairComparator``: by the start of the attempts
        return bool(job_at(state, job_a).begun < job_at(state, job_b).begun)
    return job_a < job_b


@compiled
def _find(state: Any, begin: int, length: int, job: int) -> int:
    """The place of the first job that does not go before this one."""
    low, high = begin, begin + length
    while low < high:
        middle = (low + high) >> 1
        if _goes_before(state, served_at(state, middle).row, job):
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def insert(state: Any, begin: int, length: int, job: int) -> None:
    """Inserts a job into a sorted list of this length."""
    place = _find(state, begin, length, job)
    for i in range(begin + length, place, -1):
        served_at(state, i).row = served_at(state, i - 1).row
    served_at(state, place).row = job


@compiled
def remove(state: Any, begin: int, length: int, job: int) -> None:
    """Removes a job from a sorted list of this length."""
    for i in range(_find(state, begin, length, job), begin + length - 1):
        served_at(state, i).row = served_at(state, i + 1).row


@compiled
def mark_stale(state: Any, job: int) -> None:
    """The application's use has changed: in fair order its place is looked at again before the queue next assigns."""
    app = app_at(state, job)
    if app.stale or not app.active or not limits_of(state, app.queue).fair:
        return
    app.stale = 1
    queue = queue_at(state, app.leaf)
    stale_at(state, queue.first_app + queue.stale).row = job
    queue.stale += 1


@compiled
def place_stale(state: Any, q: int) -> None:
    """``reorderScheduleEntities``: takes the present use of the applications that are marked, and moves them."""
    queue, limit = queue_at(state, q), limits_of(state, q)
    for i in range(queue.first_app, queue.first_app + queue.stale):
        job = stale_at(state, i).row
        app = app_at(state, job)
        app.stale = 0
        if not app.active:
            continue
        wanting = app.outstanding > 0
        remove(state, queue.first_app, queue.active, job)
        if wanting:
            remove(state, wanting_begin(state, q), queue.wanting, job)
        app.order_used = app.used_memory
        app.order_demand = app.used_memory
        for ask in range(job_at(state, job).am_ask, job_at(state, job).ask_end):
            app.order_demand += ask_at(state, ask).pending * ask_at(state, ask).memory
        app.order_key = _key(app, limit)
        insert(state, queue.first_app, queue.active - 1, job)
        if wanting:
            insert(state, wanting_begin(state, q), queue.wanting - 1, job)
    queue.stale = 0


@compiled
def _key(app: Any, limit: Any) -> float:
    """``FairComparator``: memory in use, with size-based weight divided by the logarithm of the demand."""
    if not limit.fair:
        return 0.0
    if not limit.size_based or app.order_used == 0:
        return float(app.order_used)
    return float(app.order_used / (math.log1p(float(app.order_demand)) / math.log(2.0)))


@compiled
def reorder(state: Any, q: int) -> None:
    """A new policy takes over the applications with the use that they were last seen with; marks are lost."""
    queue, limit = queue_at(state, q), limits_of(state, q)
    begin, active = queue.first_app, queue.active
    for i in range(begin, begin + queue.stale):
        app_at(state, stale_at(state, i).row).stale = 0
    queue.stale = queue.wanting = queue.active = 0
    for i in range(begin, begin + active):
        job = served_at(state, i).row
        app = app_at(state, job)
        app.order_key = _key(app, limit)
        if app.outstanding > 0:
            insert(state, wanting_begin(state, q), queue.wanting, job)
            queue.wanting += 1
        insert(state, begin, queue.active, job)
        queue.active += 1
