"""What the Fair Scheduler's rules derive from an allocation file, and what the simulation keeps to."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rules.dialects.fair import parse_allocations
from rules.dialects.fair_site import read_site
from rules.estimator import estimate
from rules.limits import Limits
from rules.model import Resources
from rules.rulesets.fair import FAIR_RULES, fair_engine
from rules.rulesets.fair_case import prepare_fair
from rules.rulesets.fair_facts import FairFacts
from rules.simulation.loop import run
from tests.fidelity.fair_cases import FAIR_CASES, PREEMPTION_CASES
from tuner.errors import InputError
from workloads.trace import parse_case

NODES = (Resources(8192, 8), Resources(8192, 8), Resources(4096, 4))


def limits(text: str, conf: dict[str, str] | None = None, users: tuple[str, ...] = ()) -> Limits:
    """The limits of an allocation file on 20480 MiB and 20 vcores, of its own queues and of root.ad_hoc."""
    allocations = parse_allocations(text)
    facts = FairFacts(allocations, read_site(conf or {}), NODES)
    return Limits.of(fair_engine().evaluate(facts.facts([*allocations.tree.queues, "root.ad_hoc"], users)))


def test_every_rule_says_what_it_does_and_where_hadoop_does_it() -> None:
    for rule in FAIR_RULES:
        assert rule.summary.endswith("."), rule.id
        assert rule.yarn, rule.id


def test_percentages_are_of_the_cluster_and_a_minimum_lifts_the_maximum() -> None:
    found = limits(
        "<allocations><queue name='a'><maxResources>50% memory, 25% cpu</maxResources></queue>"
        "<queue name='b'><minResources>4096 mb,9 vcores</minResources><maxResources>1024 mb,10 vcores</maxResources>"
        "</queue></allocations>"
    )
    a, b = found.get("max-share", "root.a"), found.get("max-share", "root.b")
    assert a is not None
    assert b is not None
    assert (a["most_memory"], a["most_vcores"]) == (10240, 5)
    assert (b["most_memory"], b["most_vcores"]) == (4096, 10)


def test_queues_that_the_file_does_not_name_get_its_defaults() -> None:
    found = limits(
        "<allocations><queueMaxAppsDefault>4</queueMaxAppsDefault><queueMaxAMShareDefault>0.2</queueMaxAMShareDefault>"
        "<defaultQueueSchedulingPolicy>drf</defaultQueueSchedulingPolicy></allocations>"
    )
    for kind, name, value in (("max-running-apps", "max_apps", 4), ("order", "policy", 2), ("weight", "weight", 1.0)):
        limit = found.get(kind, "root.ad_hoc")
        assert limit is not None
        assert limit[name] == value
    am_share = found.get("am-share", "root.ad_hoc")
    assert am_share is not None
    assert am_share["am_share"] == pytest.approx(0.2)


def test_timeouts_and_preemption_from_are_inherited() -> None:
    found = limits(
        "<allocations><defaultFairSharePreemptionTimeout>7</defaultFairSharePreemptionTimeout>"
        "<queue name='p'><allowPreemptionFrom>false</allowPreemptionFrom>"
        "<fairSharePreemptionThreshold>0.8</fairSharePreemptionThreshold><queue name='x'/></queue></allocations>"
    )
    starvation = found.get("starvation", "root.p.x")
    assert starvation is not None
    assert starvation["fair_timeout_ms"] == 7000
    assert starvation["min_timeout_ms"] == 2**63 - 1
    assert starvation["threshold"] == pytest.approx(0.8)
    assert found.get("no-preemption", "root.p.x") is not None
    assert found.get("no-preemption", "root.ad_hoc") is None


def test_an_am_share_of_minus_one_is_no_limit() -> None:
    assert (
        limits("<allocations><queue name='a'><maxAMShare>-1</maxAMShare></queue></allocations>").get(
            "am-share", "root.a"
        )
        is None
    )


def test_users_have_their_own_limit_or_the_default() -> None:
    text = (
        "<allocations><userMaxAppsDefault>5</userMaxAppsDefault><user name='ann'><maxRunningApps>2</maxRunningApps>"
        "</user></allocations>"
    )
    found = limits(text, users=("ann", "bob"))
    values = [limit["max_apps"] for user in ("ann", "bob") if (limit := found.get("max-running-apps", f"user:{user}"))]
    assert values == [2, 5]


def test_reservations_are_limited_as_a_float_says() -> None:
    twenty = FairFacts(parse_allocations("<allocations/>"), read_site({}), (Resources(8192, 8),) * 20)
    found = Limits.of(fair_engine().evaluate(twenty.facts(["root"], ())))
    reservation = found.get("reservation")
    assert reservation is not None
    assert reservation["nodes"] == 1  # 20 * 0.05f is 1 as a float; as a double it would be a little more
    assert (reservation["least_mib"], reservation["least_vcores"]) == (2048, 2)


def _run(case_file: dict[str, Any]) -> Any:
    prepared = prepare_fair(parse_case(case_file))
    run(prepared.memory.record)
    return prepared.memory


@pytest.mark.parametrize("name", [*FAIR_CASES, *PREEMPTION_CASES])
def test_nothing_is_lost_or_made_up(name: str) -> None:
    case = {**FAIR_CASES, **PREEMPTION_CASES}[name]()
    memory = _run(case)
    queues, nodes, apps = memory["queues"], memory["nodes"], memory["apps"]
    free, total = int(nodes["free_memory"].sum()), int(nodes["memory"].sum())
    assert total - free == queues["used_memory"][0] == apps["used_memory"].sum()
    assert int((nodes["vcores"] - nodes["free_vcores"]).sum()) == queues["used_vcores"][0]
    assert (nodes["free_memory"] >= 0).all()
    assert (nodes["free_vcores"] >= 0).all()
    if (memory["jobs"]["finish"] >= 0).all():
        assert queues["used_memory"][0] == 0
        assert (queues["am_memory"] == 0).all()
        assert (queues["running"] == 0).all()


@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(0.1, 50.0), min_size=1, max_size=6), st.integers(1, 6))
def test_fair_shares_fill_the_cluster_in_proportion_to_weights(weights: list[float], nodes: int) -> None:
    """While everyone wants more than there is: shares add up to the cluster but for rounding.

    Hadoop's bisection ends on its upper side, so equal shares of 8192 for three are 2731 each.
    """
    queues = "".join(f"<queue name='q{i}'><weight>{weight:.4f}</weight></queue>" for i, weight in enumerate(weights))
    jobs = [
        {"id": f"j{i}", "queue": f"root.q{i}", "submit": 0.0, "tasks": [{"duration": 500.0}] * 60}
        for i in range(len(weights))
    ]
    case = {
        "scheduler": "fair",
        "allocations": f"<allocations>{queues}</allocations>",
        "nodes": [{"memory": 8192, "vcores": 32}] * nodes,
        "jobs": jobs,
        "horizon": 20.0,
    }
    shares = _run(case)["queues"]["share_memory"][1:]
    total = 8192 * nodes
    assert abs(shares.sum() - total) <= len(weights)
    written = [round(weight, 4) for weight in weights]
    for weight, share in zip(written, shares, strict=True):
        # The lightest is cut to a whole MiB, which leaves the others open by as much as they are heavier.
        assert share == pytest.approx(total * weight / sum(written), abs=1 + weight / min(written))


def test_a_file_that_stops_the_resource_manager_is_an_error_and_one_that_comes_later_is_passed_over() -> None:
    bad = "<allocations><queue name='a'><maxAMShare>0.5</maxAMShare><queue name='b'/></queue></allocations>"
    case = FAIR_CASES["one-queue"]()
    with pytest.raises(InputError, match="YARN-10528"):
        prepare_fair(parse_case({**case, "allocations": bad}))
    before = _run(case)["jobs"]["finish"].tolist()
    assert _run({**case, "updates": [{"time": 50.0, "allocations": bad}]})["jobs"]["finish"].tolist() == before


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("am-share", "fair-am-share"),
        ("max-shares", "fair-max-share"),
        ("max-running-apps", "fair-max-running-apps"),
        ("mix", "fair-user-max-running-apps"),
        ("weights", "fair-weight"),
        ("fifo", "fair-order-fifo"),
        ("drf", "cluster-resources"),
    ],
)
def test_a_job_says_what_it_waits_for(name: str, rule: str) -> None:
    case = parse_case(FAIR_CASES[name]())
    found = estimate(case)
    waits: dict[str, float] = {}
    for job in found.jobs:
        assert sum(binding.seconds for binding in job.binding) <= case.horizon_s - job.submit_s + 1e-6
        for binding in job.binding:
            waits[binding.rule] = waits.get(binding.rule, 0.0) + binding.seconds
    assert waits[rule] > 1.0
