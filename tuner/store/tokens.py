"""Tokens of the dashboard and the API in the store."""

from __future__ import annotations

import builtins

import sqlalchemy as sa

from tuner.errors import InputError
from tuner.store.connection import Database
from tuner.store.records import NewToken, Token
from tuner.store.rows import from_row, to_values
from tuner.store.schema import web_token


class TokenRepository:
    """Reads and writes tokens. A token is revoked, never deleted: the audit names it."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(self, new: NewToken) -> Token:
        """Writes a token."""
        with self._database.write() as connection:
            row = connection.execute(sa.insert(web_token).values(**to_values(new)).returning(web_token)).one()
        return from_row(Token, row)

    def get(self, token_id: int) -> Token | None:
        """The token with this id."""
        return self._first(web_token.c.id == token_id)

    def by_digest(self, digest: str) -> Token | None:
        """The token with this digest."""
        return self._first(web_token.c.digest == digest)

    def list(self) -> builtins.list[Token]:
        """Every token, newest first, the revoked ones among them."""
        with self._database.read() as connection:
            return [from_row(Token, row) for row in connection.execute(sa.select(web_token).order_by(sa.desc("id")))]

    def revoke(self, token_id: int, *, now: float) -> Token:
        """Revokes a token; one that is revoked already stays as it is.

        Raises:
            InputError: there is no such token.
        """
        still_valid = sa.and_(web_token.c.id == token_id, web_token.c.revoked_at.is_(None))
        with self._database.write() as connection:
            connection.execute(sa.update(web_token).where(still_valid).values(revoked_at=now))
            row = connection.execute(sa.select(web_token).where(web_token.c.id == token_id)).one_or_none()
        if row is None:
            raise InputError(f"there is no token {token_id}", "`yarntune web token list` lists those that are there")
        return from_row(Token, row)

    def touch(self, token_id: int, *, now: float) -> None:
        """Notes that a token was used."""
        with self._database.write() as connection:
            connection.execute(sa.update(web_token).where(web_token.c.id == token_id).values(last_used_at=now))

    def _first(self, condition: sa.ColumnElement[bool]) -> Token | None:
        with self._database.read() as connection:
            row = connection.execute(sa.select(web_token).where(condition)).one_or_none()
        return None if row is None else from_row(Token, row)
