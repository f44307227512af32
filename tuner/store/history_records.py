"""What is kept of a cluster's past: its applications, how its queues were used, and how whole that record is."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ApplicationRecord", "Collection", "QueueSample"]


@dataclass(frozen=True, kw_only=True)
class ApplicationRecord:
    """One application of a cluster. What is None was not learnt; times are seconds since 1970-01-01 UTC.

    Attributes:
        cluster: which cluster, as plans name it.
        queue: full path of its leaf.
        state: of YarnApplicationState; LOST for one that the ResourceManager forgot while it was not yet ended.
        submitted_at: when it was submitted.
        launched_at: when its application master got its container.
        finished_at: None while it has not ended.
        memory_seconds: MiB·s, as the ResourceManager counts them.
        vcore_seconds: likewise.
        am_mib: memory of its application master's container.
        containers: the most that it held or waited for at one time as far as was seen, its master's not counted.
        container_mib: memory of each; where there are several sizes, of the most frequent one.
        container_vcores: likewise.
        first_container_at: when the first of them was given.
        seen_at: when this was read.
    """

    cluster: str
    application_id: str
    name: str
    user: str
    queue: str
    type: str
    state: str
    submitted_at: float
    seen_at: float
    final_status: str = "UNDEFINED"
    launched_at: float | None = None
    finished_at: float | None = None
    memory_seconds: int | None = None
    vcore_seconds: int | None = None
    am_mib: int | None = None
    containers: int | None = None
    container_mib: int | None = None
    container_vcores: int | None = None
    first_container_at: float | None = None


@dataclass(frozen=True, kw_only=True)
class QueueSample:
    """What a queue held and waited for at one moment; pending is None where the scheduler does not say."""

    cluster: str
    at: float
    queue: str
    used_mib: int
    used_vcores: int
    pending_mib: int | None = None
    pending_vcores: int | None = None
    running_applications: int | None = None
    pending_applications: int | None = None
    guaranteed_mib: int | None = None


@dataclass(frozen=True, kw_only=True)
class Collection:
    """One reading of a cluster into the store.

    Attributes:
        at: when it was made.
        rm_started_at: when the ResourceManager that answered had started: another one means a restart in between.
        new_applications: ended applications that the store did not know as ended.
        open_applications: that had not ended.
        gap_from: applications that ended between this and ``gap_until`` may be missing; None where none is.
        gap_until: likewise.
        gap_reason: why, in a sentence; empty without a gap.
        id: given by the store.
    """

    cluster: str
    at: float
    rm_started_at: float
    new_applications: int
    open_applications: int
    gap_from: float | None = None
    gap_until: float | None = None
    gap_reason: str = ""
    id: int | None = None
