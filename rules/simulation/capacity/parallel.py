"""How many applications may run beside each other (``CSMaxRunningAppsEnforcer``)."""

from __future__ import annotations

from typing import Any

from rules.simulation.binding import bind
from rules.simulation.capacity.activation import activate_applications
from rules.simulation.capacity.reasons import PARALLEL_APPLICATIONS, USER_PARALLEL_APPLICATIONS
from rules.simulation.capacity.reservations import NONE
from rules.simulation.capacity.state import app_at, limits_of, parked_at, pending_at, person_at, queue_at, user_at
from rules.simulation.compiled import compiled

__all__ = ["let_all_run", "let_others_run", "park", "start", "why_not"]


@compiled
def why_not(state: Any, job: int) -> int:
    """The rule that keeps the application from running now, or NONE."""
    app = app_at(state, job)
    person = person_at(state, state.configuration * state.person_count + app.person)
    if person_at(state, app.person).running >= person.parallel:
        return USER_PARALLEL_APPLICATIONS
    q = app.leaf
    while q >= 0:
        if queue_at(state, q).running >= limits_of(state, q).parallel:
            return PARALLEL_APPLICATIONS
        q = queue_at(state, q).parent
    return NONE


@compiled
def start(state: Any, job: int) -> None:
    """The application counts as running, and waits for activation in its leaf."""
    app = app_at(state, job)
    queue = queue_at(state, app.leaf)
    count(state, job, 1)
    user_at(state, app.member).pending += 1
    # By the order of submission (``FifoOrderingPolicyForPendingApps``), whenever it was allowed to run.
    place = queue.first_app + queue.pending
    while place > queue.first_app and pending_at(state, place - 1).row > job:
        pending_at(state, place).row = pending_at(state, place - 1).row
        place -= 1
    pending_at(state, place).row = job
    queue.pending += 1
    activate_applications(state, app.leaf)


@compiled
def count(state: Any, job: int, change: int) -> None:
    """One application more, or less, runs for its user, in its leaf and in all queues above."""
    app = app_at(state, job)
    person_at(state, app.person).running += change
    q = app.leaf
    while q >= 0:
        queue_at(state, q).running += change
        q = queue_at(state, q).parent


@compiled
def park(state: Any, job: int, rule: int) -> None:
    """The application is accepted and does not run; it has not even the chance of activation."""
    bind(state, job, rule)
    parked_at(state, state.parked_apps).row = job
    state.parked_apps += 1


@compiled
def let_others_run(state: Any, job: int) -> None:
    """After an application has gone: those that waited because of it, in the order of their submission.

    As many as there are lists to look through: one for each leaf below the highest queue that has room again, and one
    for the user.
    """
    count(state, job, -1)
    if state.parked_apps == 0:
        return
    app = app_at(state, job)
    top, q = NONE, app.leaf
    while q >= 0:
        if queue_at(state, q).running == limits_of(state, q).parallel - 1:
            top = q
        q = queue_at(state, q).parent
    person = person_at(state, state.configuration * state.person_count + app.person)
    by_user = person_at(state, app.person).running == person.parallel - 1
    lists = 1 if by_user else 0
    if top != NONE:
        for leaf in range(state.queues_count):
            if queue_at(state, leaf).leaf and _has_room_up_to(state, leaf, top):
                lists += 1
    _let_run(state, top, app.person if by_user else NONE, lists)


@compiled
def let_all_run(state: Any) -> None:
    """After a change of the configuration: all that may run by now."""
    _let_run(state, 0, NONE, state.jobs_count)


@compiled
def _has_room_up_to(state: Any, q: int, top: int) -> bool:
    """Whether a queue lies below another one and all from the one to the other have room."""
    while q >= 0:
        if queue_at(state, q).running >= limits_of(state, q).parallel:
            return False
        if q == top:
            return True
        q = queue_at(state, q).parent
    return False


@compiled
def _let_run(state: Any, top: int, person: int, most: int) -> None:
    # A start activates applications but parks none, so that the list can be packed while it is walked through.
    kept = 0
    for i in range(state.parked_apps):
        job = parked_at(state, i).row
        app = app_at(state, job)
        listed = app.person == person or (top != NONE and _has_room_up_to(state, app.leaf, top))
        rule = why_not(state, job) if listed and most > 0 else PARALLEL_APPLICATIONS
        if listed and most > 0 and rule == NONE:
            most -= 1
            start(state, job)
        else:
            parked_at(state, kept).row = job
            kept += 1
    state.parked_apps = kept
