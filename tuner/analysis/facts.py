"""What the heuristics share: one log's numbers, configuration and executors, made once."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Final

import numpy as np

from tuner.analysis.thresholds import limit
from tuner.errors import InputError
from tuner.model.container import ContainerRequest, am_request, executor_request
from tuner.spark.checks import find_problems
from tuner.spark.eventlog import ApplicationLog, ExecutorLog, LogState, StageLog
from tuner.spark.eventlog.tasks import RESUBMITTED
from tuner.spark.metrics import RunMetrics, run_metrics
from tuner.spark.names import canonical
from tuner.spark.params import NEWEST, PARAMS, SparkVersion, Value, parse_version, read_bool, read_value

MIB: Final = 1024**2
_DRIVER: Final = ("driver", "<driver>")
_OLDEST: Final[SparkVersion] = (3, 0)
"""The oldest version whose defaults the table of properties has."""


class Platform(StrEnum):
    """Where the application ran."""

    YARN = "YARN"
    KUBERNETES = "Kubernetes"
    STANDALONE = "a standalone cluster"
    LOCAL = "one JVM (local mode)"
    UNKNOWN = "an unknown cluster"


@dataclass(frozen=True)
class Facts:
    """One log, as the heuristics see it.

    Args:
        log: what was read.
        increment_mib: what YARN rounds containers up to a multiple of.
        pinned: present names of properties that must stay.
    """

    log: ApplicationLog
    increment_mib: int
    pinned: frozenset[str] = frozenset()

    @cached_property
    def metrics(self) -> RunMetrics:
        """The run in a few numbers."""
        return run_metrics(self.log)

    @cached_property
    def _configuration(self) -> tuple[dict[str, str], tuple[str, ...]]:
        conf = canonical(self.log.properties)
        unreadable = []
        for name, spec in PARAMS.items():
            if name in conf:
                try:
                    spec.parse(conf[name])
                except InputError:
                    unreadable.append(name)
        return {name: value for name, value in conf.items() if name not in unreadable}, tuple(unreadable)

    @property
    def conf(self) -> dict[str, str]:
        """The configuration under present names, without values that nobody can read."""
        return self._configuration[0]

    @property
    def unreadable(self) -> tuple[str, ...]:
        """Properties whose values could not be read, and count as not set."""
        return self._configuration[1]

    @cached_property
    def own_version(self) -> SparkVersion | None:
        """Spark's version as the log has it."""
        try:
            return parse_version(self.log.spark_version or "")
        except InputError:
            return None

    @property
    def version(self) -> SparkVersion:
        """The version whose defaults count: the nearest one that the table of properties knows."""
        return max(_OLDEST, self.own_version or NEWEST)

    @cached_property
    def platform(self) -> Platform:
        """Where it ran, by the master's URL, else by its executors."""
        master = self.conf.get("spark.master", "")
        for prefix, platform in (
            ("yarn", Platform.YARN),
            ("k8s", Platform.KUBERNETES),
            ("spark:", Platform.STANDALONE),
            ("local-cluster", Platform.STANDALONE),
            ("local", Platform.LOCAL),
        ):
            if master.startswith(prefix):
                return platform
        ran = [executor.executor_id in _DRIVER for executor in self.log.executors if executor.tasks]
        return Platform.LOCAL if ran and all(ran) else Platform.UNKNOWN

    @cached_property
    def python(self) -> bool:
        """Whether Python drives it; PySpark sets the second property in every application."""
        return (
            self.conf.get("spark.yarn.isPython") == "true"
            or "spark.serializer.objectStreamReset" in self.conf
            or self.log.peaks.python_rss is not None
        )

    @cached_property
    def workers(self) -> tuple[ExecutorLog, ...]:
        """The executors; the driver among them only where it runs the tasks."""
        return tuple(each for each in self.log.executors if each.executor_id not in _DRIVER or each.tasks)

    @cached_property
    def request(self) -> ContainerRequest | None:
        """What was asked for each executor; None where there are none, or the log has no properties."""
        if not self.log.properties or self.platform is Platform.LOCAL:
            return None
        try:
            return executor_request(self.conf, python=self.python, version=self.version)
        except InputError:
            return None

    @property
    def driver(self) -> ExecutorLog | None:
        """The driver, where it is not what runs the tasks."""
        return next((each for each in self.log.executors if each.executor_id in _DRIVER and not each.tasks), None)

    @cached_property
    def driver_request(self) -> ContainerRequest | None:
        """The container of a driver that runs on the cluster (YARN, cluster mode); None for any other."""
        master, mode = self.conf.get("spark.master", ""), self.conf.get("spark.submit.deployMode")
        if self.platform is not Platform.YARN or (mode != "cluster" and master != "yarn-cluster"):
            return None
        try:
            return am_request(self.conf, cluster_mode=True, version=self.version)
        except InputError:
            return None

    @cached_property
    def slots(self) -> int:
        """Tasks that one executor runs at a time."""
        known = [worker.cores for worker in self.workers if worker.cores]
        cores = max(known) if known else int(self.value("spark.executor.cores") or 1)
        return max(1, cores // max(1, int(self.value("spark.task.cpus") or 1)))

    @property
    def all_slots(self) -> int:
        """Tasks that ran, or could have run, at a time."""
        return max(1, self.metrics.peak_executors) * self.slots

    @property
    def sql(self) -> bool:
        """Whether Spark SQL was used."""
        return bool(self.log.sql) or any(job.sql_execution_id is not None for job in self.log.jobs)

    @cached_property
    def adaptive(self) -> bool:
        """Whether adaptive execution coalesces shuffle partitions."""
        return (
            self.sql
            and (self.own_version or NEWEST) >= _OLDEST
            and read_bool(self.conf, "spark.sql.adaptive.enabled", self.version)
            and read_bool(self.conf, "spark.sql.adaptive.coalescePartitions.enabled", self.version)
        )

    @cached_property
    def stages(self) -> tuple[StageLog, ...]:
        """Stages of which every task is in the log, by submission."""
        whole = [stage for stage in self.log.stages if stage.totals.tasks and not missing_tasks(stage)]
        return tuple(sorted(whole, key=lambda stage: (stage.submitted_s or 0.0, stage.stage_id, stage.attempt)))

    @cached_property
    def main_stages(self) -> tuple[StageLog, ...]:
        """Those of them that make up a share of all task time that matters, the largest first."""
        least_s = limit("stage-share") * self.log.totals.duration_s
        large = [stage for stage in self.stages if stage.totals.duration_s >= least_s > 0]
        return tuple(sorted(large, key=lambda stage: -stage.totals.duration_s))

    @cached_property
    def lost_tasks(self) -> bool:
        """Whether tasks are missing: a compacted, damaged or cut log."""
        return self.log.compacted or any(stage.lost_all_tasks or missing_tasks(stage) for stage in self.log.stages)

    @cached_property
    def first_task_s(self) -> float | None:
        """When the first task was launched, in s since the epoch."""
        columns = [stage.tasks.column("launch_ms") for stage in self.stages]
        starts = [int(column[column > 0].min()) for column in columns if (column > 0).any()]
        return min(starts) / 1e3 if starts else None

    @cached_property
    def awaited_s(self) -> float:
        """Time from the application's start to the last executor that came before the first task."""
        if self.platform is Platform.LOCAL or self.log.start_s is None or self.first_task_s is None:
            return 0.0
        came = [worker.added_s for worker in self.workers if worker.added_s and worker.added_s <= self.first_task_s]
        return max(0.0, max(came) - self.log.start_s) if came else 0.0

    @property
    def whole(self) -> bool:
        """Whether the log tells of the whole run, and can be trusted to hold its peaks."""
        return self.log.state is LogState.COMPLETE and not self.lost_tasks and self.log.totals.tasks > 0

    @property
    def succeeded(self) -> bool:
        """Whether all jobs did, as far as the log says."""
        return not any(job.succeeded is False for job in self.log.jobs)

    @cached_property
    def most_tasks_at_once(self) -> int | None:
        """Most tasks that ever ran at the same time; None where tasks are missing or were sampled."""
        if self.lost_tasks or not all(stage.tasks.complete for stage in self.log.stages):
            return None
        rows = [stage.tasks for stage in self.log.stages if len(stage.tasks.rows)]
        if not rows:
            return None
        starts = np.concatenate([each.column("launch_ms") for each in rows])
        ends = np.concatenate([each.column("finish_ms") for each in rows])
        real = np.concatenate([each.column("status") for each in rows]) != RESUBMITTED
        good = (starts > 0) & (ends > starts) & real
        times = np.concatenate([ends[good], starts[good]])
        steps = np.concatenate([-np.ones(good.sum(), np.int64), np.ones(good.sum(), np.int64)])
        # A task that ends makes room for one that starts in the same millisecond.
        order = np.lexsort((steps, times))
        # The driver marks a task's end later than it gives its slot away.
        return min(self.all_slots, int(np.cumsum(steps[order]).max(initial=0)))

    @cached_property
    def objections(self) -> tuple[str, ...]:
        """What Spark would refuse in the log's own configuration, by property."""
        return tuple(problem.name for problem in find_problems(self.conf, self.version))

    def value(self, name: str) -> Value | None:
        """What Spark took for a property of the table, defaults included."""
        return read_value(self.conf, name, self.version)

    def text(self, name: str) -> str | None:
        """The same as text with its unit."""
        spec = PARAMS[name]
        if name in self.conf:
            return spec.with_unit(self.conf[name])
        return spec.default_in(self.version)

    def knows(self, name: str) -> bool:
        """Whether that version of Spark has the property."""
        return PARAMS[name].exists_in(self.version) and not (
            name.startswith("spark.sql.adaptive.") and (self.own_version or NEWEST) < _OLDEST
        )


def missing_tasks(stage: StageLog) -> int:
    """Tasks of a finished stage that are not in the log.

    A later attempt may finish thanks to an earlier one's tasks, so that only the first counts.
    """
    if stage.completed_s is None or stage.failure is not None or stage.attempt > 0:
        return 0
    return max(0, stage.expected_tasks - stage.totals.succeeded)
