"""The daemon: it runs by the clock and by event, survives what fails, and ends when it is told to."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from rules.daemon.events import QueueLoad, Sample
from rules.daemon.result import Action, RunResult
from rules.daemon.service import DaemonTimes, QueueDaemon
from tuner.errors import YarnError

QUIET = RunResult(Action.NOTHING, "nothing better was found", news=False)


def sample(pending_mib: int) -> Sample:
    return Sample(0.0, 100, {"root.a": QueueLoad(100, pending_mib, 0)}, {})


class Bench:
    """A daemon with a clock, runs and looks that a test sets."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.runs = 0
        self.notes: list[str] = []
        self.run: Callable[[], RunResult] = lambda: QUIET
        self.look: Callable[[], Sample] = lambda: sample(0)
        self.daemon = QueueDaemon(
            self._run, lambda: self.look(), DaemonTimes(rest_s=100.0), clock=lambda: self.now_s, note=self.notes.append
        )

    def _run(self) -> RunResult:
        self.runs += 1
        return self.run()


@pytest.fixture
def bench() -> Bench:
    return Bench()


def fail(error: Exception) -> Callable[[], RunResult]:
    def work() -> RunResult:
        raise error

    return work


def test_an_event_starts_a_run_and_says_why(bench: Bench) -> None:
    bench.daemon.by_event()
    assert bench.runs == 0
    bench.look = lambda: sample(90)
    bench.daemon.by_event()
    assert bench.runs == 1
    assert bench.notes == ["looking again: 90% of the cluster's memory is waited for, 90% more than usual"]


def test_within_the_rest_after_a_run_an_event_waits_and_is_not_lost(bench: Bench) -> None:
    bench.daemon.by_clock()
    bench.daemon.by_event()
    bench.look = lambda: sample(90)
    bench.now_s = 99.0
    bench.daemon.by_event()
    assert bench.runs == 1
    bench.now_s = 100.0
    bench.daemon.by_event()
    assert bench.runs == 2
    bench.now_s = 300.0
    bench.daemon.by_event()
    assert bench.runs == 2, "the same burst, still there, is no other event"


def test_a_run_by_the_clock_serves_a_waiting_event_too(bench: Bench) -> None:
    bench.daemon.by_clock()
    bench.daemon.by_event()
    bench.look = lambda: sample(90)
    bench.daemon.by_event()
    bench.daemon.by_clock()
    bench.now_s = 1000.0
    bench.daemon.by_event()
    assert bench.runs == 2


def test_an_outage_is_told_once_and_its_end_once(bench: Bench) -> None:
    bench.run = fail(YarnError("the ResourceManager does not answer", "is it up?"))
    for _ in range(3):
        bench.daemon.by_clock()
    bench.run = lambda: QUIET
    bench.daemon.by_clock()
    assert bench.runs == 4
    assert bench.notes == [
        "run failed: the ResourceManager does not answer; is it up?; trying on", "run: well again",
    ]  # fmt: skip


def test_a_fault_of_ours_is_survived_too(bench: Bench) -> None:
    bench.run = fail(ZeroDivisionError("division by zero"))
    bench.daemon.by_clock()
    assert bench.notes == ["run failed: a fault of yarntune: ZeroDivisionError: division by zero; trying on"]


def test_news_are_told_and_nothing_else(bench: Bench) -> None:
    bench.daemon.by_clock()
    bench.run = lambda: RunResult(Action.RECOMMENDED, "plan 3: 2 changes")
    bench.daemon.by_clock()
    assert bench.notes == ["recommended: plan 3: 2 changes"]


def test_it_runs_at_its_start_and_what_is_begun_is_finished_at_its_end(bench: Bench) -> None:
    began, go_on, stop = threading.Event(), threading.Event(), threading.Event()
    finished: list[bool] = []

    def slow() -> RunResult:
        began.set()
        go_on.wait(30)
        finished.append(stop.is_set())
        return QUIET

    bench.run = slow
    server = threading.Thread(target=bench.daemon.serve, args=(stop,))
    server.start()
    assert began.wait(30)
    stop.set()
    go_on.set()
    server.join(30)
    assert not server.is_alive()
    assert finished == [True]
    bench.daemon.by_clock()
    assert bench.runs == 1, "nothing is begun after the end"
