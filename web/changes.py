"""Changes that people ask for: each needs a reason, and each is a row of the audit, however it went."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from flask import request

from tuner.errors import YarntuneError
from tuner.store import AuditRow
from web.auth import identity
from web.errors import Refused
from web.state import web

MOST_CHARACTERS = 500
LOG_IN = "log-in"
"""The one action in the audit that changes nothing, and so has no reason."""


def reason() -> str:
    """Why, as the form or the body says.

    Raises:
        Refused: 400 where it does not say.
    """
    body = request.get_json(silent=True) if request.is_json else None
    text = str((body or {}).get("why", "") if isinstance(body, dict) else request.form.get("why", "")).strip()
    if not text:
        raise Refused(400, "say why: the reason is kept in the audit", "fill in the field `why`")
    if len(text) > MOST_CHARACTERS:
        raise Refused(400, f"the reason is longer than {MOST_CHARACTERS} characters", "say it shorter")
    return text


@contextmanager
def audited(action: str, subject: str, why: str, **detail: Any) -> Iterator[dict[str, Any]]:
    """Writes what is done inside into the audit: ``done``, or ``failed`` with the error's words.

    Args:
        action: a verb phrase in kebab case.
        subject: what it is done to; may be set anew in the mapping that is given, as ``subject``.
        why: the reason.
        detail: more to be kept.
    """
    kept: dict[str, Any] = {"why": why, "from": request.remote_addr, **detail}
    try:
        yield kept
    except YarntuneError as error:
        write_audit(action, str(kept.pop("subject", subject)), "failed", {**kept, "error": error.message})
        raise
    write_audit(action, str(kept.pop("subject", subject)), str(kept.pop("outcome", "done")), kept)


def write_audit(action: str, subject: str, outcome: str, detail: Mapping[str, Any], who: str | None = None) -> None:
    """Writes one row, in the name of who asks unless it names somebody else."""
    row = AuditRow(
        at=time.time(), who=who or identity().name, action=action, subject=subject, outcome=outcome, detail=dict(detail)
    )
    web().store.audit.append(row)
