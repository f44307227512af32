"""A workload and the cluster it runs on: jobs, tasks, nodes, and the case file that holds them.

A case file is what the estimator, the optimizer and a replay through Hadoop's own scheduler all read; its fields are
in ``docs/scheduler-model.md``. Reading it checks all of it: a wrong file is an :class:`~tuner.errors.InputError` that
names the place.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tuner.errors import InputError

__all__ = ["Case", "Executors", "Job", "Node", "Task", "Update", "case_to_json", "parse_case", "read_case"]

DEFAULT_MEMORY_MIB = 1024
DEFAULT_HEARTBEAT_S = 1.0
HORIZON_AFTER_LAST_SUBMIT_S = 21_600.0


@dataclass(frozen=True, slots=True)
class Task:
    """A task that runs in a container of its own.

    Attributes:
        duration_s: how long it runs.
        memory_mib: memory that its container asks for.
        vcores: virtual cores that its container asks for.
    """

    duration_s: float
    memory_mib: int = DEFAULT_MEMORY_MIB
    vcores: int = 1


@dataclass(frozen=True, slots=True)
class Executors:
    """The equal containers that a Spark-like job holds from when it gets them to its end."""

    count: int
    memory_mib: int = DEFAULT_MEMORY_MIB
    vcores: int = 1


@dataclass(frozen=True, slots=True)
class Job:
    """One run of a job: either ``tasks``, a container each, or ``executors`` that run ``stages``.

    Attributes:
        id: unique in its workload.
        queue: the full path, or the leaf's name where that is unique.
        submit_s: seconds since the start of the workload.
        user: who submitted it.
        am_memory_mib: memory of the application master.
        name: what recurs: jobs of one name are runs of one recurring job. Absent: None (queue and user stand for it).
        tasks: the tasks, in the order in which they start.
        executors: None for a job with a container per task.
        stages: durations in seconds; a stage starts when the one before has ended.
        label: node label of its AM and of all that it asks for; empty for that of its queue.
    """

    id: str
    queue: str
    submit_s: float
    user: str = "user"
    am_memory_mib: int = DEFAULT_MEMORY_MIB
    name: str | None = None
    tasks: tuple[Task, ...] = ()
    executors: Executors | None = None
    stages: tuple[tuple[float, ...], ...] = ()
    label: str = ""

    @property
    def recurring_name(self) -> str:
        """What the runs of one recurring job have in common."""
        return self.name if self.name is not None else f"{self.queue}/{self.user}"


@dataclass(frozen=True, slots=True)
class Node:
    """A node's resources as YARN knows them, and its node label, empty where it has none."""

    memory_mib: int
    vcores: int
    label: str = ""


@dataclass(frozen=True, slots=True)
class Update:
    """A reconfiguration while the workload runs; a value of None unsets the property."""

    time_s: float
    conf: Mapping[str, str | None] = field(default_factory=dict)
    allocations: str | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """A cluster, its scheduler's configuration, and a workload.

    Attributes:
        scheduler: ``capacity`` or ``fair``.
        conf: Hadoop properties by full name; None unsets.
        allocations: text of the Fair Scheduler's allocation file.
        nodes: the nodes, in the order of their first heartbeats.
        jobs: the workload, in the file's order.
        updates: reconfigurations while it runs, in the order of their times.
        node_heartbeat_s: interval of each node's heartbeats.
        am_heartbeat_s: interval of each AM's heartbeats.
        horizon_s: the replay stops after this second; what has not ended by then is unfinished.
    """

    nodes: tuple[Node, ...]
    jobs: tuple[Job, ...]
    scheduler: str = "capacity"
    conf: Mapping[str, str | None] = field(default_factory=dict)
    allocations: str = "<allocations/>"
    updates: tuple[Update, ...] = ()
    node_heartbeat_s: float = DEFAULT_HEARTBEAT_S
    am_heartbeat_s: float = DEFAULT_HEARTBEAT_S
    horizon_s: float = HORIZON_AFTER_LAST_SUBMIT_S


def read_case(path: Path) -> Case:
    """Reads and checks a case file.

    Raises:
        InputError: the file cannot be read, is not JSON, or is not a valid case.
    """
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read the case file {path}: {error.strerror}") from error
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise InputError(f"{path} is not JSON: {error}", "a case file is one JSON object") from error
    try:
        return parse_case(value)
    except InputError as error:
        raise InputError(f"{path}: {error.message}", error.hint) from error


