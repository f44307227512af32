"""A workload as a trace tells it: jobs, their tasks as columns of numbers, and where all of it comes from.

A :class:`Workload` says what happened and what was asked for; what to run on which cluster is a
:class:`~workloads.trace.Case`, made of a window of it by :mod:`workloads.to_case`. Times are seconds since the
workload's own zero, memory is MiB, processors are cores (fractions are kept as the trace has them).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import IntEnum, IntFlag
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from workloads.trace import Executors

__all__ = [
    "MACHINE_DTYPES",
    "TASK_DTYPES",
    "Assumption",
    "Ending",
    "Machines",
    "Provenance",
    "SourceFile",
    "Tasks",
    "Unsure",
    "Workload",
    "WorkloadJob",
]


class Ending(IntEnum):
    """How a run of a task ended; the names are those of the Google trace where it has one."""

    FINISHED = 0
    FAILED = 1
    KILLED = 2
    EVICTED = 3
    """The scheduler took its place away; a later row is its next run."""
    LOST = 4
    RUNNING = 5
    """It had not ended when the trace did."""
    WAITING = 6
    """It had not started when the trace ended."""
    WITHDRAWN = 7
    """It was taken back, or failed, before it had started."""


class Unsure(IntFlag):
    """What of a row is not as observed."""

    START = 1
    """It began before it is first seen, so its duration is a lower bound."""
    END = 2
    """It ended after it is last seen: a lower bound too."""
    LATE_END = 4
    """Its end was found late (the trace's own note), so its duration is an upper bound."""
    DURATION = 8
    """Its duration is modelled."""
    REQUEST = 16
    """Its memory or cores are modelled."""


TASK_DTYPES: Final[Mapping[str, type[np.generic]]] = {
    "submit_s": np.float64,
    "wait_s": np.float64,
    "duration_s": np.float64,
    "memory_mib": np.int32,
    "cores": np.float64,
    "count": np.int32,
    "stage": np.int32,
    "ending": np.uint8,
    "unsure": np.uint8,
    "used_memory_mib": np.float64,
    "used_cores": np.float64,
    "cpi": np.float64,
    "mai": np.float64,
}
"""The columns of :class:`Tasks` and how they are held."""

MACHINE_DTYPES: Final[Mapping[str, type[np.generic]]] = {
    "time_s": np.float64,
    "machine": np.int64,
    "memory_mib": np.int32,
    "cores": np.float64,
}
"""The columns of :class:`Machines`."""


@dataclass(frozen=True, eq=False)
class Tasks:
    """Runs of tasks, a row each (or ``count`` equal ones), as columns of shape (rows,). NaN means: not known.

    Attributes:
        submit_s: when it could first have run.
        wait_s: from then to its start, in the cluster of the trace.
        duration_s: how long it ran; see ``unsure``.
        memory_mib: what it asked for; 0 where it asked for none.
        cores: likewise.
        count: how many equal ones the row stands for.
        stage: those of a stage start when the one before has ended; equal numbers run side by side.
        ending: of :class:`Ending`.
        unsure: bits of :class:`Unsure`.
        used_memory_mib: most that it used.
        used_cores: what it used on average.
        cpi: cycles per instruction.
        mai: memory accesses per instruction.
    """

    submit_s: NDArray[np.float64]
    wait_s: NDArray[np.float64]
    duration_s: NDArray[np.float64]
    memory_mib: NDArray[np.int32]
    cores: NDArray[np.float64]
    count: NDArray[np.int32]
    stage: NDArray[np.int32]
    ending: NDArray[np.uint8]
    unsure: NDArray[np.uint8]
    used_memory_mib: NDArray[np.float64]
    used_cores: NDArray[np.float64]
    cpi: NDArray[np.float64]
    mai: NDArray[np.float64]

    @classmethod
    def of(cls, columns: Mapping[str, Any]) -> Tasks:
        """Makes tasks of sequences, one for each name of :data:`TASK_DTYPES`.

        Raises:
            ValueError: the columns are not equally long.
        """
        arrays = {name: np.asarray(columns[name], dtype) for name, dtype in TASK_DTYPES.items()}
        if len({len(column) for column in arrays.values()}) > 1:
            raise ValueError("the columns of the tasks are not equally long")
        return cls(**arrays)

    def __len__(self) -> int:
        return len(self.duration_s)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tasks) and all(
            np.array_equal(column, getattr(other, name), equal_nan=column.dtype.kind == "f")
            for name, column in self.columns().items()
        )

    __hash__ = None  # type: ignore[assignment]

    def columns(self) -> dict[str, NDArray[Any]]:
        """The columns by name."""
        return {name: getattr(self, name) for name in TASK_DTYPES}

    def take(self, rows: Any) -> Tasks:
        """The rows that a slice, a mask or an array of positions names."""
        return Tasks(**{name: column[rows] for name, column in self.columns().items()})

    @property
    def total(self) -> int:
        """How many tasks there are, each row with its ``count``."""
        return int(self.count.sum())

    @property
    def memory_mib_seconds(self) -> float:
        """Memory asked for, times how long it was held, in MiB·s."""
        return float((self.count * self.duration_s * self.memory_mib).sum())

    @property
    def core_seconds(self) -> float:
        """Cores asked for, times how long they were held."""
        return float((self.count * self.duration_s * self.cores).sum())


