"""The freeze switch: while it is on, nothing changes a cluster's queues, neither by hand nor by itself."""

from __future__ import annotations

from rules.lifecycle.context import Context
from tuner.store import AuditRow, ClusterFreeze

__all__ = ["freeze", "unfreeze"]


def freeze(context: Context, reason: str) -> bool:
    """Turns it on; False where it is on already, and it then stays as it is."""
    switch = ClusterFreeze(cluster=context.cluster.id, at=context.clock(), who=context.who, reason=reason)
    made = context.store.clusters.freeze(switch)
    _audit(context, "freeze-scheduler", made, reason)
    return made


def unfreeze(context: Context) -> bool:
    """Turns it off; False where it is off already."""
    made = context.store.clusters.unfreeze(context.cluster.id)
    _audit(context, "unfreeze-scheduler", made, "")
    return made


def _audit(context: Context, action: str, made: bool, reason: str) -> None:
    context.store.audit.append(
        AuditRow(
            at=context.clock(),
            who=context.who,
            action=action,
            subject=f"cluster {context.cluster.id}",
            outcome="done" if made else "nothing-to-do",
            detail={"reason": reason},
        )
    )