def parse_case(value: Any) -> Case:
    """Makes a :class:`Case` of a decoded case file.

    Raises:
        InputError: with the place (for example ``jobs[3].tasks[0].duration``) and what was expected there.
    """
    fields = _Fields(value, "the case")
    jobs = tuple(_parse_job(_Fields(item, f"jobs[{i}]")) for i, item in enumerate(fields.items("jobs")))
    seen: set[str] = set()
    for i, job in enumerate(jobs):
        if job.id in seen:
            raise InputError(f"jobs[{i}].id: the id {job.id!r} is used twice", "give every job an id of its own")
        seen.add(job.id)
    nodes = tuple(
        Node(node.integer("memory"), node.integer("vcores"), _label_of(node))
        for node in (_Fields(item, f"nodes[{i}]") for i, item in enumerate(fields.items("nodes")))
    )
    if not nodes:
        raise InputError("nodes: the cluster has no node", 'list at least one, as {"memory": 8192, "vcores": 8}')
    scheduler = fields.text("scheduler", "capacity")
    if scheduler not in ("capacity", "fair"):
        raise InputError(f"scheduler: {scheduler!r} is not a scheduler", "write capacity or fair")
    updates = [
        _parse_update(_Fields(item, f"updates[{i}]")) for i, item in enumerate(fields.items("updates", optional=True))
    ]
    last_submit_s = max((job.submit_s for job in jobs), default=0.0)
    return Case(
        nodes=nodes,
        jobs=jobs,
        scheduler=scheduler,
        conf=fields.properties("conf"),
        allocations=fields.text("allocations", "<allocations/>"),
        updates=tuple(sorted(updates, key=lambda update: update.time_s)),
        node_heartbeat_s=fields.number("node_heartbeat", DEFAULT_HEARTBEAT_S, above=0),
        am_heartbeat_s=fields.number("am_heartbeat", DEFAULT_HEARTBEAT_S, above=0),
        horizon_s=fields.number("horizon", last_submit_s + HORIZON_AFTER_LAST_SUBMIT_S),
    )


def case_to_json(case: Case) -> dict[str, Any]:
    """The case as its file has it; :func:`parse_case` reads it back to an equal one.

    A job's name is left out where it has none, and so are the fields of the other kind of job.
    """
    value: dict[str, Any] = {
        "scheduler": case.scheduler,
        "conf": dict(case.conf),
        "nodes": [_node_to_json(node) for node in case.nodes],
        "jobs": [_job_to_json(job) for job in case.jobs],
        "node_heartbeat": case.node_heartbeat_s,
        "am_heartbeat": case.am_heartbeat_s,
        "horizon": case.horizon_s,
    }
    if case.scheduler == "fair":
        value["allocations"] = case.allocations
    if case.updates:
        value["updates"] = [_update_to_json(update) for update in case.updates]
    return value


def _label_of(node: _Fields) -> str:
    """A node's label: a list of one, as YARN has labels of nodes."""
    labels = node.items("labels", optional=True)
    if len(labels) > 1 or not all(isinstance(label, str) for label in labels):
        raise InputError(f"{node.place}.labels: expected a list of at most one name, got {_shown(labels)}")
    return labels[0] if labels else ""


def _node_to_json(node: Node) -> dict[str, Any]:
    labels = {"labels": [node.label]} if node.label else {}
    return {"memory": node.memory_mib, "vcores": node.vcores, **labels}


def _update_to_json(update: Update) -> dict[str, Any]:
    value: dict[str, Any] = {"time": update.time_s}
    if update.conf:
        value["conf"] = dict(update.conf)
    if update.allocations is not None:
        value["allocations"] = update.allocations
    return value


def _job_to_json(job: Job) -> dict[str, Any]:
    value: dict[str, Any] = {"id": job.id, "user": job.user, "queue": job.queue, "submit": job.submit_s}
    value["am_memory"] = job.am_memory_mib
    if job.name is not None:
        value["name"] = job.name
    if job.label:
        value["label"] = job.label
    if job.executors is None:
        value["tasks"] = [
            {"duration": task.duration_s, "memory": task.memory_mib, "vcores": task.vcores} for task in job.tasks
        ]
    else:
        each = job.executors
        value["executors"] = {"count": each.count, "memory": each.memory_mib, "vcores": each.vcores}
        value["stages"] = [list(stage) for stage in job.stages]
    return value


