"""What a real ResourceManager says to a configuration, and what the checks say, do not contradict each other."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from rules.dialects.capacity_update import apply_update, update_between
from rules.dialects.capacity_validation import errors, validate_change
from rules.model import Resources
from tests.rules.dialects.capacity_cases import CASES, PREFIX
from tuner.yarn.auth import SimpleAuth
from tuner.yarn.client import ResourceManagerClient
from tuner.yarn.model import Applied, Rejected, Valid
from workloads.cluster.spec import RunningCluster

pytestmark = pytest.mark.cluster

CLUSTER = Resources(16384, 16)


@pytest.fixture(scope="module")
def rm(yarn_cluster: RunningCluster) -> Iterator[ResourceManagerClient]:
    with ResourceManagerClient(yarn_cluster.rm_url, SimpleAuth("alice"), timeout_s=30.0) as client:
        yield client


@pytest.fixture
def live(rm):
    """The configuration that runs, which a test leaves as it was."""
    before = dict(rm.scheduler_conf().properties)
    yield before
    after = dict(rm.scheduler_conf().properties)
    if after != before:
        assert isinstance(rm.update_scheduler_conf(update_between(after, before)), Applied)


def on_top_of(live: dict[str, str], properties: dict[str, str]) -> dict[str, str]:
    """The queues of a case with whatever else the cluster has set."""
    settings = {name: value for name, value in live.items() if not name.startswith(f"{PREFIX}root.")}
    return {**settings, **properties}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_resource_manager_says_what_the_case_says(rm, live, case):
    proposed = on_top_of(live, case.properties())
    outcome = rm.validate(update_between(live, proposed))
    assert isinstance(outcome, Valid if case.rm == "takes" else Rejected), outcome


VALUES = {
    "user-limit-factor": ["1", "2.5", "0", "-1", "x"],
    "minimum-user-limit-percent": ["100", "25", "33.3", "0", "101"],
    "maximum-am-resource-percent": ["0.1", "1", "20"],
    "maximum-capacity": ["100", "60", "10", "-1", "8w", "[memory=4096,vcores=4]", "50%"],
    "ordering-policy": ["fifo", "fair", "utilization", "priority-utilization", "lifo"],
    "state": ["RUNNING", "STOPPED", "stopped", "PAUSED"],
    "maximum-allocation-mb": ["8192", "4096", "9000"],
    "max-parallel-apps": ["5", "0", "many"],
    "priority": ["0", "3", "1.5"],
    "user-settings.bob.weight": ["1", "3"],
    "accessible-node-labels": ["gpu", "gpu,ssd", "*", ""],
    "accessible-node-labels.gpu.capacity": ["100", "50", "-1", "2w"],
    "default-node-label-expression": ["gpu", ""],
    "disable_preemption": ["true", "perhaps"],
    "default-application-lifetime": ["60", "600"],
    "maximum-application-lifetime": ["300", "-1"],
    "auto-create-child-queue.enabled": ["true", "false"],
    "auto-queue-creation-v2.enabled": ["true", "false"],
    "allow-zero-capacity-sum": ["true", "false"],
    "reservable": ["true", "false"],
}


def generated(seed: int) -> dict[str, str]:
    """A tree of up to three levels with shares in one way or another, and a few properties, good and bad."""
    draw = random.Random(seed)
    properties: dict[str, str] = {}

    def divide(path: str, names: list[str], depth: int) -> None:
        properties[f"{PREFIX}{path}.queues"] = ",".join(names)
        way = draw.choice(["percent"] * 4 + ["weight"] * 2 + ["amounts", "mixed", "short"])
        cuts = sorted(draw.sample(range(1, 100), len(names) - 1))
        shares = [high - low for low, high in zip([0, *cuts], [*cuts, 100], strict=True)]
        for name, share in zip(names, shares, strict=True):
            written = {"weight": f"{share}w", "amounts": f"[memory={share * 80},vcores={1 + share // 13}]"}
            text = written.get(way, str(share if way != "short" else max(share - 1, 0)))
            child = f"{path}.{name}"
            properties[f"{PREFIX}{child}.capacity"] = text if way != "mixed" or name != names[0] else f"{share}w"
            if depth < 2 and name != "default" and draw.random() < 0.4:
                divide(child, draw.sample(["x", "y", "z"], draw.randint(1, 3)), depth + 1)

    divide("root", ["default", *draw.sample(["a", "b", "c"], draw.randint(0, 3))], 0)
    paths = [name.removeprefix(PREFIX).removesuffix(".capacity") for name in properties if name.endswith(".capacity")]
    for suffix in draw.sample(sorted(VALUES), draw.choice([0, 1, 2, 3])):
        properties[f"{PREFIX}{draw.choice(paths)}.{suffix}"] = draw.choice(VALUES[suffix])
    return properties


def test_what_the_resource_manager_refuses_is_found_here(rm, live):
    """Over generated configurations; one that is refused and has no error here would be a hole in the checks."""
    refused, passed, holes = 0, 0, []
    for seed in range(250):
        proposed = on_top_of(live, generated(seed))
        found = errors(validate_change(live, proposed, cluster_total=CLUSTER))
        outcome = rm.validate(update_between(live, proposed))
        if isinstance(outcome, Rejected):
            refused += 1
            if not found:
                holes.append((seed, outcome.reason))
        else:
            passed += not found
    assert holes == []
    # Neither side may be empty, or the comparison would say nothing.
    assert refused > 50
    assert passed > 30


def test_an_update_leads_to_the_proposed_configuration_and_back(rm, live):
    new = {
        "root.queues": "default,a",
        "root.default.capacity": "60",
        "root.a.capacity": "40",
        "root.a.acl_submit_applications": " ",
        "root.a.user-limit-factor": "3",
        "root.a.queues": "x,y",
        "root.a.ordering-policy": "priority-utilization",
        "root.a.x.capacity": "50",
        "root.a.y.capacity": "50",
        "node-locality-delay": "10",
    }
    proposed = {**live, **{PREFIX + name: value for name, value in new.items()}}
    stopped = {**proposed, f"{PREFIX}root.a.state": "STOPPED", f"{PREFIX}root.a.queues": "y,x"}
    del stopped[f"{PREFIX}root.a.user-limit-factor"], stopped[f"{PREFIX}node-locality-delay"]
    current = live
    for target in (proposed, stopped, live):
        update = update_between(current, target)
        assert isinstance(rm.update_scheduler_conf(update), Applied)
        now = dict(rm.scheduler_conf().properties)
        assert now == target
        assert apply_update(current, update) == target
        current = now
