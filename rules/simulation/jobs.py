"""The life of a job: its AM's beats, the containers it collects, the tasks it runs, its end.

Both kinds of the case format: a container for each task, and executors that run stages on their slots.
"""

from __future__ import annotations

from typing import Any

from rules.simulation import hooks
from rules.simulation.compiled import compiled
from rules.simulation.tables import (
    ENDED,
    PLACED,
    REJECTED,
    RUNNING,
    WAITING,
    ask_at,
    grant_at,
    job_at,
    kept_at,
    launch_at,
    node_at,
    ring_at,
    task_at,
)
from rules.simulation.task_ends import push_task_end

__all__ = ["am_beat", "end_task", "grant", "launch_ams", "schedule_beat", "submit"]


@compiled
def grant(state: Any, job_row: int, ask_row: int, node_row: int) -> None:
    """The job's side of an allocation: an ask less, less room on the node, the container waits to be collected."""
    job, ask, node = job_at(state, job_row), ask_at(state, ask_row), node_at(state, node_row)
    ask.pending -= 1
    state.outstanding -= 1
    node.free_memory -= ask.memory
    node.free_vcores -= ask.vcores
    state.version += 1
    if ask_row == job.am_ask:  # collected at once, by the application attempt itself
        job.am_node = node_row
        job.state = PLACED
        launch_at(state, state.launched).job = job_row
        state.launched += 1
        return
    container = grant_at(state, job.container_begin + job.granted % job.container_capacity)
    container.node = node_row
    container.ask = ask_row
    job.granted += 1


@compiled
def submit(state: Any, job_row: int) -> None:
    """An application is submitted, and its AM asked for."""
    job = job_at(state, job_row)
    state.version += 1
    rejection = hooks.submit(state, job_row)
    if rejection != 0:
        job.state = REJECTED
        job.rejection = rejection
        state.unfinished -= 1
        return
    job.state = WAITING
    ask_at(state, job.am_ask).pending = 1
    state.outstanding += 1
    hooks.asked(state, job_row, job.am_ask)


@compiled
def launch_ams(state: Any) -> None:
    """The AMs that were placed start, in the order of submission, and have their first beat at once.

    An AM that a first beat places, because it ended its job, waits for the next beat of a node.
    """
    count = state.launched
    _sort_launches(state, count)
    for i in range(count):
        job_row = launch_at(state, i).job
        job = job_at(state, job_row)
        job.am_start = state.now
        job.state = RUNNING
        hooks.head_room(state, job_row)
    for i in range(count):
        job_row = launch_at(state, i).job
        if not am_beat(state, job_row):
            schedule_beat(state, job_row)
    for i in range(count, state.launched):
        launch_at(state, i - count).job = launch_at(state, i).job
    state.launched -= count


@compiled
def _sort_launches(state: Any, count: int) -> None:
    for i in range(1, count):
        job_row, place = launch_at(state, i).job, i
        while place > 0 and launch_at(state, place - 1).job > job_row:
            launch_at(state, place).job = launch_at(state, place - 1).job
            place -= 1
        launch_at(state, place).job = job_row


@compiled
def schedule_beat(state: Any, job_row: int) -> None:
    """Puts the AM's next beat behind all others: none of them can be later than one interval from now."""
    job_at(state, job_row).next_beat = state.now + state.am_beat_s
    last = state.ring_head + state.ring_length
    if last >= state.ring_count:
        last -= state.ring_count
    ring_at(state, last).job = job_row
    state.ring_length += 1


@compiled
def am_beat(state: Any, job_row: int) -> bool:
    """An AM's heartbeat: gives back, asks once, collects, starts tasks. Returns whether it ended the job."""
    job = job_at(state, job_row)
    if job.executors == 0:
        _give_back(state, job_row)
    if job.asked == 0:
        job.asked = 1
        job.rejection = hooks.admit(state, job_row)
        if job.rejection != 0:
            job.state = REJECTED
            _leave(state, job_row)
            return True
        _ask(state, job_row)
    hooks.head_room(state, job_row)
    while job.collected < job.granted:
        _collect(state, job_row)
    if job.executors > 0:
        _start_on_slots(state, job_row)
    if job.tasks_done < job.task_end - job.task_begin:
        return False
    job.finish = state.now
    job.state = ENDED
    if job.executors > 0:
        _give_back(state, job_row)
        hooks.head_room(state, job_row)
    _leave(state, job_row)
    return True


