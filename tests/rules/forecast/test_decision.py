"""The decision: taken beyond doubt or not at all, and never one that lets masters fill the cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest

from rules.forecast.decision import Change, Decision, ForecastPlan, decide
from rules.forecast.flood import bounded_policy, flood_case, survives
from rules.forecast.observation import ClusterFacts, Observation, SeenContainers
from rules.model import PropertyChange
from rules.optimizer.result import Optimum
from rules.policy import NO_LIMITS, Bounds, Policy, QueuePolicy
from tests.rules.backtest.cases import CONF, PREFIX, change, optimum
from tests.rules.forecast.test_draw import seen_job
from workloads.trace import Case, Job, Node, Task

CLUSTER = ClusterFacts("capacity", (Node(8192, 8),) * 2, CONF)
BUSY = Observation(
    600.0,
    tuple(
        seen_job(
            number, 3.0 * number, queue="a" if number % 3 else "b", user=f"u{number % 4}", end_s=3.0 * number + 14.0,
            containers=(SeenContainers(1024, 1, (10.0,) * 3),),
        )
        for number in range(195)
    ),
)  # fmt: skip
"""Two thirds of the cluster are asked for; two application masters of 512 MiB at a time are not enough for queue a."""
JOBS = tuple(Job(f"j{i}", queue, 0.0, f"u{i}", 512, tasks=(Task(9.0),)) for i, queue in enumerate("abab"))


def decision(conf: Mapping[str, str | None], policy: Policy = NO_LIMITS, **fields: object) -> Decision:
    def search(draws: Sequence[Case], policy: Policy, seed: int) -> Optimum:
        return optimum(tuple(PropertyChange(name, None, value) for name, value in conf.items()), evaluations=1)

    return decide(BUSY, CLUSTER, policy, ForecastPlan(), search, **fields)  # type: ignore[arg-type]


def test_a_clear_gain_is_taken_with_its_reason_and_its_draws() -> None:
    found = decision(change("0.3", "fifo"))
    assert found.change is not None
    assert found.change.conf == change("0.3", "fifo")
    assert "% better than now, spread" in found.reason
    assert len(found.pairs) == ForecastPlan().check_draws
    before_s, after_s = (np.mean([pair[i].summary.mean_latency_s for pair in found.pairs]) for i in (0, 1))
    assert after_s < 0.95 * before_s
    assert [each.name for each in found.candidates] == ["present", "search"]


def test_nothing_found_is_nothing_done() -> None:
    assert decision({}).change is None
    assert decide(Observation(0.0, ()), CLUSTER, NO_LIMITS, ForecastPlan(), never).reason == (
        "there is no job to look ahead to"
    )


def never(draws: Sequence[Case], policy: Policy, seed: int) -> Optimum:
    raise AssertionError("there is nothing to search for")


def test_what_makes_no_difference_is_left() -> None:
    found = decision({f"{PREFIX}root.a.maximum-applications": "5000"})
    assert found.change is None
    assert "not beyond doubt" in found.reason


def test_the_way_back_to_the_beginning_is_open() -> None:
    def search(draws: Sequence[Case], policy: Policy, seed: int) -> Optimum:
        return optimum(())

    narrow = {f"{PREFIX}root.{queue}.maximum-capacity": "50" for queue in "ab"}
    narrow |= {f"{PREFIX}root.{queue}.user-limit-factor": "0.2" for queue in "ab"}
    worse = replace(CLUSTER, conf={**CONF, **narrow})
    found = decide(BUSY, worse, NO_LIMITS, ForecastPlan(), search, beginning=CLUSTER)
    assert found.change is not None
    back = found.change.of(Case(CLUSTER.nodes, (), conf=worse.conf))
    assert {name: value for name, value in back.conf.items() if value is not None} == dict(CONF)


class TestFlood:
    def test_the_default_survives_and_a_share_of_nearly_all_does_not(self) -> None:
        flood = flood_case(CLUSTER, JOBS)
        assert flood is not None
        assert survives(flood)
        assert not survives(Change(change("0.95", "fair", "10")).of(flood))

    def test_such_a_configuration_is_not_taken_however_good_the_draws_look(self) -> None:
        found = decision(change("0.95", "fair", "10"))
        assert found.change is None
        assert found.reason == "what was found is not allowed: application masters alone could fill the cluster"

    def test_the_search_is_bounded_to_what_survives(self) -> None:
        bounds = bounded_policy(NO_LIMITS, CLUSTER, JOBS).queue("root.a").bounds_of("maximum-am-resource-percent")
        assert bounds.most is not None
        assert 0.1 < bounds.most < 0.9
        flood = flood_case(CLUSTER, JOBS)
        assert flood is not None
        assert survives(Change(change(str(bounds.most), "fair", "100")).of(flood))

    def test_the_policy_s_own_bound_stays(self) -> None:
        own = Policy(queues={"*": QueuePolicy(bounds={"maximum-am-resource-percent": Bounds(most=0.9)})})
        assert bounded_policy(own, CLUSTER, JOBS) == own

    @pytest.mark.parametrize("nodes", [1, 50])
    def test_it_stays_small_on_a_large_cluster(self, nodes: int) -> None:
        flood = flood_case(replace(CLUSTER, nodes=(Node(65536, 64),) * nodes), JOBS)
        assert flood is not None
        assert len(flood.jobs) < 400

    def test_without_jobs_there_is_no_flood(self) -> None:
        assert flood_case(CLUSTER, ()) is None
        assert bounded_policy(NO_LIMITS, CLUSTER, ()) == NO_LIMITS
