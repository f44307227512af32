"""Jobs and SQL executions gathered while a log is read, in bounded memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tuner.spark.eventlog import events
from tuner.spark.eventlog.model import JobLog, SqlExecution
from tuner.spark.eventlog.values import clip, seconds

MAX_JOBS: Final = 20_000
_MAX_STAGE_IDS: Final = 200_000
"""Stage ids kept over all jobs: a job lists every stage of its lineage, so iterative programs list n * n / 2."""


@dataclass
class _Job:
    submitted: int | None = None
    completed: int | None = None
    succeeded: bool | None = None
    stage_ids: tuple[int, ...] = ()
    sql_execution_id: int | None = None
    description: str | None = None
    error: str | None = None


@dataclass
class _Sql:
    root: int | None = None
    description: str = ""
    started: int | None = None
    ended: int | None = None
    adaptive: bool = False
    error: str | None = None


class JobStore:
    """Takes the events of jobs and SQL executions; each method returns the event's time in ms, if it has one."""

    def __init__(self, max_jobs: int = MAX_JOBS) -> None:
        self._max = max_jobs
        self._jobs: dict[int, _Job] = {}
        self._sql: dict[int, _Sql] = {}
        self._stage_ids = 0
        self.dropped = False

    def start(self, event: events.JobStart) -> int | None:
        """``SparkListenerJobStart``."""
        job = self._job(event.job_id)
        job.submitted = event.submitted
        if self._stage_ids + len(event.stage_ids) <= _MAX_STAGE_IDS:
            job.stage_ids = event.stage_ids
            self._stage_ids += len(event.stage_ids)
        else:
            self.dropped = True
        if event.properties:
            job.sql_execution_id = event.properties.sql_execution_id
            job.description = clip(event.properties.description)
        return event.submitted

    def end(self, event: events.JobEnd) -> int | None:
        """``SparkListenerJobEnd``."""
        job = self._job(event.job_id)
        job.completed = event.completed
        if event.result:
            job.succeeded = event.result.result == "JobSucceeded"
            job.error = clip(event.result.error.message) if event.result.error else None
        return event.completed

    def sql_start(self, event: events.SqlStart) -> int | None:
        """``SparkListenerSQLExecutionStart``."""
        execution = self._execution(event.execution_id)
        execution.root, execution.started = event.root_execution_id, event.time
        execution.description = clip(event.description) or ""
        return event.time

    def sql_end(self, event: events.SqlEnd) -> int | None:
        """``SparkListenerSQLExecutionEnd``."""
        execution = self._execution(event.execution_id)
        execution.ended, execution.error = event.time, clip(event.error)
        return event.time

    def sql_adaptive(self, event: events.SqlAdaptive) -> None:
        """``SparkListenerSQLAdaptiveExecutionUpdate``."""
        self._execution(event.execution_id).adaptive = True

    def jobs(self) -> tuple[JobLog, ...]:
        """The jobs by id."""
        return tuple(
            JobLog(
                job_id=job_id,
                submitted_s=seconds(job.submitted),
                completed_s=seconds(job.completed),
                succeeded=job.succeeded,
                stage_ids=job.stage_ids,
                sql_execution_id=job.sql_execution_id,
                description=job.description,
                error=job.error,
            )
            for job_id, job in sorted(self._jobs.items())
        )

    def sql(self) -> tuple[SqlExecution, ...]:
        """The SQL executions by id."""
        return tuple(
            SqlExecution(
                execution_id=execution_id,
                root_execution_id=execution.root,
                description=execution.description,
                started_s=seconds(execution.started),
                ended_s=seconds(execution.ended),
                adaptive=execution.adaptive,
                error=execution.error,
            )
            for execution_id, execution in sorted(self._sql.items())
        )

    def _job(self, job_id: int) -> _Job:
        job = self._jobs.get(job_id)
        if job is None:
            if len(self._jobs) >= self._max:
                oldest = self._jobs.pop(next(iter(self._jobs)))
                self._stage_ids -= len(oldest.stage_ids)
                self.dropped = True
            job = self._jobs[job_id] = _Job()
        return job

    def _execution(self, execution_id: int) -> _Sql:
        execution = self._sql.get(execution_id)
        if execution is None:
            if len(self._sql) >= self._max:
                del self._sql[next(iter(self._sql))]
                self.dropped = True
            execution = self._sql[execution_id] = _Sql()
        return execution