@compiled
def _ask(state: Any, job_row: int) -> None:
    job = job_at(state, job_row)
    for ask_row in range(job.am_ask + 1, job.ask_end):
        ask_at(state, ask_row).pending = ask_at(state, ask_row).count
        state.outstanding += ask_at(state, ask_row).count
        state.version += 1
        hooks.asked(state, job_row, ask_row)


@compiled
def _give_back(state: Any, job_row: int) -> None:
    job = job_at(state, job_row)
    for i in range(job.kept):
        container = kept_at(state, job.container_begin + i)
        state.version += 1
        hooks.release(state, job_row, container.ask, container.node)
    job.kept = 0


@compiled
def _keep(state: Any, job_row: int, ask_row: int, node_row: int) -> None:
    job = job_at(state, job_row)
    container = kept_at(state, job.container_begin + job.kept)
    container.ask = ask_row
    container.node = node_row
    job.kept += 1


@compiled
def _collect(state: Any, job_row: int) -> None:
    """Takes the oldest granted container; the first waiting task of its size starts on it."""
    job = job_at(state, job_row)
    container = grant_at(state, job.container_begin + job.collected % job.container_capacity)
    job.collected += 1
    ask = ask_at(state, container.ask)
    if job.executors > 0:
        _keep(state, job_row, container.ask, container.node)
        job.free_slots += job.executor_vcores
    elif ask.next_task == ask.task_end:
        _keep(state, job_row, container.ask, container.node)
    else:
        task_row = ask.next_task
        ask.next_task += 1
        task_at(state, task_row).node = container.node
        _start_task(state, job_row, task_row)


@compiled
def _start_on_slots(state: Any, job_row: int) -> None:
    """Tasks of the present stage start on free slots at once: the driver holds the executors."""
    job = job_at(state, job_row)
    while job.free_slots > 0:
        task_row = job.next_task
        if task_row == job.task_end or task_at(state, task_row).stage != job.stage:
            return
        job.next_task += 1
        job.free_slots -= 1
        _start_task(state, job_row, task_row)


@compiled
def _start_task(state: Any, job_row: int, task_row: int) -> None:
    job = job_at(state, job_row)
    if job.first < 0:
        job.first = state.now
    push_task_end(state, state.now + task_at(state, task_row).duration, job_row, task_row)


@compiled
def end_task(state: Any, job_row: int, task_row: int) -> None:
    """A task ends: an AM with a container per task has a beat at once, one with executors only at the job's end."""
    job = job_at(state, job_row)
    job.tasks_done += 1
    done = job.tasks_done == job.task_end - job.task_begin
    if job.executors > 0:
        job.free_slots += 1
        job.left_in_stage -= 1
        if job.left_in_stage == 0 and not done:
            _next_stage(state, job_row)
        _start_on_slots(state, job_row)
        if not done:
            return
    else:
        _keep(state, job_row, task_at(state, task_row).ask, task_at(state, task_row).node)
    am_beat(state, job_row)


@compiled
def _next_stage(state: Any, job_row: int) -> None:
    job = job_at(state, job_row)
    job.stage += 1
    task_row = job.next_task
    while task_row < job.task_end and task_at(state, task_row).stage == job.stage:
        job.left_in_stage += 1
        task_row += 1


@compiled
def _leave(state: Any, job_row: int) -> None:
    """The AM's room is freed, its node allocates, and only then what is left of the job is freed."""
    job = job_at(state, job_row)
    state.unfinished -= 1
    state.version += 1
    hooks.release(state, job_row, job.am_ask, job.am_node)
    hooks.node_beat(state, job.am_node)
    while job.collected < job.granted:
        container = grant_at(state, job.container_begin + job.collected % job.container_capacity)
        job.collected += 1
        hooks.release(state, job_row, container.ask, container.node)
    _give_back(state, job_row)
    state.version += 1
    for ask_row in range(job.am_ask, job.ask_end):
        state.outstanding -= ask_at(state, ask_row).pending
    hooks.leave(state, job_row)
