"""The Capacity Scheduler's answers to the event loop's hooks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba.extending import overload

from rules.simulation import hooks
from rules.simulation.binding import NO_RULE, bind, note_room
from rules.simulation.capacity.activation import activate_applications
from rules.simulation.capacity.arithmetic import ZERO, round_down
from rules.simulation.capacity.assign import assign_on_node, has_looked, has_room, serve_reservation
from rules.simulation.capacity.books import add_applications, add_pending, add_used
from rules.simulation.capacity.leaf import ALLOCATED, NOTHING, OVER_LIMIT, keep_current_limit
from rules.simulation.capacity.order import insert, mark_stale, remove, reorder, wanting_begin
from rules.simulation.capacity.parallel import let_all_run, let_others_run, park, start, why_not
from rules.simulation.capacity.preemption import run_monitor
from rules.simulation.capacity.reasons import APPLICATION_ORDER, HEARTBEAT
from rules.simulation.capacity.reservations import NONE, unreserve
from rules.simulation.capacity.rounds import make_round, wake
from rules.simulation.capacity.state import (
    CAPACITY_STATE,
    PREEMPTING_STATE,
    app_at,
    child_at,
    cluster_of,
    limits_of,
    look_at_job,
    look_at_node,
    queue_at,
    user_at,
)
from rules.simulation.capacity.users import (
    count_application,
    drop_application,
    set_weights,
    sum_weights,
    update_usage_ratio,
    update_user_limit,
    use,
)
from rules.simulation.compiled import LINKED, compiled, is_state
from rules.simulation.tables import ask_at, job_at, node_at

__all__ = ["ABOVE_MAXIMUM", "CLUSTER_FULL", "NOT_A_LEAF", "QUEUE_FULL", "STOPPED", "UNKNOWN_QUEUE", "USER_FULL"]

# Why an application or a request is refused: the number in ``rejection`` of ``jobs``.
UNKNOWN_QUEUE, NOT_A_LEAF, STOPPED, QUEUE_FULL, USER_FULL, CLUSTER_FULL, ABOVE_MAXIMUM = range(1, 8)


def tick(state: Any) -> None:
    """Asynchronous scheduling: a round where there is one now, else what happens wakes the rounds."""
    if not cluster_of(state).asynchronous:
        return
    if state.rounding:
        make_round(state)
    else:
        wake(state)


def tick_with_monitor(state: Any) -> None:
    """The same where preemption's monitor runs, before all else."""
    if state.monitored:
        run_monitor(state)
    if not cluster_of(state).asynchronous:
        return
    if state.rounding:
        make_round(state)
    else:
        wake(state)


def submit(state: Any, job: int) -> int:
    """``AbstractLeafQueue.submitApplication`` and ``addApplicationAttempt``."""
    if job_at(state, job).rejection > 0:
        return int(job_at(state, job).rejection)
    look_at_job(state, job)
    app = app_at(state, job)
    queue, limit = queue_at(state, app.leaf), limits_of(state, app.leaf)
    if not limit.running:
        return STOPPED
    if queue_at(state, ZERO).applications >= cluster_of(state).applications:
        return CLUSTER_FULL
    if queue.applications >= limit.applications:
        return QUEUE_FULL
    # Those that wait because of parallel limits do not count here (``User.getTotalApplications``).
    if user_at(state, app.member).pending + user_at(state, app.member).active >= limit.user_applications:
        return USER_FULL
    add_applications(state, app.leaf, 1)
    rule = why_not(state, job)
    if rule != NONE:
        park(state, job, rule)
    else:
        start(state, job)
    return 0


def admit(state: Any, job: int) -> int:
    """``SchedulerUtils.validateResourceRequest``: every ask must be within the maximum allocation."""
    cluster = cluster_of(state)
    for row in range(job_at(state, job).am_ask + 1, job_at(state, job).ask_end):
        ask = ask_at(state, row)
        if cluster.maximum_memory > 0 and ask.asked_memory > cluster.maximum_memory:
            return ABOVE_MAXIMUM
        if cluster.maximum_vcores > 0 and ask.asked_vcores > cluster.maximum_vcores:
            return ABOVE_MAXIMUM
    return 0