@dataclass(frozen=True, slots=True)
class WorkloadJob:
    """One run of a job.

    Attributes:
        id: unique in its workload.
        submit_s: when it was submitted.
        name: what recurs: jobs of one name are runs of one recurring job; None where the trace does not say.
        user: empty where the trace does not say; so is ``queue``.
        first_task: position of its first row in the workload's tasks.
        task_rows: how many rows are its own.
        am_memory_mib: memory of its application master; 0 where the trace has none.
        executors: of a job whose tasks run inside containers that it holds.
        priority: as the trace has it; more is more important. None where it does not say; so is the next.
        scheduling_class: of the Google trace: from 0 (batch) to 3 (sensitive to latency).
    """

    id: str
    submit_s: float
    name: str | None = None
    user: str = ""
    queue: str = ""
    first_task: int = 0
    task_rows: int = 0
    am_memory_mib: int = 0
    executors: Executors | None = None
    priority: int | None = None
    scheduling_class: int | None = None


@dataclass(frozen=True, eq=False)
class Machines:
    """Changes of the cluster, a row each, in the order of time, as columns of shape (rows,).

    Attributes:
        time_s: when it happened; everything at or before the workload's start is there from the start.
        machine: which one.
        memory_mib: what it has from then on; 0 and no cores where it went away.
        cores: likewise.
    """

    time_s: NDArray[np.float64]
    machine: NDArray[np.int64]
    memory_mib: NDArray[np.int32]
    cores: NDArray[np.float64]

    @classmethod
    def of(cls, columns: Mapping[str, Any]) -> Machines:
        """Makes machines of sequences, one for each name of :data:`MACHINE_DTYPES`."""
        return cls(**{name: np.asarray(columns[name], dtype) for name, dtype in MACHINE_DTYPES.items()})

    def __len__(self) -> int:
        return len(self.time_s)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Machines) and all(
            np.array_equal(column, getattr(other, name)) for name, column in self.columns().items()
        )

    __hash__ = None  # type: ignore[assignment]

    def columns(self) -> dict[str, NDArray[Any]]:
        """The columns by name."""
        return {name: getattr(self, name) for name in MACHINE_DTYPES}

    def at(self, time_s: float) -> Machines:
        """The machines that are there at a time, one row each, in the order of their numbers."""
        before = int(np.searchsorted(self.time_s, time_s, side="right"))
        # Of each machine the last row: unique() finds first ones, so it looks at the rows backwards.
        numbers, last = np.unique(self.machine[:before][::-1], return_index=True)
        rows = before - 1 - last
        there = (self.memory_mib[rows] > 0) | (self.cores[rows] > 0)
        rows, numbers = rows[there], numbers[there]
        return Machines(np.full(len(rows), float(time_s)), numbers, self.memory_mib[rows], self.cores[rows])

    def window(self, start_s: float, end_s: float) -> Machines:
        """The machines at the start of a window, which becomes zero, and the changes inside it."""
        there = self.at(start_s)
        inside = (self.time_s > start_s) & (self.time_s < end_s)
        columns = {
            name: np.concatenate((getattr(there, name), column[inside])) for name, column in self.columns().items()
        }
        columns["time_s"] = columns["time_s"] - start_s
        return Machines(**columns)


