"""The freeze switch: while it is on, nothing changes a cluster's queues, neither by hand nor by itself.

It needs the store alone, so that it can be turned while the ResourceManager is away.
"""

from __future__ import annotations

from tuner.store import AuditRow, ClusterFreeze, Store

__all__ = ["freeze", "unfreeze"]


def freeze(store: Store, cluster: str, *, who: str, now: float, reason: str) -> bool:
    """Turns it on.

    Args:
        store: where the switch is.
        cluster: the cluster's id (:func:`rules.lifecycle.context.cluster_id`).
        who: on whose behalf.
        now: the clock, in seconds.
        reason: told to whoever is kept from a change by it.

    Returns:
        False where it is on already; it then stays as it is.
    """
    made = store.clusters.freeze(ClusterFreeze(cluster=cluster, at=now, who=who, reason=reason))
    _audit(store, "freeze-scheduler", cluster, who, now, made, reason)
    return made


def unfreeze(store: Store, cluster: str, *, who: str, now: float) -> bool:
    """Turns it off; False where it is off already."""
    made = store.clusters.unfreeze(cluster)
    _audit(store, "unfreeze-scheduler", cluster, who, now, made, "")
    return made


def _audit(store: Store, action: str, cluster: str, who: str, now: float, made: bool, reason: str) -> None:
    store.audit.append(
        AuditRow(
            at=now,
            who=who,
            action=action,
            subject=f"cluster {cluster}",
            outcome="done" if made else "nothing-to-do",
            detail={"reason": reason},
        )
    )
