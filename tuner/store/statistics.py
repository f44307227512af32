"""Totals over the store's tables, for lists and overviews; each is one statement over indexes."""

from __future__ import annotations

import builtins
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from tuner.store.connection import Database
from tuner.store.records import Job, RunKind, RunState, StudyState
from tuner.store.rows import from_row
from tuner.store.schema import application, job, plan, run, study

SORTS = ("last", "name", "runs", "id")
"""What jobs can be listed by."""


@dataclass(frozen=True)
class JobTotals:
    """A job and what its runs add up to.

    Attributes:
        runs: how many, in whatever state.
        succeeded: how many of them ended well.
        failed: how many ended otherwise.
        last_submitted_at: of the newest run; None before the first.
        tuning: whether a study of it is RUNNING.
    """

    job: Job
    runs: int
    succeeded: int
    failed: int
    last_submitted_at: float | None
    tuning: bool


@dataclass(frozen=True)
class JobSaving:
    """What tuning did for a job, in MiB·s and seconds.

    The baseline is the default run of the newest study that has a best run. What was saved is counted over the
    production runs since that study began, each against the baseline; it is negative where they cost more.

    Attributes:
        baseline_memory_seconds, baseline_duration_s: of the default run (the mean where there are several).
        best_memory_seconds, best_duration_s: of the best run.
        production_runs: successful ones since the study began.
        production_memory_seconds: what these reserved.
    """

    job_id: int
    name: str
    study_id: int
    best_run_id: int
    baseline_memory_seconds: float
    baseline_duration_s: float | None
    best_memory_seconds: float
    best_duration_s: float | None
    production_runs: int
    production_memory_seconds: float

    @property
    def per_run(self) -> float:
        """What the best configuration reserves less than the default, in MiB·s for each run."""
        return self.baseline_memory_seconds - self.best_memory_seconds

    @property
    def realised(self) -> float:
        """What the production runs since then reserved less than as many default runs, in MiB·s."""
        return self.baseline_memory_seconds * self.production_runs - self.production_memory_seconds


@dataclass(frozen=True)
class LatencySummary:
    """Latencies of a queue's applications, from their submission to their end, in seconds."""

    cluster: str
    queue: str
    applications: int
    median_s: float
    p95_s: float


