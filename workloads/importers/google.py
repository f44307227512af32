"""Google cluster data 2011 (``clusterdata-2011-2``): its tables, in any number of parts, into one workload.

The trace gives sizes as fractions of the largest machine and times in microseconds from 600 s before its start; see
``docs/workloads.md`` for what is done where something is missing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import isnan, nan
from pathlib import Path
from typing import Final

import numpy as np

from tuner.errors import InputError
from workloads.importers.builder import WorkloadBuilder
from workloads.importers.google_tables import (
    UsageSegment,
    job_event,
    machine_event,
    table_of,
    task_event,
    usage_row,
    usage_segment,
)
from workloads.importers.google_tasks import NEVER_US, START_US, Event, Run, TaskEvent, TaskLives
from workloads.importers.options import ImportOptions, MachineSize
from workloads.importers.rows import RowReader, first_lines
from workloads.seeds import job_seed
from workloads.workload import Assumption, Ending, Machines, Provenance, Unsure, Workload, WorkloadJob

__all__ = ["import_google", "queue_of_priority", "read_usage_series"]

_ORDER: Final = ("job_events", "machine_events", "task_usage", "task_events", "job_usage")
_STEP_S: Final = 300.0
_SECOND_US: Final = 1e6


def queue_of_priority(priority: int) -> str:
    """The trace has no queues; its bands of priority stand for them (ClusterData2011_2.md)."""
    if priority <= 1:
        return "free"
    if priority <= 8:
        return "batch"
    return "production" if priority <= 11 else "monitoring"


@dataclass(slots=True)
class _JobFacts:
    number: int
    submit_us: int
    user: bytes = b""
    name: bytes = b""
    scheduling_class: int = -1
    priority: int = -1


@dataclass(slots=True)
class _Usage:
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    max_memory: float = 0.0
    counted_s: float = 0.0
    cpi_seconds: float = 0.0
    mai_seconds: float = 0.0


@dataclass
class _State:
    """What is known while the tables are read."""

    machine: MachineSize
    jobs: dict[int, _JobFacts] = field(default_factory=dict)
    usage: dict[tuple[int, int], _Usage] = field(default_factory=dict)
    runs: list[Run] = field(default_factory=list)
    lives: TaskLives = field(default_factory=TaskLives)
    machines: list[tuple[float, int, int, float]] = field(default_factory=list)
    series: list[tuple[str, tuple[UsageSegment, ...]]] = field(default_factory=list)

    def job(self, job_id: int, time_us: int) -> _JobFacts:
        facts = self.jobs.get(job_id)
        if facts is None:
            facts = self.jobs[job_id] = _JobFacts(len(self.jobs), time_us)
        return facts


def import_google(paths: Sequence[Path], reader: RowReader, options: ImportOptions) -> Workload:
    """Imports the tables; which one a file is, is told by its rows.

    Names and users come from job_events, machines from machine_events, use from task_usage where they are among the
    files. Without task_events the jobs have no tasks.

    Raises:
        InputError: a file is none of the tables.
    """
    state = _State(options.machine)
    tables: dict[str, list[Path]] = defaultdict(list)
    for path in paths:
        table = table_of(first_lines(path))
        if table is None:
            raise InputError(f"{path} is none of the tables of the Google trace", f"the tables are {', '.join(_ORDER)}")
        tables[table].append(path)
    for table in _ORDER:
        # The parts of a table are numbered in their names, and go in the order of time.
        for path in sorted(tables[table], key=lambda path: path.name):
            _READERS[table](state, path, reader)
    state.runs += state.lives.cut()
    return _build(state, reader, options)


def read_usage_series(path: Path, reader: RowReader | None = None) -> tuple[UsageSegment, ...]:
    """Reads a job's use in equal steps (``usage_5min_job_*.csv``), in the file's order.

    Raises:
        InputError: the file cannot be read, or is something else.
    """
    return tuple((reader or RowReader()).read(path, usage_segment))


def _read_job_events(state: _State, path: Path, reader: RowReader) -> None:
    for event in reader.read(path, job_event):
        if event.time_us >= NEVER_US:
            continue
        facts = state.job(event.job_id, event.time_us)
        facts.user, facts.name = event.user or facts.user, event.name or facts.name
        facts.scheduling_class = max(facts.scheduling_class, event.scheduling_class)
        if event.event == Event.SUBMIT:
            facts.submit_us = min(facts.submit_us, event.time_us)


def _read_machine_events(state: _State, path: Path, reader: RowReader) -> None:
    sizes: dict[int, tuple[int, float]] = {}
    for event in reader.read(path, machine_event):
        if event.time_us >= NEVER_US:
            continue
        memory_mib, cores = sizes.get(event.machine, (0, 0.0))
        if not isnan(event.memory):
            memory_mib = round(event.memory * state.machine.memory_mib)
        if not isnan(event.cpu):
            cores = event.cpu * state.machine.cores
        sizes[event.machine] = (memory_mib, cores)
        gone = event.event == 1
        state.machines.append(
            (event.time_us / _SECOND_US, event.machine, 0 if gone else memory_mib, 0.0 if gone else cores)
        )


def _read_task_usage(state: _State, path: Path, reader: RowReader) -> None:
    for row in reader.read(path, usage_row):
        use = state.usage.setdefault((row.job_id, row.index), _Usage())
        seconds = (row.end_us - row.start_us) / _SECOND_US
        if not isnan(row.cpu):
            use.seconds += seconds
            use.cpu_seconds += seconds * row.cpu
        use.max_memory = max(use.max_memory, *(0.0 if isnan(each) else each for each in (row.memory, row.max_memory)))
        if row.cpi > 0 and row.mai > 0:
            use.counted_s += seconds
            use.cpi_seconds += seconds * row.cpi
            use.mai_seconds += seconds * row.mai


def _read_task_events(state: _State, path: Path, reader: RowReader) -> None:
    jobs, runs, happened = state.jobs, state.runs, state.lives.happened
    for event in reader.read(path, task_event):
        facts = jobs.get(event.job_id)
        if facts is None or facts.priority < 0:
            facts = _note_job(state, event)
        run = happened(event)
        if run is not None:
            runs.append(run)


def _note_job(state: _State, event: TaskEvent) -> _JobFacts:
    facts = state.job(event.job_id, event.time_us)
    facts.user = facts.user or event.user
    facts.scheduling_class = max(facts.scheduling_class, event.scheduling_class)
    facts.priority = event.priority
    return facts


def _read_job_usage(state: _State, path: Path, reader: RowReader) -> None:
    digits = "".join(char if char.isdigit() else " " for char in path.name).split()
    state.series.append((max(digits, key=len, default=path.name), read_usage_series(path, reader)))


_READERS: Final = {
    "job_events": _read_job_events,
    "machine_events": _read_machine_events,
    "task_usage": _read_task_usage,
    "task_events": _read_task_events,
    "job_usage": _read_job_usage,
}


# --- from what was read to a workload -----------------------------------------------------------------------------


def _build(state: _State, reader: RowReader, options: ImportOptions) -> Workload:
    builder = WorkloadBuilder()
    for job_id, facts in state.jobs.items():
        builder.add_job(
            WorkloadJob(
                id=str(job_id),
                submit_s=max(facts.submit_us, START_US) / _SECOND_US,
                name=facts.name.decode("utf-8", "replace") or None,
                user=facts.user.decode("utf-8", "replace"),
                queue=queue_of_priority(facts.priority) if facts.priority >= 0 else "",
                priority=facts.priority if facts.priority >= 0 else None,
                scheduling_class=facts.scheduling_class if facts.scheduling_class >= 0 else None,
            )
        )
    assumptions = [*options.machine.assumptions()]
    assumptions += _fill_requests(state.runs, options)
    assumptions += _fill_durations(state.runs, options.seed)
    for run in state.runs:
        _add_run(builder, state, run)
    for name, series in state.series:
        assumptions += _add_series(builder, name, series, options)
    provenance = Provenance("google", reader.files, options.seed, reader.bad_rows, _notes(state))
    machines = None
    if state.machines:
        rows = sorted(state.machines, key=lambda row: row[0])
        machines = Machines.of(
            dict(zip(("time_s", "machine", "memory_mib", "cores"), zip(*rows, strict=True), strict=True))
        )
    return builder.build(options.name, provenance, assumptions, machines=machines)


def _notes(state: _State) -> tuple[str, ...]:
    notes = ["times are the trace's own, in seconds; it starts at 600"]
    notes += [f"{count} task events: {what}" for what, count in sorted(state.lives.odd.items())]
    lower = sum(bool(run.unsure & (Unsure.START | Unsure.END)) for run in state.runs)
    if lower:
        notes.append(f"{lower} of {len(state.runs)} runs reach over the trace's start or end: at least that long")
    return tuple(notes)


def _fill_requests(runs: Sequence[Run], options: ImportOptions) -> list[Assumption]:
    """Gives what a run does not ask for: the median of its job's others, or else of all."""
    filled: list[Assumption] = []
    for name, default in (
        ("cpu", 1.0 / options.machine.cores),
        ("memory", options.default_memory_mib / options.machine.memory_mib),
    ):
        unknown = [run for run in runs if isnan(getattr(run, name))]
        if not unknown:
            continue
        of_jobs: dict[int, list[float]] = {run.job_id: [] for run in unknown}
        known = [(run.job_id, getattr(run, name)) for run in runs if not isnan(getattr(run, name))]
        for job_id, value in known:
            if job_id in of_jobs:
                of_jobs[job_id].append(value)
        overall = float(np.median([value for _, value in known])) if known else default
        medians = {job_id: float(np.median(values)) if values else overall for job_id, values in of_jobs.items()}
        for run in unknown:
            setattr(run, name, medians[run.job_id])
            run.unsure |= Unsure.REQUEST
        reason = f"{len(unknown)} runs do not say: the median of their job's others, else this median of all"
        filled.append(Assumption(f"missing_{name}_request", overall, reason))
    return filled


