"""What a trace says of equal steps of time: a row for each step of a job, or of a series of measurements.

Tasks that run side by side are put together as a mix: their cores and memory add up, and their CPI and MAI are averages
over instructions, of which a task with ``c`` cores and CPI ``q`` runs ``c / q`` in each cycle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from workloads.seeds import job_seed
from workloads.workload import Assumption, Ending, Workload

__all__ = ["FEATURES", "STEP_S", "Segments", "of_jobs", "of_series"]

STEP_S: Final = 300.0
FEATURES: Final = ("cores", "memory_mib", "cpi", "mai")
TYPICAL_CPI: Final = 1.8
"""Mean CPI of a large job at Google (Zhang et al., CPI2, EuroSys 2013, figure 7)."""
CYCLES_PER_ACCESS: Final = 440.0
"""Cycles from one memory access to the next: the median of the one series of the 2011 trace that is at hand."""
CPI_SIGMA: Final = 0.3
"""Of the logarithm, between jobs: our own assumption, a third more or less."""
_NEVER_RAN: Final = (int(Ending.WAITING), int(Ending.WITHDRAWN))


@dataclass(frozen=True, eq=False)
class Segments:
    """Steps of a trace, a row each.

    Attributes:
        step_s: length of each.
        owner: what the row is of, as an index into ``owners``.
        start_s: when it starts, on the trace's clock.
        cores: used on average; ``memory_mib``: held on average; both of all tasks together.
        cpi, mai: NaN where not known.
        owners: names of jobs or series.
        assumptions: what the trace did not say.
    """

    step_s: float
    owner: NDArray[np.int64]
    start_s: NDArray[np.float64]
    cores: NDArray[np.float64]
    memory_mib: NDArray[np.float64]
    cpi: NDArray[np.float64]
    mai: NDArray[np.float64]
    owners: tuple[str, ...]
    assumptions: tuple[Assumption, ...] = ()

    def __len__(self) -> int:
        return len(self.start_s)

    def take(self, rows: Any) -> Segments:
        """The rows that a slice, a mask or an array of positions names."""
        columns = ("owner", "start_s", *FEATURES)
        return replace(self, **{name: getattr(self, name)[rows] for name in columns})

    def scaled(self, most_cores: float, most_memory_mib: float) -> Segments:
        """Each owner made smaller by factors of its own, so that its largest row has these sizes.

        A job of thousands of tasks is replayed by one process: relative to its own course nothing changes.
        """
        largest_cores, largest_mib = np.zeros(len(self.owners)), np.zeros(len(self.owners))
        np.maximum.at(largest_cores, self.owner, self.cores)
        np.maximum.at(largest_mib, self.owner, self.memory_mib)
        return replace(
            self,
            cores=self.cores * (most_cores / np.maximum(largest_cores, 1e-12))[self.owner],
            memory_mib=self.memory_mib * (most_memory_mib / np.maximum(largest_mib, 1e-12))[self.owner],
        )


def of_series(workload: Workload) -> Segments:
    """The steps of jobs whose use was measured over time (``usage_5min_job_*.csv``).

    The file's CPI and MAI are sums over its records, and so is the memory that was assigned; the records of a step are
    as many as assigned memory there is. So CPI by assigned memory is a mean but for a constant, which is set so
    that the median is :data:`TYPICAL_CPI`; MAI is scaled so that the median of their ratio stays as it is.
    """
    owners = [job for job in workload.jobs if job.name is not None and job.name.startswith("usage-")]
    parts = []
    for number, job in enumerate(owners):
        tasks = workload.tasks_of(job)
        per_record = tasks.count * tasks.memory_mib
        cpi, mai = tasks.cpi / per_record, tasks.mai / per_record
        scale = TYPICAL_CPI / np.nanmedian(cpi)
        parts.append(
            Segments(
                step_s=float(np.median(tasks.duration_s)),
                owner=np.full(len(tasks), number),
                start_s=tasks.submit_s,
                cores=tasks.used_cores * tasks.count,
                memory_mib=tasks.used_memory_mib * tasks.count,
                cpi=cpi * scale,
                mai=mai * scale,
                owners=(),
            )
        )
    reason = f"the series has sums over an unknown number of records; the median is set to {TYPICAL_CPI}"
    return _joined(parts, tuple(job.id for job in owners), (Assumption("cpi_scale", "of the median", reason),))


def of_jobs(workload: Workload, *, step_s: float = STEP_S, seed: int = 0) -> Segments:
    """The steps of every job: what its tasks that ran then used, or else asked for.

    A task counts in a step by the share of the step that it ran. Where the trace has no CPI, each job gets one, drawn
    log-normally around :data:`TYPICAL_CPI`, and an MAI of one access in :data:`CYCLES_PER_ACCESS` cycles.
    """
    parts = []
    drawn = 0
    for number, job in enumerate(workload.jobs):
        tasks = workload.tasks_of(job)
        tasks = tasks.take(~np.isin(tasks.ending, _NEVER_RAN) & (tasks.duration_s > 0))
        if not len(tasks):
            continue
        begin = tasks.submit_s + np.nan_to_num(tasks.wait_s)
        count = tasks.count.astype(np.float64)
        cores = np.where(np.isnan(tasks.used_cores), tasks.cores, tasks.used_cores) * count
        memory = np.where(np.isnan(tasks.used_memory_mib), tasks.memory_mib, tasks.used_memory_mib) * count
        random = np.random.default_rng(job_seed(seed, job.id))
        own_cpi = float(random.lognormal(log(TYPICAL_CPI), CPI_SIGMA))
        unknown = np.isnan(tasks.cpi) | np.isnan(tasks.mai)
        drawn += bool(unknown.all())
        cpi = np.where(unknown, own_cpi, tasks.cpi)
        mai = np.where(unknown, own_cpi / CYCLES_PER_ACCESS, tasks.mai)
        parts.append(_steps(number, begin, begin + tasks.duration_s, (cores, memory, cpi, mai), step_s))
    assumptions = []
    if drawn:
        reason = f"{drawn} jobs without CPI and MAI in the trace: drawn around {TYPICAL_CPI} with sigma {CPI_SIGMA}"
        assumptions.append(Assumption("cpi", "drawn", reason))
    return _joined(parts, tuple(job.id for job in workload.jobs), tuple(assumptions), step_s)


def _steps(
    number: int,
    begin: NDArray[np.float64],
    end: NDArray[np.float64],
    values: Sequence[NDArray[np.float64]],
    step_s: float,
) -> Segments:
    """The mix of tasks in each step in which any of them ran."""
    first = np.floor(begin / step_s).astype(np.int64)
    rows = np.ceil(end / step_s).astype(np.int64) - first
    task = np.repeat(np.arange(len(begin)), rows)
    step = np.repeat(first, rows) + np.arange(len(task)) - np.repeat(np.cumsum(rows) - rows, rows)
    share = (np.minimum(end[task], (step + 1) * step_s) - np.maximum(begin[task], step * step_s)) / step_s
    steps, place = np.unique(step, return_inverse=True)
    cores, memory, cpi, mai = (each[task] for each in values)
    # Instructions are cycles by CPI; a task that asks for no core counts a little, so that its CPI is not lost.
    cycles = np.maximum(cores, 1e-9) * share
    total: dict[str, NDArray[np.float64]] = {
        name: np.bincount(place, weights, len(steps)).astype(np.float64)
        for name, weights in (
            ("cores", cores * share),
            ("memory", memory * share),
            ("cycles", cycles),
            ("instructions", cycles / cpi),
            ("accesses", cycles / cpi * mai),
        )
    }
    return Segments(
        step_s=step_s,
        owner=np.full(len(steps), number),
        start_s=steps * step_s,
        cores=total["cores"],
        memory_mib=total["memory"],
        cpi=total["cycles"] / total["instructions"],
        mai=total["accesses"] / total["instructions"],
        owners=(),
    )


def _joined(
    parts: Sequence[Segments], owners: tuple[str, ...], assumptions: tuple[Assumption, ...], step_s: float = STEP_S
) -> Segments:
    def column(name: str, dtype: type[Any] = np.float64) -> Any:
        return np.concatenate([getattr(part, name) for part in parts]) if parts else np.empty(0, dtype)

    return Segments(
        step_s=parts[0].step_s if parts else step_s,
        owner=column("owner", np.int64),
        start_s=column("start_s"),
        cores=column("cores"),
        memory_mib=column("memory_mib"),
        cpi=column("cpi"),
        mai=column("mai"),
        owners=owners,
        assumptions=assumptions,
    )
