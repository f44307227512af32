from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rules.policy import Bounds, Mode, Objective, Policy, QueuePolicy, QuietHours, load_policy, parse_policy
from rules.policy.reference import render
from tests.conftest import ROOT
from tuner.errors import InputError


def test_an_empty_file_is_the_default_policy() -> None:
    assert parse_policy("") == parse_policy("# nothing\n") == Policy()


def test_the_example_is_read() -> None:
    policy = load_policy(ROOT / "deploy" / "policy.example.yaml")
    assert policy.mode is Mode.RECOMMEND
    assert policy.objective is Objective.MEAN
    prod = policy.queue("root.prod")
    assert (prod.weight, prod.target_latency_s) == (3, 600)
    # What `*` bounds stays bounded where a queue of its own bounds something else.
    assert prod.bounds_of("maximum-am-resource-percent") == Bounds(most=0.6)
    assert prod.bounds_of("capacity") == Bounds(least=40)
    assert policy.queue("root.admin").is_locked("capacity")
    assert policy.queue("root.adhoc").is_locked("ordering-policy")
    assert not policy.queue("root.adhoc").is_locked("capacity")


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("mode: apply\nobjctive: mean", 2, "objctive: Object contains unknown field"),
        ("mode: 3", 1, "mode: Expected `str`, got `int`"),
        ("mode: sometimes", 1, "mode: Invalid enum value 'sometimes'"),
        ("queues:\n  root.a:\n    weigt: 3", 3, "queues.root.a.weigt: Object contains unknown field"),
        ("queues:\n  root.a:\n    weight: 0", 3, "queues.root.a.weight: Expected `float` > 0.0"),
        ("queues:\n root.a:\n  bounds:\n   capacity:\n    least: x", 5, "root.a.bounds.capacity.least: Expected"),
        ("queues:\n  root.a:\n    locked:\n      - capcity", 3, "capcity is not a property that is tuned"),
        ("queues:\n  a:\n    bounds:\n      capacity: {least: 9, most: 3}", 4, "least 9 is above most 3"),
        ("mode: apply\nmode: off", 2, "mode stands twice, first in line 1"),
        ("quiet_hours:\n  - begin: 25:00\n    end: 06:00", 1, "quiet_hours: Expected `str` matching regex"),
        ("horizon_s: 0", 1, "horizon_s: Expected `float` > 0.0"),
        ("mode: [", 1, "not YAML"),
        ("- mode", 1, "expected fields and values, got list"),
        ("mode: !!python/object/apply:os.system [ls]", 1, "not YAML"),
    ],
)  # fmt: skip
def test_errors_name_the_line_and_the_key(text: str, line: int, words: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_policy(text, "p.yaml")
    assert caught.value.message.startswith(f"p.yaml, line {line}: ")
    assert words in caught.value.message


def test_a_file_that_is_not_there_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        load_policy(tmp_path / "none.yaml")


def test_off_and_times_are_what_people_mean_by_them() -> None:
    policy = parse_policy("mode: off\nquiet_hours: [{begin: 22:00, end: 06:00}]")
    assert policy.mode is Mode.OFF
    assert policy.quiet_hours == (QuietHours("22:00", "06:00"),)


@pytest.mark.parametrize(
    ("moment", "quiet"),
    [
        ("2026-11-30 21:59", False),  # Monday
        ("2026-11-30 22:00", True),
        ("2026-12-01 05:59", True),
        ("2026-12-01 06:00", False),
        ("2026-12-01 23:00", False),  # Tuesday is not among the days
    ],
)
def test_quiet_hours_go_over_midnight(moment: str, quiet: bool) -> None:
    policy = Policy(quiet_hours=(QuietHours("22:00", "06:00", (1,)),))
    assert policy.is_quiet(datetime.fromisoformat(moment)) is quiet


def test_the_most_specific_name_decides_field_by_field() -> None:
    policy = Policy(
        queues={
            "root.eng.etl": QueuePolicy(weight=5),
            "root.eng.*": QueuePolicy(weight=2, locked=("capacity",)),
            "*": QueuePolicy(target_latency_s=60),
        }
    )
    assert policy.queue("root.eng.etl") == QueuePolicy(weight=5, locked=("capacity",), target_latency_s=60)
    assert policy.queue("root.eng").weight == 1
    assert policy.queue("root.engine").weight == 1


@given(
    present=st.floats(0, 100),
    least=st.none() | st.floats(0, 100),
    most=st.none() | st.floats(0, 100),
    step=st.none() | st.floats(0.1, 100),
)
def test_the_present_value_is_always_allowed_and_no_step_is_too_large(
    present: float, least: float | None, most: float | None, step: float | None
) -> None:
    low, high = Bounds(least, most, step).narrowed(present)
    assert low <= present <= high
    if step is not None:
        assert high - present <= step + 1e-9
        assert present - low <= step + 1e-9
    if least is not None and present >= least:
        assert low >= least


def test_the_document_is_in_step() -> None:
    assert (ROOT / "docs" / "policy.md").read_text() == render(), "generate docs/policy.md anew"
