"""Cases that were reported from the field, each under its number: what users ran into, and what is said of it here."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from rules.dialects.capacity_validation import errors, validate, validate_change
from rules.dialects.fair import parse_allocations
from rules.dialects.fair_validate import refusal
from rules.dialects.fair_validate import validate as validate_fair
from rules.engine import Rule, RuleEngine, RuleError
from rules.estimator import estimate
from rules.live.document import configured_capacity
from rules.model import Resources, Severity
from rules.prepared import prepare
from rules.simulation.loop import run
from tests.rules.live.clusters import capacity_cluster
from workloads.trace import Case, Job, Node, Task

PREFIX = "yarn.scheduler.capacity."
GIB = 1024
ENDLESS_S = 1e6


def conf(properties: Mapping[str, str]) -> dict[str, str]:
    return {name if name.startswith("yarn.") else f"{PREFIX}{name}": value for name, value in properties.items()}


def rule_ids(properties: Mapping[str, str], **other: object) -> set[str]:
    return {finding.rule_id for finding in validate(conf(properties), **other)}  # type: ignore[arg-type]


def held_gib_by_user(case: Case) -> dict[str, float]:
    """What each user holds at the horizon, in GiB, the AMs' containers included."""
    prepared = prepare(case)
    run(prepared.memory.record)
    held: dict[str, float] = {}
    for place, row in zip(prepared.order, prepared.memory["apps"], strict=True):
        user = case.jobs[place].user
        held[user] = held.get(user, 0.0) + float(row["used_memory"]) / GIB
    return held


def greedy(users: int, queue: str, tasks: int, each_gib: int) -> tuple[Job, ...]:
    """For each user a job that takes all it can get and never ends."""
    task = Task(ENDLESS_S, each_gib * GIB)
    return tuple(Job(f"j{i}", queue, 0.0, f"user{i}", GIB, tasks=(task,) * tasks) for i in range(users))


def test_g2_01_an_application_waits_accepted_while_the_am_limit_is_reached() -> None:
    """AMs of 2560 MiB under a limit of 11264: four run, the fifth would make it 12800."""
    properties = conf({"root.queues": "a", "root.a.capacity": "100", "yarn.scheduler.minimum-allocation-mb": "512"})
    jobs = tuple(Job(f"j{i}", "a", float(i), am_memory_mib=2560, tasks=(Task(500.0),)) for i in range(5))
    found = estimate(Case((Node(11264, 16),) * 10, jobs, conf=properties, horizon_s=5000.0)).jobs
    assert [job.am_start_s < 10.0 for job in found] == [True] * 4 + [False]
    assert found[4].am_start_s >= min(job.finish_s for job in found[:4])
    assert found[4].binding[0].rule == "am-limit"


@pytest.mark.parametrize(
    ("users", "factor", "expected_gib"), [(1, "1", 120), (2, "1", 240), (5, "1", 600), (1, "2", 240)]
)
def test_g2_02_the_user_limit_factor_stops_one_user_borrowing_idle_capacity(
    users: int, factor: str, expected_gib: int
) -> None:
    """1000 GB, engineering 60 %, development to qa as 1 to 4: development is sure of 120 GB, a user of a multiple."""
    properties = {
        "root.queues": "engineering,other",
        "root.engineering.capacity": "60",
        "root.engineering.maximum-capacity": "60",
        "root.other.capacity": "40",
        "root.engineering.queues": "development,qa",
        "root.engineering.development.capacity": "20",
        "root.engineering.qa.capacity": "80",
        "root.engineering.development.user-limit-factor": factor,
        "root.engineering.development.maximum-am-resource-percent": "1",
        "per-node-heartbeat.maximum-offswitch-assignments": "100",
    }
    nodes = (Node(100 * GIB, 100),) * 10
    case = Case(nodes, greedy(users, "development", 100, 5), conf=conf(properties), horizon_s=60.0)
    held = sum(held_gib_by_user(case).values())
    # A user may go over the limit by one container, here 5 GiB, and the engineers' maximum is never passed.
    assert expected_gib - 5 <= held <= min(expected_gib + 6 * users, 600)


@pytest.mark.parametrize(("users", "shares"), [(1, [100]), (2, [50, 50]), (3, [33] * 3), (4, [25] * 4), (5, [25] * 4)])
def test_g2_03_a_minimum_user_limit_of_25_percent_gives_each_of_four_users_a_quarter(
    users: int, shares: list[int]
) -> None:
    """One user gets all, two a half, three a third, four or more a quarter each: 100 would be no limit."""
    properties = {
        "root.queues": "a",
        "root.a.capacity": "100",
        "root.a.minimum-user-limit-percent": "25",
        "root.a.maximum-am-resource-percent": "1",
    }
    case = Case((Node(1000 * GIB, 1000),), greedy(users, "a", 1000, 1), conf=conf(properties), horizon_s=3000.0)
    held = held_gib_by_user(case)
    # In percent. Those who come first go over the limit by a container of 0.1 %, at the cost of the last.
    assert [held[f"user{i}"] / 10 for i in range(len(shares))] == pytest.approx(shares, abs=0.81)


def test_g2_06_a_capacity_is_shown_as_configured_and_not_as_the_float_of_the_resource_manager() -> None:
    live = capacity_cluster({"root.queues": "a,b", "root.a.capacity": "30", "root.b.capacity": "70"})
    queue = live.queues.queue("root.a")
    assert queue is not None
    assert configured_capacity(live, queue) == "30"


