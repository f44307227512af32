"""An SQLite file that this process may read and not write."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote

_EFFECTIVE = os.access in os.supports_effective_ids


def is_read_only(path: Path) -> bool:
    """Whether the file is there, and it or its folder cannot be written."""
    return path.exists() and not all(os.access(each, os.W_OK, effective_ids=_EFFECTIVE) for each in (path, path.parent))


def read_only_uri(path: Path) -> str:
    """How SQLite opens such a file without a trace.

    With a write-ahead log even a reader makes files beside the database, which it cannot here, and which would be in
    its writer's way where it could. SQLite leaves that out for a file that is said not to change. Where the log is
    there, a writer is at work or has died, and what it wrote last is in the log: then the file is read with it.
    """
    log = path.with_name(f"{path.name}-wal")
    fixed = "" if log.exists() and log.stat().st_size else "&immutable=1"
    return f"file:{quote(str(path))}?mode=ro{fixed}"
