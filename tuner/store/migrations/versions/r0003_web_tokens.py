"""Tokens for the dashboard and the API, and an index from which runs are added up without reading their rows."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

BIG_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "yarntune_web_token",
        sa.Column("id", BIG_ID, primary_key=True, autoincrement=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("role", sa.String(16), nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("created_by", sa.Text, nullable=False),
        sa.Column("expires_at", sa.Double),
        sa.Column("last_used_at", sa.Double),
        sa.Column("revoked_at", sa.Double),
        sa.UniqueConstraint("digest", name="uq_yarntune_web_token_digest"),
    )
    op.create_index(
        "ix_yarntune_run_totals", "yarntune_run", ["job_id", "kind", "state", "submitted_at", "memory_seconds"]
    )
