"""Whether application masters alone could fill the cluster, so that no job would ever get a container for its work.

No reconfiguration mends that: masters that run are not taken back. So it is ruled out by a stress of its own, not left
to whether a draw of the future happens to hold such a crowd: each queue gets more applications at once than there is
room for, under the very scheduler model that everything else is judged by.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import msgspec
import numpy as np

from rules.estimator import estimate
from rules.forecast.observation import ClusterFacts
from rules.policy import Bounds, Policy, QueuePolicy
from workloads.trace import Case, Executors, Job

__all__ = ["bounded_policy", "flood_case", "survives"]

_MOST_MASTERS = 150
"""As many fit on the whole cluster; on a large one they are taken for larger, so that the stress stays small."""
_USERS = 3
_HOLD_S = 20.0
_SHARES = (0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2)
_AM_SHARE = {"capacity": "maximum-am-resource-percent", "fair": "maxAMShare"}


def flood_case(cluster: ClusterFacts, jobs: Sequence[Job]) -> Case | None:
    """More applications in each queue than there is room for their masters, one queue after the other.

    Args:
        cluster: the cluster; its configuration is the one that the case gets.
        jobs: whose queues, users and sizes are taken.

    Returns:
        None where there is no job to take them from.
    """
    if not jobs:
        return None
    total_mib = sum(node.memory_mib for node in cluster.nodes)
    am_mib = max(int(np.median([job.am_memory_mib for job in jobs])), total_mib // _MOST_MASTERS)
    count = total_mib // am_mib + 2
    users: dict[str, list[str]] = {}
    sizes: dict[str, tuple[int, int]] = {}
    for job in jobs:
        own = users.setdefault(job.queue, [])
        if job.user not in own and len(own) < _USERS:
            own.append(job.user)
        sizes[job.queue] = max(sizes.get(job.queue, (0, 0)), _size(job))
    flood = [
        Job(f"flood-{place}-{number}", queue, float(place), users[queue][number % len(users[queue])], am_mib,
            executors=Executors(1, *sizes[queue]), stages=((_HOLD_S,),))
        for place, queue in enumerate(sorted(users))
        for number in range(count)
    ]  # fmt: skip
    # If they went one by one, they would all have ended by then.
    horizon_s = 2.0 * (_HOLD_S + 10.0) * len(flood)
    return Case(
        cluster.nodes, tuple(flood), cluster.scheduler, cluster.conf, cluster.allocations,
        node_heartbeat_s=cluster.node_heartbeat_s, am_heartbeat_s=cluster.am_heartbeat_s, horizon_s=horizon_s,
    )  # fmt: skip


def survives(flood: Case) -> bool:
    """Whether the jobs of a flood go on ending: all that were not refused do within the horizon."""
    found = estimate(flood, alone_s=np.ones(len(flood.jobs)))
    return all(job.finish_s >= 0 or job.rejected is not None for job in found.jobs)


def bounded_policy(policy: Policy, cluster: ClusterFacts, jobs: Sequence[Job]) -> Policy:
    """The policy with a bound on the masters' share, such that the same share in all queues survives a flood.

    Where the policy has a bound of its own for it, that one holds.
    """
    name = _AM_SHARE[cluster.scheduler]
    flood = flood_case(cluster, jobs)
    if flood is None or cluster.scheduler == "fair":
        # The Fair Scheduler's default, 0.5 of each queue's share, is safe, and so is what lies below it.
        return _with_bound(policy, name, 0.5) if cluster.scheduler == "fair" else policy
    for share in _SHARES:
        tried = [replace(flood, conf={**flood.conf, **_shares(flood, share, order)}) for order in ("fair", "fifo")]
        if all(survives(each) for each in tried):
            return _with_bound(policy, name, share)
    return _with_bound(policy, name, 0.1)


def _shares(flood: Case, share: float, order: str) -> dict[str, str | None]:
    """The share and the order for all leaves, and a user's factor that does not stand in the way of it."""
    prefix = "yarn.scheduler.capacity."
    found: dict[str, str | None] = {f"{prefix}maximum-am-resource-percent": str(share)}
    for name in flood.conf:
        if name.startswith(f"{prefix}root.") and name.endswith(".capacity"):
            queue = name.removesuffix(".capacity")
            found[f"{queue}.maximum-am-resource-percent"] = str(share)
            found[f"{queue}.user-limit-factor"] = "100"
            found[f"{queue}.ordering-policy"] = order
    return found


def _with_bound(policy: Policy, name: str, most: float) -> Policy:
    everywhere = policy.queues.get("*", QueuePolicy())
    if name in everywhere.bounds:
        return policy
    bounded = msgspec.structs.replace(everywhere, bounds={**everywhere.bounds, name: Bounds(most=most)})
    return msgspec.structs.replace(policy, queues={**policy.queues, "*": bounded})


def _size(job: Job) -> tuple[int, int]:
    """The largest container of a job."""
    if job.executors is not None:
        return job.executors.memory_mib, job.executors.vcores
    return max((task.memory_mib, task.vcores) for task in job.tasks)
