"""The life of a job: its AM's beats, the containers it collects, the tasks it runs, its end.

Both kinds of the case format: a container for each task, and executors that run stages on their slots.
"""

from __future__ import annotations

from typing import Any

from rules.simulation import hooks
from rules.simulation.compiled import compiled
from rules.simulation.tables import ENDED, PLACED, REJECTED, RUNNING, WAITING, Core

__all__ = ["am_beat", "end_task", "grant", "launch_ams", "pop_task_end", "submit"]


@compiled
def grant(core: Core, job: int, ask: int, node: int) -> None:
    """The job's side of an allocation: an ask less, less room on the node, the container waits to be collected."""
    core.asks[ask].pending -= 1
    core.nodes[node].free_memory -= core.asks[ask].memory
    core.nodes[node].free_vcores -= core.asks[ask].vcores
    core.clock[0].version += 1
    if ask == core.jobs[job].am_ask:  # collected at once, by the application attempt itself
        core.jobs[job].am_node = node
        core.jobs[job].state = PLACED
        core.launched[core.clock[0].launched] = job
        core.clock[0].launched += 1
        return
    slot = core.jobs[job].container_begin + core.jobs[job].granted % core.jobs[job].container_capacity
    core.granted[slot].node = node
    core.granted[slot].ask = ask
    core.jobs[job].granted += 1


@compiled
def submit(state: Any, job: int) -> None:
    """An application is submitted, and its AM asked for."""
    core = state.core
    core.clock[0].version += 1
    rejection = hooks.submit(state, job)
    if rejection != 0:
        core.jobs[job].state = REJECTED
        core.jobs[job].rejection = rejection
        core.clock[0].unfinished -= 1
        return
    core.jobs[job].state = WAITING
    core.asks[core.jobs[job].am_ask].pending = 1
    hooks.ask(state, job, core.jobs[job].am_ask)


@compiled
def launch_ams(state: Any) -> None:
    """The AMs that were placed start, in the order of submission, and have their first beat at once."""
    core = state.core
    count = core.clock[0].launched
    core.clock[0].launched = 0
    started = core.launched[:count].copy()
    started.sort()
    for job in started:
        core.jobs[job].am_start = core.clock[0].now
        core.jobs[job].state = RUNNING
        hooks.head_room(state, job)
    for job in started:
        if not am_beat(state, job):
            schedule_beat(core, job)


@compiled
def schedule_beat(core: Core, job: int) -> None:
    """Puts the AM's next beat behind all others: none of them can be later than one interval from now."""
    core.jobs[job].next_beat = core.clock[0].now + core.clock[0].am_beat_s
    last = (core.clock[0].ring_head + core.clock[0].ring_length) % core.am_ring.size
    core.am_ring[last] = job
    core.clock[0].ring_length += 1


@compiled
def am_beat(state: Any, job: int) -> bool:
    """An AM's heartbeat: gives back, asks once, collects, starts tasks. Returns whether it ended the job."""
    core = state.core
    if core.jobs[job].executors == 0:
        _give_back(state, job)
    if core.jobs[job].asked == 0:
        core.jobs[job].asked = 1
        rejection = hooks.admit(state, job)
        if rejection != 0:
            core.jobs[job].rejection = rejection
            core.jobs[job].state = REJECTED
            _leave(state, job)
            return True
        for ask in range(core.jobs[job].am_ask + 1, core.jobs[job].ask_end):
            core.asks[ask].pending = core.asks[ask].count
            core.clock[0].version += 1
            hooks.ask(state, job, ask)
    hooks.head_room(state, job)
    while core.jobs[job].collected < core.jobs[job].granted:
        _collect(core, job)
    if core.jobs[job].executors > 0:
        _start_on_slots(core, job)
    if core.jobs[job].tasks_done < core.jobs[job].task_end - core.jobs[job].task_begin:
        return False
    core.jobs[job].finish = core.clock[0].now
    core.jobs[job].state = ENDED
    if core.jobs[job].executors > 0:
        _give_back(state, job)
        hooks.head_room(state, job)
    _leave(state, job)
    return True


@compiled
def _give_back(state: Any, job: int) -> None:
    begin = state.core.jobs[job].container_begin
    for slot in range(begin, begin + state.core.jobs[job].kept):
        state.core.clock[0].version += 1
        hooks.release(state, job, state.core.kept[slot].ask, state.core.kept[slot].node)
    state.core.jobs[job].kept = 0


@compiled
def _keep(core: Core, job: int, ask: int, node: int) -> None:
    slot = core.jobs[job].container_begin + core.jobs[job].kept
    core.kept[slot].ask = ask
    core.kept[slot].node = node
    core.jobs[job].kept += 1


