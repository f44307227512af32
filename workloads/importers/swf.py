"""The Standard Workload Format 2.2 of the Parallel Workloads Archive (Feitelson).

18 numbers a line, blanks between, -1 where unknown; lines with ``;`` are comments, and those before the first job
say what the log is (``; UnixStartTime: 748936922``). Times in seconds, memory in KB per processor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import nan
from pathlib import Path
from typing import Final

from workloads.importers.builder import WorkloadBuilder
from workloads.importers.options import ImportOptions
from workloads.importers.rows import BadRowError, RowReader, decimal
from workloads.workload import Assumption, Ending, Provenance, Unsure, Workload, WorkloadJob

__all__ = ["import_swf", "looks_like_swf"]

_COLUMNS: Final = 18
_ENDINGS: Final = {0: Ending.FAILED, 1: Ending.FINISHED, 5: Ending.KILLED}
_PARTIAL: Final = (2, 3, 4)
"""Status of a row that is a part of a job that stands as a whole elsewhere."""


@dataclass(slots=True)
class _Row:
    number: int
    submit_s: float
    wait_s: float
    run_s: float
    processors: int
    cpu_s: float
    used_kb: float
    asked_kb: float
    status: int
    user: int
    executable: int
    queue: int


@dataclass
class _Header:
    """Header comments, as they stand at the head of the file."""

    values: dict[str, str] = field(default_factory=dict)

    def take(self, line: bytes) -> None:
        key, colon, value = line.lstrip(b"; \t").decode("utf-8", "replace").partition(":")
        if colon and key.strip().isalnum():
            self.values.setdefault(key.strip(), value.strip())


@dataclass
class _Counts:
    no_memory: int = 0
    no_time: int = 0
    parts: int = 0


def import_swf(paths: Sequence[Path], reader: RowReader, options: ImportOptions) -> Workload:
    """Imports parallel jobs: as many equal containers as processors, a core each, all for the job's run time."""
    header, counts, builder = _Header(), _Counts(), WorkloadBuilder()
    seen: set[int] = set()
    for path in paths:
        for row in reader.read(path, lambda line: _parse(line, header, seen)):
            if row.status in _PARTIAL:
                counts.parts += 1
            elif row.run_s < 0 or (row.processors <= 0):
                counts.no_time += 1
            else:
                _add(builder, row, counts, options)
    start = header.values.get("UnixStartTime", "")
    notes = [
        f"{name}: {value}" for name, value in header.values.items() if name in ("Computer", "MaxProcs", "MaxNodes")
    ]
    if counts.no_time:
        notes.append(f"{counts.no_time} jobs without run time or processors never ran and are left out")
    if counts.parts:
        notes.append(f"{counts.parts} rows are parts of checkpointed jobs, which stand as wholes, and are left out")
    assumptions = [Assumption("container", "a processor each", "parallel jobs hold all processors from start to end")]
    if counts.no_memory:
        reason = f"{counts.no_memory} jobs tell no memory"
        assumptions.append(Assumption("missing_memory_mib", options.default_memory_mib, reason))
    provenance = Provenance("swf", reader.files, options.seed, reader.bad_rows, tuple(notes))
    epoch_s = float(start) if start.isdecimal() and int(start) > 0 else None
    return builder.build(options.name, provenance, assumptions, epoch_s=epoch_s)


def _add(builder: WorkloadBuilder, row: _Row, counts: _Counts, options: ImportOptions) -> None:
    kilobytes = row.asked_kb if row.asked_kb > 0 else row.used_kb
    unsure = 0
    memory_mib = max(round(kilobytes / 1024), 1)
    if kilobytes <= 0:
        counts.no_memory += 1
        memory_mib, unsure = options.default_memory_mib, Unsure.REQUEST
    job = builder.add_job(
        WorkloadJob(
            id=str(row.number),
            submit_s=row.submit_s,
            name=f"app{row.executable}" if row.executable >= 0 else None,
            user=f"u{row.user}" if row.user >= 0 else "",
            queue=f"q{row.queue}" if row.queue >= 0 else "",
        )
    )
    builder.add_task(
        job,
        submit_s=row.submit_s,
        wait_s=row.wait_s if row.wait_s >= 0 else nan,
        duration_s=row.run_s,
        memory_mib=memory_mib,
        cores=1.0,
        count=row.processors,
        ending=_ENDINGS.get(row.status, Ending.FINISHED),
        unsure=unsure,
        used_memory_mib=row.used_kb / 1024 if row.used_kb > 0 else nan,
        used_cores=min(row.cpu_s / row.run_s, 1.0) if row.cpu_s >= 0 and row.run_s > 0 else nan,
    )


def _parse(line: bytes, header: _Header, seen: set[int]) -> _Row | None:
    if line.lstrip().startswith(b";"):
        header.take(line)
        return None
    cells = line.split()
    if len(cells) != _COLUMNS:
        raise BadRowError(f"{len(cells)} fields, not {_COLUMNS}")
    values = [decimal(cell, f"field {position}") for position, cell in enumerate(cells, 1)]
    if values[1] < 0:
        raise BadRowError("there is no submit time")
    number = int(values[0])
    if number in seen and int(values[10]) not in _PARTIAL:
        raise BadRowError(f"the job {number} is there twice")
    seen.add(number)
    return _Row(
        number=number,
        submit_s=values[1],
        wait_s=values[2],
        run_s=values[3],
        processors=int(values[4] if values[4] > 0 else values[7]),
        cpu_s=values[5],
        used_kb=values[6],
        asked_kb=values[9],
        status=int(values[10]),
        user=int(values[11]),
        executable=int(values[13]),
        queue=int(values[14]),
    )


def looks_like_swf(lines: Sequence[bytes]) -> bool:
    """Whether the first lines are comments with ``;`` and rows of 18 numbers."""
    good = 0
    for line in lines:
        try:
            _parse(line, _Header(), set())
        except BadRowError:
            continue
        good += 1
    return good > len(lines) / 2
