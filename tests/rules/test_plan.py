"""The plan as a value, as a file, and as people read it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rules.lifecycle.position import Place, foreign_changes, place_of, taken_back
from rules.model import Finding, PropertyChange, Severity
from rules.plan import BackEndKind, Cluster, Configuration, Origin, Plan, QueueEffect, plan_from_json, plan_to_json
from rules.plan_text import plan_text
from rules.planner import full_name, proposed_configuration, proposed_file
from tuner.errors import InputError

GOLDEN = Path(__file__).parent / "golden"
P = "yarn.scheduler.capacity."

BASE = Configuration(
    {
        f"{P}root.queues": "prod,dev",
        f"{P}root.prod.capacity": "30",
        f"{P}root.prod.maximum-capacity": "50",
        f"{P}root.dev.capacity": "70",
        f"{P}maximum-am-resource-percent": "0.1",
    },
    version=7,
)
PLAN = Plan(
    cluster=Cluster("rm1:8088,rm2:8088", "3.4.1", 1_796_000_000.0),
    scheduler="capacity",
    back_end=BackEndKind.CAPACITY_REST,
    base=BASE,
    proposed=proposed_configuration(
        BackEndKind.CAPACITY_REST,
        BASE,
        {
            f"{P}root.prod.capacity": "60",
            f"{P}root.dev.capacity": "40",
            f"{P}root.prod.maximum-capacity": None,
            f"{P}root.dev.user-limit-factor": "2",
            f"{P}maximum-am-resource-percent": "0.3",
        },
    ),
    findings=(
        Finding(None, None, "drift", Severity.WARNING, "somebody else has changed the configuration since plan 11"),
        Finding("root.dev", f"{P}root.dev.user-limit-factor", "user-limit-factor", Severity.ERROR, "for the example"),
    ),
    effects=(
        QueueEffect("all", 120, 310.25, 150.5, 12.75, 3.0, 0.0),
        QueueEffect("root.dev", 20, 60.0, 66.0, 4.0),
        QueueEffect("root.prod", 100, 360.3, 167.4, None),
    ),
    reasons=("by 6 draws of what may come: 51 % better, give or take 8 %",),
    origin=Origin.OPTIMIZER,
    created_at=1_796_050_000.0,
    created_by="ann",
    expires_at=1_796_053_600.0,
)
ALLOCATIONS = b'<?xml version="1.0"?>\n<allocations>\n  <queue name="a"><weight>1.0</weight></queue>\n</allocations>\n'


def test_a_plan_reads_as_the_golden_file_has_it() -> None:
    assert plan_text(PLAN, 12) + "\n" == (GOLDEN / "plan.txt").read_text(encoding="utf-8")


def test_a_plan_comes_back_from_its_file() -> None:
    document = json.loads(json.dumps(plan_to_json(PLAN)))
    assert plan_from_json(document) == PLAN
    assert plan_from_json(document).base.version == 7


def test_a_file_comes_back_byte_for_byte_whatever_its_encoding() -> None:
    for data in (ALLOCATIONS, b"\xef\xbb\xbf" + ALLOCATIONS, "<allocations>ä</allocations>".encode("latin-1"), b"\r\n"):
        plan = replace(PLAN, base=Configuration({}, data), proposed=Configuration({}, data))
        assert plan_from_json(json.loads(json.dumps(plan_to_json(plan)))).base.data == data


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lambda plan: {}, "is not a plan"),
        (lambda plan: [], "is not a plan"),
        (lambda plan: {**plan, "format": 2}, "has format 2"),
        (lambda plan: {name: value for name, value in plan.items() if name != "base"}, "is damaged"),
        (lambda plan: {**plan, "findings": []}, "was changed after it was made"),
        (lambda plan: {**plan, "expires_at": 9e9}, "was changed after it was made"),
        (lambda plan: {**plan, "changes": []}, None),
    ],
)
def test_an_edited_plan_is_refused(edit: object, words: str | None) -> None:
    document = edit(json.loads(json.dumps(plan_to_json(PLAN))))  # type: ignore[operator]
    if words is None:
        # For people; what is applied are the two configurations, which the digest guards.
        assert plan_from_json(document).changes == PLAN.changes
        return
    with pytest.raises(InputError, match=words):
        plan_from_json(document, "plan.json")


def test_names_may_be_given_short() -> None:
    assert full_name(BackEndKind.CAPACITY_REST, "root.prod.capacity") == f"{P}root.prod.capacity"
    assert full_name(BackEndKind.CAPACITY_FILE, f"{P}root.prod.capacity") == f"{P}root.prod.capacity"
    assert full_name(BackEndKind.CAPACITY_REST, "maximum-applications") == f"{P}maximum-applications"
    assert full_name(BackEndKind.FAIR_FILE, "root.a.weight") == "root.a.weight"


@pytest.mark.parametrize(
    ("head", "encoding", "mark"),
    [
        ('<?xml version="1.0"?>', "utf-8", b""),
        ('<?xml version="1.0" encoding="UTF-8"?>', "utf-8", b"\xef\xbb\xbf"),
        ('<?xml version="1.0" encoding="ISO-8859-1"?>', "latin-1", b""),
        ('<?xml version="1.0" encoding="UTF-16"?>', "utf-16-le", b"\xff\xfe"),
    ],
)
def test_an_allocation_file_keeps_its_encoding(head: str, encoding: str, mark: bytes) -> None:
    queue = '<queue name="a"><weight>1.0</weight></queue>'
    text = f"{head}\r\n<allocations>\r\n  <!-- für alle -->\r\n  {queue}\r\n</allocations>"
    present = mark + text.encode(encoding)
    current = proposed_configuration(BackEndKind.FAIR_FILE, Configuration({}, present), {})
    assert current.data == present
    changed = proposed_configuration(BackEndKind.FAIR_FILE, current, {"root.a.weight": "2.0"})
    assert changed.data == mark + text.replace("1.0</w", "2.0</w").encode(encoding)
    assert changed.properties == {"root.a.weight": "2.0"}


def test_characters_that_the_encoding_lacks_are_refused() -> None:
    present = '<?xml version="1.0" encoding="ISO-8859-1"?><allocations/>'.encode("latin-1")
    with pytest.raises(InputError, match="lacks"):
        proposed_file(Configuration({}, present), "<allocations><!-- 語 --></allocations>")


NAMES = st.sampled_from([f"{P}root.prod.capacity", f"{P}root.dev.capacity", f"{P}root.dev.state", f"{P}x"])
PROPERTIES = st.dictionaries(NAMES, st.sampled_from(["1", "2", "3"]))


@given(base=PROPERTIES, proposed=PROPERTIES, other=PROPERTIES)
def test_applied_then_taken_back_is_what_was_before(
    base: dict[str, str], proposed: dict[str, str], other: dict[str, str]
) -> None:
    before, after = Configuration(base), Configuration(proposed)
    assert taken_back(after, before, after) == before
    assert place_of(before, before, after) in {Place.BASE, Place.PROPOSED}
    assert place_of(after, before, after) is Place.PROPOSED
    # What others have is not touched unless it is ours.
    there = Configuration(other)
    ours = {change.property for change in replace(PLAN, base=before, proposed=after).changes}
    back = taken_back(there, before, after)
    assert {name: value for name, value in back.properties.items() if name not in ours} == {
        name: value for name, value in other.items() if name not in ours
    }
    assert place_of(back, before, after) is (Place.PROPOSED if not ours else Place.BASE)
    assert all(change.property not in ours for change in foreign_changes(there, before, after))


def test_places() -> None:
    proposed = PLAN.proposed
    half = Configuration({**BASE.properties, f"{P}root.prod.capacity": "60"})
    assert place_of(half, BASE, proposed) is Place.BETWEEN
    third = Configuration({**proposed.properties, f"{P}root.prod.capacity": "61"})
    assert place_of(third, BASE, proposed) is Place.ELSEWHERE
    beside = Configuration({**proposed.properties, f"{P}root.dev.priority": "1"})
    assert place_of(beside, BASE, proposed) is Place.PROPOSED
    assert foreign_changes(beside, BASE, proposed) == (PropertyChange(f"{P}root.dev.priority", None, "1"),)
    file, other = Configuration({}, b"a"), Configuration({}, b"b")
    assert place_of(Configuration({}, b"c"), file, other) is Place.ELSEWHERE