def asked(state: Any, job: int, ask: int, more: int) -> None:
    """``AppSchedulingInfo.updateResourceRequests``."""
    look_at_job(state, job)
    app, request = app_at(state, job), ask_at(state, ask)
    begins = request.pending == more
    app.outstanding += begins
    if begins and app.outstanding == 1 and app.active:
        bind(state, job, APPLICATION_ORDER if queue_at(state, app.leaf).wanting > 0 else HEARTBEAT)
        queue = queue_at(state, app.leaf)
        insert(state, wanting_begin(state, app.leaf), queue.wanting, job)
        queue.wanting += 1
    if begins:
        count_application(state, job)
    if limits_of(state, app.queue).size_based:
        mark_stale(state, job)
    add_pending(state, app.queue, more * request.memory, more * request.vcores)


def head_room(state: Any, job: int) -> None:
    """Working out the head-room brings the user limit up to date."""
    look_at_job(state, job)
    update_user_limit(state, app_at(state, job).queue)


def release(state: Any, job: int, ask: int, node: int, container: int) -> None:  # noqa: ARG001
    """``completedContainer``."""
    look_at_job(state, job)
    app, size = app_at(state, job), ask_at(state, ask)
    app.used_memory -= size.memory
    app.used_vcores -= size.vcores
    node_at(state, node).free_memory += size.memory
    node_at(state, node).free_vcores += size.vcores
    mark_stale(state, job)
    add_used(state, app.queue, -size.memory, -size.vcores)
    use(state, job, -size.memory, -size.vcores)


def leave(state: Any, job: int) -> None:
    """``doneApplicationAttempt`` and ``doneApplication``."""
    _remove_attempt(state, job)
    drop_application(state, job)
    add_applications(state, app_at(state, job).leaf, -1)


def restart(state: Any, job: int) -> None:
    """Another attempt: it waits for activation like a new application, in the place of its submission."""
    # Its user goes on counting as active, if it did: only the end of an application changes that.
    _remove_attempt(state, job)
    app = app_at(state, job)
    app.order_used = app.order_demand = 0
    app.order_key = 0.0
    rule = why_not(state, job)
    if rule != NONE:
        park(state, job, rule)
    else:
        start(state, job)


@compiled
def _remove_attempt(state: Any, job: int) -> None:
    """``removeApplicationAttempt``: others are activated before the user counts less."""
    look_at_job(state, job)
    app = app_at(state, job)
    q, leaf = app.queue, app.leaf
    here, queue, user, member = (
        queue_at(state, q),
        queue_at(state, leaf),
        user_at(state, app.user),
        user_at(state, app.member),
    )
    if app.reservations > 0:
        for node in range(state.nodes_count):
            if node_at(state, node).reserved_by == job:
                unreserve(state, node)
    for row in range(job_at(state, job).am_ask, job_at(state, job).ask_end):
        left = ask_at(state, row).pending
        add_pending(state, q, -left * ask_at(state, row).memory, -left * ask_at(state, row).vcores)
        ask_at(state, row).pending = 0
    if app.outstanding > 0:
        app.outstanding = 0
        remove(state, wanting_begin(state, leaf), queue.wanting, job)
        queue.wanting -= 1
    remove(state, queue.first_app, queue.active, job)
    queue.active -= 1
    app.active = 0
    am = ask_at(state, job_at(state, job).am_ask)
    here.am_memory -= am.memory
    here.am_vcores -= am.vcores
    user.am_memory -= am.memory
    user.am_vcores -= am.vcores
    member.active -= 1
    if member.active + member.pending == 0 and member.in_sums:
        member.in_sums = 0
        sum_weights(state, leaf)
    activate_applications(state, leaf)
    bind(state, job, NO_RULE)
    let_others_run(state, job)


def node_beat(state: Any, node: int) -> None:
    """``CapacityScheduler.allocateContainersToNode``: one assignment after the other while they may go on."""
    look_at_node(state, node)
    cluster, here = cluster_of(state), node_at(state, node)
    if cluster.asynchronous:
        return
    if here.reserved_by != NONE:
        serve_reservation(state, node)
        return
    if has_looked(state, here):
        return
    room = has_room(state, node)
    note_room(state, node, room)
    given = 0
    while room:
        before = state.version
        result = assign_on_node(state, node)
        if result in (NOTHING, OVER_LIMIT):
            here.idle_version = state.version
            return
        if result != ALLOCATED:
            return
        # A refused proposal counts as an assignment; the next ones would be refused just so.
        if state.version == before:
            return
        given += 1
        if given >= cluster.off_switch_assignments or not cluster.multiple_assignments:
            return
        if 0 <= cluster.container_assignments <= given:
            return
        room = has_room(state, node)


