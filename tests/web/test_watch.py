"""The thread that looks at the cluster."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import replace

import pytest

from rules.explain.model import Explanation, Remedy
from rules.live.model import LiveApplication
from rules.model import PropertyChange
from tests.web.cluster import reading
from tests.web.seed import NOW
from tuner.errors import YarnError
from tuner.settings import Settings
from web.estimate_process import _reason
from web.live import STALE_AFTER_S, ClusterWatch, Reading


def test_asking_wakes_the_thread_and_closing_ends_it(settings: Settings) -> None:
    looks: list[float] = []
    seen = threading.Semaphore(0)

    def read(_: Settings) -> Reading:
        looks.append(time.time())
        seen.release()
        return reading(time.time())

    watch = ClusterWatch(settings, read=read)
    try:
        assert seen.acquire(timeout=10), "it looks at once"
        watch.state(now=time.time())
        assert seen.acquire(timeout=10), "somebody asks after a while, so it looks again without waiting for a minute"
        assert watch.state(now=time.time()).reading is not None
    finally:
        watch.close()
    assert watch._thread is not None
    watch._thread.join(10)
    assert not watch._thread.is_alive()


def test_before_the_first_look_it_is_loading_and_later_stale(settings: Settings) -> None:
    watch = ClusterWatch(settings, background=False, read=lambda _: reading(NOW))
    first = watch.state(now=NOW)
    assert (first.reading, first.problem, first.loading, first.stale) == (None, None, True, False)
    watch.refresh()
    assert watch.state(now=NOW + STALE_AFTER_S - 1).stale is False
    assert watch.state(now=NOW + STALE_AFTER_S + 1).stale is True


def test_reasons_stay_until_there_are_newer_ones_and_go_with_the_last_that_waits(settings: Settings) -> None:
    answers: list[tuple[Mapping[str, str | None], ...] | None] = [({"application": "a", "rule": "r"},), None, None]
    looks = [reading(NOW), reading(NOW + 5), reading(NOW + 10)]
    idle = replace(looks[2].cluster, applications=())
    looks[2] = replace(looks[2], cluster=idle)
    watch = ClusterWatch(settings, background=False, read=lambda _: looks.pop(0), explain=lambda: answers.pop(0))
    for expected in (({"application": "a", "rule": "r"},), ({"application": "a", "rule": "r"},), ()):
        watch.refresh()
        found = watch.state(now=NOW).reading
        assert found is not None
        assert found.reasons == expected


def test_a_look_that_fails_in_any_way_is_a_problem_and_not_the_end(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    outcomes: list[Exception] = [YarnError("no answer", "start it"), RuntimeError("secret")]

    def read(_: Settings) -> Reading:
        raise outcomes.pop(0)

    watch = ClusterWatch(settings, background=False, read=read)
    watch.refresh()
    problem = watch.state(now=NOW).problem
    assert problem is not None
    assert (problem.message, problem.hint) == ("no answer", "start it")
    watch.refresh()
    problem = watch.state(now=NOW).problem
    assert problem is not None
    assert "secret" not in problem.message
    assert "secret" in caplog.text


def test_an_explanation_is_the_rule_the_reason_and_what_would_free_it() -> None:
    application = LiveApplication("application_1_1", "n", "u", "SPARK", "root.a", "ACCEPTED", NOW, am_started=False)
    remedy = Remedy((PropertyChange("x.maximum-capacity", None, "50"), PropertyChange("y", "1", "2")))
    found = Explanation(application, 5.0, "maximum-capacity", "the queue is full", remedy=remedy)
    assert _reason(found) == {
        "application": "application_1_1",
        "rule": "maximum-capacity",
        "why": "the queue is full",
        "frees": "x.maximum-capacity: not set → 50; y: 1 → 2",
    }
    assert _reason(replace(found, remedy=None, no_remedy="only time"))["frees"] == "only time"