@dataclass(frozen=True, slots=True)
class Assumption:
    """Something that the trace does not say and that was filled in.

    Attributes:
        name: what was assumed, with its unit as in ``machine_memory_mib``.
        value: how much.
        reason: why, and how many values it stands for where that is known.
    """

    name: str
    value: float | str
    reason: str


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file that was read: its name without folders, its size and its SHA-256."""

    name: str
    size_bytes: int
    sha256: str
    rows: int
    bad_rows: int = 0


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a workload comes from.

    Attributes:
        format: of the trace, as in ``workloads.importers.FORMATS``; or ``generated``.
        files: what was read.
        seed: of whatever was modelled.
        bad_rows: the first rows that were left out, ``file:line: reason``.
        notes: a sentence for each thing that is missing, odd or left out.
        window_s: the part of the trace, where it is not the whole of it.
    """

    format: str
    files: tuple[SourceFile, ...] = ()
    seed: int = 0
    bad_rows: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    window_s: tuple[float, float] | None = None


@dataclass(frozen=True)
class Workload:
    """Jobs in the order of their submission, their tasks, the machines they ran on, and where all that comes from.

    Attributes:
        name: for people.
        jobs: in the order of submission.
        tasks: of all jobs; those of one job stand together, see :meth:`tasks_of`.
        provenance: what was read.
        assumptions: what was filled in.
        machines: None where the trace does not tell.
        epoch_s: the workload's zero in seconds since the epoch; None where the trace does not tell.
    """

    name: str
    jobs: tuple[WorkloadJob, ...]
    tasks: Tasks
    provenance: Provenance
    assumptions: tuple[Assumption, ...] = ()
    machines: Machines | None = field(default=None)
    epoch_s: float | None = None

    def tasks_of(self, job: WorkloadJob) -> Tasks:
        """The tasks of one of its jobs."""
        return self.tasks.take(slice(job.first_task, job.first_task + job.task_rows))

    @property
    def span_s(self) -> tuple[float, float]:
        """First and last submission; zeros where there is no job."""
        return (self.jobs[0].submit_s, self.jobs[-1].submit_s) if self.jobs else (0.0, 0.0)

    @property
    def end_s(self) -> float:
        """When, in the cluster of the trace, the last of it ended; an unknown wait counts as none."""
        ends = self.tasks.submit_s + np.nan_to_num(self.tasks.wait_s) + self.tasks.duration_s
        return max(self.span_s[1], float(ends.max(initial=0.0)))

    def window(self, start_s: float, end_s: float) -> Workload:
        """The jobs submitted from ``start_s`` on and before ``end_s``; ``start_s`` becomes zero.

        A job is in a window with all its tasks or not at all, so windows that meet share nothing and lose nothing.
        """
        chosen = [job for job in self.jobs if start_s <= job.submit_s < end_s]
        rows = [np.arange(job.first_task, job.first_task + job.task_rows) for job in chosen]
        tasks = self.tasks.take(np.concatenate(rows) if rows else slice(0, 0))
        firsts = np.cumsum([0, *(job.task_rows for job in chosen)])
        return replace(
            self,
            jobs=tuple(
                replace(job, submit_s=job.submit_s - start_s, first_task=int(first))
                for job, first in zip(chosen, firsts, strict=False)
            ),
            tasks=replace(tasks, submit_s=tasks.submit_s - start_s),
            provenance=replace(self.provenance, window_s=(start_s, end_s)),
            machines=None if self.machines is None else self.machines.window(start_s, end_s),
            epoch_s=None if self.epoch_s is None else self.epoch_s + start_s,
        )


assert tuple(each.name for each in fields(Tasks)) == tuple(TASK_DTYPES)
assert tuple(each.name for each in fields(Machines)) == tuple(MACHINE_DTYPES)
