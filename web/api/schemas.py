"""The shapes of bodies and answers. From these types bodies are checked, and the OpenAPI document is made.

What a page lists is an item here, whose fields are all named; what a page shows of one subject is a document, which
names what a program may rely on and may have more. Memory is in MiB, memory x time in GiB·s, times are seconds, and a
moment is seconds since 1970-01-01 UTC.
"""

from __future__ import annotations

from typing import Annotated, Any, Generic, Literal, TypeVar

import msgspec
from msgspec import Meta

from web.api.operation import LARGEST_ID

T = TypeVar("T")

Id = Annotated[int, Meta(ge=1, le=LARGEST_ID)]
Amount = Annotated[int, Meta(ge=0, le=LARGEST_ID)]
Seconds = Annotated[float, Meta(ge=0, le=1e12)]
Word = Annotated[str, Meta(min_length=1, max_length=200, pattern=r"\S")]
Text = Annotated[str, Meta(max_length=2000)]
Name = Annotated[str, Meta(min_length=1, max_length=2000, pattern=r"\S")]
Value = Annotated[str, Meta(max_length=200_000)]
Why = Annotated[str, Meta(min_length=1, max_length=500, pattern=r"\S", description="kept in the audit")]
Row = dict[str, Any]


class Item(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """All of its fields are named."""


class Document(msgspec.Struct, kw_only=True):
    """May have more than is named."""


class Page(msgspec.Struct, Generic[T], kw_only=True, forbid_unknown_fields=True):
    """A page of a list, newest first.

    ``next_before`` is what ``before`` has to be for the next page; null on the last one.
    """

    items: list[T]
    next_before: int | None


class ErrorDetail(Item):
    """What went wrong, and what to do about it."""

    status: int
    message: str
    hint: str


class Error(Item):
    """The one shape of whatever is refused or fails."""

    ok: Literal[False]
    error: ErrorDetail


# Answers


class JobItem(Item):
    """A job and what its runs add up to."""

    job_id: int
    key: str
    name: str
    program: str
    queue: str | None
    runs: int
    succeeded: int
    failed: int
    last_submitted_at: float | None
    best_change: float | None
    saved_per_run_gib_s: float | None
    status: str


class RunItem(Item):
    """A run."""

    id: int
    job_id: int
    study_id: int | None
    kind: str
    state: str
    submitted_at: float
    finished_at: float | None
    wait_s: float | None
    run_s: float | None
    duration_s: float | None
    gib_s: float | None
    application_id: str | None
    failure: str | None
    configuration: dict[str, str]


class StudyItem(Document):
    """A search for a job's configuration, and how far it is."""

    id: int
    state: str
    slack: float
    trials_wanted: int
    trials_done: int
    trials_failed: int
    best_run_id: int | None
    created_at: float
    finished_at: float | None


class PlanItem(Item):
    """A plan."""

    id: int
    state: str
    created_at: float
    created_by: str
    cluster: str
    changes: int
    errors: int
    expected_change: float | None


class AuditItem(Item):
    """Who did what to what, when, why, and how it went."""

    id: int
    at: float
    who: str
    action: str
    subject: str
    outcome: str
    why: str


class TuningItem(Item):
    """A tuning that this server has started."""

    id: int
    program: str
    state: str
    trials: int
    started_at: float
    who: str
    exit_status: int | None


class TuningDocument(TuningItem):
    """A tuning, what it prints, and the search that it makes."""

    output: str
    study_id: int | None


class ReportItem(Item):
    """An analysis of an event log."""

    id: str
    name: str
    who: str
    at: float
    application: str | None
    application_name: str | None
    findings: int


class TokenItem(Item):
    """A token; never the token itself."""

    id: int
    name: str
    role: str
    state: str
    created_at: float
    created_by: str
    last_used_at: float | None
    expires_at: float | None


class Overview(Document):
    """What there is to know at a glance."""

    jobs: int
    runs_by_state: dict[str, int]
    plans_by_state: dict[str, int]
    studies_running: int
    saving: Row
    load: Row | None
    savings: list[Row]


class Queues(Document):
    """The queues and who waits; ``at`` is when they were seen, null for never."""

    at: float | None
    stale: bool
    scheduler: str | None
    queues: list[Row]
    waiting: list[Row]


class JobDocument(Document):
    """Everything of one job."""

    job: Row
    study: Row | None
    saving: Row | None
    best_run_id: int | None
    pareto: list[Row]
    configuration: list[Row]
    memory: list[Row]
    studies: list[Row]


class Importance(Document):
    """Which properties the cost depends on."""

    runs: int
    importance: list[Row]


class RunDocument(Document):
    """Everything of one run."""

    run: Row
    configuration: list[Row]
    metrics: list[Row]
    load: list[Row]


class PlanDocument(Document):
    """Everything of one plan, and of the change that this server is making of it, if any."""

    id: int
    state: str
    can_apply: bool
    can_roll_back: bool
    reasons: list[str]
    changes: list[Row]
    findings: list[Row]
    effects: list[Row]
    change: ChangeState | None


class ChangeState(Item):
    """A change of a plan that was begun here: under way, or what it came to."""

    plan_id: int
    kind: Literal["apply", "rollback"]
    who: str
    started_at: float
    running: bool
    outcome: str | None
    message: str
    hint: str
    notes: list[str]


class Preview(Item):
    """What taking a plan back would change now."""

    plan_id: int
    changes: list[Row]


class Cases(Item):
    """Names of the cases that a what-if can be asked about; ``live`` is the cluster as it is."""

    items: list[str]


class WhatIfResult(Document):
    """What the estimator says of a case with other values."""

    case: str
    changes: dict[str, str]
    verdict: str
    elapsed_s: float
    queues: list[Row]
    rules: list[Row]
    jobs: list[Row]


class ReportDocument(Document):
    """What an event log says."""

    id: str
    name: str
    at: float
    report: Row
    lines: list[str]


class Workloads(Document):
    """What there is to replay."""

    workloads: list[Row]


class WorkloadDocument(Document):
    """One workload over time."""

    name: str
    jobs: int
    tasks: int
    over_time: list[Row]


class SettingsDocument(Document):
    """What this server uses, and whether it is there."""

    health: list[Row]
    settings: list[Row]


class Session(Item):
    """Who asks, as the token says."""

    name: str
    role: str | None
    anonymous_reads: bool


class MadeToken(Item):
    """A token, which is shown this once."""

    id: int
    name: str
    role: str
    token: str


# Bodies


class Reason(Item):
    """Why something is done."""

    why: Why


class RollbackOrder(Item):
    """Why a plan is taken back; ``confirm`` is ``rollback`` and the plan's number, for example ``rollback 12``."""

    why: Why
    confirm: Word


class TokenOrder(Item):
    """A token to be made."""

    why: Why
    name: Word
    role: Literal["viewer", "operator", "admin"]
    days: Annotated[float, Meta(gt=0, le=36500)] | None = None


class TuningBody(Item):
    """A tuning to be started: of a job that the store knows, or of a program that this server may start."""

    why: Why
    job_id: Id | None = None
    program: Text = ""
    arguments: Annotated[list[Text], Meta(max_length=200)] = []
    name: Text = ""
    queue: Text = ""
    main_class: Text = ""
    trials: Annotated[int, Meta(ge=2, le=1000)] = 10
    slack: Annotated[float, Meta(ge=0, le=1)] = 0.05
    resume: bool = False
    pins: dict[str, Text] = {}


class CaseBody(Item):
    """A case to be kept; ``case`` is what a case file has."""

    why: Why
    name: Word
    case: Row


class WhatIfBody(Item):
    """A case, and the properties to change; an empty value unsets one."""

    case: Word
    changes: dict[Word, Text] = {}
    allocations: Annotated[str, Meta(max_length=1_000_000)] | None = None


class RunBody(Item):
    """A run that has ended, as whoever submitted it saw it. Secrets in it are masked before they are kept."""

    key: Name
    name: Name
    program: Name
    state: Literal["SUCCEEDED", "FAILED", "KILLED", "LOST"]
    submitted_at: Seconds
    finished_at: Seconds
    configuration: dict[Name, Value]
    arguments: Annotated[list[Value], Meta(max_length=10_000)] = []
    arguments_shape: Value = ""
    main_class: Name | None = None
    queue: Name | None = None
    application_id: Word | None = None
    wait_s: Seconds | None = None
    run_s: Seconds | None = None
    memory_seconds: Amount | None = None
    vcore_seconds: Amount | None = None
    input_bytes: Amount | None = None
    spark_version: Word | None = None
    program_digest: Word | None = None
    failure: Value | None = None
    metrics: Row = {}
    load: Row | None = None
