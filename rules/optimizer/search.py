"""The search: starting points, rounds of dynamic programming, and local refinement of the best."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rules.model import ROOT
from rules.optimizer.combine import Range, Tree, divide
from rules.optimizer.judge import Score
from rules.optimizer.knobs import SHARE, Candidate, Value
from rules.optimizer.moves import neighbour
from rules.optimizer.space import Settings, Space
from rules.optimizer.tables import LeafTable, LeafTables
from rules.optimizer.usable import usable_by_leaf
from rules.optimizer.whole import Whole

__all__ = ["Effort", "Search"]

_MOST_ROUNDS, _WORTH_A_ROUND = 4, 0.001
"""Rounds go on while one brings at least this part of the cost."""
_MANY_LEAVES = 12
"""With more leaves than that, whose tables are many, a table has one span of time, the mean over all."""
_SKEWED, _AHEAD = 2, 10.0
"""Presets of each order that are tried with one sibling ahead, and how many times as much as another it then has."""
_STARTS, _PROBED = 4, 0.15
"""How many are refined, and the part of the remaining effort that each gets before only the best goes on."""
_TOLERANCE, _RETURNS = 0.03, 0.02
"""How much worse a step may be at first, and how often a walk goes back to its best."""
_RESERVED = 0.1
"""Of the effort: to take back changes that bring nothing."""
_GOOD = 20
"""So many of the best candidates lend a leaf's settings to others."""
_MOST_MISSES = 200
"""A walk ends after so many steps that lead nowhere new."""


@dataclass(frozen=True)
class Effort:
    """How long to search.

    Attributes:
        evaluations: simulations of the whole cluster at most.
        is_over: whether the time is up.
    """

    evaluations: int
    is_over: Callable[[], bool]


