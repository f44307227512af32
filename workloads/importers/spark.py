"""Spark event logs: every application a job, every attempt of a stage that ran a stage of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan
from pathlib import Path
from typing import Final

import numpy as np

from tuner.errors import InputError
from tuner.spark.eventlog.model import ApplicationLog, StageLog
from tuner.spark.eventlog.tasks import SUCCEEDED
from workloads.importers.builder import WorkloadBuilder
from workloads.importers.options import ImportOptions
from workloads.importers.rows import RowReader
from workloads.seeds import job_seed
from workloads.trace import Executors
from workloads.workload import Assumption, Ending, Provenance, Unsure, Workload, WorkloadJob

__all__ = ["import_spark", "looks_like_spark", "looks_like_spark_folder"]

_MIB: Final = 1 << 20


@dataclass(frozen=True)
class _Size:
    executor_memory_mib: int
    executor_cores: int
    task_cpus: int

    @property
    def task_memory_mib(self) -> int:
        slots = max(self.executor_cores // self.task_cpus, 1)
        return max(round(self.executor_memory_mib / slots), 1)


def import_spark(paths: Sequence[Path], reader: RowReader, options: ImportOptions) -> Workload:
    """Imports event logs of any version, layout and compression that :mod:`tuner.spark.eventlog` reads.

    Of a log that cannot be read the reason becomes a note; of one with very many tasks a sample stands for all.

    Raises:
        InputError: none of the logs can be read.
    """
    from tuner.spark.eventlog import read_log

    logs: list[ApplicationLog] = []
    notes: list[str] = []
    for path in paths:
        try:
            log = read_log(path)
        except InputError as error:
            notes.append(f"{path.name} is left out: {error.message}")
            continue
        for file in sorted(path.iterdir()) if path.is_dir() else [path]:
            if file.is_file():
                reader.described(file, 0)
        notes += [f"{path.name}: {loss}" for loss in log.losses]
        if log.start_s is None:
            notes.append(f"{path.name} is left out: it does not say when it started")
        else:
            logs.append(log)
    if not logs:
        raise InputError("none of the event logs can be imported: " + "; ".join(notes), "`yarntune analyze` says more")
    epoch_s = min(log.start_s for log in logs if log.start_s is not None)
    builder = WorkloadBuilder()
    ids: set[str] = set()
    for log in logs:
        _add(builder, log, epoch_s, ids, options)
    assumptions = (
        Assumption("task_memory_mib", "executor's container / slots", "tasks share their executor's memory"),
        Assumption("executors", "the most that were alive at one time", "a case holds them from start to end"),
    )
    provenance = Provenance("spark", reader.files, options.seed, reader.bad_rows, tuple(notes))
    return builder.build(options.name, provenance, assumptions, epoch_s=epoch_s)


def _add(builder: WorkloadBuilder, log: ApplicationLog, epoch_s: float, ids: set[str], options: ImportOptions) -> None:
    submit_s = (log.start_s or epoch_s) - epoch_s
    base = log.application_id or log.path.name
    job_id, copy = base, 1
    while job_id in ids:
        copy += 1
        job_id = f"{base}_{copy}"
    ids.add(job_id)
    size = _size(log, options)
    job = builder.add_job(
        WorkloadJob(
            id=job_id,
            submit_s=submit_s,
            name=log.name,
            user=log.user or "",
            queue=log.setting("spark.yarn.queue") or "",
            am_memory_mib=_am_memory_mib(log),
            executors=Executors(_most_alive(log), size.executor_memory_mib, size.executor_cores),
        )
    )
    stages = sorted(log.stages, key=lambda stage: (stage.submitted_s or 0.0, stage.stage_id, stage.attempt))
    for position, stage in enumerate(stages):
        _add_stage(builder, job, job_id, position, stage, epoch_s, size, options.seed)


def _add_stage(
    builder: WorkloadBuilder,
    job: int,
    job_id: str,
    position: int,
    stage: StageLog,
    epoch_s: float,
    size: _Size,
    seed: int,
) -> None:
    durations = stage.tasks.durations_s
    statuses = stage.tasks.column("status")
    cpu_s = np.where(stage.tasks.column("cpu_ns") >= 0, stage.tasks.column("cpu_ns") / 1e9, nan)
    launched_s = stage.tasks.column("launch_ms") / 1000.0
    good = np.flatnonzero(~np.isnan(durations))
    if not len(good):
        return
    # A sample: rows are drawn again, so that there are as many as tasks ran.
    chosen, extra = good, stage.totals.tasks - len(stage.tasks.rows)
    if extra > 0:
        random = np.random.default_rng(job_seed(seed, f"{job_id}/{stage.stage_id}/{stage.attempt}"))
        chosen = np.concatenate((good, random.choice(good, extra)))
    for row in chosen.tolist():
        duration_s = float(durations[row])
        submit_s = stage.submitted_s if stage.submitted_s is not None else float(launched_s[row])
        builder.add_task(
            job,
            submit_s=submit_s - epoch_s,
            wait_s=max(float(launched_s[row]) - submit_s, 0.0),
            duration_s=duration_s,
            memory_mib=size.task_memory_mib,
            cores=float(size.task_cpus),
            stage=position,
            ending=Ending.FINISHED if statuses[row] == SUCCEEDED else Ending.FAILED,
            unsure=Unsure.REQUEST | (Unsure.DURATION if extra > 0 else 0),
            used_cores=float(cpu_s[row]) / duration_s if duration_s > 0 else nan,
        )


def _size(log: ApplicationLog, options: ImportOptions) -> _Size:
    from tuner.model.container import executor_request

    try:
        request = executor_request(dict(log.properties), python=False)
    except InputError:
        return _Size(options.default_memory_mib, 1, 1)
    cores = max((each.cores or 0 for each in log.executors if each.executor_id != "driver"), default=0)
    task_cpus = log.setting("spark.task.cpus") or "1"
    return _Size(request.memory_mib, max(cores, request.vcores), max(int(task_cpus), 1) if task_cpus.isdecimal() else 1)


def _am_memory_mib(log: ApplicationLog) -> int:
    from tuner.model.container import am_request

    cluster_mode = log.setting("spark.submit.deployMode") == "cluster"
    try:
        return am_request(dict(log.properties), cluster_mode=cluster_mode).memory_mib
    except InputError:
        return 0


def _most_alive(log: ApplicationLog) -> int:
    """The most executors that were alive at one time; 1 where the driver ran the tasks itself."""
    changes: list[tuple[float, int]] = []
    for each in log.executors:
        if each.executor_id != "driver" and each.added_s is not None:
            changes.append((each.added_s, 1))
            if each.removed_s is not None:
                changes.append((each.removed_s, -1))
    alive = most = 0
    for _, change in sorted(changes):
        alive += change
        most = max(most, alive)
    return max(most, 1)


def looks_like_spark(lines: Sequence[bytes]) -> bool:
    """Whether the first line is an event of Spark's listener bus."""
    return bool(lines) and lines[0].lstrip().startswith(b'{"Event":"')


def looks_like_spark_folder(folder: Path) -> bool:
    """Whether a folder is one rolling event log."""
    return folder.name.startswith("eventlog_v2_") or any(folder.glob("events_*_*"))