def _parse_update(fields: _Fields) -> Update:
    allocations = fields.text("allocations", "") if "allocations" in fields.value else None
    return Update(fields.number("time"), fields.properties("conf"), allocations)


def _parse_job(fields: _Fields) -> Job:
    tasks: tuple[Task, ...] = ()
    executors: Executors | None = None
    stages: tuple[tuple[float, ...], ...] = ()
    if "stages" in fields.value:
        executors, stages = _parse_executors(fields), _parse_stages(fields)
    else:
        tasks = tuple(
            Task(
                task.number("duration"),
                task.integer("memory", DEFAULT_MEMORY_MIB),
                task.integer("vcores", 1),
            )
            for task in (_Fields(item, f"{fields.place}.tasks[{i}]") for i, item in enumerate(fields.items("tasks")))
        )
    return Job(
        id=fields.text("id"),
        queue=fields.text("queue"),
        submit_s=fields.number("submit"),
        user=fields.text("user", "user"),
        am_memory_mib=fields.integer("am_memory", DEFAULT_MEMORY_MIB),
        name=fields.text("name", "") or None,
        tasks=tasks,
        executors=executors,
        stages=stages,
        label=fields.text("label", ""),
    )


def _parse_executors(fields: _Fields) -> Executors:
    executors = _Fields(fields.get("executors"), f"{fields.place}.executors")
    return Executors(
        executors.integer("count"), executors.integer("memory", DEFAULT_MEMORY_MIB), executors.integer("vcores", 1)
    )


def _parse_stages(fields: _Fields) -> tuple[tuple[float, ...], ...]:
    stages = []
    for s, stage in enumerate(fields.items("stages")):
        place = f"{fields.place}.stages[{s}]"
        if not isinstance(stage, list):
            raise InputError(f"{place}: expected a list of durations, got {_shown(stage)}")
        stages.append(tuple(_number(duration, f"{place}[{i}]", at_least=0) for i, duration in enumerate(stage)))
    if not any(stages):
        raise InputError(f"{fields.place}.stages: no stage has a task", "give at least one duration")
    return tuple(stages)


_MISSING: Any = object()


@dataclass(frozen=True, slots=True)
class _Fields:
    """A JSON object at a known place; reads its fields and says where one is wrong."""

    value: Any
    place: str

    def __post_init__(self) -> None:
        if not isinstance(self.value, dict):
            raise InputError(f"{self.place}: expected an object, got {_shown(self.value)}")

    def get(self, name: str, default: Any = _MISSING) -> Any:
        value = self.value.get(name, default)
        if value is _MISSING:
            raise InputError(f"{self._at(name)} is missing")
        return value

    def items(self, name: str, *, optional: bool = False) -> list[Any]:
        value = self.get(name, [] if optional else _MISSING)
        if not isinstance(value, list):
            raise InputError(f"{self._at(name)}: expected a list, got {_shown(value)}")
        return value

    def text(self, name: str, default: Any = _MISSING) -> str:
        value = self.get(name, default)
        if not isinstance(value, str):
            raise InputError(f"{self._at(name)}: expected text, got {_shown(value)}")
        return value

    def integer(self, name: str, default: Any = _MISSING) -> int:
        value = self.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < 2**31:
            raise InputError(f"{self._at(name)}: expected a whole number above 0, got {_shown(value)}")
        return value

    def number(self, name: str, default: Any = _MISSING, *, above: float | None = None) -> float:
        value = _number(self.get(name, default), self._at(name), at_least=0)
        if above is not None and value <= above:
            raise InputError(f"{self._at(name)}: expected a number above {above}, got {_shown(value)}")
        return value

    def properties(self, name: str) -> dict[str, str | None]:
        value = self.get(name, {})
        if not isinstance(value, dict):
            raise InputError(f"{self._at(name)}: expected an object of properties, got {_shown(value)}")
        return {key: _property(item, f"{self._at(name)}[{key!r}]") for key, item in value.items()}

    def _at(self, name: str) -> str:
        return name if self.place == "the case" else f"{self.place}.{name}"


def _property(value: Any, place: str) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    raise InputError(f"{place}: expected the property's text, got {_shown(value)}")


def _number(value: Any, place: str, *, at_least: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < at_least:
        raise InputError(f"{place}: expected a number of at least {at_least:g}, got {_shown(value)}")
    return float(value)


def _shown(value: Any) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) <= 60 else text[:57] + "..."
