"""Runs the migrations on the connection, and in the transaction, that the caller has opened."""

from __future__ import annotations

from alembic import context

from tuner.store.schema import VERSION_TABLE, metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    # Optuna's own is called alembic_version, and may be in the same database.
    version_table=VERSION_TABLE,
    render_as_batch=True,
)
with context.begin_transaction():
    context.run_migrations()
