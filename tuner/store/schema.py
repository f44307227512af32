"""The tables, and the revisions through which they came to be.

The tables are named ``yarntune_*`` and the revision is in ``yarntune_version``: Optuna keeps ``studies``, ``trials``
and an ``alembic_version`` of its own in the same database. A change here needs a migration; a test compares the two.
"""

from __future__ import annotations

import math
from enum import StrEnum
from typing import Any

import sqlalchemy as sa

from tuner.store.records import Role, RunKind, RunState, StudyState

VERSION_TABLE = "yarntune_version"
REVISIONS = ("0001", "0002", "0003", "0004", "0005", "0006")
"""Every revision, oldest first. Kept here so that opening a store need not import Alembic."""
HEAD = REVISIONS[-1]


class AnyText(sa.types.TypeDecorator[str]):
    """Text that may come from outside (a failure's message, a file's name) and is always storable.

    PostgreSQL refuses U+0000, and neither database takes the lone surrogates that Python makes of undecodable bytes
    in a command line (PEP 383); both are stored as a backslash escape.
    """

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: sa.Dialect) -> str | None:  # noqa: ARG002, D102
        if value is None:
            return None
        return value.encode("utf-8", "backslashreplace").decode("utf-8").replace("\x00", "\\x00")


class Real(sa.types.TypeDecorator[float]):
    """A finite number; a ``float`` on the way back, where SQLite's RETURNING gives an ``int`` for a whole number."""

    impl = sa.Double
    cache_ok = True

    def process_bind_param(self, value: float | None, dialect: sa.Dialect) -> float | None:  # noqa: ARG002, D102
        if value is not None and not math.isfinite(value):
            # SQLite would store NaN as NULL without a word.
            raise ValueError(f"{value} is not a finite number")
        return value

    def process_result_value(self, value: float | None, dialect: sa.Dialect) -> float | None:  # noqa: ARG002, D102
        return None if value is None else float(value)


def _enum(values: type[StrEnum]) -> sa.Enum:
    # Text, not the database's own enumeration: a new state then needs no migration.
    return sa.Enum(values, native_enum=False, length=16, values_callable=lambda e: [member.value for member in e])


BigId = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
"""SQLite numbers rows by itself only in a column that is called INTEGER, which holds 64 bits there."""

metadata = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def _id() -> sa.Column[Any]:
    return sa.Column("id", BigId, primary_key=True, autoincrement=True)


def _reference(name: str, target: str, *, nullable: bool = False) -> sa.Column[Any]:
    return sa.Column(name, BigId, sa.ForeignKey(f"{target}.id"), nullable=nullable)


def _owner() -> list[sa.Column[Any]]:
    return [
        sa.Column("owner_host", AnyText, nullable=False),
        sa.Column("owner_pid", sa.Integer, nullable=False),
        sa.Column("owner_started_at", Real, nullable=False),
    ]


job = sa.Table(
    "yarntune_job",
    metadata,
    _id(),
    sa.Column("key", AnyText, nullable=False, unique=True),
    sa.Column("name", AnyText, nullable=False, index=True),
    sa.Column("program", AnyText, nullable=False),
    sa.Column("main_class", AnyText),
    sa.Column("arguments_shape", AnyText, nullable=False),
    sa.Column("queue", AnyText),
    sa.Column("created_at", Real, nullable=False),
)

study = sa.Table(
    "yarntune_study",
    metadata,
    _id(),
    _reference("job_id", "yarntune_job"),
    sa.Column("space_hash", AnyText, nullable=False),
    sa.Column("seed", sa.BigInteger, nullable=False),
    sa.Column("slack", Real, nullable=False),
    sa.Column("trials_wanted", sa.Integer, nullable=False),
    sa.Column("pinned", sa.JSON(none_as_null=True), nullable=False),
    sa.Column("limits", sa.JSON(none_as_null=True), nullable=False),
    sa.Column("state", _enum(StudyState), nullable=False, index=True),
    # A run of the study. No foreign key: the two tables would need each other to be made first.
    sa.Column("best_run_id", BigId),
    sa.Column("created_at", Real, nullable=False),
    sa.Column("finished_at", Real),
    *_owner(),
    sa.Index(None, "job_id", "id"),
)

run = sa.Table(
    "yarntune_run",
    metadata,
    _id(),
    _reference("job_id", "yarntune_job"),
    _reference("study_id", "yarntune_study", nullable=True),
    sa.Column("trial_number", sa.Integer),
    sa.Column("kind", _enum(RunKind), nullable=False),
    sa.Column("state", _enum(RunState), nullable=False, index=True),
    sa.Column("application_id", AnyText, index=True),
    sa.Column("queue", AnyText),
    sa.Column("configuration", sa.JSON(none_as_null=True), nullable=False),
    sa.Column("arguments", sa.JSON(none_as_null=True), nullable=False),
    sa.Column("submitted_at", Real, nullable=False),
    sa.Column("finished_at", Real),
    sa.Column("wait_s", Real),
    sa.Column("run_s", Real),
    sa.Column("duration_s", Real),
    sa.Column("memory_seconds", sa.BigInteger),
    sa.Column("vcore_seconds", sa.BigInteger),
    sa.Column("input_bytes", sa.BigInteger),
    sa.Column("load", sa.JSON(none_as_null=True)),
    sa.Column("metrics", sa.JSON(none_as_null=True), nullable=False),
    sa.Column("failure", AnyText),
    sa.Column("spark_version", AnyText),
    sa.Column("cluster_id", AnyText),
    *_owner(),
    sa.Index(None, "job_id", "id"),
    sa.Index(None, "study_id", "id"),
    # Totals are read from this alone: a run's row with its JSON is a hundred times as long.
    sa.Index("ix_yarntune_run_totals", "job_id", "kind", "state", "submitted_at", "memory_seconds"),
)

