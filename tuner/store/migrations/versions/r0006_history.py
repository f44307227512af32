"""A cluster's past: applications, samples of its queues, and the collections that read them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

BIG_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "yarntune_application",
        sa.Column("id", BIG_ID, primary_key=True, autoincrement=True),
        *(sa.Column(name, sa.Text, nullable=False) for name in (
            "cluster", "application_id", "name", "user", "queue", "type", "state", "final_status"
        )),
        sa.Column("submitted_at", sa.Double, nullable=False),
        sa.Column("launched_at", sa.Double),
        sa.Column("finished_at", sa.Double),
        *(sa.Column(name, sa.BigInteger) for name in (
            "memory_seconds", "vcore_seconds", "am_mib", "containers", "container_mib", "container_vcores"
        )),
        sa.Column("first_container_at", sa.Double),
        sa.Column("seen_at", sa.Double, nullable=False),
        sa.UniqueConstraint("cluster", "application_id", name="uq_yarntune_application_cluster_application_id"),
    )
    for column in ("submitted_at", "finished_at"):
        op.create_index(f"ix_yarntune_application_cluster_{column}", "yarntune_application", ["cluster", column])
    op.create_table(
        "yarntune_queue_sample",
        sa.Column("id", BIG_ID, primary_key=True, autoincrement=True),
        sa.Column("cluster", sa.Text, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("queue", sa.Text, nullable=False),
        sa.Column("used_mib", sa.BigInteger, nullable=False),
        sa.Column("used_vcores", sa.BigInteger, nullable=False),
        *(sa.Column(name, sa.BigInteger) for name in (
            "pending_mib", "pending_vcores", "running_applications", "pending_applications", "guaranteed_mib"
        )),
        sa.UniqueConstraint("cluster", "at", "queue", name="uq_yarntune_queue_sample_cluster_at_queue"),
    )
    op.create_table(
        "yarntune_collection",
        sa.Column("id", BIG_ID, primary_key=True, autoincrement=True),
        sa.Column("cluster", sa.Text, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("rm_started_at", sa.Double, nullable=False),
        sa.Column("new_applications", sa.BigInteger, nullable=False),
        sa.Column("open_applications", sa.BigInteger, nullable=False),
        sa.Column("gap_from", sa.Double),
        sa.Column("gap_until", sa.Double),
        sa.Column("gap_reason", sa.Text, nullable=False),
    )
    op.create_index("ix_yarntune_collection_cluster_id", "yarntune_collection", ["cluster", "id"])
