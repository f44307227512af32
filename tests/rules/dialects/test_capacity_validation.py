"""Each rule finds what it is for, says the value, and is documented."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rules.dialects.capacity_properties import GLOBAL_PROPERTIES, QUEUE_PROPERTIES
from rules.dialects.capacity_validation import CHANGE_RULES, RULES, errors, validate, validate_change
from rules.model import Resources, Severity
from tests.rules.dialects.capacity_cases import CASES, LIVE, PREFIX, Case

CLUSTER = Resources(16384, 16)
DOCUMENT = Path(__file__).parents[3] / "docs" / "capacity-scheduler.md"
ALL_RULES = {rule.rule_id: rule for rule in (*RULES, *CHANGE_RULES)}


def found_in(case: Case) -> set[str]:
    return {finding.rule_id for finding in validate_change(LIVE, case.properties(), cluster_total=CLUSTER)}


@pytest.mark.parametrize("case", [case for case in CASES if case.rule], ids=lambda case: case.name)
def test_rule_finds_its_case(case):
    findings = [f for f in validate_change(LIVE, case.properties(), cluster_total=CLUSTER) if f.rule_id == case.rule]
    assert findings
    assert all(len(finding.message) > 30 for finding in findings)


@pytest.mark.parametrize("case", [case for case in CASES if not case.rule], ids=lambda case: case.name)
def test_nothing_is_wrong_with_a_fine_configuration(case):
    assert validate_change(LIVE, case.properties(), cluster_total=CLUSTER) == ()


@pytest.mark.parametrize("case", [case for case in CASES if case.rm == "refuses"], ids=lambda case: case.name)
def test_what_the_resource_manager_refuses_is_an_error(case):
    assert errors(validate_change(LIVE, case.properties(), cluster_total=CLUSTER))


def test_every_rule_has_a_case():
    # The three that need more than a changed configuration have tests of their own below.
    apart = {"include-not-read", "unknown-queue", "not-in-version"}
    assert {case.rule for case in CASES if case.rule} | apart == set(ALL_RULES)


def test_rule_ids_are_unique_and_kebab_case():
    ids = [rule.rule_id for rule in (*RULES, *CHANGE_RULES)]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", rule_id) for rule_id in ids)


def test_every_rule_is_documented_with_its_severity():
    rows = re.findall(r"^\| `([a-z-]+)` \| (ERROR|WARNING) \| (takes|refuses) \|", DOCUMENT.read_text(), re.MULTILINE)
    assert [(name, severity, said == "refuses") for name, severity, said in rows] == [
        (rule.rule_id, rule.severity.value, rule.rm_refuses) for rule in (*RULES, *CHANGE_RULES)
    ]


def test_the_resource_manager_does_as_its_rule_says():
    """A rule that it finds has an example that it refuses; one that it does not find has one that it takes."""
    said = {rule_id: {case.rm for case in CASES if case.rule == rule_id} for rule_id in ALL_RULES}
    for rule_id, rule in ALL_RULES.items():
        assert not said[rule_id] or ("refuses" if rule.rm_refuses else "takes") in said[rule_id], rule_id


@pytest.mark.parametrize("spec", [*QUEUE_PROPERTIES, *GLOBAL_PROPERTIES], ids=lambda spec: spec.name)
def test_every_property_is_documented_as_the_table_has_it(spec):
    default = f"`{spec.default}`" if spec.default else ""
    since = f"{spec.since[0]}.{spec.since[1]}" if spec.since else ""
    cells = (f"`{spec.name}`", default, spec.kind.value, spec.effect.value, since, spec.description)
    assert f"| {' | '.join(cells)} |" in DOCUMENT.read_text().splitlines()


def test_a_misspelt_queue_is_told_with_the_nearest_name():
    properties = {**LIVE, f"{PREFIX}root.defaulte.maximum-capacity": "80"}
    (finding,) = validate(properties)
    assert (finding.rule_id, finding.queue, finding.severity) == ("unknown-queue", "root.defaulte", Severity.WARNING)
    assert "did you mean root.default?" in finding.message


def test_a_misspelt_key_is_told_with_the_nearest_name():
    (finding,) = validate({**LIVE, f"{PREFIX}root.default.user-limit-facter": "2"})
    assert finding.rule_id == "unknown-property"
    assert "did you mean user-limit-factor?" in finding.message


def test_without_effect_is_an_error_only_when_it_is_set_anew():
    leftover = {**LIVE, f"{PREFIX}root.gone.capacity": "10"}
    assert [f.severity for f in validate_change(leftover, leftover)] == [Severity.WARNING]
    assert [f.severity for f in validate_change(LIVE, leftover)] == [Severity.ERROR]


def test_an_old_error_is_no_reason_against_a_change_but_a_worse_one_is():
    lives_with = {**LIVE, f"{PREFIX}root.default.user-limit-factor": "0"}
    changed = {**lives_with, f"{PREFIX}root.default.maximum-capacity": "90"}
    assert "maximum-below-capacity" in {f.rule_id for f in errors(validate_change(lives_with, changed))}
    harmless = {**lives_with, f"{PREFIX}root.default.max-parallel-apps": "5"}
    assert errors(validate_change(lives_with, harmless)) == ()
    worse = {**lives_with, f"{PREFIX}root.default.user-limit-factor": "-3"}
    assert [f.rule_id for f in errors(validate_change(lives_with, worse))] == ["user-limit-factor"]


def test_an_empty_value_is_not_set():
    assert validate({**LIVE, f"{PREFIX}root.default.user-limit-factor": ""}) == ()


def test_includes_are_told():
    (finding,) = validate(LIVE, includes=("other.xml",))
    assert finding.rule_id == "include-not-read"
    assert "'other.xml'" in finding.message


@pytest.mark.parametrize(("version", "expected"), [((3, 3), {"mode-not-in-version"}), ((3, 4), set()), ((3, 5), set())])
def test_weights_came_with_3_4(version, expected):
    properties = {**LIVE, f"{PREFIX}root.default.capacity": "1w"}
    assert {finding.rule_id for finding in validate(properties, version=version)} == expected


def test_a_vector_needs_the_legacy_mode_off():
    properties = {**LIVE, f"{PREFIX}root.default.capacity": "[memory=100%,vcores=1w]"}
    assert {f.rule_id for f in errors(validate(properties))} == {"mode-not-in-version"}
    without = {**properties, f"{PREFIX}legacy-queue-mode.enabled": "false"}
    assert errors(validate(without)) == ()


def test_properties_that_a_version_does_not_have_yet():
    properties = {**LIVE, f"{PREFIX}root.default.auto-queue-creation-v2.enabled": "true"}
    assert [f.rule_id for f in validate(properties, version=(3, 3))] == ["not-in-version"]
    assert validate(properties, version=(3, 4)) == ()


def test_asynchronous_scheduling_is_the_default_from_3_5():
    off = {**LIVE, f"{PREFIX}schedule-asynchronously.enable": "false"}
    assert errors(validate_change(LIVE, off, version=(3, 4))) == ()
    assert [f.rule_id for f in errors(validate_change(LIVE, off, version=(3, 5)))] == ["needs-restart"]


def three_queues(*percent: str) -> dict[str, str]:
    shares = {f"{PREFIX}root.{name}.capacity": value for name, value in zip("abc", percent, strict=True)}
    calculator = f"{PREFIX}resource-calculator"
    return {f"{PREFIX}root.queues": "a,b,c", calculator: LIVE[calculator], **shares}


def test_a_queue_of_one_percent_has_no_core():
    # 168 GB and 48 vcores divided 1/19/80: 0.48 vcore is cut to none (YARN-11073); one vcore is 2.084 %.
    findings = validate(three_queues("1", "19", "80"), cluster_total=Resources(168 * 1024, 48))
    (finding,) = findings
    assert (finding.rule_id, finding.queue) == ("rounds-to-no-core", "root.a")
    assert "0.48 of 48 vcores" in finding.message
    assert "2.084 %" in finding.message
    assert validate(three_queues("2.084", "17.916", "80"), cluster_total=Resources(168 * 1024, 48)) == ()


def test_cores_do_not_count_for_the_default_calculator():
    properties = three_queues("1", "19", "80")
    del properties[f"{PREFIX}resource-calculator"]
    assert validate(properties, cluster_total=Resources(168 * 1024, 48)) == ()


def test_without_legacy_mode_less_than_all_is_fine():
    off = {f"{PREFIX}legacy-queue-mode.enabled": "false"}
    assert errors(validate({**three_queues("20", "20", "30"), **off})) == ()
    assert [f.rule_id for f in errors(validate({**three_queues("20", "40", "90"), **off}))] == ["sibling-sum"]


def test_a_third_queue_without_rebalancing_is_refused_and_with_it_is_not():
    current = {
        **LIVE,
        f"{PREFIX}root.queues": "a,b",
        f"{PREFIX}root.a.capacity": "25",
        f"{PREFIX}root.b.capacity": "75",
    }
    added = {**current, f"{PREFIX}root.queues": "a,b,d", f"{PREFIX}root.d.capacity": "25"}
    assert [f.rule_id for f in errors(validate_change(current, added))] == ["sibling-sum"]
    assert errors(validate_change(current, {**added, f"{PREFIX}root.b.capacity": "50"})) == ()


def test_a_queue_is_stopped_first_and_removed_then():
    # The example of YARN-9780: default 60, dummy 30, new 10.
    names = {"default": "60", "dummy": "30", "new": "10"}
    shares = {f"{PREFIX}root.{name}.capacity": value for name, value in names.items()}
    current = {**LIVE, **shares, f"{PREFIX}root.queues": ",".join(names)}
    proposed = {**current, f"{PREFIX}root.queues": "default,dummy", f"{PREFIX}root.default.capacity": "70"}
    del proposed[f"{PREFIX}root.new.capacity"]
    assert [f.rule_id for f in errors(validate_change(current, proposed))] == ["deleted-while-running"]

    stopped = {**current, f"{PREFIX}root.new.state": "STOPPED"}
    assert errors(validate_change(current, stopped)) == ()
    assert errors(validate_change(stopped, proposed)) == ()
    not_rebalanced = {**proposed, f"{PREFIX}root.default.capacity": "60"}
    assert [f.rule_id for f in errors(validate_change(stopped, not_rebalanced))] == ["sibling-sum"]


def test_a_stopped_leaf_may_become_a_parent():
    two = {
        f"{PREFIX}root.queues": "default,a",
        f"{PREFIX}root.default.capacity": "60",
        f"{PREFIX}root.a.capacity": "40",
    }
    current = {**LIVE, **two, f"{PREFIX}root.a.state": "STOPPED"}
    proposed = {**current, f"{PREFIX}root.a.queues": "x", f"{PREFIX}root.a.x.capacity": "100"}
    assert errors(validate_change(current, proposed)) == ()


def test_the_largest_container_may_grow():
    current = {**LIVE, f"{PREFIX}root.default.maximum-allocation-mb": "4096"}
    larger = {**LIVE, f"{PREFIX}root.default.maximum-allocation-mb": "8192"}
    assert errors(validate_change(current, larger)) == ()
    assert errors(validate_change(current, LIVE)) == ()
    (finding,) = errors(validate_change(larger, current))
    assert "from 8192 to 4096" in finding.message


def test_the_message_of_a_wrong_fraction_offers_the_right_one():
    (finding,) = validate({**LIVE, f"{PREFIX}root.default.maximum-am-resource-percent": "20"})
    assert "did you mean 0.2?" in finding.message
