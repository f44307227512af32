"""Which rule keeps an application waiting, and the smallest change that frees it: on clusters made by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rules.explain.explain import explain
from rules.explain.model import Explanation
from rules.explain.replay import Replay, Setting
from rules.live.model import LiveApplication, LiveCluster, Unreadable
from rules.model import Resources
from tests.rules.live.clusters import application, capacity_cluster, fair_cluster

PREFIX = "yarn.scheduler.capacity."
TWO_QUEUES = {
    "root.queues": "a,b",
    "root.a.capacity": "50",
    "root.b.capacity": "50",
    "root.a.maximum-am-resource-percent": "1",
    "resource-calculator": "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator",
}


def explained(live: LiveCluster, number: int = -1) -> Explanation:
    [found] = explain(live, [live.applications[number]], effects=False)
    return found


def changed(found: Explanation) -> dict[str, tuple[str | None, str | None]]:
    assert found.remedy is not None, found
    return {change.property.removeprefix(PREFIX): (change.before, change.after) for change in found.remedy.changes}


CAPACITY_CASES = {
    # G2-01: two AMs of 1024 MiB hold all of 0.2 x 8192 MiB, rounded up to 2048; the third needs 0.26 of it.
    "am-limit": (
        {"root.a.maximum-capacity": "50", "root.a.maximum-am-resource-percent": "0.2"},
        (
            application(1, "root.a", containers=1),
            application(2, "root.a", containers=1),
            application(3, "root.a", asks=1),
        ),
        {"root.a.maximum-am-resource-percent": ("0.2", "0.26")},
    ),
    # The queue's AMs may have 0.25 of 16384 MiB, one user's 0.25 of 8192.
    "user-am-limit": (
        {"root.a.maximum-am-resource-percent": "0.25"},
        (
            application(1, "root.a", containers=1),
            application(2, "root.a", containers=1),
            application(3, "root.a", asks=1),
        ),
        {"root.a.maximum-am-resource-percent": ("0.25", "0.26")},
    ),
    # G2-02: the queue is sure of 8192 MiB, one user gets that and one container, though the cluster be idle. A factor
    # of 1.1 would do for the memory (rounded up to 9216 MiB), and gives 8 vcores where 9 are held.
    "user-limit-factor": (
        {},
        (application(1, "root.a", containers=9, asks=3),),
        {"root.a.user-limit-factor": (None, "1.2")},
    ),
    "maximum-capacity": (
        {"root.a.maximum-capacity": "60", "root.a.user-limit-factor": "-1"},
        (application(1, "root.a", containers=9, asks=3),),
        {"root.a.maximum-capacity": ("60", "63")},
    ),
    "parallel-applications": (
        {"root.max-parallel-apps": "1"},
        (application(1, "root.b", containers=1), application(2, "root.a", asks=1)),
        {"root.max-parallel-apps": ("1", "2")},
    ),
    "user-parallel-applications": (
        {"user.max-parallel-apps": "1"},
        (application(1, "root.b", containers=1), application(2, "root.a", asks=1)),
        {"user.alice.max-parallel-apps": (None, "2")},
    ),
}


@pytest.mark.parametrize("rule", CAPACITY_CASES)
def test_the_rule_that_binds_and_the_smallest_change_that_frees(rule: str) -> None:
    conf, applications, remedy = CAPACITY_CASES[rule]
    found = explained(capacity_cluster(TWO_QUEUES | conf, *applications))
    assert (found.rule, changed(found)) == (rule, remedy)
    assert found.doubts == ()


def test_the_maximum_of_a_queue_above_is_named() -> None:
    conf = {
        "root.queues": "team,b",
        "root.team.capacity": "50",
        "root.team.maximum-capacity": "50",
        "root.team.queues": "x,y",
        "root.team.x.capacity": "50",
        "root.team.y.capacity": "50",
        "root.team.x.user-limit-factor": "-1",
        "root.b.capacity": "50",
    }
    found = explained(capacity_cluster(conf, application(1, "root.team.x", containers=8, asks=1)))
    assert found.rule == "maximum-capacity"
    assert changed(found) == {"root.team.maximum-capacity": ("50", "57")}


def test_two_limits_at_once_are_raised_together() -> None:
    conf = TWO_QUEUES | {"root.a.maximum-capacity": "50"}
    found = explained(capacity_cluster(conf, application(1, "root.a", containers=8, asks=2)))
    # 9216 MiB are 56.25 % of the cluster, so the maximum comes first; the user limit of 8192 lets one container over.
    assert changed(found) == {"root.a.maximum-capacity": ("50", "57")}
    more = capacity_cluster(
        TWO_QUEUES | {"root.a.maximum-capacity": "56.25"}, application(1, "root.a", containers=9, asks=2)
    )
    assert set(changed(explained(more))) == {"root.a.maximum-capacity", "root.a.user-limit-factor"}


def test_a_full_cluster_has_no_remedy_in_its_queues() -> None:
    live = capacity_cluster(
        TWO_QUEUES, application(1, "root.b", containers=8), application(2, "root.a", asks=1), nodes=1
    )
    found = explained(live)
    assert (found.rule, found.remedy) == ("cluster-resources", None)
    assert "no property frees room" in found.no_remedy


def test_a_container_that_no_node_could_hold_is_plain() -> None:
    found = explained(capacity_cluster(TWO_QUEUES, application(1, "root.a", asks=1, size=Resources(16384, 1))))
    assert found.rule == "cluster-resources"
    assert "larger than any node" in found.reason


def test_a_label_that_no_node_has_is_plain() -> None:
    found = explained(capacity_cluster(TWO_QUEUES, application(1, "root.a", asks=1, label="gpu")))
    assert found.rule == "node-label"
    assert "'gpu'" in found.reason


def test_what_gets_on_waits_for_nothing() -> None:
    found = explained(capacity_cluster(TWO_QUEUES, application(1, "root.a", asks=1)))
    assert found.remedy is None
    assert "next heartbeats" in found.reason
    idle = explained(capacity_cluster(TWO_QUEUES, application(1, "root.a", containers=2)))
    assert (idle.rule, idle.reason) == (None, "it waits for no container")


def test_the_resource_managers_own_word_counts_and_the_difference_is_told() -> None:
    said = (
        "Application is added to the scheduler and is not yet activated. Queue's AM resource limit exceeded.  Details"
    )
    found = explained(
        capacity_cluster(
            TWO_QUEUES | {"max-parallel-apps": "1"},
            application(1, "root.a", containers=1),
            application(2, "root.a", asks=1, diagnostics=said),
        )
    )
    assert found.rule == "am-limit"
    assert "parallel-applications" in found.doubts[0]


def test_without_the_configuration_the_resource_managers_word_is_left() -> None:
    live = capacity_cluster(
        TWO_QUEUES, application(1, "root.a", asks=1, diagnostics="User's AM resource limit exceeded")
    )
    found = explained(replace(live, configuration=Unreadable("the file is elsewhere", "set HADOOP_CONF_DIR")))
    assert (found.rule, found.remedy) == ("user-am-limit", None)
    assert "set HADOOP_CONF_DIR" in found.doubts[0]


FAIR = "<allocations><queue name='a'>{}</queue><queue name='b'/>{}</allocations>"
FAIR_CASES = {
    "fair-max-running-apps": (
        ("<maxRunningApps>1</maxRunningApps>", ""),
        (application(1, "root.a", containers=1), application(2, "root.a", asks=1)),
        {"root.a.maxRunningApps": ("1", "2")},
    ),
    "fair-user-max-running-apps": (
        ("", "<user name='alice'><maxRunningApps>1</maxRunningApps></user>"),
        (application(1, "root.b", containers=1), application(2, "root.a", asks=1)),
        {"user alice.maxRunningApps": ("1", "2")},
    ),
    # One queue is active, so its fair share is the cluster; two AMs are an eighth of it.
    "fair-am-share": (
        ("<maxAMShare>0.1</maxAMShare>", ""),
        (application(1, "root.a", containers=1), application(2, "root.a", asks=1)),
        {"root.a.maxAMShare": ("0.1", "0.13")},
    ),
    "fair-max-share": (
        ("<maxResources>4096 mb, 4 vcores</maxResources>", ""),
        (application(1, "root.a", containers=4, asks=2),),
        {"root.a.maxResources": ("4096 mb, 4 vcores", "5120 mb,5 vcores")},
    ),
}


@pytest.mark.parametrize("rule", FAIR_CASES)
def test_the_rule_of_the_fair_scheduler_that_binds(rule: str) -> None:
    (queue, file), applications, remedy = FAIR_CASES[rule]
    found = explained(fair_cluster(FAIR.format(queue, file), *applications))
    assert (found.rule, changed(found)) == (rule, remedy)


def test_of_many_alike_the_first_is_given_its_change_and_the_others_named_with_it() -> None:
    conf, applications, remedy = CAPACITY_CASES["am-limit"]
    live = capacity_cluster(TWO_QUEUES | conf, *applications, application(4, "root.a", asks=1))
    first, second = explain(live, live.applications[2:], effects=False)
    assert (changed(first), second.rule, second.remedy) == (remedy, "am-limit", None)
    assert first.application.id in second.no_remedy
    # By itself it gets its own, which is more: the other one starts first.
    assert changed(explained(live)) == {"root.a.maximum-am-resource-percent": ("0.2", "0.38")}


def test_an_application_that_asks_for_more_than_the_cluster_has_is_as_one_that_asks_for_all() -> None:
    live = capacity_cluster(TWO_QUEUES, application(1, "root.a", containers=9, asks=1_000_000))
    assert explained(live).rule == "user-limit-factor"


def test_the_effect_of_a_change_is_told_with_its_assumptions() -> None:
    conf, applications, _ = CAPACITY_CASES["am-limit"]
    live = capacity_cluster(TWO_QUEUES | conf, *applications)
    [found] = explain(live, [live.applications[-1]])
    assert found.remedy is not None
    assert found.remedy.effect is not None
    [queue] = found.remedy.effect.queues
    assert (queue.path, queue.applications) == ("root.a", 3)
    assert queue.after_s < queue.before_s
    assert found.remedy.effect.assumptions


@settings(max_examples=40, deadline=None)
@given(
    masters=st.integers(1, 6),
    percent=st.integers(1, 60),
    waiting=st.integers(1, 4),
    factor=st.sampled_from(["0.5", "1", "2", "-1"]),
)
def test_the_proposed_change_frees_and_a_smaller_one_does_not(
    masters: int, percent: int, waiting: int, factor: str
) -> None:
    conf = TWO_QUEUES | {
        "root.a.maximum-am-resource-percent": str(percent / 100),
        "root.a.user-limit-factor": factor,
    }
    running = [application(i, "root.a", containers=1) for i in range(masters)]
    live = capacity_cluster(conf, *running, *(application(10 + i, "root.a", asks=1) for i in range(waiting)))
    found = explained(live)
    if found.remedy is None:
        return
    replay = Replay(live)
    assert not served(replay, live.applications[-1], {})
    changes = {change.property: change.after for change in found.remedy.changes}
    assert served(replay, live.applications[-1], changes)
    for change in found.remedy.changes:
        step = 0.01 if change.property.endswith("percent") else 0.1
        less = f"{float(change.after or 0) - step:.2f}"
        assert not served(replay, live.applications[-1], {**changes, change.property: less})


def served(replay: Replay, found: LiveApplication, changes: dict[str, str | None]) -> bool:
    setting = Setting({**replay.present.conf, **changes}, replay.present.allocations)
    return replay.verdicts(setting)[0][found.id].served
