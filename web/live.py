"""What the cluster said last, kept by a thread, so that no page ever waits for a ResourceManager."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tuner.errors import YarntuneError
from tuner.settings import Settings

if TYPE_CHECKING:
    from rules.live.model import LiveCluster
    from tuner.yarn.model import ClusterMetrics

log = logging.getLogger("yarntune.web")

WATCHED_EVERY_S = 5.0
UNWATCHED_EVERY_S = 60.0
WATCHED_FOR_S = 120.0
"""While somebody looks, and for so long after, the cluster is read often; else only for the load over time."""
STALE_AFTER_S = 90.0
MOST_SAMPLES = 1440
_DETAILED_APPLICATIONS = 50


@dataclass(frozen=True)
class Reading:
    """What one look at the cluster found.

    Attributes:
        reasons: of each waiting application, why it waits: ``application``, ``rule``, ``why``, ``frees``.
    """

    at: float
    cluster: LiveCluster
    metrics: ClusterMetrics
    reasons: tuple[Mapping[str, str | None], ...] = ()


@dataclass(frozen=True)
class LoadSample:
    """The cluster's load at one time; None is what the store's samples do not say."""

    at: float
    used_mib: int
    total_mib: int | None
    pending_containers: int | None
    running: int | None
    waiting: int | None


@dataclass(frozen=True)
class Problem:
    """Why the last look failed, and what to do about it."""

    at: float
    message: str
    hint: str


@dataclass(frozen=True)
class ClusterState:
    """What is known of the cluster now.

    Attributes:
        reading: the last look that succeeded; None before the first.
        problem: why the last look failed; None where it succeeded.
        loading: whether the first look is still under way.
        stale: whether the reading is too old to be called now.
    """

    reading: Reading | None
    problem: Problem | None
    loading: bool
    stale: bool


class ClusterWatch:
    """Looks at the cluster every few seconds, in a thread of its own.

    Args:
        settings: which cluster, and how long to wait for it.
        background: whether to look by itself; otherwise only :meth:`refresh` does.
        read: what looks; given by tests.
        explain: says why applications wait; None where it cannot now, and then what it said before stays.
        before: the load of the time before, oldest first.

    Attributes:
        looks: how often it has looked.
        failures: how often that failed.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        background: bool = True,
        read: Callable[[Settings], Reading] | None = None,
        explain: Callable[[], tuple[Mapping[str, str | None], ...] | None] = lambda: None,
        before: Iterable[LoadSample] = (),
    ) -> None:
        self._explain = explain
        self._settings = settings
        self._read = read or read_now
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._ended = False
        self._reading: Reading | None = None
        self._problem: Problem | None = None
        self._asked_at = 0.0
        self._samples: deque[LoadSample] = deque(before, maxlen=MOST_SAMPLES)
        self.looks = self.failures = 0
        self._thread: threading.Thread | None = None
        if background:
            self._thread = threading.Thread(target=self._loop, name="cluster", daemon=True)
            self._thread.start()

    def state(self, *, now: float) -> ClusterState:
        """What is known; asking keeps the thread looking often."""
        watched = now - self._asked_at < WATCHED_FOR_S
        self._asked_at = now
        if not watched:
            self._wake.set()
        with self._lock:
            reading, problem = self._reading, self._problem
        stale = reading is not None and (problem is not None or now - reading.at > STALE_AFTER_S)
        return ClusterState(reading, problem, loading=reading is None and problem is None, stale=stale)

    def samples(self) -> tuple[LoadSample, ...]:
        """The load over time, oldest first."""
        with self._lock:
            return tuple(self._samples)

    def refresh(self) -> None:
        """Looks now; what goes wrong becomes the state's problem."""
        self.looks += 1
        try:
            reading = self._read(self._settings)
        except YarntuneError as error:
            self._failed(error.message, error.hint)
        except Exception as error:
            log.exception("the cluster could not be read")
            self._failed(f"the cluster's answer was not understood ({type(error).__name__})", "see the server's log")
        else:
            waiting = any(application.waiting for application in reading.cluster.applications)
            with self._lock:
                before = self._reading.reasons if self._reading is not None and waiting else ()
                self._reading, self._problem = replace(reading, reasons=before), None
                self._samples.append(_sample(reading))
            if waiting and (reasons := self._explain()) is not None:
                with self._lock:
                    self._reading = replace(reading, reasons=reasons)

    def close(self) -> None:
        """Ends the thread."""
        self._ended = True
        self._wake.set()

    def _failed(self, message: str, hint: str) -> None:
        self.failures += 1
        with self._lock:
            self._problem = Problem(time.time(), message, hint)

    def _loop(self) -> None:
        while not self._ended:
            self.refresh()
            watched = time.time() - self._asked_at < WATCHED_FOR_S
            self._wake.wait(WATCHED_EVERY_S if watched else UNWATCHED_EVERY_S)
            self._wake.clear()


def read_now(settings: Settings) -> Reading:
    """Looks at the cluster that the settings, or Hadoop's own, name.

    Raises:
        ClusterError: there is none.
        YarnError: it does not answer.
    """
    from rules.live.read import connect, read_cluster

    client, target = connect(settings)
    with client:
        now = time.time()
        metrics = client.metrics()
        cluster = read_cluster(client, target, now, most_detailed=_DETAILED_APPLICATIONS)
    return Reading(now, cluster, metrics)


def _sample(reading: Reading) -> LoadSample:
    metrics = reading.metrics
    return LoadSample(
        at=reading.at,
        used_mib=metrics.allocated.memory_mib,
        total_mib=metrics.total.memory_mib,
        pending_containers=metrics.containers_pending,
        running=metrics.apps_running,
        waiting=metrics.apps_pending,
    )
