"""What the store holds, as plain values: nothing of SQLAlchemy leaves this package.

Times are seconds since 1970-01-01 UTC, in a ``float``, as ``time.time()`` gives them; the caller brings the clock.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class RunKind(StrEnum):
    """Why a run was made."""

    DEFAULT = "default"
    """The job's first run in a study, with the configuration that the user has today."""
    TRIAL = "trial"
    """A configuration that a study wanted to see."""
    FINAL = "final"
    """The winner of a study, run once more."""
    PRODUCTION = "production"
    """A run of the user's own, through the submit wrapper."""


class RunState(StrEnum):
    """How far a run is. RUNNING is written before the submission, so no run is ever without a row."""

    RUNNING = "RUNNING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    KILLED = "KILLED"
    LOST = "LOST"
    """The process that watched the run is gone; a late answer may still turn it into one of the three above."""


class StudyState(StrEnum):
    """How far a study is."""

    RUNNING = "RUNNING"
    FINISHED = "FINISHED"
    INTERRUPTED = "INTERRUPTED"


@dataclass(frozen=True)
class Owner:
    """The process that watches a run or a study.

    A process id is used again sooner or later, so the time at which the process started belongs to its identity.
    """

    host: str
    pid: int
    started_at: float


@dataclass(frozen=True, kw_only=True)
class NewJob:
    """A recurring job, as it is first seen.

    Attributes:
        key: the fingerprint by which its next run is known to be the same job; unique in the store.
        name: what people call it; need not be unique.
        program: the jar or Python file.
        arguments_shape: the arguments with what changes from run to run taken out.
    """

    key: str
    name: str
    program: str
    main_class: str | None = None
    arguments_shape: str = ""
    queue: str | None = None


@dataclass(frozen=True, kw_only=True)
class Job(NewJob):
    """A recurring job in the store."""

    id: int
    created_at: float


@dataclass(frozen=True)
class JobSummary:
    """A job and what is known of its runs, for lists.

    Attributes:
        runs: how many there are, in whatever state.
        succeeded: how many of them ended well.
        last_submitted_at: of the newest run, or None before the first one.
        best_run_id: the best run of the newest study that has one.
    """

    job: Job
    runs: int
    succeeded: int
    last_submitted_at: float | None
    best_run_id: int | None


@dataclass(frozen=True, kw_only=True)
class NewRun:
    """A run that is about to be submitted.

    Attributes:
        configuration: every Spark property as it is passed, secrets already masked by the caller.
        arguments: the application's arguments, secrets already masked by the caller.
        trial_number: Optuna's number of the trial within the study.
        load: the cluster's load at submission, as JSON.
        cluster_id: the ResourceManager's own id, its start time in milliseconds (``/ws/v1/cluster/info``).
    """

    job_id: int
    kind: RunKind
    configuration: Mapping[str, str]
    arguments: tuple[str, ...]
    submitted_at: float
    study_id: int | None = None
    trial_number: int | None = None
    queue: str | None = None
    input_bytes: int | None = None
    load: Mapping[str, Any] | None = None
    spark_version: str | None = None
    cluster_id: str | None = None


@dataclass(frozen=True, kw_only=True)
class RunOutcome:
    """How a run ended. What is None was not learnt, and leaves in the store what is there.

    Attributes:
        state: one of SUCCEEDED, FAILED, KILLED, LOST.
        wait_s: from the submission to the first executor's start.
        run_s: from there to the end.
        duration_s: from the submission to the end: the sum of both.
        memory_seconds: MiB·s, as the ResourceManager's ``memorySeconds``.
        vcore_seconds: as the ResourceManager's ``vcoreSeconds``.
        metrics: what the event log said, as JSON.
        failure: one line on why it failed.
    """

    state: RunState
    finished_at: float
    wait_s: float | None = None
    run_s: float | None = None
    duration_s: float | None = None
    memory_seconds: int | None = None
    vcore_seconds: int | None = None
    metrics: Mapping[str, Any] | None = None
    failure: str | None = None
    application_id: str | None = None
    input_bytes: int | None = None
    spark_version: str | None = None


