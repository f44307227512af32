"""Alembic's environment of the store; run by :mod:`tuner.store.migration` only."""
