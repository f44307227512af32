"""How the Fair Scheduler plugs into the event loop (see :mod:`rules.simulation`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba.extending import overload

from rules.simulation import hooks
from rules.simulation.binding import NO_RULE, bind, note_room
from rules.simulation.compiled import LINKED, compiled, is_state
from rules.simulation.containers import MARKED
from rules.simulation.fair.apps import add_app, add_used, let_all_run, remove_app, want
from rules.simulation.fair.assign import attempt_scheduling, is_large, unreserve
from rules.simulation.fair.held import drop_claims, take_off_node
from rules.simulation.fair.preemption import kill_marked, look_for_starved, milliseconds, serve_claims
from rules.simulation.fair.reasons import UPDATE_STEP
from rules.simulation.fair.shares import update
from rules.simulation.fair.state import FAIR_STATE, RUNNABLE, app_at, cluster_of, plan_of, queue_at
from rules.simulation.tables import ask_at, container_at, job_at, node_at

__all__ = ["ABOVE_MAXIMUM", "NOT_PLACED", "NO_QUEUE", "NO_RESOURCE"]

# Why an application is refused.
NO_QUEUE, NOT_PLACED, NO_RESOURCE, ABOVE_MAXIMUM = range(1, 5)


def _plug(hook: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Registers a function of (state, ...) as the Fair Scheduler's implementation of a hook."""

    def register(implementation: Callable[..., Any]) -> Callable[..., Any]:
        @overload(hook, jit_options=dict(LINKED), strict=False)
        def choose(state: Any, *_: Any) -> Callable[..., Any] | None:
            return implementation if is_state(state, FAIR_STATE) else None

        return implementation

    return register


@_plug(hooks.tick)
def tick(state: Any) -> None:
    """The update step, every half second (``yarn.scheduler.fair.update-interval-ms``)."""
    now = state.now
    if state.kills > 0:
        kill_marked(state)
    if now >= state.next_step:
        if state.changed:
            update(state)
        if cluster_of(state).preempt:
            look_for_starved(state)
        state.next_step = now + cluster_of(state).update_interval


