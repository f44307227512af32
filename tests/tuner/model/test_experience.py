"""What production runs do to an advice."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.tuner.submit.test_decision import ADVICE, IDLE, LARGE, SMALL
from tuner.model.advice import Basis, choose
from tuner.model.experience import after_failure, after_look, after_success
from tuner.model.failures import FailureKind

RUN = {**SMALL.conf, "spark.app.name": "x"}


def test_a_heap_that_was_too_small_is_raised_and_nothing_smaller_is_left() -> None:
    after = after_failure(ADVICE, RUN, [FailureKind.HEAP])
    best, raised = after.candidates
    assert best == LARGE, "what failed is another one, so the best of an idle cluster stays that"
    # 1638m + half of it is asked for, and YARN's rounding given to the heap.
    assert (raised.executor_mib, raised.conf["spark.executor.memory"]) == (3072, "2662m")
    assert raised.conf["spark.executor.memoryOverhead"] == SMALL.conf["spark.executor.memoryOverhead"]
    assert "raised from 1638m" in raised.reason
    smallest = after_failure(replace(ADVICE, candidates=(SMALL, LARGE)), LARGE.conf, [FailureKind.HEAP])
    assert [each.executor_mib for each in smallest.candidates] == [6144], "nothing smaller is left"


def test_an_executor_that_ended_itself_is_taken_for_one_with_a_full_heap() -> None:
    assert after_failure(ADVICE, RUN, [FailureKind.TERMINATED]) == after_failure(ADVICE, RUN, [FailureKind.HEAP])


@pytest.mark.parametrize("kind", [FailureKind.PHYSICAL_MEMORY, FailureKind.PYTHON_CRASH, FailureKind.NATIVE_MEMORY])
def test_what_outgrows_the_container_raises_the_overhead(kind: FailureKind) -> None:
    raised = after_failure(ADVICE, RUN, [kind]).candidates[1]
    assert raised.conf["spark.executor.memory"] == "1638m"
    assert raised.conf["spark.executor.memoryOverhead"] == "1434m"


def test_a_second_failure_ends_the_advice_so_that_it_is_no_loop() -> None:
    once = after_failure(ADVICE, RUN, [FailureKind.HEAP])
    twice = after_failure(once, once.candidates[1].conf, [FailureKind.HEAP])
    assert twice.candidates == ()
    assert "its own configuration" in twice.warning
    assert choose(twice, IDLE) is None
    assert after_failure(twice, RUN, [FailureKind.HEAP]) == twice


def test_a_raise_that_the_cluster_cannot_grant_ends_the_advice() -> None:
    huge = replace(LARGE, conf={**LARGE.conf, "spark.executor.memory": "7000m"}, executor_mib=8192)
    after = after_failure(replace(ADVICE, candidates=(huge,)), huge.conf, [FailureKind.HEAP])
    assert after.candidates == ()


def test_the_applications_own_failure_is_tried_once_more() -> None:
    once = after_failure(ADVICE, LARGE.conf, [FailureKind.APPLICATION])
    assert once.candidates[0] == replace(LARGE, failures=1)
    assert after_failure(once, LARGE.conf, []).candidates == ()
    assert after_success(once, LARGE.conf, 4, 61.0).candidates[0].failures == 0


@pytest.mark.parametrize("kind", [FailureKind.PREEMPTED, FailureKind.NODE_LOST, FailureKind.VIRTUAL_MEMORY])
def test_what_has_nothing_to_do_with_the_configuration_changes_nothing(kind: FailureKind) -> None:
    assert after_failure(ADVICE, RUN, [kind]) == ADVICE


def test_what_was_only_expected_to_run_well_goes_when_it_fails_and_nothing_else_does() -> None:
    expected = replace(SMALL, runs=0)
    after = after_failure(replace(ADVICE, candidates=(LARGE, expected)), RUN, [FailureKind.HEAP])
    assert (after.candidates, after.warning) == ((LARGE,), "")
    assert after.tried == (SMALL.conf,)


def test_a_run_with_the_users_own_configuration_teaches_nothing_about_ours() -> None:
    assert after_failure(ADVICE, {"spark.executor.memory": "1g"}, [FailureKind.HEAP]) == ADVICE
    assert after_success(ADVICE, {}, 4, 10.0) == ADVICE


def test_times_follow_the_runs() -> None:
    after = after_success(ADVICE, LARGE.conf, 4, 80.0)
    assert after.candidates[0].run_s == {4: 65.0}, "a fourth run counts for a quarter"
    assert after_success(ADVICE, LARGE.conf, 2, 100.0).candidates[0].run_s == {4: 60.0, 2: 100.0}
    assert after_success(ADVICE, LARGE.conf, None, 100.0).candidates[0].run_s == {4: 60.0}


def test_a_job_that_has_become_another_says_so() -> None:
    known = replace(ADVICE, basis=Basis(1000, "4.0.1", "abc"))
    assert after_look(known, Basis(1400, "4.0.1", "abc")).warning == ""
    assert after_look(known, Basis(None, None, None)).warning == "", "what is not known is no reason"
    assert "grown 2.0 times" in after_look(known, Basis(2000, "4.0.1", "abc")).warning
    assert "shrunk to 50%" in after_look(known, Basis(500, "4.0.1", "abc")).warning
    both = after_look(known, Basis(1000, "4.1.0", "xyz")).warning
    assert both == "tune it anew: Spark went from 4.0.1 to 4.1.0; its program has changed"


def test_times_that_drift_say_so_and_a_single_slow_run_does_not() -> None:
    def after(*times: float) -> str:
        advice = ADVICE
        for seconds in times:
            advice = after_success(advice, LARGE.conf, 4, seconds)
        return after_look(advice, Basis()).warning

    assert after(60, 200, 60) == ""
    assert after(58, 63, 61) == ""
    assert "took" in after(90, 100, 110)
    assert "longer than expected" in after(60, 90, 100, 110)
    assert after(90, 100, 110, 80, 75) == "", "the expectation has followed"


def test_an_advice_that_ended_keeps_its_reason() -> None:
    ended = replace(ADVICE, candidates=(), warning="failed")
    assert after_look(ended, Basis(9, "x", "y")).warning == "failed"
