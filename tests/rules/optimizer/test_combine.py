"""The dynamic programming gives the best division of its tables: held against all divisions, one by one."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from rules.optimizer.combine import Tree, combine, divide

Tables = Mapping[str, NDArray[np.float64]]
FLAT = Tree({"root": ("a", "b", "c")}, "root")
DEEP = Tree({"root": ("a", "b"), "a": ("a1", "a2", "a3"), "b": ("b1", "b2")}, "root")
UNEVEN = Tree({"root": ("a", "b"), "b": ("c",), "c": ("d", "e")}, "root")


def leaves_of(tree: Tree) -> list[str]:
    parents = set(tree.children)
    return [child for children in tree.children.values() for child in children if child not in parents]


def totals(tree: Tree, own: Mapping[str, int]) -> dict[str, int]:
    def total(path: str) -> int:
        return own[path] if path not in tree.children else sum(total(child) for child in tree.children[path])

    return {path: total(path) for path in (*tree.children, *own)}


def divisions(count: int, units: int) -> Iterator[tuple[int, ...]]:
    return (cut for cut in itertools.product(range(units + 1), repeat=count) if sum(cut) == units)


def tables_of(tree: Tree, units: int, seed: int, *, holes: bool) -> Tables:
    draw = np.random.default_rng(seed)
    found = {}
    for leaf in leaves_of(tree):
        cost = draw.integers(0, 50, units + 1).astype(float)
        if holes:
            cost[draw.random(units + 1) < 0.3] = np.inf
        cost[0] = np.inf
        found[leaf] = cost
    return found


@pytest.mark.parametrize("tree", [FLAT, DEEP, UNEVEN], ids=["flat", "deep", "uneven"])
@pytest.mark.parametrize("holes", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_the_division_is_the_best_of_all(tree: Tree, holes: bool, seed: int) -> None:
    units = 9
    tables, leaves = tables_of(tree, units, seed, holes=holes), leaves_of(tree)
    best = min(
        sum(tables[leaf][own] for leaf, own in zip(leaves, cut, strict=True)) for cut in divisions(len(leaves), units)
    )
    found = divide(tree, tables, units)
    if not np.isfinite(best):
        assert found is None
        return
    assert found is not None
    assert sum(tables[leaf][found[leaf]] for leaf in leaves) == best
    assert found == totals(tree, {leaf: found[leaf] for leaf in leaves})
    assert found["root"] == units


@pytest.mark.parametrize("seed", range(8))
def test_bounds_that_depend_on_the_parent_hold_and_the_rest_is_the_best(seed: int) -> None:
    """A child of b may have a third to two thirds of whatever b has; b itself no more than half."""
    units = 9
    tables, leaves = tables_of(DEEP, units, seed, holes=False), leaves_of(DEEP)

    def within_b(_: str, own: int) -> tuple[int, int]:
        return -(-own // 3), own * 2 // 3

    def within_root(path: str, own: int) -> tuple[int, int]:
        return (0, own // 2) if path == "b" else (0, own)

    def is_allowed(own: Mapping[str, int]) -> bool:
        whole = totals(DEEP, own)
        pairs = [(within_b, child, "b") for child in ("b1", "b2")] + [(within_root, child, "root") for child in "ab"]
        return all(
            low <= whole[child] <= high for rule, child, parent in pairs for low, high in [rule(child, whole[parent])]
        )

    cuts = [dict(zip(leaves, cut, strict=True)) for cut in divisions(len(leaves), units)]
    best = min(sum(tables[leaf][own] for leaf, own in cut.items()) for cut in cuts if is_allowed(cut))
    found = divide(DEEP, tables, units, {"b": within_b, "root": within_root})
    assert found is not None
    assert is_allowed({leaf: found[leaf] for leaf in leaves})
    assert sum(tables[leaf][found[leaf]] for leaf in leaves) == best


@settings(deadline=None, max_examples=60)
@given(st.lists(st.lists(st.floats(0, 1e6), min_size=6, max_size=6), min_size=1, max_size=4))
def test_a_combination_is_no_worse_than_any_division_and_its_division_costs_what_it_says(
    rows: list[list[float]],
) -> None:
    tables = [np.array(row) for row in rows]
    together = combine(tables)
    for units in range(6):
        own = together.division(units)
        assert sum(own) == units
        assert sum(table[part] for table, part in zip(tables, own, strict=True)) == pytest.approx(together.cost[units])
        for cut in divisions(len(tables), units):
            cost = sum(table[part] for table, part in zip(tables, cut, strict=True))
            assert together.cost[units] <= cost + 1e-9 * max(cost, 1)
