"""What an estimate under the Fair Scheduler says that it leaves out."""

from __future__ import annotations

import pytest

from rules.dialects.fair import parse_allocations
from rules.dialects.fair_site import read_site
from rules.rulesets.fair_notes import unmodelled_fair

PREFIX = "yarn.scheduler.fair."


def notes(conf: dict[str, str], allocations: str = "<allocations/>") -> tuple[str, ...]:
    return unmodelled_fair(conf, read_site(conf), parse_allocations(allocations))


def test_nothing_is_said_where_nothing_is_left_out() -> None:
    assert notes({PREFIX + "preemption": "true", PREFIX + "locality.threshold.node": "-1.0"}) == ()


@pytest.mark.parametrize(
    ("conf", "word"),
    [
        ({PREFIX + "continuous-scheduling-enabled": "true"}, "continuous scheduling"),
        ({PREFIX + "locality.threshold.rack": "0.5"}, "locality thresholds"),
        ({"yarn.resource-types": "yarn.io/gpu"}, "other than memory and vcores"),
    ],
)
def test_what_is_not_modelled_is_said(conf: dict[str, str], word: str) -> None:
    (note,) = notes(conf)
    assert word in note


def test_a_reservable_queue_is_said_to_be_an_ordinary_one() -> None:
    (note,) = notes({}, '<allocations><queue name="a"><reservation/></queue></allocations>')
    assert "reservable" in note
