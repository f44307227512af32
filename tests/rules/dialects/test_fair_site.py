"""yarn-site's Fair Scheduler properties, and where applications are placed."""

from __future__ import annotations

import pytest

from rules.dialects.fair import parse_allocations
from rules.dialects.fair_placement import Submission, place, read_policy_element, rules_of_site
from rules.dialects.fair_site import check_site, read_site
from rules.dialects.fair_validate import validate
from rules.model import Resources
from tuner.errors import InputError


def test_defaults_are_hadoops() -> None:
    site = read_site({})
    assert (site.minimum_mib, site.increment_mib, site.maximum_mib, site.maximum_vcores) == (1024, 1024, 8192, 4)
    assert not site.assign_multiple
    assert site.dynamic_max_assign
    assert (site.update_interval_ms, site.wait_before_kill_ms) == (500, 15000)


def test_an_increment_by_resource_type_wins_and_has_a_unit() -> None:
    conf = {
        "yarn.scheduler.increment-allocation-mb": "512",
        "yarn.resource-types.memory-mb.increment-allocation": "2Gi",
    }
    assert read_site(conf).increment_mib == 2048


@pytest.mark.parametrize(
    "conf",
    [
        {"yarn.scheduler.increment-allocation-mb": "0"},
        {"yarn.scheduler.minimum-allocation-mb": "9000"},
        {"yarn.scheduler.minimum-allocation-vcores": "-1"},
        {"yarn.scheduler.fair.max.assign": "many"},
        {"yarn.scheduler.fair.preemption": "yes"},
        {"yarn.resource-types.memory-mb.increment-allocation": "2 parsec"},
    ],
)
def test_what_the_resource_manager_would_not_start_with(conf: dict[str, str]) -> None:
    with pytest.raises(InputError) as refused:
        read_site(conf)
    assert next(iter(conf)) in refused.value.message


def test_odd_settings_are_told() -> None:
    conf = {"yarn.scheduler.fair.max.assign": "3", "yarn.scheduler.fair.continuous-scheduling-enabled": "true"}
    assert [f.rule_id for f in check_site(read_site(conf), conf)] == ["fair-site-no-effect", "fair-site-deprecated"]


def test_preemption_without_a_timeout_and_a_timeout_without_preemption_are_told() -> None:
    on = read_site({"yarn.scheduler.fair.preemption": "true"})
    assert [f.rule_id for f in validate(parse_allocations("<allocations/>"), on)] == ["fair-preemption-idle"]
    text = "<allocations><defaultMinSharePreemptionTimeout>5</defaultMinSharePreemptionTimeout></allocations>"
    assert [f.rule_id for f in validate(parse_allocations(text), read_site({}))] == ["fair-preemption-off"]
    assert validate(parse_allocations(text), on) == ()


def test_minima_above_the_cluster_and_unknown_resource_types_are_told() -> None:
    text = (
        '<allocations><queue name="a"><minResources>memory-mb=9000, yarn.io/gpu=1</minResources></queue></allocations>'
    )
    found = validate(parse_allocations(text), read_site({}), Resources(8192, 8))
    assert [f.rule_id for f in found] == ["fair-resource-type", "fair-min-sum"]
    known = read_site({"yarn.resource-types": "yarn.io/gpu"})
    assert [f.rule_id for f in validate(parse_allocations(text), known, Resources(10000, 8))] == []


POLICY = """<allocations><queue name="teams" type="parent"/><queuePlacementPolicy>
  <rule name="specified" create="false"/>
  <rule name="nestedUserQueue"><rule name="default" queue="teams" create="false"/></rule>
  <rule name="reject"/></queuePlacementPolicy></allocations>"""


def test_placement_by_policy() -> None:
    allocations = parse_allocations(POLICY)
    assert allocations.placement is not None
    rules = read_policy_element(allocations.placement)
    configured = allocations.tree.__contains__
    assert place(rules, Submission("teams", "ann"), configured) == "root.teams"
    assert place(rules, Submission("other", "ann.lee"), configured) == "root.teams.ann_dot_lee"
    assert place(rules, Submission("other", "ann"), lambda _: False) is None


@pytest.mark.parametrize(
    ("undeclared", "user", "queue", "expected"),
    [
        (True, True, "x", "root.x"),
        (True, True, "root.x.y", "root.x.y"),
        (True, True, "default", "root.ann"),
        (True, False, "default", "root.default"),
        (False, True, "x", "root.default"),
        (False, True, "known", "root.known"),
        (False, False, "x", "root.default"),
    ],
)
def test_placement_by_yarn_site(undeclared: bool, user: bool, queue: str, expected: str) -> None:
    rules = rules_of_site(undeclared, user)
    assert place(rules, Submission(queue, "ann"), lambda path: path == "root.known") == expected


@pytest.mark.parametrize(
    "rule",
    [
        '<rule name="nope"/>',
        '<rule name="nestedUserQueue"/>',
        '<rule name="user"><rule name="reject"/></rule>',
        '<rule name="specified"><rule name="default"/></rule>',
        '<rule name="reject"/><rule name="default"/>',
    ],
)
def test_policies_that_the_resource_manager_refuses(rule: str) -> None:
    text = f"<allocations><queuePlacementPolicy>{rule}</queuePlacementPolicy></allocations>"
    assert [f.rule_id for f in validate(parse_allocations(text))] == ["fair-placement"]
