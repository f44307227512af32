from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.search.objective import Observation, Summary, TrialState, best_of, summarise


def summary(name: str, duration_s: float, gib_seconds: float) -> Summary:
    return Summary({"spark.name": name}, 1, duration_s, 0.0, gib_seconds)


def test_the_cheapest_of_the_fast_enough_wins() -> None:
    fast, sparing, slow = summary("fast", 100, 50), summary("sparing", 104, 30), summary("slow", 106, 10)
    assert best_of([fast, sparing, slow], 0.05) is sparing
    assert best_of([fast, sparing, slow], 0.03) is fast
    assert best_of([fast, sparing, slow], 0.06) is slow


def test_nothing_to_choose_from() -> None:
    assert best_of([], 0.05) is None


def test_failed_and_stopped_runs_are_no_candidates_and_repeated_ones_count_by_their_median() -> None:
    conf = {"spark.executor.cores": "2"}
    runs = [Observation(conf, TrialState.SUCCEEDED, time_s, 1.0, cost) for time_s, cost in ((10, 7), (90, 9), (11, 8))]
    bad = [Observation({"spark.executor.cores": "4"}, state, 1.0, 0.0, 1.0) for state in ("FAILED", "STOPPED")]
    (only,) = summarise([*runs, *bad])
    assert (only.runs, only.duration_s, only.gib_seconds) == (3, 11, 8)


@given(
    st.lists(st.tuples(st.floats(1, 1e4), st.floats(1, 1e6)), min_size=1, max_size=20),
    st.floats(0, 1),
)
def test_the_best_is_within_the_slack_and_none_within_it_is_cheaper(
    figures: list[tuple[float, float]], slack: float
) -> None:
    candidates = [summary(str(i), *figure) for i, figure in enumerate(figures)]
    best = best_of(candidates, slack)
    assert best is not None
    limit = (1 + slack) * min(time for time, _ in figures)
    assert best.duration_s <= limit
    assert best.gib_seconds == pytest.approx(min(cost for time, cost in figures if time <= limit))
