"""Hashes of Hadoop's ids, which decide where it iterates over a HashMap of them.

Application ids hold the time of the ResourceManager's start, and so do the hashes: orders by them differ from one
ResourceManager to the next. The start here is the one of the replay that the model is held against.
"""

from __future__ import annotations

from rules.simulation.compiled import compiled

__all__ = ["application_bucket", "attempt_hash", "container_hash"]

_STAMP = 1_000_000_000_000


@compiled
def _application_hash(job_row: int) -> int:
    """``ApplicationId.hashCode``."""
    stamp = (_STAMP ^ (_STAMP >> 32)) & 0xFFFFFFFF
    return int((371237 * ((371237 * 6521 + stamp) & 0xFFFFFFFF) + job_row + 1) & 0xFFFFFFFF)


@compiled
def _attempt_hash(job_row: int, attempt: int) -> int:
    """``ApplicationAttemptId.hashCode``."""
    return int((347671 * ((347671 * 5501 + _application_hash(job_row)) & 0xFFFFFFFF) + attempt) & 0xFFFFFFFF)


@compiled
def application_bucket(job_row: int) -> int:
    """Where an application stands in a HashMap of at most 12, which has 16 buckets."""
    value = _application_hash(job_row)
    return int((value ^ (value >> 16)) & 15)


@compiled
def attempt_hash(job_row: int, attempt: int) -> int:
    """The hash of an attempt, counted from 1, spread as ``HashMap`` does."""
    value = _attempt_hash(job_row, attempt)
    return int(value ^ (value >> 16))


@compiled
def container_hash(job_row: int, attempt: int, number: int) -> int:
    """``ContainerId.hashCode``, spread as ``HashMap`` does: of the attempt's and its own number."""
    value = (31 * number + _attempt_hash(job_row, attempt)) & 0xFFFFFFFF
    return int(value ^ (value >> 16))
