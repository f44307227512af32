"""The event loop.

Five sources of events, each in order by itself: task ends (a heap), updates and submissions (sorted beforehand), AM
beats (a ring, as a beat schedules the next one exactly one interval later, behind all that are already scheduled) and
node beats (always in the order of the nodes, by the same argument). A scheduler that does something by a clock of its
own (asynchronous rounds) says when in ``next_round``, and does it in its tick.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rules.simulation import hooks
from rules.simulation.binding import settle_all
from rules.simulation.compiled import compiled, entry_point
from rules.simulation.jobs import am_beat, end_task, launch_ams, schedule_beat, submit
from rules.simulation.tables import RUNNING, job_at, node_at, ring_at, task_end_at, update_at
from rules.simulation.task_ends import pop_task_end

__all__ = ["run"]

# Kinds of events, in the order in which they go at equal times.
_TASK_END, _UPDATE, _SUBMISSION, _AM_BEAT, _NODE_BEAT, _ROUND = range(6)


@entry_point
def run(state: Any) -> None:
    """Runs the simulation to its end or to the horizon; the times are then in the table of jobs.

    With ``state.alone`` set every job runs by itself on the idle cluster, one after the other.
    """
    if state.alone == 0:
        state.submissions_end = state.jobs_count
        _play(state)
        settle_all(state)
    else:
        _play_each_alone(state)


@compiled
def _play_each_alone(state: Any) -> None:
    """Runs job by job, each from its own moment between two beats of a node on, which is what its times depend on.

    Jobs from ``state.next_alone`` on, up to the first that does not come to an end: it would be in the way of others.
    """
    while state.next_alone < state.jobs_count:
        job_row = state.next_alone
        job = job_at(state, job_row)
        span = state.horizon_alone - job.submit
        beats = max(math.ceil((state.now - job.submit) / state.node_beat_s), 0)
        job.submit += beats * state.node_beat_s
        state.beat_shift_s += max(math.floor((job.submit - state.now) / state.node_beat_s) - 1, 0) * state.node_beat_s
        state.horizon = job.submit + span
        state.next_submission = job_row
        state.submissions_end = job_row + 1
        state.next_alone = job_row + 1
        state.unfinished = 1
        _play(state)
        if state.unfinished > 0:
            return


@compiled
def _play(state: Any) -> None:
    while state.unfinished > 0:
        time, kind = _next_event(state)
        if time > state.horizon:
            return
        if kind == _NODE_BEAT and (state.rests != 0 or state.alone != 0) and _is_quiet(state):
            _rest(state, state.horizon)
            continue
        state.now = time
        state.rounding = kind == _ROUND
        hooks.tick(state)
        if kind == _NODE_BEAT:
            _node_beat(state)
        elif kind == _AM_BEAT:
            _am_beat(state)
        elif kind == _TASK_END:
            job_row, task_row, run = pop_task_end(state)
            end_task(state, job_row, task_row, run)
        elif kind == _SUBMISSION:
            state.next_submission += 1
            submit(state, state.next_submission - 1)
        elif kind == _ROUND:
            if state.launched > 0:
                launch_ams(state)
        else:
            state.next_update += 1
            state.version += 1
            hooks.reconfigure(state, state.next_update - 1)


@compiled
def _node_beat(state: Any) -> None:
    node_row = state.next_node
    state.next_node = node_row + 1 if node_row + 1 < state.nodes_count else 0
    if state.quiet_version != state.version:
        state.quiet_version = state.version
        state.quiet_beats = 0
    state.quiet_beats += 1
    hooks.node_beat(state, node_row)
    if state.launched > 0:
        launch_ams(state)
    node_at(state, node_row).next_beat = state.now + state.node_beat_s - state.beat_shift_s


@compiled
def _is_quiet(state: Any) -> bool:
    """Whether nothing is asked for, or every node has had a beat since the last change and changed nothing."""
    if state.launched > 0:
        return False
    if state.outstanding == 0 and state.reserved_nodes == 0:
        return True
    if state.rests == 0:
        return False
    return bool(state.quiet_version == state.version and state.quiet_beats > state.nodes_count)


@compiled
def _rest(state: Any, horizon: float) -> None:
    """Lets the nodes beat without looking at them, until something else happens: nothing would come of it."""
    until, _ = _next_other_event(state)
    if state.alone != 0:
        left_s = min(until, horizon) - node_at(state, state.next_node).next_beat - state.beat_shift_s
        rounds = left_s / state.node_beat_s
        if rounds > 2:
            state.beat_shift_s += (math.floor(rounds) - 1) * state.node_beat_s
    while True:
        node = node_at(state, state.next_node)
        beat = node.next_beat + state.beat_shift_s
        if beat >= until or beat > horizon:
            return
        node.next_beat += state.node_beat_s
        state.next_node = state.next_node + 1 if state.next_node + 1 < state.nodes_count else 0


@compiled
def _am_beat(state: Any) -> None:
    job_row, attempt = ring_at(state, state.ring_head).job, ring_at(state, state.ring_head).attempt
    state.ring_head = state.ring_head + 1 if state.ring_head + 1 < state.ring_count else 0
    state.ring_length -= 1
    # An AM that has ended, or was killed, has no more beats.
    job = job_at(state, job_row)
    if job.state == RUNNING and job.attempts == attempt and not am_beat(state, job_row):
        schedule_beat(state, job_row)


@compiled
def _next_event(state: Any) -> tuple[float, int]:
    """The time and kind of the next event: the earliest, and of equals the first kind."""
    time, kind = _next_other_event(state)
    beat = node_at(state, state.next_node).next_beat + state.beat_shift_s
    if beat < time:
        time, kind = beat, _NODE_BEAT
    if state.next_round < time:
        time, kind = state.next_round, _ROUND
    return time, kind


@compiled
def _next_other_event(state: Any) -> tuple[float, int]:
    """The same without the nodes' beats."""
    time, kind = np.inf, _NODE_BEAT
    if state.pending_task_ends > 0:
        time, kind = task_end_at(state, 0).time, _TASK_END
    if state.next_update < state.updates_count:
        update = update_at(state, state.next_update).time
        if update < time:
            time, kind = update, _UPDATE
    if state.next_submission < state.submissions_end:
        submission = job_at(state, state.next_submission).submit
        if submission < time:
            time, kind = submission, _SUBMISSION
    if state.ring_length > 0:
        beat = ring_at(state, state.ring_head).time
        if beat < time:
            time, kind = beat, _AM_BEAT
    return time, kind
