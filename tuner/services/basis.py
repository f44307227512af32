"""What a run was a run of: its data, its program, its Spark."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tuner.model.advice import Basis

_LARGEST_BYTES = 512 * 1024**2


def basis_of(program: str, metrics: Mapping[str, Any]) -> Basis:
    """The basis of a run.

    Args:
        program: the application's file; one that is not on this machine has no digest.
        metrics: what the event log said.
    """
    return Basis(
        input_bytes=metrics.get("input_bytes") or None,
        spark_version=metrics.get("spark_version"),
        program_digest=_digest(Path(program.removeprefix("file:"))),
    )


def _digest(path: Path) -> str | None:
    try:
        if not path.is_file() or path.stat().st_size > _LARGEST_BYTES:
            return None
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()[:16]
    except OSError:
        return None
