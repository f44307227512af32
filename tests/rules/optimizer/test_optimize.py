from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from rules.estimator import alone_latencies, estimate, job_times
from rules.optimizer import Guard, Optimum, optimize
from rules.policy import NO_LIMITS, Objective, Policy, QueuePolicy
from tests.rules.optimizer.cases import CONFIGURATIONS, PREFIX, case_of, contended
from workloads.trace import Case

KINDS = ("percent", "nested", "weights", "absolute", "fair")


def ticks() -> float:
    return 0.0


def search(case: Case, policy: Policy = NO_LIMITS, evaluations: int = 60, **options: object) -> Optimum:
    return optimize(case, policy, clock=ticks, evaluations=evaluations, **options)  # type: ignore[arg-type]


@cache
def found_for(kind: str, guard: Guard = "default") -> Optimum:
    return search(case_of(kind), guard=guard)


def applied(case: Case, found: Optimum) -> Case:
    if found.allocations is not None:
        return replace(case, allocations=found.allocations)
    return replace(case, conf={**case.conf, **found.conf})


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_found_is_better_as_predicted_and_the_guard_holds(kind: str) -> None:
    case, found = case_of(kind), found_for(kind)
    assert found.found
    alone_s = alone_latencies(case)
    before, after = (estimate(own, alone_s=alone_s) for own in (case, applied(case, found)))
    assert found.baseline.summary == before.summary
    assert found.predicted.summary == after.summary
    assert after.summary.rank < before.summary.rank
    assert found.comparison.mean_change_s == pytest.approx(after.summary.mean_latency_s - before.summary.mean_latency_s)
    for path, summary in before.by_queue.items():
        assert after.by_queue[path].mean_latency_s <= 1.25 * summary.mean_latency_s


def test_the_same_seed_gives_the_same() -> None:
    case = case_of("nested")
    assert search(case, seed=3) == search(case, seed=3)


def test_no_more_is_simulated_than_allowed() -> None:
    assert search(case_of("percent"), evaluations=30).evaluations <= 30


def test_the_time_limit_ends_the_search_and_is_told() -> None:
    times = iter(range(10_000))
    found = optimize(case_of("percent"), NO_LIMITS, clock=lambda: float(next(times)), time_limit_s=20.0)
    assert found.evaluations < 40
    assert any("time limit of 20 s" in words for words in found.notes)


def test_where_everything_is_locked_nothing_is_found_and_nothing_simulated() -> None:
    found = search(case_of("percent"), Policy(queues={"*": QueuePolicy(locked=True)}))
    assert not found.found
    assert found.predicted == found.baseline
    assert found.evaluations == 1


def test_a_cluster_without_contention_is_left_as_it_is() -> None:
    case = contended(CONFIGURATIONS["percent"], ["root.a", "root.b"], jobs=2)
    found = search(case)
    assert not found.found
    assert found.conf == {}


def test_without_jobs_there_is_nothing_to_find() -> None:
    found = search(contended(CONFIGURATIONS["percent"], ["root.a"], jobs=0))
    assert not found.found
    assert found.evaluations == 1


def test_gains_below_the_least_that_pays_are_not_proposed() -> None:
    assert not search(case_of("percent"), Policy(least_gain_percent=99)).found


def test_a_queue_that_counts_more_is_served_better() -> None:
    case = case_of("percent")
    favoured = Policy(queues={"root.c": QueuePolicy(weight=50)}, most_queue_loss_percent=None)
    plain = found_for("percent", "none").predicted.by_queue["root.c"].mean_latency_s
    assert search(case, favoured, guard="none").predicted.by_queue["root.c"].mean_latency_s <= plain


def test_the_objective_is_what_is_made_small() -> None:
    case = case_of("percent")
    target = Policy(queues={"*": QueuePolicy(target_latency_s=60.0)}, objective=Objective.TARGET_MISS)
    found = search(case, target, guard="none")
    before, after = estimate(case), estimate(applied(case, found))
    share_before, share_after = (
        sum(job.finish_s - job.submit_s > 60 for job in own.jobs) / len(own.jobs) for own in (before, after)
    )
    assert found.baseline.cost == pytest.approx(share_before, abs=1e-3)
    assert found.predicted.cost == pytest.approx(share_after, abs=1e-3)
    assert share_after < share_before
    slow = search(case, objective=Objective.SLOWDOWN)
    assert slow.predicted.cost == pytest.approx(slow.predicted.summary.mean_slowdown)
    assert slow.predicted.summary.mean_slowdown < slow.baseline.summary.mean_slowdown


def test_every_job_that_ended_before_still_ends() -> None:
    """AMs that may fill the cluster leave nothing for the tasks: such a configuration is never proposed."""
    case = case_of("percent")
    found = found_for("percent", "none")
    ended = job_times(case).finish_s >= 0
    assert (job_times(applied(case, found)).finish_s[ended] >= 0).all()


def test_only_what_can_change_at_run_time_is_changed() -> None:
    live = (
        ".capacity", ".maximum-capacity", ".user-limit-factor", ".minimum-user-limit-percent",
        ".maximum-am-resource-percent", ".ordering-policy", ".enable-size-based-weight",
    )  # fmt: skip
    for change in found_for("nested").changes:
        assert change.property.startswith(f"{PREFIX}root.")
        assert change.property.endswith(live)


def test_several_draws_are_judged_together() -> None:
    draws = [case_of("percent", seed=seed) for seed in (1, 2, 3)]
    found = optimize(draws, NO_LIMITS, clock=ticks, evaluations=60, guard="none")
    alone = [estimate(case).summary.mean_latency_s for case in draws]
    assert found.baseline.cost == pytest.approx(sum(alone) / 3)
    after = [estimate(applied(case, found)).summary.mean_latency_s for case in draws]
    assert found.predicted.cost == pytest.approx(sum(after) / 3)
    changes = [new - old for new, old in zip(after, alone, strict=True)]
    assert found.comparison.spread_s == pytest.approx(
        (sum((change - sum(changes) / 3) ** 2 for change in changes) / 2) ** 0.5 / 3**0.5
    )
