"""Alibaba cluster-trace-v2018, ``batch_task.csv``.

Columns, no header: task name, number of instances, job name, task type, status, start and end time (s since the
trace's start; 0: outside it), planned CPU (100 is a core), planned memory (percent of the largest machine's).
Source: ``trace_2018.md`` of alibaba/clusterdata.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan, nan
from pathlib import Path
from typing import Final

import numpy as np

from workloads.importers.builder import WorkloadBuilder
from workloads.importers.options import ImportOptions
from workloads.importers.rows import BadRowError, RowReader, decimal, whole
from workloads.seeds import job_seed
from workloads.workload import Assumption, Ending, Provenance, Unsure, Workload, WorkloadJob

__all__ = ["import_alibaba", "looks_like_alibaba", "stages_of"]

_COLUMNS: Final = 9
_ENDINGS: Final[Mapping[bytes, Ending]] = {
    b"Terminated": Ending.FINISHED,
    b"Failed": Ending.FAILED,
    b"Interrupted": Ending.KILLED,
    b"Cancelled": Ending.WITHDRAWN,
    b"Running": Ending.RUNNING,
    b"Waiting": Ending.WAITING,
    b"Ready": Ending.WAITING,
}


@dataclass(slots=True)
class _Row:
    task: str
    instances: int
    job: str
    status: Ending
    start_s: int
    end_s: int
    cores: float
    memory_percent: float
    unsure: int = 0
    duration_s: float = 0.0


@dataclass
class _Jobs:
    rows: dict[str, list[_Row]] = field(default_factory=dict)

    def all(self) -> list[_Row]:
        return [row for rows in self.rows.values() for row in rows]


def import_alibaba(paths: Sequence[Path], reader: RowReader, options: ImportOptions) -> Workload:
    """Imports batch tasks: a row of tasks for each, with as many equal ones as it has instances.

    A job counts as submitted when its first task started: the trace has no submit times.
    """
    jobs = _Jobs()
    for path in sorted(paths, key=lambda path: path.name):
        for row in reader.read(path, _parse):
            jobs.rows.setdefault(row.job, []).append(row)
    assumptions = [
        Assumption("largest_machine_memory_mib", options.machine.memory_mib, "memory is a percentage of it"),
        Assumption("submit", "start of the first task", "the trace has no submit times"),
        *_fill(jobs.all(), options),
    ]
    builder = WorkloadBuilder()
    left_out = 0
    for job_id, rows in jobs.rows.items():
        started = [row.start_s for row in rows if row.start_s > 0]
        if not started:
            left_out += 1
            continue
        _add(builder, job_id, rows, float(min(started)), options)
    notes = (f"{left_out} jobs without any time inside the trace are left out",) if left_out else ()
    provenance = Provenance("alibaba", reader.files, options.seed, reader.bad_rows, notes)
    return builder.build(options.name, provenance, assumptions)


def stages_of(names: Sequence[str]) -> list[int]:
    """The stage of each task of one job: 0 for those that wait for none, else one more than what they wait for.

    Args:
        names: as in the trace: ``M5_3_4`` is task 5 and waits for 3 and 4; a name without numbers waits for none.
    """
    waits: dict[int, list[int]] = {}
    numbers = [_numbers(name) for name in names]
    for parts in numbers:
        if parts:
            waits.setdefault(parts[0], []).extend(parts[1:])
    depth: dict[int, int] = {}
    # As many rounds as there are tasks settle every chain; a circle, which no job can have, would go on for ever.
    for _ in range(len(waits) + 1):
        before = dict(depth)
        for number, on in waits.items():
            depth[number] = max((depth.get(each, 0) + 1 for each in on if each in waits and each != number), default=0)
        if depth == before:
            break
    return [min(depth[parts[0]], len(waits)) if parts else 0 for parts in numbers]


def _numbers(name: str) -> list[int]:
    head, *rest = name.split("_")
    first = head.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
    if not first.isdecimal():
        return []
    return [int(first), *(int(part) for part in rest if part.isdecimal())]


def _add(builder: WorkloadBuilder, job_id: str, rows: Sequence[_Row], submit_s: float, options: ImportOptions) -> None:
    job = builder.add_job(WorkloadJob(job_id, submit_s))
    for row, stage in zip(rows, stages_of([row.task for row in rows]), strict=True):
        builder.add_task(
            job,
            submit_s=submit_s,
            wait_s=nan,
            duration_s=row.duration_s,
            memory_mib=round(row.memory_percent / 100 * options.machine.memory_mib),
            cores=row.cores,
            count=max(row.instances, 1),
            stage=stage,
            ending=row.status,
            unsure=row.unsure,
        )


def _fill(rows: Sequence[_Row], options: ImportOptions) -> list[Assumption]:
    """Durations of tasks that did not both start and end in the trace, and requests that are missing."""
    known = [float(row.end_s - row.start_s) for row in rows if row.start_s > 0 and row.end_s >= row.start_s]
    pool = known or [60.0]
    last_s = max((max(row.start_s, row.end_s) for row in rows), default=0)
    drawn = 0
    for row in rows:
        if row.start_s > 0 and row.end_s >= row.start_s:
            row.duration_s = float(row.end_s - row.start_s)
        elif row.start_s > 0 and row.status in (Ending.RUNNING, Ending.FINISHED):
            row.duration_s, row.unsure = float(last_s - row.start_s), row.unsure | Unsure.END
        elif row.status is not Ending.WITHDRAWN:
            random = np.random.default_rng(job_seed(options.seed, f"{row.job}/{row.task}"))
            row.duration_s = pool[int(random.integers(len(pool)))]
            row.unsure |= Unsure.DURATION
            drawn += 1
    filled = [Assumption("missing_duration", "drawn", f"{drawn} tasks: from all that are known")] if drawn else []
    for name, default in (
        ("cores", 1.0),
        ("memory_percent", 100 * options.default_memory_mib / options.machine.memory_mib),
    ):
        values = [getattr(row, name) for row in rows if not isnan(getattr(row, name))]
        median = float(np.median(values)) if values else default
        unknown = [row for row in rows if isnan(getattr(row, name))]
        for row in unknown:
            setattr(row, name, median)
            row.unsure |= Unsure.REQUEST
        if unknown:
            filled.append(Assumption(f"missing_{name}", median, f"{len(unknown)} tasks: the median of the others"))
    return filled


def _parse(line: bytes) -> _Row | None:
    cells = line.split(b",")
    if len(cells) != _COLUMNS:
        raise BadRowError(f"{len(cells)} columns, not {_COLUMNS}")
    if cells[0] == b"task_name":
        return None
    status = _ENDINGS.get(cells[4])
    if status is None:
        raise BadRowError(f"the status is {cells[4].decode('utf-8', 'replace')!r}")
    if not cells[2]:
        raise BadRowError("the job has no name")
    return _Row(
        task=cells[0].decode("utf-8", "replace"),
        instances=whole(cells[1], "the number of instances") if cells[1] else 1,
        job=cells[2].decode("utf-8", "replace"),
        status=status,
        start_s=whole(cells[5], "the start time") if cells[5] else 0,
        end_s=whole(cells[6], "the end time") if cells[6] else 0,
        cores=_request(cells[7], "the planned CPU", 100_000) / 100,
        memory_percent=_request(cells[8], "the planned memory", 100),
    )


def _request(cell: bytes, name: str, most: float) -> float:
    """What was planned; NaN where it is missing, or one of the trace's marks for an invalid value (-1, 101)."""
    value = decimal(cell, name) if cell else nan
    return value if 0 <= value <= most else nan


def looks_like_alibaba(lines: Sequence[bytes]) -> bool:
    """Whether most of the first lines are rows of batch_task."""
    good = 0
    for line in lines:
        try:
            _parse(line.rstrip(b"\r"))
        except BadRowError:
            continue
        good += 1
    return good > len(lines) / 2
