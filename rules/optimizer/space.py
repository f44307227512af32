"""The configurations that may be proposed, as candidates: what both schedulers have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from rules.model import ROOT, Finding, PropertyChange, QueueTree, Resources
from rules.optimizer.knobs import SHARE, Candidate, Group, Knob, Value, fit, in_steps
from rules.policy import Policy
from workloads.trace import Case, Job

__all__ = ["LEAF", "LeafQuestion", "Settings", "Space", "Usable"]

Settings = Mapping[str, Value]
"""A leaf's own settings, by the names of its knobs."""
Usable = tuple[tuple[float, float], ...]
"""What a leaf could use at most: from these seconds on, this fraction of the cluster."""

LEAF = f"{ROOT}.leaf"
"""Where the jobs of a leaf are when it is simulated by itself."""
_LEAST_SHARE, _LEAST_PART = 0.005, 5.0
"""A leaf keeps this fraction of the cluster, or the fifth of what it has now; and in any case room for a container."""


@dataclass(frozen=True)
class LeafQuestion:
    """A leaf by itself: what the table of its costs has an entry for.

    Attributes:
        path: the leaf.
        share: of the whole cluster that it is sure of.
        settings: its own.
        usable: what it could use of the cluster, by time.
    """

    path: str
    share: float
    settings: tuple[tuple[str, Value], ...]
    usable: Usable


