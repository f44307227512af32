"""The benchmark of the search: tables, what stands in for runs, how trials are counted, the protocol of the others."""

from __future__ import annotations

import csv
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from benchmarks import search, search_ours, search_peers
from benchmarks.search_problem import Problem, StandIn, problems
from benchmarks.search_report import Result, goals, trials_table, write_report
from benchmarks.search_tables import Table, own_tables, public_tables
from tuner.search.objective import Observation, TrialState
from tuner.search.transfer import PastJob

OWN_COLUMNS = (
    "program", "spark.executor.instances", "spark.executor.cores", "spark.executor.memory",
    "spark.executor.memoryOverhead", "spark.io.compression.codec", "state", "duration_s", "gib_seconds", "load",
)  # fmt: skip


def write(path: Path, rows: Sequence[Mapping[str, object]]) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def own_rows(program: str, runs: int) -> list[dict[str, object]]:
    """Two executors of one core first; work is shared by all slots, and half of the time is none of it."""
    rng = np.random.default_rng(3)
    rows = []
    for number in range(runs):
        executors, cores = (2, 1) if number == 0 else (int(rng.integers(1, 5)), int(rng.integers(1, 4)))
        heap = 1024 if number == 0 else int(rng.integers(600, 3000))
        time_s = 30.0 + 30.0 / (executors * cores)
        values = (program, executors, cores, f"{heap}m", "384m", "lz4", "SUCCEEDED", time_s, 0.0, 1.0)
        rows.append(dict(zip(OWN_COLUMNS, values, strict=True)))
    return rows


def public_rows(size: str, runs: int, slope: float = 1.0) -> list[dict[str, object]]:
    """Time falls with the cores, and half of it depends on a switch; the measured column is no property."""
    rng = np.random.default_rng(4)
    rows = []
    for number in range(runs):
        cores, share, switch = (2, 0.5, 0) if number == 0 else (rng.integers(1, 9), rng.random(), rng.integers(0, 2))
        time_s = (10.0 + slope * 60.0 / cores) * (2.0 if switch == 0 else 1.0)
        rows.append(
            {"datasize": size, "spark_cores": int(cores), "spark_share": round(float(share), 3), "jvm_x": int(switch),
             "JVM_GC_Time": 3.1, "run_times": time_s}
        )  # fmt: skip
    return rows


@pytest.fixture(scope="module")
def public(tmp_path_factory: pytest.TempPathFactory) -> Table:
    folder = tmp_path_factory.mktemp("public")
    write(folder / "terasort.csv", public_rows("32000", 80))
    return public_tables(folder)[0]


@pytest.fixture(scope="module")
def fast(public: Table) -> Problem:
    return Problem.of(public, StandIn(public), "time", rounds=4)


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Table:
    path = tmp_path_factory.mktemp("own") / "sparkruns.csv"
    rows = own_rows("sort", 40)
    rows[5]["state"], rows[5]["duration_s"] = "FAILED", 1.0
    (table,) = own_tables(write(path, [*rows, *own_rows("seldom", 10)]))
    return table


@pytest.fixture(scope="module")
def cheap(own: Table) -> Problem:
    return Problem.of(own, StandIn(own), "GiB·s", rounds=4)


def test_public_tables_have_knobs_and_no_measurements(tmp_path: Path) -> None:
    write(tmp_path / "terasort.csv", [*public_rows("32000", 40), *public_rows("64000", 50)])
    small, large = public_tables(tmp_path)
    assert (small.name, len(small.times_s), len(large.times_s)) == ("HiBench terasort 32,000", 40, 50)
    assert [d.name for d in small.space.dimensions] == ["spark_cores", "spark_share", "jvm_x"]
    assert [d.choices for d in small.space.dimensions] == [(), (), ("0", "1")]
    assert small.default == {"spark_cores": "2", "spark_share": "0.5", "jvm_x": "0"}
    assert problems([small]) == [(small, "time")], "nothing is known of memory"


