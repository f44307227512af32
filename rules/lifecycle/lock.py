"""One process at a time changes a cluster's queues: a lease in the store for all machines, a lock file for this one."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from rules.lifecycle.context import Context

__all__ = ["LEASE_S", "hold_cluster", "renew"]

LEASE_S = 300.0
"""Longer than any step may take; a process on another machine that is silent for so long has lost the lease."""


@contextmanager
def hold_cluster(context: Context, purpose: str) -> Iterator[str | None]:
    """Holds the cluster for the length of a ``with``.

    The lock file ends with its process. So does the lease on this machine, where a process that is gone can be seen;
    elsewhere it runs out.

    Args:
        context: names the cluster.
        purpose: what for; told to whoever has to wait.

    Yields:
        None where it is held; else a sentence on who holds it, and nothing may be done.
    """
    import filelock

    context.lock_dir.mkdir(parents=True, exist_ok=True)
    name = hashlib.sha256(context.cluster.id.encode()).hexdigest()[:16]
    lock = filelock.FileLock(context.lock_dir / f"scheduler-{name}.lock", timeout=0, mode=0o600)
    try:
        lock.acquire()
    except filelock.Timeout:
        yield _busy(context)
        return
    try:
        clusters = context.store.clusters
        if clusters.acquire(context.cluster.id, purpose, now=context.clock(), ttl_s=LEASE_S) is not None:
            yield _busy(context)
            return
        try:
            yield None
        finally:
            clusters.release(context.cluster.id)
    finally:
        lock.release()


def renew(context: Context) -> None:
    """Says that the holder is still there."""
    context.store.clusters.renew(context.cluster.id, now=context.clock(), ttl_s=LEASE_S)


def _busy(context: Context) -> str:
    held = context.store.clusters.lease(context.cluster.id)
    if held is None:
        return "another process changes this cluster's queues at this moment; try again when it has ended"
    since = datetime.fromtimestamp(held.acquired_at).astimezone().strftime("%H:%M:%S")
    return (
        f"another process changes this cluster's queues at this moment ({held.purpose}, process {held.owner.pid} on "
        f"{held.owner.host}, since {since}); try again when it has ended"
    )
