"""Plans with their transitions, and the audit; the database itself keeps the last two from being rewritten."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

BIG_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "yarntune_plan",
        sa.Column("id", BIG_ID, primary_key=True, autoincrement=True),
        sa.Column("scheduler", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("plan", sa.JSON, nullable=False),
        sa.Column("undo", sa.JSON),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("created_by", sa.Text, nullable=False),
        sa.Column("updated_at", sa.Double, nullable=False),
    )
    op.create_index("ix_yarntune_plan_state", "yarntune_plan", ["state"])
    op.create_table(
        "yarntune_plan_transition",
        sa.Column("id", BIG_ID, primary_key=True, autoincrement=True),
        sa.Column("plan_id", BIG_ID, sa.ForeignKey("yarntune_plan.id"), nullable=False),
        sa.Column("from_state", sa.Text),
        sa.Column("to_state", sa.Text, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("who", sa.Text, nullable=False),
        sa.Column("detail", sa.JSON, nullable=False),
    )
    op.create_index("ix_yarntune_plan_transition_plan_id_id", "yarntune_plan_transition", ["plan_id", "id"])
    op.create_table(
        "yarntune_audit",
        sa.Column("id", BIG_ID, primary_key=True, autoincrement=True),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("who", sa.Text, nullable=False),
        sa.Column("action", sa.Text, nullable=False),
        sa.Column("subject", sa.Text, nullable=False),
        sa.Column("outcome", sa.Text, nullable=False),
        sa.Column("detail", sa.JSON, nullable=False),
    )
    op.create_index("ix_yarntune_audit_at", "yarntune_audit", ["at"])
    op.create_index("ix_yarntune_audit_subject_id", "yarntune_audit", ["subject", "id"])
    for table in ("yarntune_plan_transition", "yarntune_audit"):
        _make_append_only(table)


def _make_append_only(table: str) -> None:
    message = f"rows of {table} are never changed"
    if op.get_bind().dialect.name == "sqlite":
        for action in ("UPDATE", "DELETE"):
            op.execute(
                f"CREATE TRIGGER {table}_no_{action.lower()} BEFORE {action} ON {table} "
                f"BEGIN SELECT RAISE(ABORT, '{message}'); END"
            )
        return
    op.execute(
        f"CREATE FUNCTION {table}_append_only() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION '{message}'; END $$"
    )
    op.execute(
        f"CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
        f"FOR EACH STATEMENT EXECUTE FUNCTION {table}_append_only()"
    )
