"""The body of a change, and what of it has arrived."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.errors import InputError
from tuner.yarn.model import SchedulerConf
from tuner.yarn.schedulerconf import PREFIX, SchedulerConfUpdate

QUEUES = ("root", "root.prod", "root.prod.etl", "root.prod-old")


def test_the_whole_body() -> None:
    update = SchedulerConfUpdate(
        update={"root.prod": {"capacity": "60", "maximum-capacity": None}},
        add={"root.new": {"capacity": "10"}},
        remove=("root.old",),
        global_updates={"yarn.scheduler.capacity.maximum-applications": "5000"},
    )
    assert update.to_json() == {
        "remove-queue": ["root.old"],
        "add-queue": [{"queue-name": "root.new", "params": {"entry": [{"key": "capacity", "value": "10"}]}}],
        "update-queue": [
            {
                "queue-name": "root.prod",
                "params": {
                    "entry": [{"key": "capacity", "value": "60"}, {"key": "maximum-capacity", "value": ""}],
                },
            }
        ],
        "global-updates": {"entry": [{"key": "yarn.scheduler.capacity.maximum-applications", "value": "5000"}]},
    }


@pytest.mark.parametrize("name", ["prod", "rooty.prod", ""])
def test_a_short_name_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="full path"):
        SchedulerConfUpdate(update={name: {"capacity": "1"}})
    with pytest.raises(InputError, match="full path"):
        SchedulerConfUpdate(remove=(name,))


def test_a_full_property_name_within_a_queue_is_refused() -> None:
    with pytest.raises(InputError, match="full name"):
        SchedulerConfUpdate(update={"root.prod": {f"{PREFIX}root.prod.capacity": "1"}})


def test_properties_go_to_the_longest_path_that_fits() -> None:
    update = SchedulerConfUpdate.from_properties(
        {
            f"{PREFIX}root.prod.etl.capacity": "1",
            f"{PREFIX}root.prod.accessible-node-labels.gpu.capacity": "2",
            f"{PREFIX}root.prod-old.state": None,
            f"{PREFIX}root.queues": "prod,prod-old",
            f"{PREFIX}maximum-am-resource-percent": "0.3",
            "yarn.scheduler.other": "4",
        },
        QUEUES,
    )
    assert update.update == {
        "root.prod.etl": {"capacity": "1"},
        "root.prod": {"accessible-node-labels.gpu.capacity": "2"},
        "root.prod-old": {"state": None},
        "root": {"queues": "prod,prod-old"},
    }
    assert update.global_updates == {f"{PREFIX}maximum-am-resource-percent": "0.3", "yarn.scheduler.other": "4"}


names = st.sampled_from(
    [f"{PREFIX}{queue}.{key}" for queue in QUEUES for key in ("capacity", "state")] + [f"{PREFIX}maximum-applications"]
)


@given(changes=st.dictionaries(names, st.none() | st.text(min_size=1)), before=st.dictionaries(names, st.text()))
def test_sorting_loses_nothing_and_what_is_applied_is_not_missing(
    changes: dict[str, str | None], before: dict[str, str]
) -> None:
    update = SchedulerConfUpdate.from_properties(changes, QUEUES)
    assert update.properties() == changes
    after = {name: value for name, value in {**before, **changes}.items() if value is not None}
    assert update.missing_from(SchedulerConf(after)) == {}
    missing = update.missing_from(SchedulerConf(before))
    assert missing == {name: before.get(name) for name, value in changes.items() if before.get(name) != value}