THREE = {"root.queues": "default,dummy,new", "root.default.capacity": "60", "root.dummy.capacity": "30"}


def test_g2_08_a_queue_is_stopped_before_it_is_removed_and_not_in_one_step() -> None:
    before = conf({**THREE, "root.new.capacity": "10"})
    after = conf({"root.queues": "default,dummy", "root.default.capacity": "70", "root.dummy.capacity": "30"})
    assert "deleted-while-running" in {finding.rule_id for finding in errors(validate_change(before, after))}
    stopped = {**before, f"{PREFIX}root.new.state": "STOPPED"}
    assert errors(validate_change(before, stopped)) == ()
    assert errors(validate_change(stopped, after)) == ()
    unbalanced = {**after, f"{PREFIX}root.default.capacity": "60"}
    assert "sibling-sum" in {finding.rule_id for finding in errors(validate_change(stopped, unbalanced))}


def test_g2_09_siblings_add_up_in_one_change() -> None:
    before = conf({"root.queues": "a,b,c", "root.a.capacity": "25", "root.b.capacity": "75", "root.c.capacity": "0"})
    added = {**before, f"{PREFIX}root.queues": "a,b,c,d", f"{PREFIX}root.d.capacity": "25"}
    assert "sibling-sum" in {finding.rule_id for finding in errors(validate_change(before, added))}
    assert errors(validate_change(before, {**added, f"{PREFIX}root.b.capacity": "50"})) == ()
    assert "capacity-range" in rule_ids({"root.queues": "a", "root.a.capacity": "500"})


def test_g2_14_a_queue_of_one_percent_of_48_vcores_has_no_core() -> None:
    properties = {
        "root.queues": "tiny,small,large",
        "root.tiny.capacity": "1",
        "root.small.capacity": "19",
        "root.large.capacity": "80",
        "resource-calculator": "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator",
    }
    found = validate(conf(properties), cluster_total=Resources(168 * GIB, 48))
    [finding] = [each for each in found if each.rule_id == "rounds-to-no-core"]
    assert finding.queue == "root.tiny"
    assert "2.084 %" in finding.message


def test_g2_16_the_shares_of_each_label_add_up_too() -> None:
    two = {"root.queues": "a,b", "root.a.capacity": "50", "root.b.capacity": "50"}
    gpu = {f"root{path}.accessible-node-labels": "gpu" for path in ("", ".a", ".b")}
    whole = {"root.accessible-node-labels.gpu.capacity": "100"}
    shares = {f"root.{path}.accessible-node-labels.gpu.capacity": "50" for path in ("a", "b")}
    assert "sibling-sum" not in rule_ids({**two, **gpu, **whole, **shares})
    short = {**shares, "root.a.accessible-node-labels.gpu.capacity": "40"}
    assert "sibling-sum" in rule_ids({**two, **gpu, **whole, **short})
    leftover = {**two, "root.a.accessible-node-labels.gpu.capacity": "100"}
    assert rule_ids(leftover) & {"label-without-parent", "label-not-accessible", "label-not-in-parent"}
    negative = {**two, **gpu, **whole, **shares, "root.a.accessible-node-labels.gpu.capacity": "-1"}
    assert rule_ids(negative) & {"capacity-range", "unreadable-value"}


def test_g2_18_an_allocation_file_that_stops_the_resource_manager() -> None:
    parent = "<allocations><queue name='a'><maxAMShare>0.5</maxAMShare><queue name='b'/></queue></allocations>"
    finding = refusal(validate_fair(parse_allocations(parent)))
    assert finding is not None
    assert (finding.queue, finding.severity) == ("root.a", Severity.ERROR)
    weightless = "<allocations><queue name='a'><weight>0</weight></queue></allocations>"
    found = validate_fair(parse_allocations(weightless))
    assert [each.rule_id for each in found if each.severity is Severity.ERROR] == ["fair-weight"]


def double(fact: Mapping[str, float | str]) -> Mapping[str, float]:
    """Twice the number."""
    if fact["number"] == -1:
        raise ValueError("no such number")
    return {"twice": 2 * float(fact["number"])}


def engine() -> RuleEngine:
    return RuleEngine("field", [Rule("double", "twice", "Some#class", "thing", double)])


def test_g3_20_different_facts_are_never_taken_for_duplicates() -> None:
    """G3-20."""
    numbers = np.arange(46_000, 46_100)  # where durable-rules by itself saw the first one
    found = engine().evaluate([{"kind": "thing", "queue": f"q{n}", "number": float(n)} for n in numbers])
    assert [limit["twice"] for limit in found] == [2.0 * n for n in numbers]


def test_g3_21_more_evaluations_than_an_engine_has_sessions() -> None:
    """G3-21: it has 1024."""
    rules = engine()
    for number in range(1100):
        [limit] = rules.evaluate([{"kind": "thing", "queue": "a", "number": float(number)}])
        assert limit["twice"] == 2.0 * number


def test_g3_22_an_error_in_a_rule_is_raised_and_a_fact_without_a_rule_is_none() -> None:
    """G3-22."""
    with pytest.raises(RuleError, match="no such number"):
        engine().evaluate([{"kind": "thing", "queue": "a", "number": -1.0}])
    assert engine().evaluate([{"kind": "other", "queue": "a", "number": 1.0}]) == ()
