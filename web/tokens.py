"""Tokens: made here, shown once, kept as a digest."""

from __future__ import annotations

import hashlib
import secrets

from tuner.store import AuditRow, NewToken, Role, Store, Token

PREFIX = "yt_"
"""So that a scanner for leaked secrets, and a person, knows one when it sees it."""


def digest_of(token: str) -> str:
    """What the store keeps of a token.

    A plain SHA-256: the token has 256 bits of chance in it, so there is nothing that a slow hash would make harder.
    """
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def create_token(
    store: Store, *, name: str, role: Role, by: str, now: float, reason: str = "", expires_at: float | None = None
) -> tuple[str, Token]:
    """Makes a token and writes its digest into the store, and who made it and why into the audit.

    Returns:
        The token, which nobody can ever be shown again, and its record.
    """
    token = PREFIX + secrets.token_urlsafe(32)
    record = store.tokens.create(
        NewToken(name=name, role=role, digest=digest_of(token), created_at=now, created_by=by, expires_at=expires_at)
    )
    detail = {"name": name, "role": role.value, "expires_at": expires_at, "why": reason}
    store.audit.append(
        AuditRow(at=now, who=by, action="create-token", subject=f"token {record.id}", outcome="done", detail=detail)
    )
    return token, record


def revoke_token(store: Store, token_id: int, *, by: str, reason: str, now: float) -> Token:
    """Revokes a token: its sessions end with it.

    Raises:
        InputError: there is no such token.
    """
    record = store.tokens.revoke(token_id, now=now)
    detail = {"name": record.name, "why": reason}
    store.audit.append(
        AuditRow(at=now, who=by, action="revoke-token", subject=f"token {token_id}", outcome="done", detail=detail)
    )
    return record


def find_token(store: Store, text: str, *, now: float) -> Token | None:
    """The record of a token that somebody presents; None where it is unknown, revoked or expired.

    It is looked up by its digest: how long that takes says nothing about the token itself.
    """
    record = store.tokens.by_digest(digest_of(text.strip()))
    return record if record is not None and record.valid(now) else None