def reconfigure(state: Any, update: int) -> None:
    """``CapacityScheduler.reinitialize``: the new limits, then every queue takes notice of them."""
    state.configuration, state.partition = update + 1, 0
    set_weights(state)
    for q in range(state.queues_count):
        _sort_by_rank(state, q)
    _refresh(state, ZERO, cluster_of(state).memory, cluster_of(state).vcores)
    let_all_run(state)


@compiled
def _sort_by_rank(state: Any, q: int) -> None:
    first = queue_at(state, q).first_child
    for i in range(first + 1, first + queue_at(state, q).children):
        child, place = child_at(state, i).row, i
        while place > first and limits_of(state, child_at(state, place - 1).row).rank > limits_of(state, child).rank:
            child_at(state, place).row = child_at(state, place - 1).row
            place -= 1
        child_at(state, place).row = child


@compiled
def _refresh(state: Any, q: int, limit_m: int, limit_v: int) -> None:
    """``updateClusterResource``, from a queue of nodes without a label down: applications may be activated."""
    queue, cluster = queue_at(state, q), cluster_of(state)
    if not queue.leaf:
        for i in range(queue.first_child, queue.first_child + queue.children):
            child = child_at(state, i).row
            room_m = limit_m - queue.used_memory + queue_at(state, child).used_memory
            room_v = limit_v - queue.used_vcores + queue_at(state, child).used_vcores
            _refresh(state, child, round_down(room_m, cluster.step_memory), round_down(room_v, cluster.step_vcores))
        return
    reorder(state, q)
    keep_current_limit(state, q, limit_m, limit_v)
    for partition in range(state.partitions):
        update_usage_ratio(state, partition * (state.queues_count // state.partitions) + q)
    activate_applications(state, q)
    queue.version += 1
    if queue.active > 0:
        update_user_limit(state, q)


def _is_ours(state: Any) -> bool:
    return is_state(state, CAPACITY_STATE) or is_state(state, PREEMPTING_STATE)


@overload(hooks.tick, jit_options=dict(LINKED))
def _tick(state: Any) -> Callable[..., None] | None:
    if is_state(state, PREEMPTING_STATE):
        return tick_with_monitor
    return tick if is_state(state, CAPACITY_STATE) else None


@overload(hooks.submit, jit_options=dict(LINKED))
def _submit(state: Any, job: int) -> Callable[..., int] | None:  # noqa: ARG001
    return submit if _is_ours(state) else None


@overload(hooks.admit, jit_options=dict(LINKED))
def _admit(state: Any, job: int) -> Callable[..., int] | None:  # noqa: ARG001
    return admit if _is_ours(state) else None


@overload(hooks.asked, jit_options=dict(LINKED))
def _asked(state: Any, job: int, ask: int, more: int) -> Callable[..., None] | None:  # noqa: ARG001
    return asked if _is_ours(state) else None


@overload(hooks.head_room, jit_options=dict(LINKED))
def _head_room(state: Any, job: int) -> Callable[..., None] | None:  # noqa: ARG001
    return head_room if _is_ours(state) else None


@overload(hooks.release, jit_options=dict(LINKED))
def _release(state: Any, job: int, ask: int, node: int, container: int) -> Callable[..., None] | None:  # noqa: ARG001
    return release if _is_ours(state) else None


@overload(hooks.leave, jit_options=dict(LINKED))
def _leave(state: Any, job: int) -> Callable[..., None] | None:  # noqa: ARG001
    return leave if _is_ours(state) else None


@overload(hooks.restart, jit_options=dict(LINKED))
def _restart(state: Any, job: int) -> Callable[..., None] | None:  # noqa: ARG001
    return restart if _is_ours(state) else None


@overload(hooks.node_beat, jit_options=dict(LINKED))
def _node_beat(state: Any, node: int) -> Callable[..., None] | None:  # noqa: ARG001
    return node_beat if _is_ours(state) else None


@overload(hooks.reconfigure, jit_options=dict(LINKED))
def _reconfigure(state: Any, update: int) -> Callable[..., None] | None:  # noqa: ARG001
    return reconfigure if _is_ours(state) else None
