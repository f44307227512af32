"""The life of a job: its AM's beats, the containers it collects, the tasks it runs, its end.

Both kinds of the case format: a container for each task, and executors that run stages on their slots.
"""

from __future__ import annotations

from typing import Any

from rules.simulation import hooks
from rules.simulation.compiled import compiled
from rules.simulation.containers import KILLED, hold_container, next_number
from rules.simulation.kills import (
    ONE,
    next_waiting,
    release_all,
    release_container,
    replace_killed,
    request_am,
    slot_of,
)
from rules.simulation.tables import (
    ENDED,
    PLACED,
    REJECTED,
    RUNNING,
    ask_at,
    container_at,
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
def grant(state: Any, job_row: int, ask_row: int, node_row: int, number: int) -> int:
    """The job's side of an allocation: an ask less, less room on the node, the container waits to be collected.

    Args:
        state: a scheduler's state.
        job_row: the job.
        ask_row: the ask.
        node_row: the node.
        number: the container's, where it was given one with a reservation; 0: the next one.

    Returns:
        The container's row plus one, 0 where containers have none.
    """
    job, ask, node = job_at(state, job_row), ask_at(state, ask_row), node_at(state, node_row)
    ask.pending -= 1
    state.outstanding -= 1
    node.free_memory -= ask.memory
    node.free_vcores -= ask.vcores
    state.version += 1
    row = 0
    if state.tracked:
        row = hold_container(state, job_row, ask_row, node_row, number if number > 0 else next_number(state, job_row))
    if ask_row == job.am_ask:  # collected at once, by the application attempt itself
        job.am_node = node_row
        job.am_container = row
        job.state = PLACED
        launch_at(state, state.launched).job = job_row
        state.launched += 1
        return row
    container = grant_at(state, job.container_begin + job.granted % job.container_capacity)
    container.node = node_row
    container.ask = ask_row
    container.container = row
    job.granted += 1
    return row


@compiled
def submit(state: Any, job_row: int) -> None:
    """An application is submitted, and its AM asked for."""
    job = job_at(state, job_row)
    state.version += 1
    state.begun += 1
    job.begun = state.begun
    rejection = hooks.submit(state, job_row)
    if rejection != 0:
        job.state = REJECTED
        job.rejection = rejection
        state.unfinished -= 1
        return
    request_am(state, job_row)


@compiled
def launch_ams(state: Any) -> None:
    """The AMs that were placed start, those that wait longest first, and have their first beat at once.

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
        while place > 0 and _starts_before(state, job_row, launch_at(state, place - 1).job):
            launch_at(state, place).job = launch_at(state, place - 1).job
            place -= 1
        launch_at(state, place).job = job_row


@compiled
def _starts_before(state: Any, a: int, b: int) -> bool:
    """By when they began to wait: submissions, and at one time those before them whose AM was killed."""
    one, two = job_at(state, a), job_at(state, b)
    if one.waits_since != two.waits_since:
        return bool(one.waits_since < two.waits_since)
    if (one.attempts == 0) != (two.attempts == 0):
        return bool(two.attempts == 0)
    return bool(a < b)


@compiled
def schedule_beat(state: Any, job_row: int) -> None:
    """Puts the AM's next beat behind all others: none of them can be later than one interval from now."""
    if state.ring_length == state.ring_count:
        _forget_lost_beats(state)
    beat = _ring_place(state, state.ring_length)
    beat.job = job_row
    beat.attempt = job_at(state, job_row).attempts
    beat.time = state.now + state.am_beat_s
    state.ring_length += 1


@compiled
def _ring_place(state: Any, place: int) -> Any:
    place += state.ring_head
    return ring_at(state, place - state.ring_count if place >= state.ring_count else place)


@compiled
def _forget_lost_beats(state: Any) -> None:
    """Makes room: takes out the beats of AMs that were killed. Every other AM has one."""
    kept = 0
    for i in range(state.ring_length):
        beat, place = _ring_place(state, i), _ring_place(state, kept)
        if job_at(state, beat.job).state == RUNNING and job_at(state, beat.job).attempts == beat.attempt:
            place.job = beat.job
            place.attempt = beat.attempt
            place.time = beat.time
            kept += 1
    state.ring_length = kept


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
    _exchange(state, job_row)
    if job.lost > 0 and replace_killed(state, job_row):
        _exchange(state, job_row)
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
def _exchange(state: Any, job_row: int) -> None:
    """The rest of an AM's allocate call: what was granted is collected and used."""
    job = job_at(state, job_row)
    hooks.head_room(state, job_row)
    while job.collected < job.granted:
        _collect(state, job_row)
    if job.executors > 0:
        _start_on_slots(state, job_row)


@compiled
def _ask(state: Any, job_row: int) -> None:
    job = job_at(state, job_row)
    for ask_row in range(job.am_ask + 1, job.ask_end):
        ask_at(state, ask_row).pending = ask_at(state, ask_row).count
        state.outstanding += ask_at(state, ask_row).count
        state.version += 1
        hooks.asked(state, job_row, ask_row, ask_at(state, ask_row).count)


@compiled
def _give_back(state: Any, job_row: int) -> None:
    job = job_at(state, job_row)
    for i in range(job.kept):
        container = kept_at(state, job.container_begin + i)
        release_container(state, job_row, container.ask, container.node, container.container)
    job.kept = 0


@compiled
def _keep(state: Any, job_row: int, ask_row: int, node_row: int, row: int) -> None:
    job = job_at(state, job_row)
    container = kept_at(state, job.container_begin + job.kept)
    container.ask = ask_row
    container.node = node_row
    container.container = row
    job.kept += 1


@compiled
def _collect(state: Any, job_row: int) -> None:
    """Takes the oldest granted container; the first waiting task of its size starts on it."""
    job = job_at(state, job_row)
    container = grant_at(state, job.container_begin + job.collected % job.container_capacity)
    job.collected += 1
    if container.ask < 0:  # killed before it was collected
        return
    row = container.container
    if row > 0:
        container_at(state, row - 1).collected = 1
    ask = ask_at(state, container.ask)
    if job.executors > 0:
        _keep(state, job_row, container.ask, container.node, row)
        _add_slots(state, job_row, row, job.executor_vcores)
        return
    task_row = next_waiting(state, ask, ask.task_end - ask.count, ask.next_task, ask.task_end)
    if task_row < 0:
        _keep(state, job_row, container.ask, container.node, row)
        return
    task_at(state, task_row).node = container.node
    if row > 0:
        container_at(state, row - 1).task = task_row
    _start_task(state, job_row, task_row, row)
    if task_row == ask.next_task:
        ask.next_task += 1


@compiled
def _add_slots(state: Any, job_row: int, row: int, count: int) -> None:
    """Slots of an executor are free; which one is taken next matters only where executors may be killed."""
    job = job_at(state, job_row)
    if row > 0:
        for _ in range(count):
            slot_of(state, job, job.free_slots).container = row
            job.free_slots += 1
    else:
        job.free_slots += count


@compiled
def _start_on_slots(state: Any, job_row: int) -> None:
    """Tasks of the present stage start on free slots at once: the driver holds the executors."""
    job = job_at(state, job_row)
    ask = ask_at(state, job.am_ask + 1)
    while job.free_slots > 0:
        task_row = next_waiting(state, ask, job.task_begin, job.next_task, job.task_end)
        if task_row < 0 or task_at(state, task_row).stage != job.stage:
            return
        row = 0
        if state.tracked:
            row = slot_of(state, job, 0).container
            job.slot_head += 1
        job.free_slots -= 1
        _start_task(state, job_row, task_row, row)
        if task_row == job.next_task:
            job.next_task += 1


@compiled
def _start_task(state: Any, job_row: int, task_row: int, row: int) -> None:
    job, task = job_at(state, job_row), task_at(state, task_row)
    if job.first < 0:
        job.first = state.now
    if task.lost:
        task.lost = 0
        ask_at(state, task.ask).lost -= 1
    task.container = row
    push_task_end(state, state.now + task.duration, job_row, task_row)


@compiled
def end_task(state: Any, job_row: int, task_row: int, run: int) -> None:
    """A task ends: an AM with a container per task has a beat at once, one with executors only at the job's end."""
    job, task = job_at(state, job_row), task_at(state, task_row)
    row = task.container
    if state.tracked and (task.run != run or container_at(state, row - 1).standing == KILLED):
        return
    job.tasks_done += 1
    done = job.tasks_done == job.task_end - job.task_begin
    if job.executors > 0:
        task.container = 0
        _add_slots(state, job_row, row, ONE)
        job.left_in_stage -= 1
        if job.left_in_stage == 0 and not done:
            _next_stage(state, job_row)
        _start_on_slots(state, job_row)
        if not done:
            return
    else:
        if row > 0:
            container_at(state, row - 1).task = -1
        _keep(state, job_row, task.ask, task.node, row)
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
    release_container(state, job_row, job.am_ask, job.am_node, job.am_container)
    placed = state.launched
    hooks.node_beat(state, job.am_node)
    for i in range(placed, state.launched):  # an attempt collects its AM's container before anything else happens
        hooks.head_room(state, launch_at(state, i).job)
    while job.collected < job.granted:
        container = grant_at(state, job.container_begin + job.collected % job.container_capacity)
        job.collected += 1
        if container.ask >= 0:
            release_container(state, job_row, container.ask, container.node, container.container)
            # What ends before its AM has collected it is asked for once more (``ContainerRescheduledEvent``).
            ask_at(state, container.ask).pending += 1
            state.outstanding += 1
            hooks.asked(state, job_row, container.ask, 1)
    _give_back(state, job_row)
    if state.tracked:
        release_all(state, job_row)
    state.version += 1
    for ask_row in range(job.am_ask, job.ask_end):
        state.outstanding -= ask_at(state, ask_row).pending
    hooks.leave(state, job_row)
