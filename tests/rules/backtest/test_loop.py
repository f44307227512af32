"""The closed loop: it helps, it does not flap, and it sees the past only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import msgspec
import numpy as np
import pytest

from rules.backtest.loop import Backtest, backtest
from rules.estimator import estimate
from rules.forecast.decision import ForecastPlan
from rules.model import PropertyChange
from rules.optimizer.result import Optimum
from rules.policy import NO_LIMITS, Policy
from tests.oracle.runner import build_or_skip, replay
from tests.rules.backtest.cases import PREFIX, busy_case, optimum, search_among
from workloads.trace import Case, Job, Task, Update, case_to_json

AT_WILL = msgspec.structs.replace(NO_LIMITS, cool_down_s=0.0)
PLAN = ForecastPlan(seed=1, search_draws=2, check_draws=3)


def run(case: Case, policy: Policy = AT_WILL, plan: ForecastPlan = PLAN, every_s: float = 150.0) -> Backtest:
    return backtest(case, every_s, policy, plan, search_among())


def test_it_helps_and_changes_only_at_its_times() -> None:
    case = busy_case()
    found = run(case)
    assert found.static == estimate(case)
    assert found.adaptive.summary == estimate(found.case).summary
    assert found.adaptive.summary.mean_latency_s < 0.85 * found.static.summary.mean_latency_s
    assert found.updates
    assert all(update.time_s % 150.0 == 0 for update in found.updates)
    assert [moment.time_s for moment in found.moments[:3]] == [150.0, 300.0, 450.0]


def test_it_is_the_same_each_time_and_another_with_another_seed() -> None:
    case = busy_case()
    assert run(case).moments == run(case).moments
    assert run(case).moments != run(case, plan=replace(PLAN, seed=2)).moments


def test_in_the_cool_down_nothing_is_changed() -> None:
    found = run(busy_case(), msgspec.structs.replace(NO_LIMITS, cool_down_s=400.0))
    times = [update.time_s for update in found.updates]
    assert times
    assert np.all(np.diff(times) >= 400.0)


def test_a_gain_within_the_spread_or_below_the_policy_s_least_is_left() -> None:
    stubborn = run(busy_case(), msgspec.structs.replace(AT_WILL, least_gain_percent=100.0))
    assert stubborn.updates == ()
    assert stubborn.adaptive == stubborn.static
    assert any("not beyond doubt" in moment.decision.reason for moment in stubborn.moments)


def test_what_harms_is_not_taken_whatever_the_search_says() -> None:
    """A search that is sure of a configuration in which only one AM fits."""

    def fool(draws: Sequence[Case], policy: Policy, seed: int) -> Optimum:
        return optimum((PropertyChange(f"{PREFIX}root.a.maximum-am-resource-percent", None, "0.01"),))

    found = backtest(busy_case(), 150.0, AT_WILL, PLAN, fool)
    assert found.updates == ()


def test_the_guard_keeps_a_queue_from_losing() -> None:
    """All capacity to the larger team: the other one pays."""
    choice = {f"{PREFIX}root.a.capacity": "90", f"{PREFIX}root.b.capacity": "10"}
    choice |= {f"{PREFIX}root.a.maximum-am-resource-percent": "0.3", f"{PREFIX}root.b.maximum-capacity": "10"}

    def greedy(draws: Sequence[Case], policy: Policy, seed: int) -> Optimum:
        return optimum(tuple(PropertyChange(name, None, value) for name, value in choice.items()))

    guarded = backtest(busy_case(), 150.0, AT_WILL, PLAN, greedy)
    free = backtest(busy_case(), 150.0, AT_WILL, replace(PLAN, guarded=False), greedy)
    assert guarded.updates == ()
    assert any("root.b would lose" in moment.decision.reason for moment in guarded.moments)
    assert not any("would lose" in moment.decision.reason for moment in free.moments)


def futures(case: Case, now_s: float) -> list[Case]:
    """The case with other futures: what had not ended by then, and all that comes later."""
    ended = {job.id for job in estimate(replace(case, horizon_s=now_s)).jobs if job.finish_s >= 0}
    random = np.random.default_rng(0)

    def longer(job: Job) -> Job:
        """Only jobs that came so late that no task of theirs can have ended."""
        if job.id in ended or job.submit_s < now_s - 2.0:
            return job
        return replace(job, tasks=tuple(replace(task, duration_s=task.duration_s * 7 + 5) for task in job.tasks))

    other = tuple(replace(job, submit_s=now_s + float(random.uniform(0, 300))) if job.submit_s >= now_s else job
                  for job in case.jobs)  # fmt: skip
    flood = tuple(Job(f"more{i}", "b", now_s + 1, "eve", 512, tasks=(Task(99.0),) * 9) for i in range(20))
    return [
        replace(case, jobs=tuple(job for job in case.jobs if job.submit_s < now_s)),
        replace(case, jobs=tuple(sorted(other, key=lambda job: job.submit_s))),
        replace(case, jobs=(*case.jobs, *flood)),
        replace(case, jobs=tuple(longer(job) for job in case.jobs)),
        replace(case, horizon_s=case.horizon_s + 777.0),
        replace(case, updates=(Update(now_s, {f"{PREFIX}root.a.user-limit-factor": "3"}),)),
    ]


@pytest.mark.parametrize("number", range(6))
def test_another_future_changes_no_decision_before_it(number: int) -> None:
    case, now_s = busy_case(), 460.0
    other = futures(case, now_s)[number]
    assert other != case
    expected = [moment for moment in run(case).moments if moment.time_s <= now_s]
    assert len(expected) == 3
    assert [moment for moment in run(other).moments if moment.time_s <= now_s] == expected


@pytest.mark.slow
@pytest.mark.parametrize("executors", [False, True])
def test_the_updates_replay_through_hadoop_s_own_scheduler(executors: bool) -> None:
    build_or_skip()
    found = run(busy_case(executors=executors))
    (result,) = replay([case_to_json(found.case)])
    ends = {job["id"]: job["finish"] for job in result["jobs"]}
    assert found.updates
    assert ends == pytest.approx({job.id: job.finish_s for job in found.adaptive.jobs}, abs=1e-6)