def test_own_tables_have_the_searched_properties_and_the_runs_that_succeeded(own: Table) -> None:
    assert [d.name for d in own.space.dimensions] == list(OWN_COLUMNS[1:5]), "the codec is not searched by itself"
    assert len(own.times_s) == 39
    assert own.default["spark.executor.memory"] == "1024m"
    assert [goal for _, goal in problems([own])] == ["GiB·s", "time"]


def test_without_the_files_there_are_no_tables(tmp_path: Path) -> None:
    assert public_tables(tmp_path) == []
    assert own_tables(tmp_path / "none.csv") == []


def test_the_forest_stands_for_what_was_recorded(fast: Problem) -> None:
    assert fast.stand_in.explained > 0.8
    good = fast.observe({"spark_cores": "8", "spark_share": "0.2", "jvm_x": "1"})
    bad = fast.observe({"spark_cores": "1", "spark_share": "0.2", "jvm_x": "0"})
    assert good.duration_s < 0.3 * bad.duration_s
    assert fast.ratio(good) == pytest.approx(1.0, abs=0.1)


def test_nothing_that_was_recorded_is_better_than_the_best(fast: Problem, cheap: Problem) -> None:
    for problem in (fast, cheap):
        ratios = [problem.ratio(problem.observe(each)) for each in problem.table.configurations]
        assert min(ratios) >= 1.0 - 1e-9
        assert min(ratios) < 1.3


def test_what_the_others_lower_puts_the_fast_enough_first(cheap: Problem) -> None:
    def run(time_s: float, gib_s: float, state: TrialState = TrialState.SUCCEEDED) -> float:
        return cheap.value(Observation({}, state, time_s, 0.0, gib_s))

    limit = cheap.limit_s
    order = [
        run(limit, cheap.best), run(0.9 * limit, cheap.worst), run(1.1 * limit, 1.0), run(1.2 * limit, 0.5),
        run(limit, 1.0, TrialState.FAILED),
    ]  # fmt: skip
    assert order == sorted(order)
    assert len(set(order)) == 5
    assert cheap.ratio(Observation({}, TrialState.SUCCEEDED, 1.01 * limit, 0.0, cheap.best)) == math.inf


def test_what_cannot_be_granted_is_no_run(cheap: Problem) -> None:
    huge = {**cheap.table.default, "spark.executor.instances": "6", "spark.executor.memory": "5000m"}
    assert cheap.observe(huge).state is TrialState.FAILED
    assert cheap.ratio(cheap.observe(huge)) == math.inf


