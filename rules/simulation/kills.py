"""What comes of killed containers: what the ResourceManager puts back, and what an AM does once it hears of it.

A killed container frees its room at once, and what ran in it is lost. The AM hears of it at its next beat: the tasks
wait again, before later ones, and it asks for as many containers again. A container that was not collected yet is asked
for again by the ResourceManager itself. An AM that is killed begins anew in another attempt, and so does its job.
"""

from __future__ import annotations

from typing import Any, Final, cast

import numpy as np

from rules.simulation import hooks
from rules.simulation.compiled import compiled
from rules.simulation.containers import KILLED, drop_container
from rules.simulation.tables import (
    PLACED,
    WAITING,
    ask_at,
    container_at,
    grant_at,
    job_at,
    kept_at,
    launch_at,
    slot_at,
    task_at,
)

__all__ = [
    "ONE",
    "begin_anew",
    "kill_am",
    "kill_container",
    "next_waiting",
    "release_all",
    "release_container",
    "replace_killed",
    "request_am",
    "slot_of",
]

ONE: Final = cast(int, np.int64(1))
"""To be passed as an argument: for a literal 1 the compiler would make another version of the function."""


@compiled
def slot_of(state: Any, job: Any, place: int) -> Any:
    """A free slot of a job's executors, by its place in their order: that in which they became free."""
    return slot_at(state, job.slot_begin + (job.slot_head + place) % (job.executors * job.executor_vcores))


@compiled
def next_waiting(state: Any, ask: Any, begin: int, fresh: int, end: int) -> int:
    """The first task that waits: one that was lost, else the first that never ran; -1 where there is none."""
    if ask.lost > 0:
        for task_row in range(begin, fresh):
            if task_at(state, task_row).lost:
                return task_row
    return fresh if fresh < end else -1


@compiled
def release_container(state: Any, job_row: int, ask_row: int, node_row: int, row: int) -> None:
    """A container ends by its job's will, unless it was killed before."""
    state.version += 1
    if row > 0 and container_at(state, row - 1).standing == KILLED:
        job_at(state, job_row).lost -= 1
    else:
        hooks.release(state, job_row, ask_row, node_row, row)
    if row > 0:
        drop_container(state, row)


@compiled
def release_all(state: Any, job_row: int) -> None:
    """Whatever containers are left of a job, or of an attempt, are freed."""
    job = job_at(state, job_row)
    while job.first_container > 0:
        row = job.first_container
        container = container_at(state, row - 1)
        release_container(state, job_row, container.ask, container.node, row)


@compiled
def request_am(state: Any, job_row: int) -> None:
    """An attempt asks for its AM's container."""
    job = job_at(state, job_row)
    job.state = WAITING
    _ask_again(state, job_row, job.am_ask, ONE)


@compiled
def kill_container(state: Any, row: int) -> None:
    """Kills a container, given by its row plus one."""
    container = container_at(state, row - 1)
    job_row, ask_row = container.job, container.ask
    job = job_at(state, job_row)
    if row == job.am_container:
        kill_am(state, row)
        begin_anew(state, job_row)
        return
    state.version += 1
    hooks.release(state, job_row, ask_row, container.node, row)
    if container.collected:
        container.standing = KILLED
        job.lost += 1
    else:
        drop_container(state, row)
        for i in range(job.collected, job.granted):
            place = grant_at(state, job.container_begin + i % job.container_capacity)
            if place.container == row and place.ask >= 0:
                place.ask = -1
        _ask_again(state, job_row, ask_row, ONE)


@compiled
def kill_am(state: Any, row: int) -> None:
    """Kills an AM's container. Its job goes on as if it had it, until :func:`begin_anew`."""
    container = container_at(state, row - 1)
    state.version += 1
    hooks.release(state, container.job, container.ask, container.node, row)
    drop_container(state, row)


@compiled
def begin_anew(state: Any, job_row: int) -> None:
    """A job whose AM was killed loses its attempt and waits for the AM of another one."""
    _lose_attempt(state, job_row)
    request_am(state, job_row)


@compiled
def _ask_again(state: Any, job_row: int, ask_row: int, count: int) -> None:
    ask_at(state, ask_row).pending += count
    state.outstanding += count
    state.version += 1
    hooks.asked(state, job_row, ask_row, count)


@compiled
def replace_killed(state: Any, job_row: int) -> bool:
    """The AM hears of its killed containers and asks for others; returns whether there were any."""
    job = job_at(state, job_row)
    any_lost = False
    for ask_row in range(job.am_ask + 1, job.ask_end):
        count, row = 0, job.first_container
        while row > 0:
            container = container_at(state, row - 1)
            after = container.next
            if container.standing == KILLED and container.ask == ask_row:
                _lose(state, job_row, row)
                drop_container(state, row)
                count += 1
            row = after
        if count > 0:
            any_lost = True
            _ask_again(state, job_row, ask_row, count)
    job.lost = 0
    return any_lost


@compiled
def _lose(state: Any, job_row: int, row: int) -> None:
    """What ran in a container waits again."""
    job = job_at(state, job_row)
    if job.executors == 0:
        _lose_task(state, container_at(state, row - 1).task)
        return
    for task_row in range(job.task_begin, job.next_task):
        if task_at(state, task_row).container == row:
            _lose_task(state, task_row)
    kept = 0
    for i in range(job.kept):
        here, there = kept_at(state, job.container_begin + i), kept_at(state, job.container_begin + kept)
        if here.container != row:
            there.container = here.container
            there.ask = here.ask
            there.node = here.node
            kept += 1
    job.kept = kept
    free = 0
    for i in range(job.free_slots):
        if slot_of(state, job, i).container != row:
            slot_of(state, job, free).container = slot_of(state, job, i).container
            free += 1
    job.free_slots = free


@compiled
def _lose_task(state: Any, task_row: int) -> None:
    task = task_at(state, task_row)
    task.run += 1
    task.container = 0
    task.lost = 1
    ask_at(state, task.ask).lost += 1


@compiled
def _lose_attempt(state: Any, job_row: int) -> None:
    """Forgets all progress and all containers of a job whose AM was killed."""
    job = job_at(state, job_row)
    if job.state == PLACED:
        _cancel_launch(state, job_row)
    else:
        job.waits_since = state.now
    release_all(state, job_row)
    state.begun += 1
    job.begun = state.begun
    for ask_row in range(job.am_ask, job.ask_end):
        state.outstanding -= ask_at(state, ask_row).pending
    hooks.restart(state, job_row)
    job.attempts += 1
    job.collected = job.granted
    job.asked = job.kept = job.lost = job.numbered = job.tasks_done = job.stage = 0
    job.free_slots = job.left_in_stage = 0
    job.am_container = 0
    job.next_task = job.task_begin
    for ask_row in range(job.am_ask, job.ask_end):
        ask = ask_at(state, ask_row)
        ask.lost = 0
        if ask.next_task >= 0:
            ask.next_task = ask.task_end - ask.count
    for task_row in range(job.task_begin, job.task_end):
        task = task_at(state, task_row)
        task.run += 1
        task.container = 0
        task.lost = 0
        if job.executors > 0 and task.stage == 0:
            job.left_in_stage += 1


@compiled
def _cancel_launch(state: Any, job_row: int) -> None:
    """The AM was placed and has not started."""
    kept = 0
    for i in range(state.launched):
        if launch_at(state, i).job != job_row:
            launch_at(state, kept).job = launch_at(state, i).job
            kept += 1
    state.launched = kept
