"""What an exploring run has, and what comes of it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from tests.tuner.submit.test_decision import ADVICE, BUSY, IDLE, LARGE, SMALL, subject
from tuner.cli.submit import submit
from tuner.errors import InputError
from tuner.model.advice import Advice, choose
from tuner.model.experience import REST_AFTER_FAILURE, after_failure, after_success
from tuner.model.explore import next_to_explore
from tuner.model.failures import FailureKind
from tuner.submit.decision import decide
from tuner.submit.order import Mode, SubmitOrder, order_from

EXPLORING = replace(ADVICE, explore=next_to_explore(ADVICE), since_explored=9)


def test_half_the_executors_promise_most_where_a_perfect_division_is_not_certain() -> None:
    found = next_to_explore(ADVICE)
    assert found is not None
    assert found.conf == {**LARGE.conf, "spark.executor.instances": "2"}
    assert found.run_s == {2: 90.0}, "between 60 s, were it all the same, and 120 s"
    assert (found.runs, found.executors) == (0, 2)


@given(
    st.lists(
        st.tuples(st.sampled_from([LARGE, SMALL]), st.integers(1, 12), st.floats(1, 500), st.integers(0, 3),
                  st.integers(0, 1)),
        min_size=1, max_size=6,
    )
)  # fmt: skip
def test_what_is_explored_is_of_a_size_that_was_proven_and_reserves_no_more_than_was(known) -> None:  # type: ignore[no-untyped-def]
    candidates = tuple(
        replace(size, conf={**size.conf, "spark.executor.instances": str(n)}, executors=n, run_s={n: seconds},
                runs=runs, failures=failures)
        for size, n, seconds, runs, failures in known
    )  # fmt: skip
    found = next_to_explore(replace(ADVICE, candidates=candidates))
    if found is None:
        return
    proven = [each for each in candidates if each.runs and not each.failures]
    assert found.executor_mib in {each.executor_mib for each in proven}
    assert found.conf not in [each.conf for each in proven]
    most_mib = max(each.am_mib + each.executors * each.executor_mib for each in proven)
    assert found.am_mib + found.executors * found.executor_mib <= most_mib


def test_a_job_that_nothing_is_proven_of_is_not_explored() -> None:
    assert next_to_explore(replace(ADVICE, candidates=(replace(LARGE, runs=0),))) is None
    assert next_to_explore(replace(ADVICE, candidates=(replace(LARGE, conf={}),))) is None


def test_an_exploring_run_that_is_better_is_advised_from_then_on() -> None:
    assert EXPLORING.explore is not None
    after = after_success(EXPLORING, EXPLORING.explore.conf, 2, 61.0)
    assert after.candidates[0].conf == EXPLORING.explore.conf
    assert after.candidates[0].run_s == {2: 61.0}
    assert after.since_explored == 0
    assert after.explore is None or after.explore.conf != EXPLORING.explore.conf
    assert Advice.from_json(after.to_json()).candidates[0] == after.candidates[0]


def test_one_that_is_slower_is_known_and_not_advised() -> None:
    assert EXPLORING.explore is not None
    after = after_success(EXPLORING, EXPLORING.explore.conf, 2, 119.0)
    assert after.candidates[0] == LARGE
    assert EXPLORING.explore.conf in [each.conf for each in after.candidates]


def test_one_that_fails_is_not_tried_again_and_there_is_a_rest() -> None:
    assert EXPLORING.explore is not None
    after = after_failure(EXPLORING, EXPLORING.explore.conf, [FailureKind.HEAP])
    assert after.candidates == EXPLORING.candidates, "what is advised stays as it was"
    assert after.since_explored == -REST_AFTER_FAILURE
    for _ in range(4):
        after = after_success(after, LARGE.conf, 4, 60.0)
        assert after.explore is None or after.explore.conf != EXPLORING.explore.conf
    assert EXPLORING.explore.conf in Advice.from_json(after.to_json()).tried


def test_one_that_was_preempted_says_nothing() -> None:
    assert EXPLORING.explore is not None
    assert after_failure(EXPLORING, EXPLORING.explore.conf, [FailureKind.PREEMPTED]) == EXPLORING


def test_runs_between_are_counted() -> None:
    after = after_success(replace(EXPLORING, since_explored=3), LARGE.conf, 4, 60.0)
    assert after.since_explored == 4


@pytest.mark.parametrize(
    ("mode", "since", "load", "explores"),
    [
        (Mode.EXPLORE, 9, IDLE, True),
        (Mode.EXPLORE, 8, IDLE, False),
        (Mode.EXPLORE, -30, IDLE, False),
        (Mode.APPLY, 9, IDLE, False),
        (Mode.EXPLORE, 9, BUSY, False),
    ],
)
def test_at_most_every_tenth_run_explores_where_there_is_room(mode: Mode, since: int, load, explores: bool) -> None:  # type: ignore[no-untyped-def]
    found, order = subject()
    decision = decide(found, replace(order, mode=mode), replace(EXPLORING, since_explored=since), load)
    assert EXPLORING.explore is not None
    if explores:
        assert decision.applied == EXPLORING.explore.conf
        assert "to learn: 2 executors where 4 are known" in decision.lines[0]
    else:
        choice = choose(EXPLORING, load)
        assert choice is not None
        assert decision.applied == choice.candidate.conf


def test_how_often_is_a_setting() -> None:
    assert order_from((), {"YARNTUNE_EXPLORE_EVERY": "3"}).explore_every == 3
    assert order_from((), {}).explore_every == 10
    with pytest.raises(InputError, match="YARNTUNE_EXPLORE_EVERY"):
        order_from((), {"YARNTUNE_EXPLORE_EVERY": "0"})


def test_the_command_takes_how_often_from_the_environment_as_the_wrapper_does(monkeypatch: pytest.MonkeyPatch) -> None:
    orders: list[SubmitOrder] = []
    monkeypatch.setattr("tuner.cli.submit.run_submit", lambda order, _environ: orders.append(order) or 0)
    environ = {"YARNTUNE_EXPLORE_EVERY": "3", "YARNTUNE_MODE": "explore", "YARNTUNE_JOB": "daily"}
    result = CliRunner().invoke(submit, ["--job", "nightly", "--", "job.py"], env=environ)
    assert result.exit_code == 0, result.output
    assert orders == [SubmitOrder(("job.py",), Mode.EXPLORE, "nightly", explore_every=3)]