@compiled
def _rounded(value: int, least: int, step: int, most: int) -> int:
    """``DominantResourceCalculator.normalize``: at least the minimum, in steps, at most the maximum."""
    value = max(value, least)
    return int(min((value + step - 1) // step * step, most))


@compiled
def _normalise(state: Any, q: int, ask_row: int) -> bool:
    """Gives an ask the size that is allocated for it; False where it is above the maximum."""
    ask, cluster, plan = ask_at(state, ask_row), cluster_of(state), plan_of(state, q)
    most_memory = min(cluster.maximum_memory, plan.container_memory)
    most_vcores = min(cluster.maximum_vcores, plan.container_vcores)
    if ask.asked_memory > most_memory or ask.asked_vcores > most_vcores:
        return False
    ask.memory, ask.vcores = ask.asked_memory, ask.asked_vcores
    if cluster.normalise:
        ask.memory = _rounded(ask.memory, cluster.minimum_memory, cluster.increment_memory, most_memory)
        ask.vcores = _rounded(ask.vcores, cluster.minimum_vcores, cluster.increment_vcores, most_vcores)
    return True


@_plug(hooks.submit)
def submit(state: Any, job: int) -> int:
    """``addApplication`` and ``addApplicationAttempt``."""
    q = app_at(state, job).queue
    if q < 0:
        return int(-q)
    if not plan_of(state, q).present:
        return NO_QUEUE
    if not _normalise(state, q, job_at(state, job).am_ask):
        return ABOVE_MAXIMUM
    if plan_of(state, q).most_memory <= 0 or plan_of(state, q).most_vcores <= 0:
        return NO_RESOURCE
    state.clock_ms = milliseconds(state.now)
    _add_attempt(state, job)
    return 0


@compiled
def _add_attempt(state: Any, job: int) -> None:
    app = app_at(state, job)
    app.start_ms = app.at_fair_share_ms = state.clock_ms
    app.next_check_ms = app.am_running = 0
    app.fair_starved_memory = app.fair_starved_vcores = app.min_starved_memory = app.min_starved_vcores = 0
    app.demand_memory = app.demand_vcores = app.share_memory = app.share_vcores = 0
    add_app(state, job)
    state.changed = 1


@_plug(hooks.admit)
def admit(state: Any, job: int) -> int:
    """What ``ApplicationMasterService`` refuses of a request."""
    for ask_row in range(job_at(state, job).am_ask + 1, job_at(state, job).ask_end):
        if not _normalise(state, app_at(state, job).queue, ask_row):
            return ABOVE_MAXIMUM
    return 0


@_plug(hooks.asked)
def asked(state: Any, job: int, ask: int, more: int) -> None:
    """More is asked for; it counts as demand from the next update on."""
    row = ask_at(state, ask)
    app_at(state, job).pending_memory += more * row.memory
    app_at(state, job).pending_vcores += more * row.vcores
    app_at(state, job).large += more * is_large(state, row)
    state.loosened += is_large(state, row)
    if app_at(state, job).standing == RUNNABLE:
        bind(state, job, UPDATE_STEP)
        want(state, job)
    state.changed = 1


@_plug(hooks.head_room)
def head_room(state: Any, job: int) -> None:
    """Head-room is told to AMs only; nothing here goes by it."""


@_plug(hooks.release)
def release(state: Any, job: int, ask: int, node: int, container: int) -> None:
    """``completedContainerInternal``."""
    if container > 0:
        take_off_node(state, container)
        if container_at(state, container - 1).standing == MARKED:
            app_at(state, job).marked_memory -= ask_at(state, ask).memory
            app_at(state, job).marked_vcores -= ask_at(state, ask).vcores
    row, app, host = ask_at(state, ask), app_at(state, job), node_at(state, node)
    host.free_memory += row.memory
    host.free_vcores += row.vcores
    app.used_memory -= row.memory
    app.used_vcores -= row.vcores
    if app.large > 0:
        state.loosened += 1
    add_used(state, app.queue, -row.memory, -row.vcores)
    state.free_memory = cluster_of(state).memory - queue_at(state, 0).used_memory
    state.free_vcores = cluster_of(state).vcores - queue_at(state, 0).used_vcores
    state.changed = 1


@_plug(hooks.leave)
def leave(state: Any, job: int) -> None:
    """The application is over."""
    _remove_attempt(state, job)


@_plug(hooks.restart)
def restart(state: Any, job: int) -> None:
    """The next attempt is as new as an application: it has its place behind the others, and its limits to pass."""
    _remove_attempt(state, job)
    _add_attempt(state, job)


@compiled
def _remove_attempt(state: Any, job: int) -> None:
    """``removeApplicationAttempt``."""
    if app_at(state, job).reservations > 0:
        for node in range(state.nodes_count):
            if node_at(state, node).reserved_by == job:
                unreserve(state, node)
    drop_claims(state, job, -1)
    remove_app(state, job)
    for ask in range(job_at(state, job).am_ask, job_at(state, job).ask_end):
        ask_at(state, ask).pending = 0
    app_at(state, job).pending_memory = app_at(state, job).pending_vcores = app_at(state, job).large = 0
    state.loosened += 1
    bind(state, job, NO_RULE)
    state.changed = 1


@_plug(hooks.node_beat)
def node_beat(state: Any, node: int) -> None:
    """``nodeUpdate``; nothing is done where nothing has changed since the last beat of the node, which gave nothing."""
    here = node_at(state, node)
    cluster = cluster_of(state)
    if here.idle_version == state.version:
        return
    before = state.version
    room = here.free_memory >= cluster.minimum_memory and here.free_vcores >= cluster.minimum_vcores
    note_room(state, node, room)
    full = not room and state.claims == 0 and here.reserved_by < 0
    if full and (not cluster.reserve or (state.full_alike and _is_like_the_last_full_one(state, here))):
        here.idle_version = before
        return
    if state.claims > 0:
        serve_claims(state, node)
    attempt_scheduling(state, node)
    if state.version == before:
        here.idle_version = before
        if full:
            state.full_version, state.full_memory, state.full_vcores = state.loosened, here.memory, here.vcores


@compiled
def _is_like_the_last_full_one(state: Any, node: Any) -> bool:
    """Whether the last full node that was looked at in vain was as large, and nothing has been loosened since."""
    as_large = node.memory == state.full_memory and node.vcores == state.full_vcores
    return bool(as_large and state.full_version == state.loosened)


@_plug(hooks.reconfigure)
def reconfigure(state: Any, update_row: int) -> None:
    """The allocation file is read again; of yarn-site only the maximum allocation is."""
    state.configuration = update_row + 1
    state.loosened += 1
    let_all_run(state)
    update(state)
    if cluster_of(state).preempt:
        look_for_starved(state)