class Space(ABC):
    """The knobs of a configuration, and the way from their values back to a configuration.

    Attributes:
        tree: the queues as configured.
        knobs: what may be turned.
        groups: siblings whose parts of their parent may change.
        notes: what was left alone, and why.
    """

    share_property = SHARE
    """What a policy calls a queue's part of its parent."""
    table_spans = 6
    """Spans of time in a leaf's table: each is one configuration more to derive the limits of."""

    def __init__(self, case: Case, tree: QueueTree, policy: Policy) -> None:
        """Collects the knobs; the notes say what is left alone."""
        self.tree = tree
        self.policy = policy
        self.notes: list[str] = []
        self.cluster = Resources(sum(node.memory_mib for node in case.nodes), sum(node.vcores for node in case.nodes))
        self._case = case
        self._parts: dict[str, float] = {ROOT: 100.0}
        knobs: list[Knob] = []
        groups: list[Group] = []
        for queue in tree:
            if queue.children:
                self._add_group(queue.path, knobs, groups)
        for queue in tree:
            if not queue.children and queue.path != ROOT and not self._is_closed(queue.path):
                knobs += self._leaf_knobs(queue.path)
        self.knobs = tuple(knobs)
        self.groups = tuple(groups)
        self._floors = self._all_floors()

    # --- what a scheduler has to say -----------------------------------------------------------------------------

    @abstractmethod
    def _present_parts(self, parent: str) -> dict[str, float] | None:
        """The parts of a parent's children in percent of it; None where they cannot be changed (with a note)."""

    @abstractmethod
    def _share_step(self, parent: str) -> float:
        """What parts must be multiples of, in percent; 0 where they need not be."""

    @abstractmethod
    def _most_share(self, path: str) -> float:
        """The highest part of its parent that a queue may have, in percent, by what else is configured."""

    @abstractmethod
    def _leaf_knobs(self, path: str) -> list[Knob]:
        """The leaf's own settings."""

    @abstractmethod
    def _is_closed(self, path: str) -> bool:
        """Whether nothing of a queue is to be changed: it is stopped, or makes queues by itself."""

    @abstractmethod
    def case(self, candidate: Candidate, workload: Case) -> Case:
        """The workload under a candidate."""

    @abstractmethod
    def leaf_case(self, question: LeafQuestion, jobs: tuple[Job, ...], workload: Case) -> Case:
        """A leaf's jobs by themselves, in a cluster of which the leaf gets no more than it could use."""

    @abstractmethod
    def outcome(self, candidate: Candidate) -> tuple[tuple[PropertyChange, ...], str | None]:
        """What differs from the present configuration; for the Fair Scheduler the new file too."""

    @abstractmethod
    def findings(self, candidate: Candidate) -> tuple[Finding, ...]:
        """What is wrong with the change to a candidate: the errors of the dialect's validation."""

    # --- shares --------------------------------------------------------------------------------------------------

    def _add_group(self, parent: str, knobs: list[Knob], groups: list[Group]) -> None:
        parts = self._present_parts(parent)
        if parts is None:
            return
        self._parts.update(parts)
        step = self._share_step(parent)
        free: list[int] = []
        for path, part in parts.items():
            if self.policy.queue(path).is_locked(self.share_property) or self._is_closed(path) or part <= 0:
                continue
            least, most = self.policy.queue(path).bounds_of(self.share_property).narrowed(part)
            least, most = max(least, min(part, step or 0.01)), min(most, max(part, self._most_share(path)))
            free.append(len(knobs))
            knobs.append(Knob(path, SHARE, part, (), least, most, step))
        if len(free) < 2:
            del knobs[len(knobs) - len(free) :]
            return
        locked = sum(parts.values()) - sum(parts[knobs[i].path] for i in free)
        groups.append(Group(parent, tuple(free), 100.0 - locked, step))

    @cached_property
    def present(self) -> Candidate:
        """The candidate that is the present configuration."""
        return tuple(knob.present for knob in self.knobs)

    @cached_property
    def leaves(self) -> tuple[str, ...]:
        """The full paths of the leaves."""
        return tuple(queue.path for queue in self.tree if not queue.children and queue.path != ROOT)

    @cached_property
    def leaf_knobs(self) -> Mapping[str, tuple[int, ...]]:
        """The knobs of each leaf's own settings, by its path."""
        found: dict[str, list[int]] = {path: [] for path in self.leaves}
        for i, knob in enumerate(self.knobs):
            if knob.name != SHARE:
                found[knob.path].append(i)
        return {path: tuple(places) for path, places in found.items()}

    def settings(self, candidate: Candidate, path: str) -> dict[str, Value]:
        """A leaf's own settings under a candidate."""
        return {self.knobs[i].name: candidate[i] for i in self.leaf_knobs[path]}

    def parts(self, candidate: Candidate) -> dict[str, float]:
        """Every queue's part of its parent, in percent; those that cannot change as they are."""
        found = dict(self._parts)
        for group in self.groups:
            found.update((self.knobs[i].path, float(candidate[i])) for i in group.knobs)
        return found

    def shares(self, candidate: Candidate) -> dict[str, float]:
        """Every queue's share of the whole cluster, as a fraction; 1 for each child where it cannot be told."""
        parts, found = self.parts(candidate), {ROOT: 1.0}
        for queue in self.tree:
            if queue.path != ROOT:
                found[queue.path] = found[queue.parent or ROOT] * parts.get(queue.path, 100.0) / 100.0
        return found

    def _all_floors(self) -> dict[str, float]:
        """The least share of the cluster that each queue is left with: of a parent, what all below it need."""
        present, smallest = self.shares(self.present), self._smallest()
        found: dict[str, float] = {}
        for queue in reversed(tuple(self.tree)):
            own = present[queue.path]
            least = max(smallest, min(_LEAST_SHARE, own / _LEAST_PART))
            found[queue.path] = sum(found[child] for child in queue.children) if queue.children else min(own, least)
        return found

    @abstractmethod
    def _smallest(self) -> float:
        """The fraction of the cluster that the smallest container takes."""

    def floor(self, path: str) -> float:
        """The least share of the cluster that a queue is left with, as a fraction."""
        return self._floors[path]

    def normal(self, candidate: Sequence[Value]) -> Candidate | None:
        """The nearest candidate that may be proposed: parts add up, ranges hold, maxima are not below capacities.

        Returns:
            None where there is none.
        """
        found = list(candidate)
        above = {ROOT: 1.0}
        for group in self.groups:
            knobs = [self.knobs[i] for i in group.knobs]
            own = self._share_above(group.parent, above)
            is_present = all(found[i] == knob.present for i, knob in zip(group.knobs, knobs, strict=True))
            if is_present and own == self._present_shares[group.parent]:
                continue
            parts = self._fitted(group, knobs, [float(found[i]) for i in group.knobs], own)
            for i, part in zip(group.knobs, parts, strict=True):
                found[i] = part
                above[self.knobs[i].path] = own * part / 100.0
        for i, knob in enumerate(self.knobs):
            if knob.name != SHARE and knob.step and found[i] != knob.present:
                value = round(round(float(found[i]) / knob.step) * knob.step, 6)
                found[i] = min(max(value, knob.least), knob.most)
        self._repair(found)
        shares = self.shares(tuple(found))
        return tuple(found) if all(shares[path] >= self._floors[path] - 1e-9 for path in self.leaves) else None

    def _fitted(self, group: Group, knobs: Sequence[Knob], wanted: Sequence[float], own: float) -> list[float]:
        """The parts that may be set nearest to those wanted; the present ones where the ranges leave no choice.

        Args:
            group: the siblings.
            knobs: theirs.
            wanted: their parts, in any proportion.
            own: their parent's share of the cluster.
        """
        least, most = [knob.least for knob in knobs], [knob.most for knob in knobs]
        needed = [100.0 * self._floors[knob.path] / own for knob in knobs]
        if group.step:
            least = [_up(value, group.step, float(knob.present)) for value, knob in zip(least, knobs, strict=True)]
            most = [_down(value, group.step, float(knob.present)) for value, knob in zip(most, knobs, strict=True)]
            needed = [-(-round(value / group.step, 6) // 1) * group.step for value in needed]
        least = [min(max(low, need), high) for low, need, high in zip(least, needed, most, strict=True)]
        parts = fit(wanted, least, most, group.total)
        if parts is None:
            return [float(knob.present) for knob in knobs]
        return in_steps(parts, group.total, group.step) if group.step else parts

    def _share_above(self, path: str, known: dict[str, float]) -> float:
        """The share of the cluster of a parent, from the parts above it that were fitted already."""
        if path not in known:
            parent = self.tree[path].parent or ROOT
            known[path] = self._share_above(parent, known) * self._parts.get(path, 100.0) / 100.0
        return known[path]

    @cached_property
    def _present_shares(self) -> Mapping[str, float]:
        return self.shares(self.present)

    @abstractmethod
    def _repair(self, values: list[Value]) -> None:
        """Brings a leaf's settings in line with its share."""

    @abstractmethod
    def presets(self) -> Iterable[Settings]:
        """Settings that are worth trying on every leaf."""


def _up(value: float, step: float, present: float) -> float:
    return min(-(-round(value / step, 6) // 1) * step, present) if value < present else present


def _down(value: float, step: float, present: float) -> float:
    return max(round(value / step, 6) // 1 * step, present) if value > present else present