@compiled
def _collect(core: Core, job: int) -> None:
    """Takes the oldest granted container; the first waiting task of its size starts on it."""
    slot = core.jobs[job].container_begin + core.jobs[job].collected % core.jobs[job].container_capacity
    core.jobs[job].collected += 1
    ask = core.granted[slot].ask
    node = core.granted[slot].node
    if core.jobs[job].executors > 0:
        _keep(core, job, ask, node)
        core.jobs[job].free_slots += core.jobs[job].executor_vcores
        return
    task = core.asks[ask].next_task
    if task == core.asks[ask].task_end:
        _keep(core, job, ask, node)
        return
    core.asks[ask].next_task += 1
    core.tasks[task].node = node
    _start_task(core, job, task)


@compiled
def _start_on_slots(core: Core, job: int) -> None:
    """Tasks of the present stage start on free slots at once: the driver holds the executors."""
    while core.jobs[job].free_slots > 0:
        task = core.jobs[job].next_task
        if task == core.jobs[job].task_end or core.tasks[task].stage != core.jobs[job].stage:
            return
        core.jobs[job].next_task += 1
        core.jobs[job].free_slots -= 1
        _start_task(core, job, task)


@compiled
def _start_task(core: Core, job: int, task: int) -> None:
    if core.jobs[job].first < 0:
        core.jobs[job].first = core.clock[0].now
    _push_task_end(core, core.clock[0].now + core.tasks[task].duration, job, task)


@compiled
def end_task(state: Any, job: int, task: int) -> None:
    """A task ends: an AM with a container per task has a beat at once, one with executors only at the job's end."""
    core = state.core
    core.jobs[job].tasks_done += 1
    done = core.jobs[job].tasks_done == core.jobs[job].task_end - core.jobs[job].task_begin
    if core.jobs[job].executors > 0:
        core.jobs[job].free_slots += 1
        core.jobs[job].left_in_stage -= 1
        if core.jobs[job].left_in_stage == 0 and not done:
            _next_stage(core, job)
        _start_on_slots(core, job)
        if not done:
            return
    else:
        _keep(core, job, core.tasks[task].ask, core.tasks[task].node)
    am_beat(state, job)


@compiled
def _next_stage(core: Core, job: int) -> None:
    core.jobs[job].stage += 1
    task = core.jobs[job].next_task
    while task < core.jobs[job].task_end and core.tasks[task].stage == core.jobs[job].stage:
        core.jobs[job].left_in_stage += 1
        task += 1


@compiled
def _leave(state: Any, job: int) -> None:
    """The AM's room is freed, its node allocates, and only then what is left of the job is freed."""
    core = state.core
    core.clock[0].unfinished -= 1
    core.clock[0].version += 1
    hooks.release(state, job, core.jobs[job].am_ask, core.jobs[job].am_node)
    hooks.node_beat(state, core.jobs[job].am_node)
    while core.jobs[job].collected < core.jobs[job].granted:
        slot = core.jobs[job].container_begin + core.jobs[job].collected % core.jobs[job].container_capacity
        core.jobs[job].collected += 1
        hooks.release(state, job, core.granted[slot].ask, core.granted[slot].node)
    _give_back(state, job)
    core.clock[0].version += 1
    hooks.leave(state, job)


@compiled
def _push_task_end(core: Core, time: float, job: int, task: int) -> None:
    """Inserts into the binary heap of task ends, ordered by time and then by making."""
    heap = core.task_ends
    made = core.clock[0].made
    core.clock[0].made += 1
    hole = core.clock[0].task_ends
    core.clock[0].task_ends += 1
    while hole > 0:
        parent = (hole - 1) >> 1
        if time >= heap[parent].time:  # at equal times the older one stays above
            break
        _move(heap, parent, hole)
        hole = parent
    heap[hole].time = time
    heap[hole].made = made
    heap[hole].job = job
    heap[hole].task = task


@compiled
def pop_task_end(core: Core) -> tuple[int, int]:
    """Removes the first task end; returns its job and task."""
    heap = core.task_ends
    job, task = heap[0].job, heap[0].task
    core.clock[0].task_ends -= 1
    last = core.clock[0].task_ends
    hole = 0
    while True:
        child = 2 * hole + 1
        if child >= last:
            break
        if child + 1 < last and _before(heap, child + 1, child):
            child += 1
        if not _before(heap, child, last):
            break
        _move(heap, child, hole)
        hole = child
    _move(heap, last, hole)
    return job, task


@compiled
def _before(heap: Any, a: int, b: int) -> bool:
    if heap[a].time != heap[b].time:
        return bool(heap[a].time < heap[b].time)
    return bool(heap[a].made < heap[b].made)


@compiled
def _move(heap: Any, source: int, target: int) -> None:
    heap[target].time = heap[source].time
    heap[target].made = heap[source].made
    heap[target].job = heap[source].job
    heap[target].task = heap[source].task
