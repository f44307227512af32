from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rules.dialects.capacity_update import apply_update, changes, update_between
from rules.model import PropertyChange
from tests.rules.dialects.capacity_cases import LIVE, PREFIX
from tests.rules.dialects.test_capacity_agreement import generated
from tuner.errors import InputError
from tuner.yarn.schedulerconf import SchedulerConfUpdate


def conf(**properties: str) -> dict[str, str]:
    return {PREFIX + name.replace("__", "."): value for name, value in properties.items()}


SIBLINGS = conf(root__queues="a,b,c", root__a__capacity="25", root__b__capacity="75", root__c__capacity="0")


def test_siblings_change_in_one_update():
    proposed = {**SIBLINGS, **conf(root__queues="a,b,c,d", root__b__capacity="50", root__d__capacity="25")}
    update = update_between(SIBLINGS, proposed)
    assert update.to_json() == {
        "add-queue": [
            {"queue-name": "root.d", "params": {"entry": [{"key": "capacity", "value": "25"}]}},
        ],
        "update-queue": [{"queue-name": "root.b", "params": {"entry": [{"key": "capacity", "value": "50"}]}}],
    }


def test_what_is_taken_out_is_unset():
    current = {**LIVE, **conf(root__default__user_limit_factor="2")}
    current = {name.replace("user_limit_factor", "user-limit-factor"): value for name, value in current.items()}
    update = update_between(current, LIVE)
    assert update.update == {"root.default": {"user-limit-factor": None}}


def test_a_removed_parent_takes_its_children_along():
    current = {
        **SIBLINGS,
        **conf(root__c__queues="x", root__c__x__capacity="100", root__c__x__queues="y", root__c__x__y__capacity="100"),
    }
    proposed = conf(root__queues="a,b", root__a__capacity="25", root__b__capacity="75")
    update = update_between(current, proposed)
    assert update.remove == ("root.c",)
    assert (update.add, update.update) == ({}, {})
    assert apply_update(current, update) == proposed


def test_the_order_of_a_queue_that_gets_its_first_children_is_set_once_more():
    proposed = {
        **LIVE,
        **conf(root__queues="default,a", root__default__capacity="60", root__a__capacity="40"),
        **conf(root__a__queues="x", root__a__x__capacity="100"),
        f"{PREFIX}root.a.ordering-policy": "priority-utilization",
    }
    update = update_between(LIVE, proposed)
    assert update.update["root.a"] == {"ordering-policy": "priority-utilization"}
    assert apply_update(LIVE, update) == proposed


def test_the_order_is_lost_with_the_first_child_and_with_the_last():
    # What the ResourceManager does, and why the update sets it once more.
    parent = {**LIVE, f"{PREFIX}root.default.ordering-policy": "fifo"}
    added = apply_update(parent, SchedulerConfUpdate(add={"root.default.x": {"capacity": "100"}}))
    assert f"{PREFIX}root.default.ordering-policy" not in added
    added[f"{PREFIX}root.default.ordering-policy"] = "utilization"
    second = apply_update(added, SchedulerConfUpdate(add={"root.default.y": {"capacity": "0"}}))
    assert second[f"{PREFIX}root.default.ordering-policy"] == "utilization"
    removed = apply_update(second, SchedulerConfUpdate(remove=("root.default.x", "root.default.y")))
    assert removed == LIVE


def test_an_order_that_stays_is_not_touched():
    current = {**LIVE, f"{PREFIX}root.default.ordering-policy": "fair"}
    proposed = {**current, f"{PREFIX}root.default.user-limit-factor": "2"}
    assert update_between(current, proposed).update == {"root.default": {"user-limit-factor": "2"}}


def test_global_settings_have_their_full_names():
    proposed = {**LIVE, "yarn.scheduler.capacity.node-locality-delay": "10"}
    assert update_between(LIVE, proposed).global_updates == {"yarn.scheduler.capacity.node-locality-delay": "10"}


def test_another_order_of_the_same_children_is_a_change():
    proposed = {**SIBLINGS, **conf(root__queues="c,a,b")}
    assert update_between(SIBLINGS, proposed).update == {"root": {"queues": "c,a,b"}}


def test_another_way_of_writing_the_same_children_is_none():
    update = update_between(SIBLINGS, {**SIBLINGS, **conf(root__queues="a, b ,c")})
    assert update.to_json() == {}


def test_a_property_of_no_queue_is_refused():
    with pytest.raises(InputError, match=r"root\.nope\.capacity belongs to no queue"):
        update_between(LIVE, {**LIVE, **conf(root__nope__capacity="5")})


def test_a_leftover_can_be_taken_out():
    current = {**LIVE, **conf(root__gone__capacity="5")}
    update = update_between(current, LIVE)
    assert apply_update(current, update) == LIVE


def test_what_differs():
    after = {"b": "2", "c": "3"}
    assert changes({"a": "1", "b": "1"}, after) == (
        PropertyChange("b", "1", "2"),
        PropertyChange("c", None, "3"),
        PropertyChange("a", "1", None),
    )
    assert changes(after, after) == ()


@given(st.integers(0, 2000), st.integers(0, 2000))
def test_the_update_between_any_two_leads_to_the_other(one, other):
    current = {**LIVE, **generated(one)}
    proposed = {**LIVE, **generated(other)}
    # An empty value and none are the same to the ResourceManager.
    current, proposed = ({k: v for k, v in each.items() if v} for each in (current, proposed))
    assert apply_update(current, update_between(current, proposed)) == proposed