class Search:
    """One search.

    Attributes:
        best: the best candidate so far, and its score.
    """

    def __init__(
        self,
        space: Space,
        whole: Whole,
        tables: LeafTables,
        paths: Sequence[Sequence[str]],
        effort: Effort,
        seed: int,
        progress: Callable[[float], None],
    ) -> None:
        """Begins with the present configuration."""
        self._space, self._whole, self._tables, self._paths = space, whole, tables, paths
        self._effort, self._progress = effort, progress
        self._rng = np.random.default_rng(seed)
        self.best = (space.present, whole.score(space.present))
        self.ranking: list[tuple[Candidate, Score]] = [self.best]

    def run(self) -> None:
        """Searches until nothing is left to try, or the effort is spent."""
        if not self._space.knobs or not any(case.jobs for case in self._whole.draws):
            return
        self._try_presets()
        for _ in range(_MOST_ROUNDS):
            if not self._round() or self._is_over():
                break
        self._refine()
        self._simplify()

    def _is_over(self) -> bool:
        self._progress(min(self._whole.evaluations / self._effort.evaluations, 1.0))
        return self._whole.evaluations >= self._effort.evaluations or self._effort.is_over()

    def _consider(self, values: Sequence[Value]) -> Score | None:
        """Scores the nearest candidate that may be proposed; None where there is none, or it was seen."""
        candidate = self._space.normal(values)
        if candidate is None or candidate in self._whole:
            return None
        score = self._whole.score(candidate)
        if score.rank < self.best[1].rank:
            self.best = candidate, score
        self.ranking.append((candidate, score))
        return score

    # --- starting points -----------------------------------------------------------------------------------------

    def _try_presets(self) -> None:
        """The same settings on all leaves; then, of the best of them, with one leaf far ahead of the others."""
        tried: list[tuple[Candidate, Score]] = []
        for preset in self._presets():
            if self._is_over():
                return
            if self._consider(self._with_settings(self._space.present, dict.fromkeys(self._space.leaves, preset))):
                tried.append(self.ranking[-1])
        if not self._space.groups or len(self._space.leaves) > _MANY_LEAVES // 2:
            return
        tried.sort(key=lambda item: item[1].rank)
        # The best of each order of applications: what is best with equal parts need not be with unequal ones.
        orders = [tuple(value for value in candidate if isinstance(value, str)) for candidate, _ in tried]
        chosen = [item for place, item in enumerate(tried) if orders[:place].count(orders[place]) < _SKEWED]
        for candidate, _ in chosen:
            for group in self._space.groups:
                for ahead in group.knobs:
                    if self._is_over():
                        return
                    values = list(candidate)
                    for i in group.knobs:
                        values[i] = _AHEAD if i == ahead else 1.0
                    self._consider(values)

    @property
    def _is_large(self) -> bool:
        return len(self._space.leaves) > _MANY_LEAVES

    def _presets(self) -> list[Settings]:
        """Of a large hierarchy, of which a run takes long, a quarter of them."""
        return list(self._space.presets())[:: 4 if self._is_large else 1]

    def _with_settings(self, candidate: Candidate, settings: Mapping[str, Settings]) -> list[Value]:
        values = list(candidate)
        for path, own in settings.items():
            for i in self._space.leaf_knobs[path]:
                knob = self._space.knobs[i]
                if knob.name in own:
                    wanted = own[knob.name]
                    is_number = not isinstance(wanted, str) and not isinstance(knob.present, str)
                    values[i] = min(max(wanted, knob.least), knob.most) if is_number else wanted
        return values

    # --- dynamic programming -------------------------------------------------------------------------------------

    def _round(self) -> bool:
        """Tables with what each leaf could use under the best so far; whether their best divisions are better."""
        base, before = self.best
        times = self._whole.times(base)
        spans = 1 if self._is_large else self._space.table_spans
        usable = usable_by_leaf(self._whole.draws[0], self._paths[0], times[0], spans)
        units = max(100, 3 * len(self._space.leaves))
        shares = self._space.shares(base)
        presets = self._presets()
        tables: dict[str, LeafTable] = {}
        for path in self._space.leaves:
            if self._effort.is_over():
                return False
            settings = self._space.settings(base, path)
            tables[path] = self._tables.table(path, usable.get(path, ()), settings, shares[path], presets, units)
        found = divide(self._hierarchy(), {path: table.cost for path, table in tables.items()}, units, self._ranges())
        if found is None:
            return False
        chosen = {path: tables[path].settings[found[path]] for path in self._space.leaves}
        at_present = {path: tables[path].settings[round(shares[path] * units)] for path in self._space.leaves}
        divided = self._with_shares(base, found)
        for values in (self._with_settings(divided, chosen), list(divided), self._with_settings(base, at_present)):
            if not self._is_over():
                self._consider(values)
        refused, unfinished, cost = before.rank
        return self.best[1].rank < (refused, unfinished, cost * (1.0 - _WORTH_A_ROUND))

    def _hierarchy(self) -> Tree:
        return Tree({queue.path: queue.children for queue in self._space.tree if queue.children}, ROOT)

    def _ranges(self) -> dict[str, Range]:
        """The parents whose children's units are bound to theirs: by a lock, by bounds, by a step."""
        found: dict[str, Range] = {}
        groups = {group.parent: group for group in self._space.groups}
        for queue in self._space.tree:
            if not queue.children:
                continue
            group = groups.get(queue.path)
            knobs = {self._space.knobs[i].path: self._space.knobs[i] for i in group.knobs} if group else {}
            free = all(path in knobs and knobs[path].most >= 100 and knobs[path].least <= 1 for path in queue.children)
            if not free:
                limits = {path: (knob.least, knob.most) for path, knob in knobs.items()}
                parts = self._space.parts(self._space.present)
                for path in queue.children:
                    limits.setdefault(path, (parts.get(path, 0.0), parts.get(path, 100.0)))
                found[queue.path] = _range_of(limits)
        return found

    def _with_shares(self, candidate: Candidate, units: Mapping[str, int]) -> Candidate:
        values = list(candidate)
        for group in self._space.groups:
            own = [units[self._space.knobs[i].path] for i in group.knobs]
            for i, count in zip(group.knobs, own, strict=True):
                values[i] = group.total * count / max(sum(own), 1)
        return tuple(values)

    # --- local refinement ----------------------------------------------------------------------------------------

    def _refine(self) -> None:
        """Short searches from each of the best few, then the rest of the effort from the best of all."""
        begin = self._whole.evaluations
        left = max(self._effort.evaluations - begin, 1)
        for start in self._starts():
            self._walk(start, self._whole.evaluations + int(_PROBED * left), 0.5)
        self._walk(self.best, self._effort.evaluations - self._reserved(), 1.0)

    def _reserved(self) -> int:
        """Evaluations kept for the end: one for each setting, but no more than a part of all."""
        return min(sum(knob.name != SHARE for knob in self._space.knobs), int(_RESERVED * self._effort.evaluations))

    def _starts(self) -> list[tuple[Candidate, Score]]:
        """The best few that differ in more than a detail."""
        found: list[tuple[Candidate, Score]] = []
        for candidate, score in sorted(self.ranking, key=lambda item: item[1].rank):
            if all(_distance(candidate, other) > 0.3 for other, _ in found):
                found.append((candidate, score))
            if len(found) == _STARTS:
                break
        return found

    def _simplify(self) -> None:
        """Takes back every change of the best that brings nothing, as far as the effort reserved for it goes."""
        for i in reversed(range(len(self._space.knobs))):
            candidate, score = self.best
            if candidate[i] == self._space.present[i] or self._space.knobs[i].name == SHARE:
                continue
            if self._whole.evaluations >= self._effort.evaluations or self._effort.is_over():
                return
            plainer = self._space.normal([*candidate[:i], self._space.present[i], *candidate[i + 1 :]])
            if plainer is not None:
                again = self._whole.score(plainer)
                self.ranking.append((plainer, again))
                if again.rank <= score.rank:
                    self.best = plainer, again

    def _good(self) -> list[Candidate]:
        return [candidate for candidate, _ in sorted(self.ranking, key=lambda item: item[1].rank)[:_GOOD]]

    def _walk(self, start: tuple[Candidate, Score], until: int, reach: float) -> None:
        """Threshold accepting (Dueck and Scheuer 1990): a step may be a little worse, less and less so."""
        current = best = start
        begin, misses = self._whole.evaluations, 0
        while self._whole.evaluations < until and misses < _MOST_MISSES and not self._is_over():
            rest = reach * (1.0 - (self._whole.evaluations - begin) / max(until - begin, 1))
            if not self._consider(neighbour(self._space, current[0], self._rng, rest, self._good())):
                misses += 1
                continue
            misses = 0
            stepped = self.ranking[-1]
            if _is_near(stepped[1], current[1], _TOLERANCE * rest**2):
                current = stepped
                best = min(best, current, key=lambda item: item[1].rank)
            elif self._rng.random() < _RETURNS:
                current = best


def _distance(one: Candidate, other: Candidate) -> float:
    """The part of the knobs that differ by more than a tenth."""
    differing = sum(
        abs(a - b) > 0.1 * max(abs(a), abs(b))
        if not isinstance(a, str) and not isinstance(b, str) and np.isfinite([a, b]).all()
        else a != b
        for a, b in zip(one, other, strict=True)
    )
    return differing / max(len(one), 1)


def _is_near(score: Score, other: Score, tolerance: float) -> bool:
    mine, theirs = score.rank, other.rank
    return mine[:-1] < theirs[:-1] or (mine[:-1] == theirs[:-1] and mine[-1] <= theirs[-1] * (1.0 + tolerance))


def _range_of(limits: Mapping[str, tuple[float, float]]) -> Range:
    def of(path: str, own: int) -> tuple[int, int]:
        least, most = limits[path]
        return int(np.floor(least * own / 100.0)), int(np.ceil(most * own / 100.0))

    return of
