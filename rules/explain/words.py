"""Why an application waits, in a sentence for each rule, with the figures that the ResourceManager shows for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from rules.explain.model import Figure
from rules.live.model import LiveApplication, LiveCluster
from rules.live.translate import resources
from rules.model import Resources
from tuner.yarn.model import QueueInfo, QueueUser, Resource

__all__ = ["GETS_ON", "NO_PROPERTY", "RM_SAYS", "figures", "sentence"]

GETS_ON: frozenset[str | None] = frozenset(
    {None, "assignments-per-heartbeat", "fair-assign-multiple", "fair-update-step", "asynchronous-scheduling"}
)
"""Rules that only make it wait for the next beat; None: it waits for nothing."""

NO_PROPERTY: Mapping[str, str] = {
    "cluster-resources": "what is in use has to end, or the cluster needs more or larger nodes; no property frees room "
    "at once (preemption does in time)",
    "queue-order": "its queue has its turn as soon as it uses less of its guarantee than the others; a larger capacity "
    "brings that forward, and frees nothing at once",
    "application-order": "applications before it in its queue are served first",
    "fair-weight": "other queues are due more; a larger weight brings its turn forward, and frees nothing at once",
    "fair-order-fair": "other applications of its queue hold less and are served first",
    "fair-order-fifo": "older applications of its queue are served first",
    "fair-order-drf": "other applications of its queue have a smaller dominant share and are served first",
}
"""What there is to do where the rule has no property that would help at once."""

RM_SAYS: Mapping[str, str] = {
    "Queue's AM resource limit exceeded": "am-limit",
    "User's AM resource limit exceeded": "user-am-limit",
}
"""The ResourceManager's own words in an application's diagnostics, and the rule that they mean."""


@dataclass(frozen=True)
class _View:
    """One application and what the ResourceManager shows around it."""

    live: LiveCluster
    application: LiveApplication
    lineage: tuple[QueueInfo, ...]

    @property
    def ask(self) -> Resources:
        return self.application.asks[0].resources if self.application.asks else Resources()

    @property
    def leaf(self) -> QueueInfo | None:
        return self.lineage[0] if self.lineage else None

    @property
    def user(self) -> QueueUser | None:
        if self.leaf is None or self.leaf.capacity is None:
            return None
        return next((user for user in self.leaf.capacity.users if user.name == self.application.user), None)

    @property
    def at_maximum(self) -> QueueInfo | None:
        """The nearest queue whose maximum, as shown, is too small for one container more; its own where none is."""
        for queue in self.lineage:
            if queue.maximum and not (resources(queue.used) + self.ask).fits_in(resources(queue.maximum)):
                return queue
        return self.leaf


def figures(live: LiveCluster, application: LiveApplication, rule: str) -> tuple[Figure, ...]:
    """The ResourceManager's figures that belong to a rule, and what the application asks for."""
    view = _view(live, application)
    make = _FIGURES.get(rule)
    found = [] if make is None else [Figure(name, value) for name, value in make(view) if value]
    return (*found, Figure("asks for", _asks(application)))


def sentence(live: LiveCluster, application: LiveApplication, rule: str) -> str:
    """Why it waits."""
    view = _view(live, application)
    make = _SENTENCES.get(rule)
    return f"the rule {rule} keeps it waiting" if make is None else make(view)


def _view(live: LiveCluster, application: LiveApplication) -> _View:
    by_path = {queue.path: queue for queue in live.queues.root.walk()}
    parts = application.queue.split(".")
    paths = [".".join(parts[:length]) for length in range(len(parts), 0, -1)]
    return _View(live, application, tuple(by_path[path] for path in paths if path in by_path))


def _asks(application: LiveApplication) -> str:
    parts = [f"{ask.count} x {_size(ask.resources)}" for ask in application.asks[:3]]
    more = "" if len(application.asks) <= 3 else ", ..."
    return ("" if application.am_started else "its application master, ") + ", ".join(parts) + more


def _size(amount: Resources | Resource | None) -> str:
    if amount is None:
        return ""
    return f"{amount.memory_mib} MiB, {amount.vcores} vcores"


_Rows = Iterator[tuple[str, str]]


def _am_rows(view: _View) -> _Rows:
    if view.leaf:
        yield f"limit of AMs in {view.leaf.path}", _size(view.leaf.am_limit)
        yield "held by AMs", _size(view.leaf.am_used)


