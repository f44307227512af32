"""Whether queues, as the ResourceManager shows them, have what they should have."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rules.backends.capacity_shown import unseen_capacity
from rules.backends.fair_shown import steady_memory, unseeable_fair, unseen_fair
from rules.model import PropertyChange
from rules.plan import Configuration
from tuner.yarn import queues
from tuner.yarn.model import Resource, SchedulerInfo

P = "yarn.scheduler.capacity."
BODIES = Path(__file__).parents[2] / "tuner" / "yarn" / "bodies"


@pytest.fixture(scope="module")
def capacity() -> SchedulerInfo:
    """root.default 45 %, root.prod 55 %, maxima 100 %, AM share 0.5, fifo; recorded from Hadoop 3.5.0."""
    return queues.scheduler(json.loads((BODIES / "hadoop-3.5.0-scheduler_capacity.json").read_text()))


@pytest.mark.parametrize(
    ("name", "shown", "other"),
    [
        ("root.prod.capacity", "55", "54"),
        ("root.prod.capacity", "55.0", "60"),
        ("root.prod.maximum-capacity", "100", "90"),
        ("root.prod.user-limit-factor", "1.0", "2"),
        ("root.prod.minimum-user-limit-percent", "100", "25"),
        ("root.prod.maximum-am-resource-percent", "0.5", "0.1"),
        ("root.prod.maximum-applications", "5500", "10"),
        ("root.prod.ordering-policy", "fifo", "fair"),
    ],
)
def test_each_property_that_can_be_seen(capacity: SchedulerInfo, name: str, shown: str, other: str) -> None:
    before = Configuration({f"{P}{name}": "before"})
    assert unseen_capacity(Configuration({f"{P}{name}": shown}), before, capacity) == ()
    (found,) = unseen_capacity(Configuration({f"{P}{name}": other}), before, capacity)
    assert (found.property, found.before) == (f"{P}{name}", other)


def test_a_property_that_was_taken_out_has_its_default_or_the_schedulers(capacity: SchedulerInfo) -> None:
    name = f"{P}root.prod.maximum-am-resource-percent"
    before = Configuration({name: "0.7"})
    assert unseen_capacity(Configuration({f"{P}maximum-am-resource-percent": "0.5"}), before, capacity) == ()
    assert unseen_capacity(Configuration({}), before, capacity) == (PropertyChange(name, "0.1", "0.5"),)
    limit = Configuration({f"{P}root.prod.maximum-capacity": "50"})
    assert unseen_capacity(Configuration({}), limit, capacity) == ()


def test_what_cannot_be_seen_is_not_missed(capacity: SchedulerInfo) -> None:
    names = ("root.prod.priority", "root.prod.user-settings.ann.weight", "root.nope.capacity", "maximum-applications")
    wanted = Configuration({f"{P}{name}": "3" for name in names} | {f"{P}root.prod.capacity": "[memory=1024,vcores=1]"})
    assert unseen_capacity(wanted, Configuration({}), capacity) == ()


def fair_queue(path: str, steady: int, least: int = 0, most: int = 65536, **more: Any) -> dict[str, Any]:
    return {
        "type": "fairSchedulerLeafQueueInfo",
        "queueName": path,
        "steadyFairResources": {"memory": steady, "vCores": 1},
        "fairResources": {"memory": steady, "vCores": 1},
        "minResources": {"memory": least, "vCores": 0},
        "maxResources": {"memory": most, "vCores": 100},
        "usedResources": {"memory": 0, "vCores": 0},
        "demandResources": {"memory": 0, "vCores": 0},
        "maxApps": 8,
        "schedulingPolicy": "fair",
        **more,
    }


def fair(*children: dict[str, Any]) -> SchedulerInfo:
    root = {**fair_queue("root", 16384), "type": None, "childQueues": {"queue": list(children)}}
    return queues.scheduler({"scheduler": {"schedulerInfo": {"type": "fairScheduler", "rootQueue": root}}})


TOTAL = Resource(16384, 16)


@pytest.mark.parametrize(
    ("weights", "bounds", "expected"),
    [
        ((1, 3), ((0, 65536), (0, 65536)), (4096, 12288)),
        ((1, 1), ((0, 65536), (0, 2048)), (14336, 2048)),
        ((1, 3), ((6000, 65536), (0, 65536)), (6000, 10384)),
        ((0, 1), ((0, 65536), (0, 65536)), (0, 16384)),
        ((1, 1), ((0, 1000), (0, 2000)), (1000, 2000)),
    ],
)
def test_steady_shares(
    weights: tuple[int, int], bounds: tuple[tuple[int, int], ...], expected: tuple[int, int]
) -> None:
    """Shares are weight times a common ratio, held between minimum and maximum (ComputeFairShares)."""
    shown = fair(*(fair_queue(f"root.{name}", 0, *bound) for name, bound in zip("ab", bounds, strict=True)))
    properties = {f"root.{name}.weight": str(weight) for name, weight in zip("ab", weights, strict=True)}
    found = steady_memory(properties, shown)
    assert (found["root.a"], found["root.b"]) == pytest.approx(expected, abs=2)


def test_weights_are_seen_by_the_steady_shares() -> None:
    before = Configuration({"root.a.weight": "1", "root.b.weight": "3"})
    wanted = Configuration({"root.a.weight": "3", "root.b.weight": "1"})
    old = fair(fair_queue("root.a", 4096), fair_queue("root.b", 12288))
    assert [found.property for found in unseen_fair(wanted, before, old, TOTAL)] == ["root.a.weight", "root.b.weight"]
    new = fair(fair_queue("root.a", 12288), fair_queue("root.b", 4096))
    assert unseen_fair(wanted, before, new, TOTAL) == ()


@pytest.mark.parametrize(
    ("name", "shown", "other"),
    [
        ("minResources", "2048 mb,1 vcores", "4096 mb,1 vcores"),
        ("maxResources", "8192 mb,8 vcores", "4096 mb,8 vcores"),
        ("maxResources", "50% memory, 10% cpu", "25%"),
        ("maxRunningApps", "8", "9"),
        ("schedulingPolicy", "fair", "drf"),
    ],
)
def test_limits_of_the_fair_scheduler(name: str, shown: str, other: str) -> None:
    info = fair(fair_queue("root.a", 8192, 2048, 8192), fair_queue("root.b", 8192))
    before = Configuration({f"root.a.{name}": "before"})
    assert unseen_fair(Configuration({f"root.a.{name}": shown}), before, info, TOTAL) == ()
    found = unseen_fair(Configuration({f"root.a.{name}": other}), before, info, TOTAL)
    assert [each.property for each in found] == [f"root.a.{name}"]


def test_what_cannot_be_seen_of_the_fair_scheduler() -> None:
    before = Configuration({"root.a.weight": "1", "root.a.maxRunningApps": "3", "root.a.maxAMShare": "0.5"})
    wanted = Configuration({"root.a.weight": "2", "root.a.maxAMShare": "0.7", "userMaxAppsDefault": "5"})
    assert unseeable_fair(wanted, before) == ("root.a.maxAMShare", "userMaxAppsDefault", "root.a.maxRunningApps")