class Statistics:
    """Reads totals; writes nothing."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def run_states(self) -> dict[RunState, int]:
        """How many runs there are in each state."""
        return {RunState(name): count for name, count in self._counts(run.c.state)}

    def run_kinds(self) -> dict[tuple[RunKind, RunState], int]:
        """How many runs there are of each kind in each state."""
        query = sa.select(run.c.kind, run.c.state, sa.func.count()).group_by(run.c.kind, run.c.state)
        with self._database.read() as connection:
            return {(RunKind(kind), RunState(state)): count for kind, state, count in connection.execute(query)}

    def study_states(self) -> dict[StudyState, int]:
        """How many studies there are in each state."""
        return {StudyState(name): count for name, count in self._counts(study.c.state)}

    def plan_states(self) -> dict[str, int]:
        """How many plans there are in each state."""
        return {str(name): count for name, count in self._counts(plan.c.state)}

    def jobs(
        self, *, search: str = "", sort: str = "last", limit: int = 50, offset: int = 0, before_id: int | None = None
    ) -> tuple[builtins.list[JobTotals], int]:
        """A page of jobs.

        Args:
            search: part of the name, the program or the queue; any job where it is empty.
            sort: one of :data:`SORTS`: newest run first, name, most runs first, newest job first.
            limit: how many at most.
            offset: how many to pass over.
            before_id: only jobs whose id is below this one; it does not change the total.

        Returns:
            The jobs, and how many there are in all that the search finds.
        """
        totals = (
            sa.select(
                run.c.job_id,
                sa.func.count().label("runs"),
                sa.func.count().filter(run.c.state == RunState.SUCCEEDED).label("succeeded"),
                sa.func.count()
                .filter(run.c.state.in_([RunState.FAILED, RunState.KILLED, RunState.LOST]))
                .label("failed"),
                sa.func.max(run.c.submitted_at).label("last_submitted_at"),
            )
            .group_by(run.c.job_id)
            .subquery()
        )
        tuning = sa.exists().where(study.c.job_id == job.c.id, study.c.state == StudyState.RUNNING)
        found = _search(search)
        query = (
            sa.select(
                job,
                sa.func.coalesce(totals.c.runs, 0).label("runs"),
                sa.func.coalesce(totals.c.succeeded, 0).label("succeeded"),
                sa.func.coalesce(totals.c.failed, 0).label("failed"),
                totals.c.last_submitted_at,
                tuning.label("tuning"),
            )
            .outerjoin(totals, totals.c.job_id == job.c.id)
            .where(found, sa.true() if before_id is None else job.c.id < before_id)
        )
        order: dict[str, tuple[Any, ...]] = {
            "last": (totals.c.last_submitted_at.desc().nulls_last(), job.c.id.desc()),
            "name": (job.c.name, job.c.id),
            "runs": (sa.func.coalesce(totals.c.runs, 0).desc(), job.c.id.desc()),
            "id": (job.c.id.desc(),),
        }
        with self._database.read() as connection:
            rows = connection.execute(query.order_by(*order[sort]).limit(limit).offset(offset)).all()
            total = connection.execute(sa.select(sa.func.count()).select_from(job).where(found)).scalar_one()
        return [_totals(row) for row in rows], total

    def savings(self, *, job_ids: Collection[int] | None = None) -> builtins.list[JobSaving]:
        """What tuning did for each job that has a best run, most saved for each run first.

        Args:
            job_ids: of these jobs only.
        """
        chosen = sa.true() if job_ids is None else study.c.job_id.in_([*job_ids])
        newest = (
            sa.select(sa.func.max(study.c.id).label("id"))
            .where(study.c.best_run_id.is_not(None), chosen)
            .group_by(study.c.job_id)
        )
        best, default = run.alias("best"), run.alias("by_default")
        baseline = (
            sa.select(
                default.c.study_id,
                sa.func.avg(default.c.memory_seconds).label("memory_seconds"),
                sa.func.avg(default.c.duration_s).label("duration_s"),
            )
            .where(default.c.kind == RunKind.DEFAULT, default.c.state == RunState.SUCCEEDED)
            .where(default.c.study_id.in_(newest))
            .group_by(default.c.study_id)
            .subquery()
        )
        production = sa.and_(
            run.c.job_id == study.c.job_id,
            run.c.kind == RunKind.PRODUCTION,
            run.c.state == RunState.SUCCEEDED,
            run.c.submitted_at > study.c.created_at,
            run.c.memory_seconds.is_not(None),
        )
        query: sa.Select[Any] = (
            sa.select(
                job.c.id.label("job_id"),
                job.c.name,
                study.c.id.label("study_id"),
                study.c.best_run_id,
                baseline.c.memory_seconds.label("baseline_memory_seconds"),
                baseline.c.duration_s.label("baseline_duration_s"),
                best.c.memory_seconds.label("best_memory_seconds"),
                best.c.duration_s.label("best_duration_s"),
                sa.select(sa.func.count()).where(production).correlate(study).scalar_subquery().label("n"),
                sa.select(sa.func.coalesce(sa.func.sum(run.c.memory_seconds), 0))
                .where(production)
                .correlate(study)
                .scalar_subquery()
                .label("spent"),
            )
            .join_from(study, job, study.c.job_id == job.c.id)
            .join(best, best.c.id == study.c.best_run_id)
            .join(baseline, baseline.c.study_id == study.c.id)
            .where(study.c.id.in_(newest))
            .where(best.c.memory_seconds.is_not(None), baseline.c.memory_seconds.is_not(None))
        )
        with self._database.read() as connection:
            found = [_saving(row) for row in connection.execute(query)]
        return sorted(found, key=lambda each: -each.per_run)

    def clusters(self) -> builtins.list[str]:
        """Names of the clusters that plans were made for."""
        with self._database.read() as connection:
            return sorted(connection.execute(sa.select(plan.c.scheduler).distinct()).scalars())

    def latencies(self, *, finished_since: float, limit: int = 50_000) -> builtins.list[LatencySummary]:
        """Latencies by queue of the applications that succeeded, the latest ``limit`` of them.

        Args:
            finished_since: only those that ended then or later.
            limit: how many at most.
        """
        query = (
            sa.select(application.c.cluster, application.c.queue, application.c.submitted_at, application.c.finished_at)
            .where(application.c.finished_at >= finished_since, application.c.final_status == "SUCCEEDED")
            .order_by(application.c.finished_at.desc())
            .limit(limit)
        )
        found: dict[tuple[str, str], builtins.list[float]] = {}
        with self._database.read() as connection:
            for row in connection.execute(query):
                found.setdefault((row.cluster, row.queue), []).append(row.finished_at - row.submitted_at)
        return [
            LatencySummary(cluster, queue, len(each), _quantile(each, 0.5), _quantile(each, 0.95))
            for (cluster, queue), each in sorted(found.items())
        ]

    def _counts(self, column: sa.Column[Any]) -> builtins.list[tuple[Any, int]]:
        query = sa.select(column, sa.func.count()).group_by(column)
        with self._database.read() as connection:
            return [(name, count) for name, count in connection.execute(query)]


def _quantile(values: builtins.list[float], share: float) -> float:
    """Between the two nearest values, as numpy's default has it."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def _search(text: str) -> sa.ColumnElement[bool]:
    if not text:
        return sa.true()
    columns = (job.c.name, job.c.program, job.c.queue)
    return sa.or_(*(column.icontains(text, autoescape=True) for column in columns))


def _totals(row: sa.Row[Any]) -> JobTotals:
    return JobTotals(from_row(Job, row), row.runs, row.succeeded, row.failed, row.last_submitted_at, bool(row.tuning))


def _saving(row: sa.Row[Any]) -> JobSaving:
    return JobSaving(
        job_id=row.job_id,
        name=row.name,
        study_id=row.study_id,
        best_run_id=row.best_run_id,
        # PostgreSQL's averages and sums of whole numbers are decimals.
        baseline_memory_seconds=float(row.baseline_memory_seconds),
        baseline_duration_s=None if row.baseline_duration_s is None else float(row.baseline_duration_s),
        best_memory_seconds=float(row.best_memory_seconds),
        best_duration_s=row.best_duration_s,
        production_runs=row.n,
        production_memory_seconds=float(row.spent),
    )
