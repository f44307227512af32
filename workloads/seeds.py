"""Seeds that make what is drawn for a job independent of the other jobs."""

from __future__ import annotations

import hashlib

__all__ = ["job_seed"]


def job_seed(seed: int, job_id: str) -> int:
    """A seed of the job's own, so that what is drawn for it does not depend on which other jobs there are."""
    digest = hashlib.sha256(f"{seed}:{job_id}".encode()).digest()
    return int.from_bytes(digest[:8], "big")
