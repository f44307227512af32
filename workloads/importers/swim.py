"""SWIM: Statistical Workload Injector for MapReduce (Chen, Ganapathi, Griffith, Katz, MASCOTS 2011).

One line a job, tabs between: name, submit time (s), seconds since the job before, bytes of input, of shuffle, of
output; more columns are left alone. No header. It tells no tasks, so they are modelled from the bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Final

import numpy as np

from workloads.importers.builder import WorkloadBuilder
from workloads.importers.options import ImportOptions
from workloads.importers.rows import BadRowError, RowReader, decimal, whole
from workloads.seeds import job_seed
from workloads.workload import Assumption, Provenance, Unsure, Workload, WorkloadJob

__all__ = ["SwimModel", "import_swim", "looks_like_swim"]

_MIB: Final = 1 << 20
_COLUMNS: Final = 6


@dataclass(frozen=True)
class SwimModel:
    """How tasks follow from bytes; the defaults are those of Hadoop jobs of about 2009 on 1 GiB containers.

    A task takes a fixed time, plus the time of a full split in proportion to the part of a split that it reads, times
    a log-normal factor of median 1.

    Attributes:
        map_split_mib, reduce_split_mib: input of a map task; shuffle of a reduce task.
        max_maps, max_reduces: no job has more; its tasks still take no longer than a full split.
        map_fixed_s, map_split_s, reduce_fixed_s, reduce_split_s: times.
        spread: standard deviation of the logarithm of the factor.
        shortest_s: no task is shorter.
        users: they submit in turn.
    """

    map_split_mib: int = 256
    reduce_split_mib: int = 512
    max_maps: int = 300
    max_reduces: int = 60
    map_fixed_s: float = 2.0
    map_split_s: float = 12.0
    reduce_fixed_s: float = 4.0
    reduce_split_s: float = 20.0
    spread: float = 0.25
    shortest_s: float = 1.0
    memory_mib: int = 1024
    cores: float = 1.0
    users: int = 5

    def stages(self, input_bytes: int, shuffle_bytes: int) -> tuple[tuple[int, float], ...]:
        """Number of tasks and median duration in seconds of the map and, where there is one, the reduce stage."""
        split = self.map_split_mib * _MIB
        maps = min(max(ceil(input_bytes / split), 1), self.max_maps)
        found = [(maps, self.map_fixed_s + self.map_split_s * min(input_bytes / maps / split, 1.0))]
        if shuffle_bytes:
            split = self.reduce_split_mib * _MIB
            reduces = min(ceil(shuffle_bytes / split), self.max_reduces)
            share = min(shuffle_bytes / reduces / split, 1.0)
            found.append((reduces, self.reduce_fixed_s + self.reduce_split_s * share))
        return tuple(found)

    def assumptions(self) -> tuple[Assumption, ...]:
        """What a workload made with this model rests on."""
        return (
            Assumption("map_split_mib", self.map_split_mib, f"a map task each, at most {self.max_maps}"),
            Assumption("reduce_split_mib", self.reduce_split_mib, f"a reduce task each, at most {self.max_reduces}"),
            Assumption("map_duration", f"{self.map_fixed_s:g} s + {self.map_split_s:g} s per full split", "median"),
            Assumption(
                "reduce_duration", f"{self.reduce_fixed_s:g} s + {self.reduce_split_s:g} s per full split", "median"
            ),
            Assumption("duration_spread", self.spread, "sigma of the log-normal factor, drawn for each job by its id"),
            Assumption("task_memory_mib", self.memory_mib, "SWIM tells no memory"),
            Assumption("task_cores", self.cores, "SWIM tells no cores"),
            Assumption("users", self.users, "SWIM tells no user; they submit in turn"),
        )


@dataclass(frozen=True, slots=True)
class _Row:
    name: str
    submit_s: float
    input_bytes: int
    shuffle_bytes: int


def import_swim(
    paths: Sequence[Path], reader: RowReader, options: ImportOptions, model: SwimModel | None = None
) -> Workload:
    """Imports SWIM traces; several files are one workload, on one clock.

    The durations of a job depend on the seed and its own id alone, so they are the same in every window.
    """
    model = model or SwimModel()
    builder = WorkloadBuilder()
    seen: set[str] = set()
    for path in paths:
        for row in reader.read(path, lambda line: _parse(line, seen)):
            _add(builder, row, options.seed, model)
    notes = ("sizes are bytes; a job without shuffle has no reduce task",)
    provenance = Provenance("swim", reader.files, options.seed, reader.bad_rows, notes)
    return builder.build(options.name, provenance, model.assumptions())


def _add(builder: WorkloadBuilder, row: _Row, seed: int, model: SwimModel) -> None:
    user = f"u{len(builder.jobs) % model.users}"
    job = builder.add_job(WorkloadJob(row.name, row.submit_s, user=user))
    random = np.random.default_rng(job_seed(seed, row.name))
    for stage, (count, median_s) in enumerate(model.stages(row.input_bytes, row.shuffle_bytes)):
        durations = np.maximum(random.lognormal(0.0, model.spread, count) * median_s, model.shortest_s)
        for duration_s in durations.tolist():
            builder.add_task(
                job,
                submit_s=row.submit_s,
                duration_s=duration_s,
                memory_mib=model.memory_mib,
                cores=model.cores,
                stage=stage,
                unsure=Unsure.DURATION | Unsure.REQUEST,
            )


def _parse(line: bytes, seen: set[str]) -> _Row:
    cells = line.split(b"\t")
    if len(cells) < _COLUMNS:
        raise BadRowError(f"{len(cells)} columns, not {_COLUMNS}")
    submit_s = decimal(cells[1], "the submit time")
    if submit_s < 0:
        raise BadRowError(f"the submit time is {submit_s:g}, below 0")
    name = cells[0].decode("utf-8", "replace")
    row = _Row(name, submit_s, whole(cells[3], "the input"), whole(cells[4], "the shuffle"))
    whole(cells[5], "the output")
    if not name or name in seen:
        raise BadRowError(f"the job {name!r} is there twice" if name else "the job has no name")
    seen.add(name)
    return row


def looks_like_swim(lines: Sequence[bytes]) -> bool:
    """Whether most of the first lines are rows of SWIM."""
    good = 0
    for line in lines:
        try:
            _parse(line.rstrip(b"\r"), set())
        except BadRowError:
            continue
        good += 1
    return good > len(lines) / 2