def _fill_durations(runs: Sequence[Run], seed: int) -> list[Assumption]:
    """Gives tasks that still wait at the trace's end a duration drawn from those that finished."""
    waiting = [run for run in runs if run.ending is Ending.WAITING]
    if not waiting:
        return []
    finished: dict[int, list[float]] = defaultdict(list)
    for run in runs:
        if run.ending is Ending.FINISHED:
            finished[run.job_id].append(run.duration_s)
    overall = [duration for durations in finished.values() for duration in durations] or [60.0]
    for run in waiting:
        pool = finished.get(run.job_id, overall)
        random = np.random.default_rng(job_seed(seed, f"{run.job_id}/{run.index}"))
        run.duration_s = pool[int(random.integers(len(pool)))]
        run.unsure |= Unsure.DURATION
    reason = f"{len(waiting)} tasks wait at the end: drawn from finished ones of their job, else of all"
    return [Assumption("waiting_duration", "drawn", reason)]


def _add_run(builder: WorkloadBuilder, state: _State, run: Run) -> None:
    use = state.usage.get((run.job_id, run.index), _NO_USE)
    machine = state.machine
    builder.add_task(
        state.jobs[run.job_id].number,
        submit_s=run.submit_s,
        wait_s=run.wait_s,
        duration_s=run.duration_s,
        memory_mib=round(run.memory * machine.memory_mib),
        cores=run.cpu * machine.cores,
        ending=run.ending,
        unsure=run.unsure,
        used_memory_mib=use.max_memory * machine.memory_mib if use.max_memory > 0 else nan,
        used_cores=use.cpu_seconds / use.seconds * machine.cores if use.seconds > 0 else nan,
        cpi=use.cpi_seconds / use.counted_s if use.counted_s > 0 else nan,
        mai=use.mai_seconds / use.counted_s if use.counted_s > 0 else nan,
    )


