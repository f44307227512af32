"""The environment of the processes that the server starts: its own, with its settings spelt out."""

from __future__ import annotations

import os

from tuner.settings import Settings


def environment(settings: Settings) -> dict[str, str]:
    """Environment variables under which a child has the same settings as the server, and prints without colours."""
    return {
        **os.environ,
        "YARNTUNE_DATABASE_URL": settings.database_url,
        "YARNTUNE_DATA_DIR": str(settings.data_dir),
        "YARNTUNE_STATE_DIR": str(settings.state_dir),
        "YARNTUNE_CACHE_DIR": str(settings.cache_dir),
        "YARNTUNE_RM_TIMEOUT": f"{settings.rm_timeout_s:g}",
        "YARNTUNE_USER": settings.user,
        "NO_COLOR": "1",
        "PYTHONUNBUFFERED": "1",
        **({"YARNTUNE_RM_URL": settings.rm_url} if settings.rm_url else {}),
    }
