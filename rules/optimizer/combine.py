"""Dynamic programming over the hierarchy: the best division of a whole among siblings, at every level.

A table is the cost of a queue by its share, in units of which root has a given number; entry ``u`` is the cost with
``u`` units, infinite where that many are not allowed. A parent's table is the min-plus combination of its children's:
``parent[u] = min over u1 + u2 + ... = u of child1[u1] + child2[u2] + ...`` (Bellman's principle: with u units the best
division of a part is part of the best division of the whole).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Combined", "Tree", "combine", "divide"]

Table = NDArray[np.float64]
Range = Callable[[str, int], tuple[int, int]]
"""The fewest and most units that a queue may have where its parent has so many."""


@dataclass(frozen=True)
class Tree:
    """The hierarchy to divide: children by parent, in their order; a queue without an entry is a leaf."""

    children: Mapping[str, Sequence[str]]
    root: str


@dataclass(frozen=True)
class Combined:
    """Siblings together.

    Attributes:
        cost: their parent's table.
        choices: for each child but the first, the units that it has where all up to it have so many.
    """

    cost: Table
    choices: tuple[NDArray[np.int64], ...]

    def division(self, units: int) -> list[int]:
        """The best division of so many units among the children, in their order."""
        found = []
        for choice in reversed(self.choices):
            own = int(choice[units])
            found.append(own)
            units -= own
        return [units, *reversed(found)]


def combine(tables: Sequence[Table]) -> Combined:
    """Combines the tables of siblings, all of one length; of equal divisions the first child gets most."""
    cost = tables[0]
    choices = []
    for table in tables[1:]:
        cost, choice = _add(cost, table)
        choices.append(choice)
    return Combined(cost, tuple(choices))


def _add(left: Table, right: Table) -> tuple[Table, NDArray[np.int64]]:
    best = np.full(len(left), np.inf)
    choice = np.zeros(len(left), np.int64)
    for own in np.flatnonzero(np.isfinite(right)):
        together = left[: len(left) - own] + right[own]
        better = together < best[own:]
        best[own:][better] = together[better]
        choice[own:][better] = own
    return best, choice


def divide(
    tree: Tree, leaves: Mapping[str, Table], units: int, allowed: Mapping[str, Range] | None = None
) -> dict[str, int] | None:
    """The division of all units with the least sum of the leaves' costs.

    Args:
        tree: the hierarchy.
        leaves: the table of each leaf, entries 0 to ``units``.
        units: what root has.
        allowed: by parent, where its children's units are bound to its own; that parent then takes one combination for
            each number of units that it could have, instead of one for all.

    Returns:
        The units of every queue, or None where no division is allowed.
    """
    bound = allowed or {}
    levels: dict[str, dict[int, Combined]] = {}
    every = range(units + 1)

    def table_of(path: str) -> Table:
        children = tree.children.get(path)
        if not children:
            return leaves[path]
        tables = [table_of(child) for child in children]
        if path not in bound:
            levels[path] = dict.fromkeys(every, combine(tables))
        else:
            within = bound[path]
            wanted = [units] if path == tree.root else every
            levels[path] = {
                own: combine(
                    [_within(table, *within(child, own)) for table, child in zip(tables, children, strict=True)]
                )
                for own in wanted
            }
        return np.array([levels[path][own].cost[own] if own in levels[path] else np.inf for own in every])

    if not np.isfinite(table_of(tree.root)[units]):
        return None
    found = {tree.root: units}
    for path in _downwards(tree, tree.root):
        division = levels[path][found[path]].division(found[path])
        found.update(zip(tree.children[path], division, strict=True))
    return found


def _downwards(tree: Tree, path: str) -> list[str]:
    """The parents from this one on, each before those below it."""
    if not tree.children.get(path):
        return []
    return [path, *(below for child in tree.children[path] for below in _downwards(tree, child))]


def _within(table: Table, least: int, most: int) -> Table:
    bounded = np.full(len(table), np.inf)
    bounded[max(least, 0) : most + 1] = table[max(least, 0) : most + 1]
    return bounded