def _user_am_rows(view: _View) -> _Rows:
    if view.leaf and view.leaf.capacity:
        yield f"limit of one user's AMs in {view.leaf.path}", _size(view.leaf.capacity.user_am_limit)
    if view.user:
        yield f"held by {view.user.name}'s AMs", _size(view.user.am_used)


def _user_rows(view: _View) -> _Rows:
    if view.user:
        yield f"limit of {view.user.name} in {view.application.queue}", _size(view.user.limit)
        yield f"held by {view.user.name}", _size(view.user.used)


def _maximum_rows(view: _View) -> _Rows:
    queue = view.at_maximum
    if queue:
        yield f"maximum of {queue.path}", _size(queue.maximum)
        yield f"held by {queue.path}", _size(queue.used)


def _room_rows(view: _View) -> _Rows:
    total, used = view.live.snapshot.total, view.live.snapshot.use["root"].used
    yield "cluster", _size(total)
    yield "in use", _size(used)
    if view.live.free:
        yield "most that one node has free", _size(max(view.live.free.values(), key=lambda each: each.memory_mib))


def _parallel_rows(view: _View) -> _Rows:
    for queue in view.lineage:
        if queue.capacity and queue.capacity.max_parallel_applications is not None:
            if queue.capacity.max_parallel_applications < 2**31 - 1:
                yield f"applications at once in {queue.path}", str(queue.capacity.max_parallel_applications)
        elif queue.fair and queue.fair.max_running_applications < 2**31 - 1:
            yield f"applications at once in {queue.path}", str(queue.fair.max_running_applications)
    if view.leaf:
        yield "running there", str(view.leaf.active_applications or 0)


def _user_parallel_rows(view: _View) -> _Rows:
    user = view.application.user
    running = [each for each in view.live.applications if each.user == user and each.am_started]
    yield f"running of {user}", str(len(running))


_FIGURES: Mapping[str, Callable[[_View], _Rows]] = {
    "am-limit": _am_rows,
    "user-am-limit": _user_am_rows,
    "user-limit": _user_rows,
    "user-limit-factor": _user_rows,
    "maximum-capacity": _maximum_rows,
    "parallel-applications": _parallel_rows,
    "user-parallel-applications": _user_parallel_rows,
    "cluster-resources": _room_rows,
    "fair-am-share": _am_rows,
    "fair-max-share": _maximum_rows,
    "fair-max-running-apps": _parallel_rows,
    "fair-user-max-running-apps": _user_parallel_rows,
}


def _queue(view: _View) -> str:
    return view.application.queue


_SENTENCES: Mapping[str, Callable[[_View], str]] = {
    "am-limit": lambda v: f"the application masters in {_queue(v)} hold all that they may, so its own does not start",
    "user-am-limit": lambda v: (
        f"{v.application.user}'s application masters in {_queue(v)} hold all that one user's may"
    ),
    "user-limit": lambda v: (
        f"{v.application.user} holds the share of {_queue(v)} that each of its active users may have"
    ),
    "user-limit-factor": lambda v: (
        f"{v.application.user} holds as many times the capacity of {_queue(v)} as one user may"
    ),
    "maximum-capacity": lambda v: f"{v.at_maximum.path if v.at_maximum else _queue(v)} holds its maximum capacity",
    "parallel-applications": lambda v: f"as many applications run in {_queue(v)}, or in a queue above, as may at once",
    "user-parallel-applications": lambda v: f"as many applications of {v.application.user} run as may at once",
    "cluster-resources": lambda _: "no node has room for its next container",
    "queue-order": lambda v: f"other queues use less of what they are sure of than {_queue(v)}, and come first",
    "application-order": lambda v: f"other applications in {_queue(v)} come first",
    "fair-am-share": lambda v: f"the application masters in {_queue(v)} hold the part of its fair share that they may",
    "fair-max-share": lambda v: f"{v.at_maximum.path if v.at_maximum else _queue(v)} holds its maximum share",
    "fair-max-running-apps": lambda v: f"as many applications run in {_queue(v)}, or in a queue above, as may at once",
    "fair-user-max-running-apps": lambda v: f"as many applications of {v.application.user} run as may at once",
    "fair-weight": lambda v: f"other queues hold less for their weight than {_queue(v)}, and come first",
    "fair-order-fair": lambda v: f"applications in {_queue(v)} that hold less come first",
    "fair-order-fifo": lambda v: f"older applications in {_queue(v)} come first",
    "fair-order-drf": lambda v: f"applications in {_queue(v)} with a smaller dominant share come first",
}