plan = sa.Table(
    "yarntune_plan",
    metadata,
    _id(),
    sa.Column("scheduler", AnyText, nullable=False),
    sa.Column("state", AnyText, nullable=False, index=True),
    sa.Column("plan", sa.JSON(none_as_null=True), nullable=False),
    sa.Column("undo", sa.JSON(none_as_null=True)),
    sa.Column("created_at", Real, nullable=False),
    sa.Column("created_by", AnyText, nullable=False),
    sa.Column("updated_at", Real, nullable=False),
)

plan_transition = sa.Table(
    "yarntune_plan_transition",
    metadata,
    _id(),
    _reference("plan_id", "yarntune_plan"),
    sa.Column("from_state", AnyText),
    sa.Column("to_state", AnyText, nullable=False),
    sa.Column("at", Real, nullable=False),
    sa.Column("who", AnyText, nullable=False),
    sa.Column("detail", sa.JSON(none_as_null=True), nullable=False),
    sa.Index(None, "plan_id", "id"),
)

audit = sa.Table(
    "yarntune_audit",
    metadata,
    _id(),
    sa.Column("at", Real, nullable=False, index=True),
    sa.Column("who", AnyText, nullable=False),
    sa.Column("action", AnyText, nullable=False),
    sa.Column("subject", AnyText, nullable=False),
    sa.Column("outcome", AnyText, nullable=False),
    sa.Column("detail", sa.JSON(none_as_null=True), nullable=False),
    sa.Index(None, "subject", "id"),
)

web_token = sa.Table(
    "yarntune_web_token",
    metadata,
    _id(),
    sa.Column("name", AnyText, nullable=False),
    sa.Column("role", _enum(Role), nullable=False),
    sa.Column("digest", AnyText, nullable=False, unique=True),
    sa.Column("created_at", Real, nullable=False),
    sa.Column("created_by", AnyText, nullable=False),
    sa.Column("expires_at", Real),
    sa.Column("last_used_at", Real),
    sa.Column("revoked_at", Real),
)

cluster_lease = sa.Table(
    "yarntune_cluster_lease",
    metadata,
    sa.Column("cluster", AnyText, primary_key=True),
    sa.Column("purpose", AnyText, nullable=False),
    sa.Column("acquired_at", Real, nullable=False),
    sa.Column("expires_at", Real, nullable=False),
    *_owner(),
)

cluster_freeze = sa.Table(
    "yarntune_cluster_freeze",
    metadata,
    sa.Column("cluster", AnyText, primary_key=True),
    sa.Column("at", Real, nullable=False),
    sa.Column("who", AnyText, nullable=False),
    sa.Column("reason", AnyText, nullable=False),
)

advice = sa.Table(
    "yarntune_advice",
    metadata,
    sa.Column("job_key", AnyText, primary_key=True),
    sa.Column("made_at", Real, nullable=False),
    sa.Column("document", sa.JSON(none_as_null=True), nullable=False),
)

application = sa.Table(
    "yarntune_application",
    metadata,
    _id(),
    sa.Column("cluster", AnyText, nullable=False),
    sa.Column("application_id", AnyText, nullable=False),
    sa.Column("name", AnyText, nullable=False),
    sa.Column("user", AnyText, nullable=False),
    sa.Column("queue", AnyText, nullable=False),
    sa.Column("type", AnyText, nullable=False),
    sa.Column("state", AnyText, nullable=False),
    sa.Column("final_status", AnyText, nullable=False),
    sa.Column("submitted_at", Real, nullable=False),
    sa.Column("launched_at", Real),
    sa.Column("finished_at", Real),
    sa.Column("memory_seconds", sa.BigInteger),
    sa.Column("vcore_seconds", sa.BigInteger),
    sa.Column("am_mib", sa.BigInteger),
    sa.Column("containers", sa.BigInteger),
    sa.Column("container_mib", sa.BigInteger),
    sa.Column("container_vcores", sa.BigInteger),
    sa.Column("first_container_at", Real),
    sa.Column("seen_at", Real, nullable=False),
    sa.UniqueConstraint("cluster", "application_id"),
    sa.Index(None, "cluster", "submitted_at"),
    sa.Index(None, "cluster", "finished_at"),
)

queue_sample = sa.Table(
    "yarntune_queue_sample",
    metadata,
    _id(),
    sa.Column("cluster", AnyText, nullable=False),
    sa.Column("at", Real, nullable=False),
    sa.Column("queue", AnyText, nullable=False),
    sa.Column("used_mib", sa.BigInteger, nullable=False),
    sa.Column("used_vcores", sa.BigInteger, nullable=False),
    sa.Column("pending_mib", sa.BigInteger),
    sa.Column("pending_vcores", sa.BigInteger),
    sa.Column("running_applications", sa.BigInteger),
    sa.Column("pending_applications", sa.BigInteger),
    sa.Column("guaranteed_mib", sa.BigInteger),
    sa.UniqueConstraint("cluster", "at", "queue"),
)

collection = sa.Table(
    "yarntune_collection",
    metadata,
    _id(),
    sa.Column("cluster", AnyText, nullable=False),
    sa.Column("at", Real, nullable=False),
    sa.Column("rm_started_at", Real, nullable=False),
    sa.Column("new_applications", sa.BigInteger, nullable=False),
    sa.Column("open_applications", sa.BigInteger, nullable=False),
    sa.Column("gap_from", Real),
    sa.Column("gap_until", Real),
    sa.Column("gap_reason", AnyText, nullable=False),
    sa.Index(None, "cluster", "id"),
)

APPEND_ONLY = (plan_transition.name, audit.name)
"""Tables whose rows a trigger of the database keeps from being changed or deleted."""
