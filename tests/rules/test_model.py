from __future__ import annotations

from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rules.model import (
    Capacity,
    CapacityMode,
    Finding,
    Node,
    Queue,
    QueueTree,
    Resources,
    ResourceShare,
    Severity,
    Snapshot,
)

AMOUNTS = st.integers(0, 10**9)
RESOURCES = st.builds(
    Resources.of,
    st.fixed_dictionaries(
        {"memory-mb": AMOUNTS, "vcores": AMOUNTS}, optional={"yarn.io/gpu": AMOUNTS, "fpga": AMOUNTS}
    ),
)


@given(RESOURCES, RESOURCES)
def test_adding_and_taking_away_again_changes_nothing(one, other):
    assert one + other - other == one
    assert one + other == other + one


@given(RESOURCES, RESOURCES)
def test_the_smaller_of_two_fits_in_both_and_both_fit_in_the_larger(one, other):
    least, most = one.component_min(other), one.component_max(other)
    assert least.fits_in(one)
    assert least.fits_in(other)
    assert one.fits_in(most)
    assert other.fits_in(most)
    assert least + most == one + other


def test_a_resource_that_the_other_lacks_does_not_fit():
    with_gpu = Resources.of({"memory-mb": 1, "yarn.io/gpu": 1})
    assert not with_gpu.fits_in(Resources(1024, 8))
    assert Resources(1024, 8).fits_in(Resources.of({"memory-mb": 1024, "vcores": 8, "yarn.io/gpu": 1}))


def test_memory_has_two_names():
    assert Resources.of({"memory": 5}) == Resources.of({"memory-mb": 5}) == Resources(5)
    assert Resources(5).amount("memory") == 5


def test_a_resource_of_nothing_is_as_if_it_were_not_there():
    assert Resources.of({"memory-mb": 1, "yarn.io/gpu": 0}) == Resources(1)
    assert (Resources.of({"yarn.io/gpu": 2}) - Resources.of({"yarn.io/gpu": 2})).is_zero()


def test_resources_read_well():
    assert str(Resources.of({"memory-mb": 1024, "vcores": 2, "yarn.io/gpu": 3})) == "1024 MiB, 2 vcores, yarn.io/gpu: 3"


def tree() -> QueueTree:
    queues = [
        Queue("root", ("root.b", "root.a")),
        Queue("root.b", ("root.b.x",)),
        Queue("root.b.x"),
        Queue("root.a", ("root.a.x", "root.a.y")),
        Queue("root.a.x"),
        Queue("root.a.y"),
    ]
    return QueueTree(MappingProxyType({queue.path: queue for queue in queues}))


def test_the_tree_keeps_the_configured_order():
    assert [queue.path for queue in tree().leaves()] == ["root.b.x", "root.a.x", "root.a.y"]
    assert [queue.path for queue in tree().children("root")] == ["root.b", "root.a"]
    assert [queue.path for queue in tree().ancestors("root.a.y")] == ["root.a", "root"]
    assert (tree().root.parent, tree()["root.a.y"].parent, tree()["root.a.y"].name) == (None, "root.a", "y")


@pytest.mark.parametrize(
    ("name", "path"), [("root.a.x", "root.a.x"), ("y", "root.a.y"), ("x", None), ("a", None), ("nope", None)]
)
def test_a_short_name_stands_for_a_leaf_where_it_is_unique(name, path):
    assert tree().resolve(name) == path


def test_only_an_absolute_capacity_has_resources():
    shares = (
        ResourceShare("memory-mb", CapacityMode.ABSOLUTE, 1024.0),
        ResourceShare("vcores", CapacityMode.ABSOLUTE, 2.0),
    )
    assert Capacity(CapacityMode.ABSOLUTE, 0.0, shares).resources == Resources(1024, 2)
    assert Capacity(CapacityMode.PERCENT, 50.0).resources.is_zero()


def test_a_snapshot_adds_up_its_nodes():
    nodes = (Node("n1", Resources(8192, 8)), Node("n2", Resources(4096, 4), label="gpu"))
    assert Snapshot(0.0, nodes).total == Resources(12288, 12)
    assert Snapshot(0.0, ()).total.is_zero()


def test_a_finding_reads_as_one_line():
    finding = Finding("root.a", None, "sibling-sum", Severity.ERROR, "they have 90 %")
    assert str(finding) == "ERROR sibling-sum: they have 90 %"
