"""A leaf by itself goes as it does in the whole cluster where the others are idle; and what they hold is not usable."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rules.estimator import alone_latencies, estimate, job_times
from rules.optimizer.judge import Judge
from rules.optimizer.optimize import make_space
from rules.optimizer.space import LEAF, LeafQuestion
from rules.optimizer.tables import LeafTables
from rules.optimizer.usable import usable_by_leaf
from rules.policy import NO_LIMITS, Objective
from tests.rules.optimizer.cases import case_of
from workloads.trace import Case

KINDS = ("percent", "nested", "weights", "absolute", "fair")


def of_one_leaf(kind: str) -> tuple[Case, str]:
    case = case_of(kind)
    path = case.jobs[0].queue
    return replace(case, jobs=tuple(job for job in case.jobs if job.queue == path)), path


@pytest.mark.parametrize("kind", KINDS)
def test_a_leaf_alone_goes_as_in_the_whole(kind: str) -> None:
    case, path = of_one_leaf(kind)
    space = make_space(case, NO_LIMITS)
    question = LeafQuestion(
        path, space.shares(space.present)[path], tuple(space.settings(space.present, path).items()), ()
    )
    alone = space.leaf_case(question, tuple(replace(job, queue=LEAF) for job in case.jobs), case)
    assert job_times(alone).finish_s == pytest.approx(job_times(case).finish_s)


@pytest.mark.parametrize("kind", KINDS)
def test_less_that_is_usable_costs_more_and_a_table_holds_what_the_simulation_says(kind: str) -> None:
    case, path = of_one_leaf(kind)
    space = make_space(case, NO_LIMITS)
    judge = Judge([case], [[path] * len(case.jobs)], [alone_latencies(case)], NO_LIMITS, Objective.MEAN, guarded=False)
    tables = LeafTables(space, [case], [[path] * len(case.jobs)], judge)
    settings = space.settings(space.present, path)
    full = tables.cost(LeafQuestion(path, 0.1, tuple(settings.items()), ((0.0, 1.0),)))
    narrow = tables.cost(LeafQuestion(path, 0.1, tuple(settings.items()), ((0.0, 0.15),)))
    assert narrow > full
    before = tables.evaluations
    tables.cost(LeafQuestion(path, 0.1, tuple(settings.items()), ((0.0, 1.0),)))
    assert tables.evaluations == before
    table = tables.table(path, (), settings, 0.4, [], 100)
    present = tables.cost(LeafQuestion(path, 0.4, tuple(sorted(settings.items())), ()))
    assert table.cost[40] <= present
    assert np.isinf(table.cost[0])


def test_an_idle_leaf_costs_nothing_at_any_share_that_it_may_have() -> None:
    case, path = of_one_leaf("percent")
    space = make_space(case, NO_LIMITS)
    judge = Judge([case], [[path] * len(case.jobs)], [alone_latencies(case)], NO_LIMITS, Objective.MEAN, guarded=False)
    tables = LeafTables(space, [case], [[path] * len(case.jobs)], judge)
    idle = next(leaf for leaf in space.leaves if leaf != path)
    table = tables.table(idle, (), {}, 0.3, [], 100)
    assert set(table.cost[np.isfinite(table.cost)]) == {0.0}
    assert tables.evaluations == 0


def test_what_others_hold_is_not_usable() -> None:
    case = case_of("percent")
    paths = [job.queue for job in case.jobs]
    usable = usable_by_leaf(case, paths, job_times(case), 4)
    assert set(usable) == set(paths)
    held = {path: [1 - free for _, free in spans] for path, spans in usable.items()}
    # The first leaf has most of the jobs: it leaves the others least, and has most left itself.
    busiest = case.jobs[0].queue if paths.count(case.jobs[0].queue) > len(paths) / 2 else "root.a"
    assert np.mean(held[busiest]) < min(np.mean(held[path]) for path in held if path != busiest)
    assert all(0 < free <= 1 for spans in usable.values() for _, free in spans)


@pytest.mark.parametrize("kind", KINDS)
def test_the_bare_times_are_those_of_the_estimate(kind: str) -> None:
    case = case_of(kind)
    times, jobs = job_times(case), estimate(case).jobs
    assert times.am_start_s.tolist() == [job.am_start_s for job in jobs]
    assert times.first_s.tolist() == [job.first_s for job in jobs]
    assert times.finish_s.tolist() == [job.finish_s for job in jobs]
    assert times.rejected.tolist() == [job.rejected is not None for job in jobs]
