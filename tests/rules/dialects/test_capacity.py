from __future__ import annotations

import pytest

from rules.dialects.capacity import parse, queue_property, read
from rules.dialects.capacity_properties import (
    GLOBAL_PROPERTIES,
    QUEUE_PROPERTIES,
    Effect,
    default_of,
    find_global_property,
    find_queue_property,
)
from rules.model import Capacity, CapacityMode, QueueState
from tuner.errors import InputError

PREFIX = "yarn.scheduler.capacity."
PROPERTIES = {
    "yarn.scheduler.minimum-allocation-mb": "512",
    f"{PREFIX}resource-calculator": " org.apache.hadoop.yarn.util.resource.DominantResourceCalculator ",
    f"{PREFIX}root.queues": "prod, dev,default",
    f"{PREFIX}root.prod.capacity": "50",
    f"{PREFIX}root.prod.maximum-capacity": "80",
    f"{PREFIX}root.prod.queues": "etl",
    f"{PREFIX}root.prod.etl.capacity": "4w",
    f"{PREFIX}root.prod.etl.state": "stopped",
    f"{PREFIX}root.prod.etl.user-settings.first.last.weight": "2",
    f"{PREFIX}root.dev.capacity": "30",
    f"{PREFIX}root.dev.accessible-node-labels": "gpu",
    f"{PREFIX}root.dev.accessible-node-labels.gpu.capacity": "[memory=1Gi,vcores=1]",
    f"{PREFIX}root.dev.accessible-node-labels.gpu.maximum-capacity": "70",
    f"{PREFIX}root.default.capacity": "20",
    f"{PREFIX}root.gone.capacity": "10",
}


def test_the_tree_is_in_the_configured_order_parents_first():
    assert [queue.path for queue in parse(PROPERTIES)] == [
        "root",
        "root.prod",
        "root.prod.etl",
        "root.dev",
        "root.default",
    ]


def test_capacities_by_label():
    dev = parse(PROPERTIES)["root.dev"]
    assert dev.capacity == Capacity(CapacityMode.PERCENT, 30.0)
    assert dev.maximum_capacity == Capacity()
    assert dev.capacities["gpu"].capacity.resources.memory_mib == 1024
    assert dev.capacities["gpu"].maximum == Capacity(CapacityMode.PERCENT, 70.0)
    assert list(dev.capacities) == ["", "gpu"]


def test_properties_go_to_the_longest_path():
    tree = parse(PROPERTIES)
    assert tree["root.prod.etl"].properties == {
        "capacity": "4w",
        "state": "stopped",
        "user-settings.first.last.weight": "2",
    }
    assert tree["root.prod"].properties == {"capacity": "50", "maximum-capacity": "80", "queues": "etl"}
    assert tree["root.prod.etl"].state is QueueState.STOPPED
    assert tree["root.prod"].state is None


def test_what_belongs_to_no_queue():
    assert read(PROPERTIES).orphans == {f"{PREFIX}root.gone.capacity": "10"}


def test_settings_of_the_scheduler_are_trimmed():
    settings = parse(PROPERTIES).settings
    assert settings[f"{PREFIX}resource-calculator"].endswith("DominantResourceCalculator")
    assert settings["yarn.scheduler.minimum-allocation-mb"] == "512"


@pytest.mark.parametrize("properties", [{}, {f"{PREFIX}root.queues": " , "}])
def test_no_queues_is_refused(properties):
    with pytest.raises(InputError, match=r"root\.queues is not set"):
        parse(properties)


def test_a_value_that_cannot_be_read_is_named_with_its_property():
    broken = {**PROPERTIES, f"{PREFIX}root.dev.capacity": "30%", f"{PREFIX}root.dev.state": "PAUSED"}
    with pytest.raises(InputError, match=r"root\.dev\.capacity: capacity '30%'.*1 more like it"):
        parse(broken)
    reading = read(broken)
    assert reading.tree["root.dev"].capacity.mode is CapacityMode.UNSET
    assert [malformed.property for malformed in reading.malformed] == [
        queue_property("root.dev", "capacity"),
        queue_property("root.dev", "state"),
    ]


@pytest.mark.parametrize(
    ("suffix", "name"),
    [
        ("capacity", "capacity"),
        ("user-settings.first.last.weight", "user-settings.<user>.weight"),
        ("accessible-node-labels.gpu.capacity", "accessible-node-labels.<label>.capacity"),
        ("leaf-queue-template.capacity", "capacity"),
        ("auto-queue-creation-v2.template.maximum-applications", "maximum-applications"),
    ],
)
def test_names_with_places_for_users_labels_and_templates(suffix, name):
    spec = find_queue_property(suffix)
    assert spec is not None
    assert spec.name == name


@pytest.mark.parametrize("suffix", ["capacity-x", "accessible-node-labels.a.b.capacity", "user-settings.weight", ""])
def test_names_that_no_queue_has(suffix):
    assert find_queue_property(suffix) is None


def test_the_table_of_properties_is_whole():
    for spec in (*QUEUE_PROPERTIES, *GLOBAL_PROPERTIES):
        assert spec.description.endswith(".")
        assert default_of(spec.name, (3, 4)) == spec.default
    names = [spec.name for spec in (*QUEUE_PROPERTIES, *GLOBAL_PROPERTIES)]
    assert len(set(names)) == len(names)


def test_what_a_running_scheduler_takes_and_what_not():
    effects = {
        "yarn.scheduler.capacity.resource-calculator": Effect.RESTART,
        "yarn.scheduler.capacity.schedule-asynchronously.enable": Effect.RESTART,
        "yarn.scheduler.maximum-allocation-mb": Effect.RAISE_ONLY,
        "yarn.scheduler.capacity.per-node-heartbeat.maximum-offswitch-assignments": Effect.LIVE,
        "yarn.resourcemanager.monitor.capacity.preemption.natural_termination_factor": Effect.LIVE,
        "yarn.resourcemanager.scheduler.monitor.enable": Effect.RESTART,
    }
    found = {name: find_global_property(name) for name in effects}
    assert {name: spec.effect for name, spec in found.items() if spec} == effects
    assert default_of("yarn.scheduler.capacity.schedule-asynchronously.enable", (3, 5)) == "true"
    assert default_of("yarn.scheduler.capacity.schedule-asynchronously.enable", (3, 4)) == "false"
