"""Jobs, their runs, and the studies that made some of them."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

BIG_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def _owner() -> list[sa.Column[Any]]:
    return [
        sa.Column("owner_host", sa.Text, nullable=False),
        sa.Column("owner_pid", sa.Integer, nullable=False),
        sa.Column("owner_started_at", sa.Double, nullable=False),
    ]


def upgrade() -> None:
    op.create_table(
        "yarntune_job",
        sa.Column("id", BIG_ID, primary_key=True, autoincrement=True),
        sa.Column("key", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("program", sa.Text, nullable=False),
        sa.Column("main_class", sa.Text),
        sa.Column("arguments_shape", sa.Text, nullable=False),
        sa.Column("queue", sa.Text),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.UniqueConstraint("key"),
    )
    op.create_index("ix_yarntune_job_name", "yarntune_job", ["name"])
    op.create_table(
        "yarntune_study",
        sa.Column("id", BIG_ID, primary_key=True, autoincrement=True),
        sa.Column("job_id", BIG_ID, sa.ForeignKey("yarntune_job.id"), nullable=False),
        sa.Column("space_hash", sa.Text, nullable=False),
        sa.Column("seed", sa.BigInteger, nullable=False),
        sa.Column("slack", sa.Double, nullable=False),
        sa.Column("trials_wanted", sa.Integer, nullable=False),
        sa.Column("pinned", sa.JSON, nullable=False),
        sa.Column("limits", sa.JSON, nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("best_run_id", BIG_ID),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("finished_at", sa.Double),
        *_owner(),
    )
    op.create_index("ix_yarntune_study_state", "yarntune_study", ["state"])
    op.create_index("ix_yarntune_study_job_id_id", "yarntune_study", ["job_id", "id"])
    op.create_table(
        "yarntune_run",
        sa.Column("id", BIG_ID, primary_key=True, autoincrement=True),
        sa.Column("job_id", BIG_ID, sa.ForeignKey("yarntune_job.id"), nullable=False),
        sa.Column("study_id", BIG_ID, sa.ForeignKey("yarntune_study.id")),
        sa.Column("trial_number", sa.Integer),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("application_id", sa.Text),
        sa.Column("queue", sa.Text),
        sa.Column("configuration", sa.JSON, nullable=False),
        sa.Column("arguments", sa.JSON, nullable=False),
        sa.Column("submitted_at", sa.Double, nullable=False),
        sa.Column("finished_at", sa.Double),
        sa.Column("wait_s", sa.Double),
        sa.Column("run_s", sa.Double),
        sa.Column("duration_s", sa.Double),
        sa.Column("memory_seconds", sa.BigInteger),
        sa.Column("vcore_seconds", sa.BigInteger),
        sa.Column("input_bytes", sa.BigInteger),
        sa.Column("load", sa.JSON),
        sa.Column("metrics", sa.JSON, nullable=False),
        sa.Column("failure", sa.Text),
        sa.Column("spark_version", sa.Text),
        sa.Column("cluster_id", sa.Text),
        *_owner(),
    )
    op.create_index("ix_yarntune_run_state", "yarntune_run", ["state"])
    op.create_index("ix_yarntune_run_application_id", "yarntune_run", ["application_id"])
    op.create_index("ix_yarntune_run_job_id_id", "yarntune_run", ["job_id", "id"])
    op.create_index("ix_yarntune_run_study_id_id", "yarntune_run", ["study_id", "id"])
