"""The cluster as it stands, in the simulation: everything that runs holds what it has, and nothing ends.

So what an application waits for then is what it waits for now, by the rules; and under a changed configuration one sees
whether it would get on. The state is built in three steps: under a configuration without limits the running
applications get what they hold; then the configuration to be looked at takes effect, as a refresh of the queues does;
then those that wait ask.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rules.explain.unlimited import unlimited_capacity, unlimited_fair
from rules.limits import Limits
from rules.live.case import to_case
from rules.live.model import LiveApplication, LiveCluster
from rules.model import Resources
from rules.prepared import PreparedCase, prepare
from rules.simulation import hooks
from rules.simulation.compiled import entry_point
from rules.simulation.jobs import submit
from rules.simulation.loop import run
from rules.simulation.tables import ask_at
from workloads.trace import Case, Job, Task, Update

__all__ = ["Replay", "Setting", "Verdict"]

_NEVER_S = 1e15
_NO_PREEMPTION = {
    "yarn.scheduler.fair.preemption": "false",
    "yarn.resourcemanager.scheduler.monitor.enable": "false",
}
_BEATS = 60
"""How many beats of nodes and AMs each step may take after the last container was given out."""


@dataclass(frozen=True)
class Setting:
    """A configuration to look at: the Capacity Scheduler's properties, or the Fair Scheduler's allocation file."""

    conf: Mapping[str, str | None]
    allocations: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What becomes of an application while nothing ends.

    Attributes:
        served: whether it gets its application master, or a further container.
        rule: id of the rule that keeps it waiting; None where it waits for nothing.
        rejected: why it would be refused; None where it would not.
    """

    served: bool
    rule: str | None
    rejected: str | None = None


class Replay:
    """The applications of a live cluster, ready to be looked at under any configuration.

    Args:
        live: the cluster; its configuration must be readable.

    Raises:
        YarnError: the configuration cannot be seen.
        InputError: the configuration cannot be modelled (a capacity vector, for example).
    """

    def __init__(self, live: LiveCluster) -> None:
        total = live.snapshot.total
        self._applications = tuple(_bounded(each, total) for each in live.applications)
        self._jobs = tuple(_job(each, float(i)) for i, each in enumerate(self._applications))
        self._case = to_case(live, self._jobs, horizon_s=_NEVER_S)
        # What preemption would free sooner or later is not free now.
        self._case = replace(self._case, conf={**self._case.conf, **_NO_PREEMPTION})
        self.present = Setting(self._case.conf, self._case.allocations)
        held = sum(len(each.containers) for each in live.applications) / max(len(self._case.nodes), 1)
        beat_s = max(self._case.node_heartbeat_s, self._case.am_heartbeat_s)
        self._step_s = (held + _BEATS) * beat_s

    @property
    def limits(self) -> Limits:
        """The limit terms of the present configuration.

        Raises:
            InputError: it cannot be modelled.
        """
        return prepare(self._case).limits[0]

    def verdicts(self, setting: Setting) -> tuple[dict[str, Verdict], bool]:
        """What becomes of each waiting application under a configuration.

        Args:
            setting: the configuration.

        Returns:
            The verdicts by application, and whether the simulation could hold all that really runs; where it could
            not (the cluster's nodes are divided otherwise, or hold what the model does not know), they are less sure.

        Raises:
            InputError: the configuration cannot be modelled.
        """
        stage = _Stage(prepare(self._with_update(setting)), self._applications)
        begin_s = self._step_s
        for row in stage.rows(started=True):
            stage.submit(row)
        stage.run_until(begin_s)
        for row in stage.rows(started=True):
            stage.ask_for_held(row)
        stage.run_until(2 * begin_s + 1)  # the update is at 2 * begin_s
        complete = stage.holds_all()
        for row in range(len(self._applications)):
            stage.ask_for_more(row)
        stage.run_until(3 * begin_s)
        before = stage.seconds_by_rule()
        stage.run_until(4 * begin_s)
        bound = stage.seconds_by_rule() - before
        found = {each.id: stage.verdict(row, bound[row]) for row, each in enumerate(self._applications) if each.waiting}
        return found, complete

    def _with_update(self, setting: Setting) -> Case:
        at_s = 2 * self._step_s
        if self._case.scheduler == "fair":
            opened = unlimited_fair(self._jobs)
            update = Update(at_s, setting.conf, setting.allocations)
            return replace(self._case, allocations=opened, updates=(update,))
        conf = unlimited_capacity(self._case.conf)
        back = {name: setting.conf.get(name) for name in {**conf, **setting.conf}}
        return replace(self._case, conf=conf, updates=(Update(at_s, back),))


def _job(found: LiveApplication, place: float) -> Job:
    """An application with a task for each container that it holds or asks for, in the order of submission.

    An application whose master waits has one task, which is never asked for.
    """
    am = _am_size(found)
    sizes = [each.resources for each in found.containers if not each.is_am]
    if found.am_started:
        sizes += [ask.resources for ask in found.asks for _ in range(ask.count)]
    tasks = tuple(Task(_NEVER_S, max(size.memory_mib, 1), max(size.vcores, 1)) for size in sizes)
    return Job(found.id, found.queue, place, found.user, max(am.memory_mib, 1), tasks=tasks or (Task(_NEVER_S),))


