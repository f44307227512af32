"""The event loop.

Five sources of events, each in order by itself: task ends (a heap), updates and submissions (sorted beforehand), AM
beats (a ring, as a beat schedules the next one exactly one interval later, behind all that are already scheduled) and
node beats (always in the order of the nodes, by the same argument).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rules.simulation import hooks
from rules.simulation.compiled import compiled, entry_point
from rules.simulation.jobs import am_beat, end_task, launch_ams, pop_task_end, schedule_beat, submit
from rules.simulation.tables import ENDED, Core

__all__ = ["run"]

# Kinds of events, in the order in which they go at equal times.
_TASK_END, _UPDATE, _SUBMISSION, _AM_BEAT, _NODE_BEAT = range(5)


@entry_point
def run(state: Any) -> None:
    """Runs the simulation to its end or to the horizon; the times are then in ``state.core.jobs``."""
    core = state.core
    while core.clock[0].unfinished > 0:
        time, kind = _next_event(core)
        core.clock[0].now = time
        if time > core.clock[0].horizon:
            break
        hooks.tick(state)
        if kind == _NODE_BEAT:
            node = core.clock[0].next_node
            core.clock[0].next_node = node + 1 if node + 1 < core.nodes.size else 0
            hooks.node_beat(state, node)
            if core.clock[0].launched > 0:
                launch_ams(state)
            core.nodes[node].next_beat = time + core.clock[0].node_beat_s
        elif kind == _AM_BEAT:
            job = core.am_ring[core.clock[0].ring_head]
            core.clock[0].ring_head = (core.clock[0].ring_head + 1) % core.am_ring.size
            core.clock[0].ring_length -= 1
            if core.jobs[job].state < ENDED and not am_beat(state, job):
                schedule_beat(core, job)
        elif kind == _TASK_END:
            job, task = pop_task_end(core)
            end_task(state, job, task)
        elif kind == _SUBMISSION:
            job = core.clock[0].next_submission
            core.clock[0].next_submission += 1
            submit(state, job)
        else:
            update = core.clock[0].next_update
            core.clock[0].next_update += 1
            core.clock[0].version += 1
            hooks.reconfigure(state, update)


@compiled
def _next_event(core: Core) -> tuple[float, int]:
    """The time and kind of the next event: the earliest, and of equals the first kind."""
    time, kind = np.inf, _NODE_BEAT
    if core.clock[0].task_ends > 0:
        time, kind = core.task_ends[0].time, _TASK_END
    update = core.clock[0].next_update
    if update < core.update_times_s.size and core.update_times_s[update] < time:
        time, kind = core.update_times_s[update], _UPDATE
    job = core.clock[0].next_submission
    if job < core.jobs.size and core.jobs[job].submit < time:
        time, kind = core.jobs[job].submit, _SUBMISSION
    if core.clock[0].ring_length > 0:
        beat = core.jobs[core.am_ring[core.clock[0].ring_head]].next_beat
        if beat < time:
            time, kind = beat, _AM_BEAT
    beat = core.nodes[core.clock[0].next_node].next_beat
    if beat < time:
        time, kind = beat, _NODE_BEAT
    return time, kind
