"""Looking at a cluster after a change: whether the ResourceManager and the queues are as well as before."""

from __future__ import annotations

from dataclasses import dataclass

from rules.lifecycle.context import Context
from rules.lifecycle.lock import renew
from tuner.errors import YarnError
from tuner.yarn.model import QueueInfo

__all__ = ["Health", "Watched", "look", "watch", "worse"]

_POLL_S = 2.0
_STARVED_LOOKS = 5
"""So many looks in a row without a running application, with some waiting, are taken for starvation."""


@dataclass(frozen=True)
class Health:
    """What matters of one look.

    Attributes:
        started_at_s: when the ResourceManager started.
        running: queues in state RUNNING.
        working: leaves in which an application holds something.
        stuck: leaves in which applications wait and none holds anything.
        waiting: applications that wait to be started, in all queues.
    """

    started_at_s: float
    running: frozenset[str]
    working: frozenset[str]
    stuck: frozenset[str]
    waiting: int


@dataclass(frozen=True)
class Watched:
    """What a watch came to.

    Attributes:
        worse: why the change should be taken back; None where it should not.
        unreachable: the ResourceManager did not answer at the end; nothing can be said, nor done.
        restarted: the ResourceManager has been started anew meanwhile.
        last: the last look; None where there was none.
    """

    worse: str | None = None
    unreachable: str | None = None
    restarted: bool = False
    last: Health | None = None


def look(context: Context) -> Health:
    """One look.

    Raises:
        YarnError: the ResourceManager does not answer.
    """
    info = context.rm.info()
    queues = [queue for queue in context.rm.scheduler().root.walk() if queue.path]
    leaves = [queue for queue in queues if queue.leaf]
    return Health(
        started_at_s=info.started_at_s,
        running=frozenset(queue.path for queue in queues if queue.state == "RUNNING"),
        working=frozenset(queue.path for queue in leaves if queue.used.memory_mib > 0),
        stuck=frozenset(queue.path for queue in leaves if _waits(queue) and queue.used.memory_mib <= 0),
        waiting=sum(queue.pending_applications or 0 for queue in leaves),
    )


def _waits(queue: QueueInfo) -> bool:
    return bool(queue.pending_applications) or (queue.pending is not None and queue.pending.memory_mib > 0)


def worse(before: Health, looks: list[Health]) -> str | None:
    """Why things are worse than before; None where they are not.

    Args:
        before: a look before the change.
        looks: those after it, oldest first.
    """
    now = looks[-1]
    stopped = sorted(before.running - now.running)
    if stopped:
        return f"{', '.join(stopped)} {'is' if len(stopped) == 1 else 'are'} not RUNNING any more"
    recent = looks[-_STARVED_LOOKS:]
    if len(recent) < _STARVED_LOOKS:
        return None
    starved = sorted(before.working.intersection(*(each.stuck for each in recent)))
    if starved:
        return f"applications wait in {', '.join(starved)}, and none runs there any more"
    return None


def watch(context: Context, before: Health, watch_s: float) -> Watched:
    """Looks at the cluster for some time.

    Args:
        context: the cluster.
        before: a look before the change.
        watch_s: for how many seconds; 0 is one look.
    """
    deadline = context.clock() + watch_s
    looks: list[Health] = []
    trouble: str | None = None
    while True:
        try:
            looks.append(look(context))
            trouble = None
        except YarnError as error:
            trouble = error.message
        if looks and trouble is None:
            reason = worse(before, looks)
            if reason is not None:
                return Watched(worse=reason, last=looks[-1])
        left = deadline - context.clock()
        if left <= 0:
            break
        renew(context)
        context.sleep(min(_POLL_S, left))
    last = looks[-1] if looks else None
    restarted = any(each.started_at_s != before.started_at_s for each in looks)
    return Watched(unreachable=trouble, restarted=restarted, last=last)