def _bounded(found: LiveApplication, total: Resources) -> LiveApplication:
    """The application with no more asks than the whole cluster could ever serve: further ones change nothing."""
    asks = tuple(
        replace(ask, count=min(ask.count, total.memory_mib // max(ask.resources.memory_mib, 1) + 1))
        for ask in found.asks
    )
    return replace(found, asks=asks)


def _am_size(found: LiveApplication) -> Resources:
    masters = [each.resources for each in found.containers if each.is_am]
    waiting = [ask.resources for ask in found.asks] if not found.am_started else []
    return (masters or waiting or [Resources(1, 1)])[0]


class _Stage:
    """One run of the simulation, stopped and changed in between."""

    def __init__(self, prepared: PreparedCase, applications: Sequence[LiveApplication]) -> None:
        self._prepared, self._memory, self._applications = prepared, prepared.memory, applications
        self._jobs, self._asks = self._memory["jobs"], self._memory["asks"]
        # Nothing is submitted, and no AM asks, but when it is told to.
        self._jobs["submit"], self._jobs["asked"] = 2 * _NEVER_S, 1
        self._memory.state["next_submission"] = len(applications)
        self._asked = [0] * len(applications)
        for row, each in enumerate(applications):
            self._set_am_vcores(row, max(_am_size(each).vcores, 1))

    def _set_am_vcores(self, row: int, vcores: int) -> None:
        # The case format gives every AM one; a calculator that does not count them has made it none.
        ask = self._asks[self._jobs["am_ask"][row]]
        ask["asked_vcores"] = vcores
        if ask["vcores"] > 0:
            ask["vcores"] = max(int(ask["vcores"]), vcores)

    def rows(self, *, started: bool) -> list[int]:
        return [row for row, each in enumerate(self._applications) if each.am_started == started]

    def submit(self, row: int) -> None:
        self._jobs["submit"][row] = self._memory.state["now"][0]
        submit_now(self._memory.record, row)

    def run_until(self, time_s: float) -> None:
        self._memory.state["horizon"] = time_s
        run(self._memory.record)
        self._memory.state["now"] = time_s

    def ask_for_held(self, row: int) -> None:
        held = [each.resources for each in self._applications[row].containers if not each.is_am]
        for ask_row, size in self._ask_rows(row):
            self._ask(row, ask_row, held.count(size))

    def ask_for_more(self, row: int) -> None:
        found = self._applications[row]
        if not found.am_started:
            if found.waiting:
                self.submit(row)
            return
        for ask_row, size in self._ask_rows(row):
            if self._asks["pending"][ask_row] == 0:
                self._ask(row, ask_row, sum(ask.count for ask in found.asks if ask.resources == size))

    def holds_all(self) -> bool:
        """Whether every application has what it really holds."""
        started = self.rows(started=True)
        return all(self._jobs["am_start"][row] >= 0 and self._granted(row) == self._asked[row] for row in started)

    def seconds_by_rule(self) -> Any:
        return self._memory["bound"]["seconds"].reshape(len(self._applications), -1).copy()

    def verdict(self, row: int, bound: Any) -> Verdict:
        found, rejection = self._applications[row], int(self._jobs["rejection"][row])
        if rejection:
            job = Job(found.id, found.queue, 0.0, found.user)
            return Verdict(False, None, self._prepared.rejection_words(rejection, job))
        held = len(found.containers) - 1
        served = self._granted(row) > held if found.am_started else bool(self._jobs["am_start"][row] >= 0)
        longest = int(np.argmax(bound))
        waits = bound[longest] > 0
        return Verdict(served, self._prepared.rule_ids[longest] if waits else None)

    def _granted(self, row: int) -> int:
        return int(self._jobs["granted"][row])

    def _ask(self, row: int, ask_row: int, containers: int) -> None:
        if containers > 0:
            self._asked[row] += containers
            ask_now(self._memory.record, row, ask_row, containers)

    def _ask_rows(self, row: int) -> list[tuple[int, Resources]]:
        """The asks of an application but its AM's, each with its size."""
        begin, end = int(self._jobs["am_ask"][row]) + 1, int(self._jobs["ask_end"][row])
        return [
            (i, Resources(int(self._asks["asked_memory"][i]), int(self._asks["asked_vcores"][i])))
            for i in range(begin, end)
        ]


@entry_point
def submit_now(state: Any, job_row: int) -> None:
    """Submits an application at the present moment."""
    submit(state, job_row)


@entry_point
def ask_now(state: Any, job_row: int, ask_row: int, containers: int) -> None:
    """A running application asks for so many containers of a size of which it asks for none."""
    if hooks.admit(state, job_row) != 0:
        return
    ask_at(state, ask_row).pending = containers
    state.outstanding += containers
    state.version += 1
    hooks.asked(state, job_row, ask_row, containers)
