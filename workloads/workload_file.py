"""The file of a workload: JSON lines under zstd, a header and then jobs with the columns of their tasks.

The first line is the header (format, name, provenance, assumptions, counts), so that a catalogue need not read
further; the second the machines, or null; each further one up to 2,000 jobs. Numbers come back exactly as they were.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec
import numpy as np

from tuner.errors import InputError
from tuner.files import write_bytes_atomically
from workloads.workload import (
    MACHINE_DTYPES,
    TASK_DTYPES,
    Assumption,
    Machines,
    Provenance,
    Tasks,
    Workload,
    WorkloadJob,
)

__all__ = ["SUFFIX", "Header", "read_header", "read_workload", "write_workload"]

SUFFIX: Final = ".workload.zst"
VERSION: Final = 1
_JOBS_PER_LINE: Final = 2_000
_LEVEL: Final = 9
_T = TypeVar("_T")


@dataclass(frozen=True)
class Header:
    """What a file says of itself, before its jobs.

    Attributes:
        version: of the file format.
        jobs, task_rows, tasks: how many; a row of tasks may stand for several.
        memory_mib_seconds, core_seconds: what all tasks asked for, times how long they ran.
    """

    version: int
    name: str
    jobs: int
    task_rows: int
    tasks: int
    span_s: tuple[float, float]
    memory_mib_seconds: float
    core_seconds: float
    epoch_s: float | None
    provenance: Provenance
    assumptions: tuple[Assumption, ...]

    @classmethod
    def of(cls, workload: Workload) -> Header:
        """The header of a workload's file."""
        return cls(
            version=VERSION,
            name=workload.name,
            jobs=len(workload.jobs),
            task_rows=len(workload.tasks),
            tasks=workload.tasks.total,
            span_s=workload.span_s,
            memory_mib_seconds=workload.tasks.memory_mib_seconds,
            core_seconds=workload.tasks.core_seconds,
            epoch_s=workload.epoch_s,
            provenance=workload.provenance,
            assumptions=workload.assumptions,
        )


class _FirstLine(msgspec.Struct):
    yarntune_workload: Header


class _MachinesLine(msgspec.Struct):
    columns: dict[str, list[float]] | None


class _Jobs(msgspec.Struct):
    jobs: list[WorkloadJob]
    tasks: dict[str, list[float | None]]


def write_workload(workload: Workload, path: Path) -> Header:
    """Writes a workload's file; it appears whole or not at all.

    Raises:
        InputError: it cannot be written.
    """
    import zstandard

    header = Header.of(workload)
    packer = zstandard.ZstdCompressor(level=_LEVEL).compressobj()
    packed = [packer.compress(msgspec.json.encode(line) + b"\n") for line in _lines(workload, header)]
    write_bytes_atomically(path, b"".join((*packed, packer.flush())))
    return header


def _lines(workload: Workload, header: Header) -> Iterator[Any]:
    yield {"yarntune_workload": header}
    machines = workload.machines
    yield _MachinesLine(None if machines is None else _lists(machines))
    jobs, tasks = workload.jobs, workload.tasks
    for first in range(0, len(jobs), _JOBS_PER_LINE):
        some = jobs[first : first + _JOBS_PER_LINE]
        rows = slice(some[0].first_task, some[-1].first_task + some[-1].task_rows)
        yield {"jobs": some, "tasks": _lists(tasks.take(rows))}


def _lists(table: Tasks | Machines) -> dict[str, list[Any]]:
    # JSON has no NaN; msgspec writes it as null.
    return {name: column.tolist() for name, column in table.columns().items()}


def read_header(path: Path) -> Header:
    """Reads only what a file says of itself.

    Raises:
        InputError: it is not there, or no workload's file, or of a newer version.
    """
    lines = _read_lines(path)
    try:
        return _header(path, lines)
    finally:
        lines.close()


def read_workload(path: Path) -> Workload:
    """Reads a workload's file.

    Raises:
        InputError: it is not there, no workload's file, of a newer version, or damaged.
    """
    lines = _read_lines(path)
    header = _header(path, lines)
    machines = _decoded(path, next(lines, b""), _MachinesLine).columns
    jobs: list[WorkloadJob] = []
    parts: list[Tasks] = []
    for line in lines:
        part = _decoded(path, line, _Jobs)
        jobs += part.jobs
        parts.append(_tasks(path, part.tasks))
    tasks = Tasks.of(
        {name: np.concatenate([getattr(part, name) for part in parts]) if parts else () for name in TASK_DTYPES}
    )
    if len(jobs) != header.jobs or len(tasks) != header.task_rows:
        raise _damaged(path, f"it has {len(jobs)} of {header.jobs} jobs")
    return Workload(
        name=header.name,
        jobs=tuple(jobs),
        tasks=tasks,
        provenance=header.provenance,
        assumptions=header.assumptions,
        machines=None if machines is None else _machines(path, machines),
        epoch_s=header.epoch_s,
    )


def _header(path: Path, lines: Iterator[bytes]) -> Header:
    first = next(lines, b"")
    try:
        version: int = msgspec.json.decode(first)["yarntune_workload"]["version"]
    except (msgspec.DecodeError, UnicodeDecodeError, KeyError, TypeError) as error:
        hint = "import the trace first: yarntune workload import FILE"
        raise InputError(f"{path} is not the file of a workload", hint) from error
    if version != VERSION:
        raise InputError(
            f"{path} is of version {version} of the file format; this yarntune reads {VERSION}",
            "import the trace again, or use the yarntune that wrote the file",
        )
    return _decoded(path, first, _FirstLine).yarntune_workload


def _decoded(path: Path, line: bytes, kind: type[_T]) -> _T:
    try:
        return msgspec.json.decode(line, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise _damaged(path, str(error)) from error


def _tasks(path: Path, columns: dict[str, list[float | None]]) -> Tasks:
    try:
        # An array of floats makes NaN of None; whole numbers have no None.
        return Tasks.of({name: np.array(columns[name], np.float64) for name in TASK_DTYPES})
    except (KeyError, ValueError, TypeError, OverflowError) as error:
        raise _damaged(path, str(error)) from error


def _machines(path: Path, columns: dict[str, list[float]]) -> Machines:
    try:
        return Machines.of({name: columns[name] for name in MACHINE_DTYPES})
    except (KeyError, ValueError, OverflowError) as error:
        raise _damaged(path, str(error)) from error


def _damaged(path: Path, why: str) -> InputError:
    return InputError(f"{path} is damaged: {why}", "import the trace again")


def _read_lines(path: Path) -> Generator[bytes]:
    import zstandard

    try:
        with path.open("rb") as file:
            reader = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
            pending: list[bytes] = []
            while piece := reader.read(1 << 20):
                head, *rest = piece.split(b"\n")
                pending.append(head)
                for line in rest:
                    yield b"".join(pending)
                    pending = [line]
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    except zstandard.ZstdError:
        # What follows the last whole line is missed by whoever counts; at the very start there is no header.
        return