def test_a_problem_that_was_kept_is_the_same_problem(
    own: Table, cheap: Problem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("YARNTUNE_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(search, "_tables", lambda: [own])
    monkeypatch.setattr(Problem, "of", lambda *_: cheap)
    made = search._problem.__wrapped__(own.name, "GiB·s")
    monkeypatch.setattr(Problem, "of", lambda *_: pytest.fail("made again"))
    again = search._problem.__wrapped__(own.name, "GiB·s")
    assert (again.limit_s, again.best, again.worst) == (cheap.limit_s, cheap.best, cheap.worst)
    assert again.observe(own.default) == made.observe(own.default) == cheap.observe(own.default)


@pytest.mark.parametrize("name", ["fast", "cheap"])
def test_our_search_is_there_within_few_trials(name: str, request: pytest.FixtureRequest) -> None:
    problem: Problem = request.getfixturevalue(name)
    runs = search_ours.search(problem, 1, 25)
    assert dict(runs[0].configuration) == dict(problem.table.default)
    assert search_ours.good_enough(problem, runs[-1])
    assert not any(search_ours.good_enough(problem, each) for each in runs[:-1])


def test_a_neighbours_best_is_tried_first(fast: Problem) -> None:
    past = [PastJob("other", {}, {"spark_cores": "8", "jvm_x": "1"})]
    runs = search_ours.search(fast, 1, 5, past)
    assert runs[1].configuration["spark_cores"] == "8"
    assert len(runs) == 2


def test_the_store_has_what_a_search_has_found(fast: Problem) -> None:
    runs = [fast.observe(each) for each in fast.table.configurations[:10]]
    job = search_ours.past_job(fast.table, runs)
    assert job is not None
    assert job.best == min(runs, key=lambda each: each.duration_s).configuration


def test_another_search_begins_with_the_default_and_is_not_charged_for_refusals(cheap: Problem) -> None:
    runs = search_peers.search("random search", Path(sys.executable), cheap, 5, 12)
    again = search_peers.search("random search", Path(sys.executable), cheap, 5, 12)
    assert [each.configuration for each in runs] == [each.configuration for each in again]
    assert cheap.table.space.point_of(runs[0].configuration) == cheap.table.space.point_of(
        cheap.memory.filled(cheap.table.default)
    )
    assert all(each.state is TrialState.SUCCEEDED for each in runs)
    assert len(runs) == 12 or search_ours.good_enough(cheap, runs[-1])


def test_a_search_that_does_not_start_says_why(fast: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_peers, "PEERS", {"none": ("none_peer", ())})
    with pytest.raises(RuntimeError, match=r"none asked for nothing: .*none_peer\.py"):
        search_peers.search("none", Path(sys.executable), fast, 1, 3)


def test_trials_are_counted_to_the_first_that_is_near_the_best() -> None:
    assert Result((2.0, 1.2, 1.05, 1.0), 30).trials == 3
    never = Result((2.0, math.inf, 1.06), 30)
    assert (never.trials, never.reached) == (30, False)
    (_, _, row) = trials_table({("a", "p"): [Result((1.0,), 30), never, never]}, ["p"], ["a"], seeds=3)
    assert row == "| p | 30 (15.5 to 30), 1 of 3 |"


def test_goals_are_judged_against_the_best_of_the_others() -> None:
    def after(trials: int) -> list[Result]:
        return [Result((*[2.0] * (trials - 1), 1.0), 30)]

    found = {("tpe", "p"): after(20), ("smac", "p"): after(8), ("cold", "p"): after(8), ("warm", "p"): after(2)}
    assert [met for _, _, met in goals(found, ["p"], ["tpe", "smac"], "cold", "warm", seeds=1)] == [True, True]
    found |= {("cold", "p"): after(9), ("warm", "p"): after(3)}
    judged = goals(found, ["p", "not run"], ["tpe", "smac"], "cold", "warm", seeds=1)
    assert [figure for _, figure, _ in judged] == ["1.12 times, 0 of 1 problems", "0.38 times, 0 of 1 problems"]
    assert not any(met for _, _, met in judged)
    assert goals(found, ["p"], ["tpe", "smac"], "cold", "warm", seeds=2) == [], "one seed is no judgement"


def test_the_page_says_what_is_missing(tmp_path: Path, fast: Problem) -> None:
    page = tmp_path / "search.md"
    left_out = {"HiBench terasort 64,000": 0.2}
    found = {("tpe", fast.name): [Result((1.5, 1.0), 30)], ("cold", fast.name): [], ("warm", fast.name): []}
    write_report(
        page, [fast], left_out, found, peers={"tpe": ("optuna==5.0.0",)}, ours=("cold", "warm"), seeds=20, trials=30,
        missing=["the HiBench tables"],
    )  # fmt: skip
    text = page.read_text()
    assert "Not here: the HiBench tables." in text
    assert "| HiBench terasort 32,000, time | 2 (2 to 2), 1 of 1 | not run | not run |" in text
    assert "**Not finished**: 3 of 3 cells have fewer than 20 seeds" in text
    assert "`optuna==5.0.0`" in text
    assert "**Not judged**: no problem has 20 seeds" in text
    assert "HiBench terasort 64,000 (0.20)" in text
