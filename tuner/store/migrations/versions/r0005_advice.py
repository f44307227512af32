"""What is advised for a job's next submission, one document a job."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.create_table(
        "yarntune_advice",
        sa.Column("job_key", sa.Text, primary_key=True),
        sa.Column("made_at", sa.Double, nullable=False),
        sa.Column("document", sa.JSON, nullable=False),
    )
