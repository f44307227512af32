"""A case that is replayed step by step: up to a moment, looked at, reconfigured, and on.

The simulation's memory is kept between steps, so looking costs nothing; only a reconfiguration makes it start over,
with one update more. A replay of n steps and k reconfigurations runs at most k + 1 times.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rules.forecast.observation import ClusterFacts, Observation, SeenContainers, SeenJob
from rules.prepared import PreparedCase, prepare
from rules.simulation.loop import run
from rules.simulation.tables import NEW, REJECTED
from workloads.trace import Case, Job, Update

__all__ = ["Replay"]

_STEP_S = 2.0
"""How exactly it is known when an executor was given: about a heartbeat."""


class Replay:
    """A case on its way from the beginning to the horizon.

    Args:
        case: the whole case; what :meth:`observe` gives of it is what had happened by then.
    """

    def __init__(self, case: Case) -> None:
        self._case = case
        self._made: list[Update] = []
        self._prepared: PreparedCase | None = None
        self._given: list[list[float]] = [[] for _ in case.jobs]
        self._steps = any(job.executors is not None for job in case.jobs)
        self.time_s = 0.0

    @property
    def case(self) -> Case:
        """The case with the updates made so far on top of its own (its own first at equal times)."""
        updates = sorted([*self._case.updates, *self._made], key=lambda update: update.time_s)
        return replace(self._case, updates=tuple(updates))

    @property
    def updates(self) -> tuple[Update, ...]:
        """The updates made so far."""
        return tuple(self._made)

    def advance(self, time_s: float) -> None:
        """Goes on to just before a moment: an update at that moment cannot change what is seen there.

        Raises:
            ValueError: the moment is before the present one.
        """
        if time_s < self.time_s:
            raise ValueError(f"cannot go back from {self.time_s} s to {time_s} s")
        if self._prepared is None:
            self._prepared = prepare(self.case)
            self._run_to(self._prepared, self.time_s)  # nothing new: what was given until now is known
        if self._steps:
            for step_s in np.arange(self.time_s + _STEP_S, time_s, _STEP_S).tolist():
                self._run_to(self._prepared, step_s)
                self._note_given(self._prepared, step_s - _STEP_S / 2)
                if self.finished:
                    break
        self._run_to(self._prepared, time_s)
        self._note_given(self._prepared, time_s)
        self.time_s = time_s

    def _run_to(self, prepared: PreparedCase, time_s: float) -> None:
        prepared.memory.state["horizon"] = min(math.nextafter(time_s, -math.inf), self._case.horizon_s)
        run(prepared.memory.record)

    def _note_given(self, prepared: PreparedCase, time_s: float) -> None:
        """Takes down when executors were given, which the simulation does not keep."""
        if not self._steps:
            return
        table = prepared.memory["jobs"]
        for row in np.flatnonzero(table["executors"] > 0).tolist():
            given = self._given[prepared.order[row]]
            ended_s = float(table["finish"][row])
            new = int(table["granted"][row]) - len(given)
            given += [min(time_s, ended_s) if ended_s >= 0 else time_s] * new

    def reconfigure(self, update: Update) -> None:
        """Makes an update at the present moment.

        Raises:
            ValueError: it is for another moment.
        """
        if update.time_s != self.time_s:
            raise ValueError(f"an update for {update.time_s} s at {self.time_s} s")
        self._made.append(update)
        self._prepared = None

    def cluster(self) -> ClusterFacts:
        """The configuration in force at the present moment, updates of this moment included."""
        conf, allocations = dict(self._case.conf), self._case.allocations
        for update in self.case.updates:
            if update.time_s <= self.time_s:
                conf |= update.conf
                allocations = allocations if update.allocations is None else update.allocations
        case = self._case
        return ClusterFacts(
            case.scheduler, case.nodes, conf, allocations, case.node_heartbeat_s, case.am_heartbeat_s
        )  # fmt: skip

    def observe(self) -> Observation:
        """What is visible at the moment to which the replay was advanced."""
        if self._prepared is None:
            self.advance(self.time_s)
        assert self._prepared is not None
        return Observation(self.time_s, _seen_jobs(self._case.jobs, self._prepared, self._given, self.time_s))

    @property
    def finished(self) -> bool:
        """Whether every job has ended, or was refused."""
        return self._prepared is not None and int(self._prepared.memory.state["unfinished"][0]) == 0


def _seen_jobs(
    jobs: Sequence[Job], prepared: PreparedCase, given: Sequence[Sequence[float]], now_s: float
) -> tuple[SeenJob, ...]:
    memory = prepared.memory
    table, asks = memory["jobs"], memory["asks"].tolist()
    ask_names = {name: i for i, name in enumerate(memory["asks"].dtype.names or ())}
    running = memory["task_ends"][: int(memory.state["pending_task_ends"][0])]
    ends_at = dict(zip(running["task"].tolist(), running["time"].tolist(), strict=True))
    durations = memory["tasks"]["duration"]
    found = []
    columns = ("state", "am_ask", "ask_end", "am_start", "finish")
    submitted = int(np.searchsorted(table["submit"], now_s, side="left"))
    rows = zip(prepared.order[:submitted], *(table[name][:submitted].tolist() for name in columns), strict=True)
    for place, state, am_ask, ask_end, am_start_s, finish_s in rows:
        if state in (NEW, REJECTED):
            continue
        job = jobs[place]
        own = [dict(zip(ask_names, asks[row], strict=True)) for row in range(am_ask + 1, ask_end)]
        if job.executors is None:
            containers = tuple(_of_tasks(ask, durations, ends_at, now_s) for ask in own)
        else:
            containers = (_of_executors(own[0], given[place], finish_s, now_s),)
        found.append(
            SeenJob(
                id=job.id,
                queue=job.queue,
                user=job.user,
                submit_s=job.submit_s,
                am_memory_mib=job.am_memory_mib,
                name=job.recurring_name,
                holds=job.executors is not None,
                containers=containers,
                am_start_s=am_start_s if am_start_s >= 0 else None,
                end_s=finish_s if finish_s >= 0 else None,
            )
        )
    return tuple(found)


def _of_tasks(ask: dict[str, int], durations: Any, ends_at: dict[int, float], now_s: float) -> SeenContainers:
    first, started = ask["task_end"] - ask["count"], range(ask["task_end"] - ask["count"], ask["next_task"])
    ended = tuple(float(durations[task]) for task in started if task not in ends_at)
    running = tuple(now_s - (ends_at[task] - float(durations[task])) for task in started if task in ends_at)
    waiting = ask["count"] - (ask["next_task"] - first)
    return SeenContainers(ask["asked_memory"], ask["asked_vcores"], ended, running, waiting)


def _of_executors(ask: dict[str, int], given_s: Sequence[float], finish_s: float, now_s: float) -> SeenContainers:
    until_s = finish_s if finish_s >= 0 else now_s
    held = tuple(until_s - begin_s for begin_s in given_s)
    size, waiting = (ask["asked_memory"], ask["asked_vcores"]), ask["count"] - len(held)
    if finish_s >= 0:
        return SeenContainers(*size, ended_s=held, waiting=waiting)
    return SeenContainers(*size, running_s=held, waiting=waiting)
