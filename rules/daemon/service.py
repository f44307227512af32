"""The daemon: runs by the clock, and when an event says that another look is worth it; ends when it is told to."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeVar

from rules.daemon.events import EventDetector, QueueLoad, Sample
from rules.daemon.result import RunResult
from tuner.errors import YarntuneError
from tuner.yarn.client import ResourceManagerClient

__all__ = ["DaemonTimes", "QueueDaemon", "take_sample"]

_T = TypeVar("_T")


@dataclass(frozen=True)
class DaemonTimes:
    """When the daemon does what, in seconds.

    Attributes:
        every_s: between runs by the clock.
        look_every_s: between looks for events.
        rest_s: after a run, in which no event starts another one.
    """

    every_s: float = 900.0
    look_every_s: float = 15.0
    rest_s: float = 120.0


class QueueDaemon:
    """Runs and looks in turn, one thing at a time, in one thread beside the caller's.

    A fault of the cluster, the store or of ours is told and survived: told once when it begins, and once when it is
    over, so that an outage of a night is two lines.

    Args:
        run: one run of the tuner.
        look: one sample of the cluster.
        times: when.
        clock: seconds from any zero, never going back.
        note: is told what is going on.
    """

    def __init__(
        self,
        run: Callable[[], RunResult],
        look: Callable[[], Sample],
        times: DaemonTimes,
        *,
        clock: Callable[[], float],
        note: Callable[[str], None],
    ) -> None:
        self._run, self._look, self._times = run, look, times
        self._clock, self._note = clock, note
        self._detector = EventDetector()
        self._last_run_s: float | None = None
        self._due: str | None = None
        self._troubles: set[str] = set()
        self._stop = threading.Event()

    def serve(self, stop: threading.Event) -> None:
        """Works until the event is set; then what is being done is finished, and nothing else begun."""
        from apscheduler.executors.pool import ThreadPoolExecutor
        from apscheduler.schedulers.background import BackgroundScheduler

        # A look that is skipped while a run takes longer is as it should be, not a warning.
        logging.getLogger("apscheduler").setLevel(logging.ERROR)
        # One thread: a look during a run would find what the run is about to change.
        scheduler = BackgroundScheduler(
            executors={"default": ThreadPoolExecutor(1)},
            job_defaults={"coalesce": True, "max_instances": 1, "misfire_grace_time": None},
            timezone="UTC",
        )
        # Not a job of its own for the first run: its removal fails where the end comes in the same moment.
        now = datetime.now(UTC)
        scheduler.add_job(self.by_clock, "interval", seconds=self._times.every_s, next_run_time=now)
        scheduler.add_job(self.by_event, "interval", seconds=self._times.look_every_s)
        self._stop = stop
        scheduler.start()
        try:
            stop.wait()
        finally:
            scheduler.shutdown(wait=True)

    def by_clock(self) -> None:
        """A run, whatever happened."""
        if self._stop.is_set():
            return
        self._due = None
        result = self._survive("run", self._run)
        self._last_run_s = self._clock()
        if result is not None and result.news:
            self._note(f"{result.action.value}: {result.message}")

    def by_event(self) -> None:
        """A look, and a run if it finds something; within the rest after a run the event waits."""
        if self._stop.is_set():
            return
        sample = self._survive("look", self._look)
        if sample is None:
            return
        events = self._detector.add(sample)
        if events:
            self._due = "; ".join(event.message for event in events)
        rested = self._last_run_s is None or self._clock() - self._last_run_s >= self._times.rest_s
        if self._due is not None and rested:
            self._note(f"looking again: {self._due}")
            self.by_clock()

    def _survive(self, what: str, work: Callable[[], _T]) -> _T | None:
        try:
            found = work()
        except YarntuneError as error:
            self._tell_trouble(what, f"{error.message}; {error.hint}" if error.hint else error.message)
        except Exception as error:
            self._tell_trouble(what, f"a fault of yarntune: {type(error).__name__}: {error}")
        else:
            if what in self._troubles:
                self._troubles.discard(what)
                self._note(f"{what}: well again")
            return found
        return None

    def _tell_trouble(self, what: str, message: str) -> None:
        if what not in self._troubles:
            self._note(f"{what} failed: {message}; trying on")
        self._troubles.add(what)


def take_sample(client: ResourceManagerClient, now_s: float) -> Sample:
    """Three cheap calls: the queues, the totals, and what each open application holds.

    Raises:
        YarnError: the ResourceManager does not answer.
    """
    shown, metrics = client.scheduler(), client.metrics()
    queues = {
        queue.path: QueueLoad(
            queue.used.memory_mib,
            queue.pending.memory_mib if queue.pending else 0,
            queue.guaranteed.memory_mib if queue.guaranteed else 0,
        )
        for queue in shown.root.walk()
        if queue.leaf
    }
    held = {each.id: each.allocated_mib or 0 for each in client.applications()}
    return Sample(now_s, metrics.total.memory_mib, queues, held)