_NO_USE: Final = _Usage()


def _add_series(
    builder: WorkloadBuilder, job_id: str, series: Sequence[UsageSegment], options: ImportOptions
) -> list[Assumption]:
    """A job's usage over time as one job: a row for each step with tasks, stage after stage."""
    if not series:
        return []
    machine = options.machine
    steps = np.diff([segment.start_s for segment in series])
    step_s = float(np.median(steps)) if len(steps) else _STEP_S
    job = builder.add_job(WorkloadJob(f"usage-{job_id}", series[0].start_s, name=f"usage-{job_id}"))
    for stage, segment in enumerate(series):
        if not segment.tasks:
            continue
        memory_mib = segment.assigned_memory / segment.tasks * machine.memory_mib
        builder.add_task(
            job,
            submit_s=segment.start_s,
            duration_s=step_s,
            memory_mib=max(round(memory_mib), 1),
            cores=segment.max_cpu / segment.tasks * machine.cores,
            count=segment.tasks,
            stage=stage,
            unsure=Unsure.REQUEST,
            used_memory_mib=segment.max_memory / segment.tasks * machine.memory_mib,
            used_cores=segment.cpu / segment.tasks * machine.cores,
            cpi=segment.cpi or nan,
            mai=segment.mai or nan,
        )
    reason = "the file does not say how it adds tasks up; CPI and MAI stay as they are in it"
    return [Assumption("usage_series", "sums over the tasks", reason)]
