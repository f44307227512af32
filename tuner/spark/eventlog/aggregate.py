"""Adds up events into an :class:`~tuner.spark.eventlog.model.ApplicationLog`; knows nothing of files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from tuner.spark.eventlog import events
from tuner.spark.eventlog.executors import DRIVER, ExecutorStore, memory_peaks, peak_values
from tuner.spark.eventlog.findings import findings
from tuner.spark.eventlog.jobs import JobStore
from tuner.spark.eventlog.model import ApplicationLog, LogState, ResourceProfile, StageLog, TaskFailure
from tuner.spark.eventlog.stages import MAX_ROWS, MAX_STAGES, StageKey, TaskStore
from tuner.spark.eventlog.storage import RddStore
from tuner.spark.eventlog.taskrow import failure_of, status_of, task_row
from tuner.spark.eventlog.tasks import RESUBMITTED, SUCCEEDED
from tuner.spark.eventlog.values import clip, seconds

MAX_FAILURES: Final = 1_000
_MAX_RDDS_OF_STAGE: Final = 200


class AnotherApplication(Exception):  # noqa: N818 - a turn of events, not an error
    """A second application starts in the same log."""


class RepeatedPart(Exception):  # noqa: N818
    """A file of the log repeats one that was read before."""


@dataclass
class _Stage:
    name: str = ""
    parents: tuple[int, ...] = ()
    rdd_ids: tuple[int, ...] = ()
    profile_id: int = 0
    tasks: int = 0
    submitted: int | None = None
    completed: int | None = None
    failure: str | None = None


class Collector:
    """Takes events one at a time, in the order of the log.

    Args:
        max_rows: tasks to keep of the whole log.
        max_stages: stages to keep of the whole log.
    """

    def __init__(self, max_rows: int = MAX_ROWS, max_stages: int = MAX_STAGES) -> None:
        self._executors = ExecutorStore()
        self._tasks = TaskStore(self._executors, max_rows, max_stages)
        self._max_stages = max_stages
        self._rdds = RddStore()
        self._jobs = JobStore()
        self._version: str | None = None
        self._rollover: int | None = None
        self._start: events.ApplicationStart | None = None
        self._end: events.ApplicationEnd | None = None
        self._properties: dict[str, str] = {}
        self._java: str | None = None
        self._profiles: dict[int, ResourceProfile] = {}
        self._stages: dict[StageKey, _Stage] = {}
        self._stages_dropped = False
        self._failures: list[TaskFailure] = []
        self._failure_counts: Counter[str] = Counter()
        self._last_ms = 0
        self.losses: list[str] = []
        self.parts_missing = False

    def handlers(self) -> dict[str, Callable[[Any], None]]:
        """What takes each event that :func:`tuner.spark.eventlog.events.parsers` makes."""
        jobs, executors = self._jobs, self._executors
        return {
            "SparkListenerLogStart": self._log_start,
            "DBCEventLoggingListenerMetadata": self._log_start,
            "SparkListenerApplicationStart": self._application_start,
            "SparkListenerApplicationEnd": self._application_end,
            "SparkListenerEnvironmentUpdate": self._environment,
            "SparkListenerResourceProfileAdded": self._profile,
            "SparkListenerExecutorAdded": lambda event: self._seen(executors.added(event)),
            "SparkListenerExecutorRemoved": lambda event: self._seen(executors.removed(event)),
            "SparkListenerBlockManagerAdded": lambda event: self._seen(executors.block_manager_added(event)),
            "SparkListenerBlockManagerRemoved": lambda event: self._seen(executors.block_manager_removed(event)),
            "SparkListenerJobStart": lambda event: self._seen(jobs.start(event)),
            "SparkListenerJobEnd": lambda event: self._seen(jobs.end(event)),
            "SparkListenerStageSubmitted": self._stage,
            "SparkListenerStageCompleted": self._stage,
            "SparkListenerTaskStart": self._task_start,
            "SparkListenerTaskEnd": self._task_end,
            "SparkListenerStageExecutorMetrics": self._stage_executor_metrics,
            "SparkListenerExecutorMetricsUpdate": self._executor_metrics_update,
            "SparkListenerBlockUpdated": self._block_updated,
            "SparkListenerUnpersistRDD": lambda event: self._rdds.unpersist(event.rdd_id),
            "SparkListenerSQLExecutionStart": lambda event: self._seen(jobs.sql_start(event)),
            "SparkListenerSQLExecutionEnd": lambda event: self._seen(jobs.sql_end(event)),
            "SparkListenerSQLAdaptiveExecutionUpdate": lambda event: jobs.sql_adaptive(event),
        }

    def _seen(self, timestamp: int | None) -> None:
        if timestamp is not None and timestamp > self._last_ms:
            self._last_ms = timestamp

    # --- the application -------------------------------------------------------------------------------------------

    def _log_start(self, event: events.LogStart) -> None:
        if event.rollover is not None:
            expected = 0 if self._rollover is None else self._rollover + 1
            if event.rollover < expected:
                raise RepeatedPart(f"repeats part {event.rollover} of the log")
            if event.rollover > expected:
                self.parts_missing = True
                one = event.rollover == expected + 1
                which = f"part {expected} is" if one else f"parts {expected} to {event.rollover - 1} are"
                self.losses.append(f"Of the log {which} missing, before part {event.rollover}.")
            self._rollover = event.rollover
        self._version = self._version or event.spark_version

    def _application_start(self, event: events.ApplicationStart) -> None:
        if self._start is not None:
            raise AnotherApplication(event.app_id or event.app_name or "without a name")
        self._start = event
        self._seen(event.timestamp)

    def _application_end(self, event: events.ApplicationEnd) -> None:
        self._end = event

    def _environment(self, event: events.EnvironmentUpdate) -> None:
        # Databricks repeats it as the session goes on; the first one is what the executors started with.
        for key, value in event.spark_properties.items():
            self._properties.setdefault(key, value if isinstance(value, str) else str(value))
        self._java = self._java or (event.jvm.version if event.jvm else None)

    def _profile(self, event: events.ResourceProfileAdded) -> None:
        self._profiles[event.profile_id] = ResourceProfile(
            event.profile_id,
            {name: request.amount for name, request in event.executor.items()},
            {name: request.amount for name, request in event.task.items()},
        )

    # --- stages and tasks ------------------------------------------------------------------------------------------

    def _stage(self, event: events.StageEvent) -> None:
        stage = event.stage
        facts = self._stages.setdefault((stage.stage_id, stage.attempt), _Stage())
        facts.name, facts.parents, facts.tasks = clip(stage.name) or "", stage.parents, stage.tasks
        facts.rdd_ids = tuple(rdd.rdd_id for rdd in stage.rdds[:_MAX_RDDS_OF_STAGE])
        facts.profile_id = stage.profile_id
        facts.submitted = stage.submitted or facts.submitted
        facts.completed, facts.failure = stage.completed, clip(stage.failure)
        self._rdds.add(stage.rdds)
        self._seen(stage.completed or stage.submitted)
        if len(self._stages) > 2 * self._max_stages:
            self._drop_stages()

    def _drop_stages(self) -> None:
        self._tasks.flush()
        kept = set(self._tasks.stage_keys())
        self._stages = {key: facts for key, facts in self._stages.items() if key in kept or facts.completed is None}
        for key in list(self._stages)[: -2 * self._max_stages]:
            del self._stages[key]
        self._stages_dropped = True

    def _task_start(self, event: events.TaskStart) -> None:
        self._seen(event.info.launch)

    def _task_end(self, ended: events.EndedTask) -> None:
        event = ended.event
        status = status_of(event)
        executor = self._executors.position(event.info.executor_id)
        self._tasks.add((event.stage_id, event.stage_attempt), task_row(ended, executor, status))
        if status != SUCCEEDED:
            failure = failure_of(event)
            self._failure_counts[failure.reason] += 1
            if status != RESUBMITTED and len(self._failures) < MAX_FAILURES:
                self._failures.append(failure)
        if event.metrics and event.metrics.updated_blocks:
            for block in event.metrics.updated_blocks:
                self._rdds.update_block(block.block_id, block.status.level, block.status.memory, block.status.disk)
        self._seen(event.info.finish)

    def _stage_executor_metrics(self, event: events.StageExecutorMetrics) -> None:
        peaks = np.array(peak_values(event.metrics), np.int64)
        self._executors.raise_peaks(self._executors.position(event.executor_id), peaks)
        # The driver has peaks of its own in every stage, which say nothing of the stage unless it runs the tasks.
        if event.executor_id not in DRIVER or self._executors.local:
            self._tasks.raise_peaks((event.stage_id, event.stage_attempt), peaks)

    def _executor_metrics_update(self, event: events.ExecutorMetricsUpdate) -> None:
        position = self._executors.position(event.executor_id)
        for update in event.updates:
            self._executors.raise_peaks(position, np.array(peak_values(update.metrics), np.int64))

    def _block_updated(self, event: events.BlockUpdated) -> None:
        info = event.info
        self._rdds.update_block(info.block_id, info.level, info.memory, info.disk)

    # --- the result ------------------------------------------------------------------------------------------------

    def result(self, path: Path, state: LogState, losses: list[str], counts: Counter[str]) -> ApplicationLog:
        """All that was read, as a value.

        Args:
            path: where the log is.
            state: how the reading went; a log without the application's end is incomplete whatever is said here.
            losses: what the reading of the files has to say.
            counts: whole events by name.
        """
        self._tasks.flush()
        totals = self._tasks.everything.totals()
        kept = set(self._tasks.stage_keys())
        # A stage whose tasks were let go would look as if the log had none of them.
        stages = tuple(self._stage_log(key) for key in sorted(kept | (set(self._stages) - self._tasks.forgotten)))
        start = self._start or events.ApplicationStart()
        end_ms = self._end.timestamp if self._end else 0
        running = counts["SparkListenerTaskStart"] - totals.tasks + totals.resubmitted
        sampled = (
            self._stages_dropped
            or self._jobs.dropped
            or self._rdds.dropped
            or bool(self._tasks.forgotten)
            or any(not stage.tasks.complete for stage in stages)
        )
        log = ApplicationLog(
            path=path,
            state=LogState.INCOMPLETE if state is LogState.COMPLETE and not self._end else state,
            losses=(),
            application_id=start.app_id,
            name=start.app_name,
            attempt_id=start.attempt_id,
            user=start.user,
            spark_version=self._version,
            java_version=self._java,
            start_s=seconds(start.timestamp),
            end_s=seconds(end_ms or self._last_ms),
            end_estimated=not end_ms,
            exit_code=self._end.exit_code if self._end else None,
            properties=self._properties,
            profiles=tuple(self._profiles[key] for key in sorted(self._profiles)),
            executors=self._executors.result(),
            jobs=self._jobs.jobs(),
            stages=stages,
            sql=self._jobs.sql(),
            rdds=self._rdds.result(),
            failures=tuple(self._failures),
            failure_counts=dict(self._failure_counts),
            totals=totals,
            peaks=self._executors.largest_peaks(),
            busy_s=self._tasks.spells.length_ms / 1e3,
            sampled=sampled,
            events=dict(counts),
        )
        about = findings(
            log,
            running_tasks=running,
            bad_times=self._tasks.bad_times,
            closed_gaps_ms=self._tasks.spells.closed_gaps_ms,
        )
        return replace(log, losses=(*losses, *self.losses, *about))

    def _stage_log(self, key: StageKey) -> StageLog:
        facts = self._stages.get(key) or _Stage()
        tally = self._tasks.stage(key).tally
        return StageLog(
            stage_id=key[0],
            attempt=key[1],
            name=facts.name,
            parents=facts.parents,
            rdd_ids=facts.rdd_ids,
            profile_id=facts.profile_id,
            expected_tasks=facts.tasks,
            submitted_s=seconds(facts.submitted),
            completed_s=seconds(facts.completed),
            failure=facts.failure,
            totals=tally.totals(),
            tasks=self._tasks.sample(key),
            peaks=memory_peaks(tally.peaks[:-1]),
        )
