"""What is not modelled is said."""

from __future__ import annotations

import pytest

from rules.dialects.capacity import parse
from rules.estimator import estimate
from rules.rulesets.capacity_notes import NOT_MODELLED, unmodelled
from workloads.trace import parse_case

PREFIX = "yarn.scheduler.capacity."
PLAIN = {f"{PREFIX}root.queues": "a,b", f"{PREFIX}root.a.capacity": "40", f"{PREFIX}root.b.capacity": "60"}
ASKED = {
    "auto-created-queues": {"root.b.auto-queue-creation-v2.enabled": "true"},
    "queue-mappings": {"queue-mappings": "u:x:a"},
    "application-priorities": {
        "yarn.cluster.max-application-priority": "10",
        "root.a.default-application-priority": "3",
    },
    "application-lifetimes": {"root.a.maximum-application-lifetime": "600"},
    "multi-node-placement": {"multi-node-placement-enabled": "true"},
    "reservation-system": {"root.a.reservable": "true"},
    "other-resources": {"root.a.capacity": "[memory=2048,vcores=2,yarn.io/gpu=1]"},
}


def configured(more: dict[str, str]) -> dict[str, str]:
    named = {name if name.startswith("yarn.") else f"{PREFIX}{name}": value for name, value in more.items()}
    return PLAIN | named


def test_nothing_to_say_of_a_plain_configuration() -> None:
    assert unmodelled(parse(PLAIN)) == ()


@pytest.mark.parametrize("mechanism", NOT_MODELLED)
def test_what_is_passed_over_is_said(mechanism: str) -> None:
    assert unmodelled(parse(configured(ASKED[mechanism]))) == (NOT_MODELLED[mechanism][1],)


def test_an_estimate_carries_it() -> None:
    job = {"id": "j", "queue": "a", "submit": 0, "tasks": [{"duration": 5, "memory": 1024, "vcores": 1}]}
    conf = configured(ASKED["queue-mappings"])
    case = parse_case({"conf": conf, "nodes": [{"memory": 8192, "vcores": 8}], "jobs": [job]})
    assert estimate(case).notes == (NOT_MODELLED["queue-mappings"][1],)