@dataclass(frozen=True, kw_only=True)
class Run(NewRun):
    """A run in the store; the fields are those of :class:`NewRun` and :class:`RunOutcome`."""

    id: int
    state: RunState
    owner: Owner
    application_id: str | None = None
    finished_at: float | None = None
    wait_s: float | None = None
    run_s: float | None = None
    duration_s: float | None = None
    memory_seconds: int | None = None
    vcore_seconds: int | None = None
    metrics: Mapping[str, Any] = field(default_factory=dict)
    failure: str | None = None


@dataclass(frozen=True, kw_only=True)
class NewStudy:
    """A search for one job's configuration, as it begins.

    Attributes:
        space_hash: fingerprint of the search space; only a study over the same space can be gone on with.
        slack: how much slower than the fastest the winner may be, as a fraction.
        pinned: properties that the search does not touch.
        limits: the bounds that the cluster gave, as JSON.
    """

    job_id: int
    space_hash: str
    seed: int
    slack: float
    trials_wanted: int
    created_at: float
    pinned: Mapping[str, str] = field(default_factory=dict)
    limits: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Study(NewStudy):
    """A study in the store. Its trials are runs; Optuna's own record of them is in Optuna's tables."""

    id: int
    state: StudyState
    owner: Owner
    best_run_id: int | None = None
    finished_at: float | None = None


@dataclass(frozen=True, kw_only=True)
class NewPlan:
    """A change of a scheduler's configuration, as it is first proposed.

    Attributes:
        scheduler: which scheduler and cluster it is for.
        state: a state's name; what states there are is up to the life cycle that uses them.
        plan: the change, as JSON.
        undo: what takes it back, as JSON, once that is known.
    """

    scheduler: str
    state: str
    plan: Mapping[str, Any]
    created_at: float
    created_by: str
    undo: Mapping[str, Any] | None = None


@dataclass(frozen=True, kw_only=True)
class Plan(NewPlan):
    """A plan in the store, in the state that it has now."""

    id: int
    updated_at: float


@dataclass(frozen=True, kw_only=True)
class PlanTransition:
    """One step of a plan from state to state, written before the step is made; never changed afterwards.

    Attributes:
        from_state: None for the plan's first state.
    """

    plan_id: int
    from_state: str | None
    to_state: str
    at: float
    who: str
    detail: Mapping[str, Any] = field(default_factory=dict)
    id: int | None = None


@dataclass(frozen=True, kw_only=True)
class AuditRow:
    """Who did what to what, when, and how it went; never changed once written.

    Attributes:
        action: a verb phrase in kebab case, for example ``apply-plan``.
        subject: what it was done to, for example ``plan 12``.
        id: given by the store.
    """

    at: float
    who: str
    action: str
    subject: str
    outcome: str
    detail: Mapping[str, Any] = field(default_factory=dict)
    id: int | None = None


class Role(StrEnum):
    """What the holder of a token may do in the dashboard and the API; each may do what those before it may."""

    VIEWER = "viewer"
    """Look."""
    OPERATOR = "operator"
    """Start tunings, apply plans and take them back."""
    ADMIN = "admin"
    """Make and revoke tokens."""


@dataclass(frozen=True, kw_only=True)
class NewToken:
    """A token as it is made; the token itself is nowhere, only its digest.

    Attributes:
        name: whose it is, or what for; the audit names it.
        digest: SHA-256 of the token, in hexadecimal.
        expires_at: from when it is not taken any more; None for never.
    """

    name: str
    role: Role
    digest: str
    created_at: float
    created_by: str
    expires_at: float | None = None


@dataclass(frozen=True, kw_only=True)
class Token(NewToken):
    """A token in the store."""

    id: int
    last_used_at: float | None = None
    revoked_at: float | None = None

    def valid(self, now: float) -> bool:
        """Whether it is taken at this time."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


@dataclass(frozen=True, kw_only=True)
class ClusterLease:
    """The right of one process to change the queues of one cluster.

    Attributes:
        purpose: what it is doing, for who has to wait.
        expires_at: from then on another one may take it, whatever has become of the owner.
    """

    cluster: str
    purpose: str
    owner: Owner
    acquired_at: float
    expires_at: float


@dataclass(frozen=True, kw_only=True)
class ClusterFreeze:
    """The freeze switch of one cluster: while it is there, its queues are not changed."""

    cluster: str
    at: float
    who: str
    reason: str


@dataclass(frozen=True)
class Swept:
    """What a sweep found abandoned: ids of runs now LOST and of studies now INTERRUPTED."""

    runs: tuple[int, ...]
    studies: tuple[int, ...]
