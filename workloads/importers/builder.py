"""Collects jobs and task rows in the order a trace gives them, and makes a workload of them."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import replace
from math import nan
from typing import Any

import numpy as np

from workloads.workload import (
    TASK_DTYPES,
    Assumption,
    Ending,
    Machines,
    Provenance,
    Tasks,
    Unsure,
    Workload,
    WorkloadJob,
)

__all__ = ["WorkloadBuilder"]


class WorkloadBuilder:
    """Gathers a workload; memory is that of its columns, not of an object for each task."""

    def __init__(self) -> None:
        self._jobs: list[WorkloadJob] = []
        self._job_of = array("q")
        self._columns = {name: array(np.dtype(dtype).char) for name, dtype in TASK_DTYPES.items()}
        self._appends = tuple(column.append for column in self._columns.values())

    @property
    def jobs(self) -> Sequence[WorkloadJob]:
        """The jobs so far."""
        return self._jobs

    def add_job(self, job: WorkloadJob) -> int:
        """Adds a job, whose tasks come before or after other jobs'; the number is for :meth:`add_task`."""
        self._jobs.append(job)
        return len(self._jobs) - 1

    def add_task(
        self,
        job: int,
        *,
        submit_s: float,
        duration_s: float,
        memory_mib: int,
        cores: float,
        wait_s: float = nan,
        count: int = 1,
        stage: int = 0,
        ending: Ending = Ending.FINISHED,
        unsure: Unsure | int = 0,
        used_memory_mib: float = nan,
        used_cores: float = nan,
        cpi: float = nan,
        mai: float = nan,
    ) -> None:
        """Adds a row of tasks; see :class:`~workloads.workload.Tasks` for the meaning of each."""
        self._job_of.append(job)
        row: tuple[Any, ...] = (
            submit_s, wait_s, duration_s, memory_mib, cores, count, stage, ending, unsure,
            used_memory_mib, used_cores, cpi, mai,
        )  # fmt: skip
        for append, value in zip(self._appends, row, strict=True):
            append(value)

    def build(
        self,
        name: str,
        provenance: Provenance,
        assumptions: Sequence[Assumption] = (),
        *,
        machines: Machines | None = None,
        epoch_s: float | None = None,
    ) -> Workload:
        """Puts jobs in the order of submission (equal times: as added), and each one's tasks as added."""
        order = sorted(range(len(self._jobs)), key=lambda number: self._jobs[number].submit_s)
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        owner = place[np.frombuffer(self._job_of, np.int64)] if self._job_of else np.empty(0, np.int64)
        rows = np.bincount(owner, minlength=len(order))
        firsts = np.cumsum(rows) - rows
        return Workload(
            name=name,
            jobs=tuple(
                replace(self._jobs[number], first_task=int(first), task_rows=int(count))
                for number, first, count in zip(order, firsts, rows, strict=True)
            ),
            tasks=Tasks.of(self._columns).take(np.argsort(owner, kind="stable")),
            provenance=provenance,
            assumptions=tuple(assumptions),
            machines=machines,
            epoch_s=epoch_s,
        )
