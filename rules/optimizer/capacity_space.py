"""Candidates of the Capacity Scheduler: percentages, weights or absolute resources, and each leaf's own settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from decimal import Decimal
from math import ceil

from rules.dialects.capacity import parse, queue_property
from rules.dialects.capacity_properties import PREFIX, default_of
from rules.dialects.capacity_update import changes
from rules.dialects.capacity_validation import errors, validate_change
from rules.dialects.capacity_values import format_capacity, format_number, parse_capacity
from rules.model import ROOT, Capacity, CapacityMode, Finding, PropertyChange, Queue, QueueState, ResourceShare
from rules.optimizer.knobs import Candidate, Knob, Value, number_knob
from rules.optimizer.space import LEAF, LeafQuestion, Settings, Space
from rules.policy import Policy
from workloads.trace import Case, Job, Update

__all__ = ["CapacitySpace"]

_VERSION = (3, 4)
_MAXIMUM, _ORDER, _SIZE = "maximum-capacity", "ordering-policy", "ordering-policy.fair.enable-size-based-weight"
_FACTOR, _MINIMUM, _AM = "user-limit-factor", "minimum-user-limit-percent", "maximum-am-resource-percent"
_BY_SIZE = "fair, weighted by size"
_GRIDS: Mapping[str, tuple[tuple[float, ...], float]] = {
    _MAXIMUM: ((30, 40, 50, 60, 70, 80, 90, 100), 1),
    _FACTOR: ((0.5, 1, 1.5, 2, 3, 5, 10, 30), 0.1),
    _MINIMUM: ((5, 10, 20, 25, 33, 50, 75, 100), 1),
    _AM: ((0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 1.0), 0.01),
}
"""The values to try of each number, and the step of those in between."""
_AUTOMATIC = ("auto-create-child-queue.enabled", "auto-queue-creation-v2.enabled")


class CapacitySpace(Space):
    """See :class:`~rules.optimizer.space.Space`."""

    def __init__(self, case: Case, policy: Policy) -> None:
        """Reads the configuration.

        Raises:
            InputError: it cannot be read.
        """
        self._conf = {name: value for name, value in case.conf.items() if value is not None}
        super().__init__(case, parse(self._conf), policy)

    # --- what is there -------------------------------------------------------------------------------------------

    def _present_parts(self, parent: str) -> dict[str, float] | None:
        children = self.tree.children(parent)
        modes = {child.capacity.mode for child in children}
        if len(modes) > 1 or modes & {CapacityMode.UNSET, CapacityMode.VECTOR}:
            self.notes.append(f"{parent}: its children's capacities are left alone, as they are not written in one way")
            return None
        sizes = {child.path: _size(child.capacity) for child in children}
        total = 100.0 if modes == {CapacityMode.PERCENT} else sum(sizes.values())
        if total <= 0 or sum(sizes.values()) <= 0:
            self.notes.append(f"{parent}: its children's capacities are left alone, as they are all 0")
            return None
        return {path: 100.0 * size / total for path, size in sizes.items()}

    def _share_step(self, parent: str) -> float:
        children = self.tree.children(parent)
        if children[0].capacity.mode is not CapacityMode.PERCENT:
            return 0.0
        # As many decimals as what is locked has, so that a sum of exactly 100 can be written; more than two where
        # there are so many children that hundredths would be coarse.
        texts = [format_number(child.capacity.value) for child in children]
        decimals = max(2 if len(children) < 50 else 3, *(-int(Decimal(text).as_tuple().exponent) for text in texts))
        return float(Decimal(1).scaleb(-min(decimals, 5)))

    def _most_share(self, path: str) -> float:
        maximum = self.tree[path].maximum_capacity
        if maximum.mode is CapacityMode.ABSOLUTE:
            most, now = _amounts_of(maximum), _amounts_of(self.tree[path].capacity)
            return min((self._parts[path] * most[name] / now[name] for name in most if now.get(name)), default=100.0)
        if maximum.mode is not CapacityMode.PERCENT or maximum.value < 0:
            return 100.0
        is_tuned = self.tree[path].is_leaf and not self.policy.queue(path).is_locked(_MAXIMUM)
        return 100.0 if is_tuned and not self.policy.queue(path).bounds.get(_MAXIMUM) else maximum.value

    def _is_closed(self, path: str) -> bool:
        queues = (self.tree[path], *self.tree.ancestors(path))
        stopped = any(queue.state is QueueState.STOPPED for queue in queues)
        automatic = any(queue.properties.get(name, "").lower() == "true" for queue in queues for name in _AUTOMATIC)
        return stopped or automatic

    def _inherited(self, queue: Queue, suffix: str) -> float:
        text = queue.properties.get(suffix) or self.tree.settings.get(f"{PREFIX}{suffix}")
        return float(text or default_of(suffix, _VERSION))

    def _leaf_knobs(self, path: str) -> list[Knob]:
        queue, policy = self.tree[path], self.policy.queue(path)
        found: list[Knob | None] = []
        for name, (grid, step) in _GRIDS.items():
            if name == _MAXIMUM:
                maximum = queue.maximum_capacity
                if queue.capacity.mode is CapacityMode.ABSOLUTE or maximum.mode is CapacityMode.ABSOLUTE:
                    continue
                unset = maximum.mode is CapacityMode.UNSET or maximum.value < 0
                present = 100.0 if unset else maximum.value
            else:
                present = self._inherited(queue, name)
            if name == _FACTOR and present < 0:
                continue
            found.append(number_knob(path, name, present, grid, step, policy))
        if not policy.is_locked(_ORDER):
            order = _order_of(queue)
            if order in ("fifo", "fair", _BY_SIZE):
                found.append(Knob(path, _ORDER, order, ("fifo", "fair", _BY_SIZE)))
        return [knob for knob in found if knob is not None]

    def _smallest(self) -> float:
        settings = self.tree.settings
        memory = float(settings.get("yarn.scheduler.minimum-allocation-mb") or 1024) / max(self.cluster.memory_mib, 1)
        counted = "Dominant" in settings.get(f"{PREFIX}resource-calculator", "")
        return max(memory, 1.0 / max(self.cluster.vcores, 1) if counted else 0.0)

    def presets(self) -> Iterable[Settings]:
        """Orders, AM shares and factors that have helped on real workloads, from careful to bold."""
        for order in ("fair", _BY_SIZE, "fifo"):
            for am in (0.2, 0.35, 0.5):
                for factor in (3.0, 10.0):
                    yield {_ORDER: order, _AM: am, _FACTOR: factor}
        for order in ("fair", _BY_SIZE):
            for minimum in (25.0, 50.0):
                yield {_ORDER: order, _AM: 0.35, _FACTOR: 10.0, _MINIMUM: minimum}
            for maximum in (60.0, 80.0):
                yield {_ORDER: order, _AM: 0.5, _FACTOR: 10.0, _MAXIMUM: maximum}

    def _repair(self, values: list[Value]) -> None:
        """A maximum is no lower than the capacity."""
        parts = self.parts(tuple(values))
        for path, places in self.leaf_knobs.items():
            for i in places:
                if self.knobs[i].name == _MAXIMUM:
                    values[i] = min(100.0, max(float(values[i]), parts.get(path, 0.0)))

    # --- the way back --------------------------------------------------------------------------------------------

    def _properties(self, candidate: Candidate) -> dict[str, str]:
        """What is set other than now, by full name."""
        found: dict[str, str] = {}
        for queue in self.tree:
            if queue.children:
                found.update(self._capacities(queue, candidate, found))
        for path, places in self.leaf_knobs.items():
            for i in places:
                if candidate[i] != self.knobs[i].present:
                    own = _setting(self.tree[path], self.knobs[i].name, candidate[i])
                    found.update((queue_property(path, suffix), text) for suffix, text in own.items())
        return found

    def _capacities(self, parent: Queue, candidate: Candidate, above: Mapping[str, str]) -> dict[str, str]:
        group = next((group for group in self.groups if group.parent == parent.path), None)
        children = self.tree.children(parent.path)
        mode = children[0].capacity.mode
        own = queue_property(parent.path, "capacity")
        if group is None or (
            all(candidate[i] == self.knobs[i].present for i in group.knobs)
            and not (mode is CapacityMode.ABSOLUTE and own in above)
        ):
            return {}
        parts = {self.knobs[i].path: float(candidate[i]) for i in group.knobs}
        if mode is CapacityMode.ABSOLUTE:
            texts = self._amounts(parent, parts, above.get(own))
        elif mode is CapacityMode.PERCENT:
            texts = {path: format_number(round(part, 5)) for path, part in parts.items()}
        else:
            weights = sum(child.capacity.value for child in children)
            texts = {path: f"{format_number(round(part / 100.0 * weights, 4))}w" for path, part in parts.items()}
        return {queue_property(path, "capacity"): text for path, text in texts.items()}

    def _amounts(self, parent: Queue, parts: Mapping[str, float], above: str | None) -> dict[str, str]:
        """Absolute resources: of each the same sum as now or, where the parent's has changed, in proportion to it."""
        now = {child.path: _amounts_of(child.capacity) for child in self.tree.children(parent.path)}
        before = _amounts_of(parent.capacity)
        after = _amounts_of(parse_capacity(above)) if above is not None else before
        found: dict[str, dict[str, float]] = {path: {} for path in parts}
        for name in dict.fromkeys(name for amounts in now.values() for name in amounts):
            sum_now = sum(amounts.get(name, 0.0) for amounts in now.values())
            grown = after[name] / before[name] if before.get(name) else 1.0
            free = int(sum_now * grown) - sum(
                amounts.get(name, 0.0) for path, amounts in now.items() if path not in parts
            )
            bent = {path: now[path][name] * parts[path] / self._parts[path] for path in parts if name in now[path]}
            whole = sum(bent.values())
            for path, amount in bent.items():
                found[path][name] = float(int(free * amount / whole)) if whole else 0.0
        return {
            path: format_capacity(
                Capacity(
                    CapacityMode.ABSOLUTE,
                    shares=tuple(ResourceShare(name, CapacityMode.ABSOLUTE, amount) for name, amount in own.items()),
                )
            )
            for path, own in found.items()
        }

    def case(self, candidate: Candidate, workload: Case) -> Case:
        """The workload under a candidate."""
        return replace(workload, conf={**workload.conf, **self._properties(candidate)})

    def leaf_case(self, question: LeafQuestion, jobs: tuple[Job, ...], workload: Case) -> Case:
        """The leaf beside one queue without jobs, with a maximum that changes with what it could use."""
        queue = self.tree[question.path]
        share = min(max(question.share, 1e-4), 1.0)
        settings = dict(question.settings)
        maximum = float(settings.pop(_MAXIMUM, 100.0)) / 100.0
        conf: dict[str, str | None] = dict(self.tree.settings)
        for suffix, text in queue.properties.items():
            if suffix not in ("capacity", _MAXIMUM, "queues", "state"):
                conf[queue_property(LEAF, suffix)] = text
        for name, value in settings.items():
            conf.update((queue_property(LEAF, suffix), text) for suffix, text in _setting(queue, name, value).items())
        capacity = _percent(share)
        conf[queue_property(ROOT, "queues")] = "leaf,rest"
        conf[queue_property(LEAF, "capacity")] = format_number(capacity)
        conf[queue_property(f"{ROOT}.rest", "capacity")] = format_number(round(100.0 - capacity, 4))
        name = queue_property(LEAF, _MAXIMUM)
        spans = question.usable or ((0.0, 1.0),)
        most = [(time_s, _percent(max(share, min(usable, maximum)))) for time_s, usable in spans]
        conf[name] = format_number(most[0][1])
        updates = tuple(Update(time_s, {name: format_number(percent)}) for time_s, percent in most[1:])
        return replace(workload, conf=conf, jobs=jobs, updates=updates)

    def outcome(self, candidate: Candidate) -> tuple[tuple[PropertyChange, ...], str | None]:
        """The properties that change."""
        return changes(self._conf, {**self._conf, **self._properties(candidate)}), None

    def findings(self, candidate: Candidate) -> tuple[Finding, ...]:
        """The errors of the change."""
        proposed = {**self._conf, **self._properties(candidate)}
        return errors(validate_change(self._conf, proposed, version=_VERSION, cluster_total=self.cluster))


def _percent(share: float) -> float:
    """A share in percent, rounded up: what is cut off could be the MiB that one container more needs."""
    return min(ceil(round(1_000_000 * share, 3)) / 10_000, 100.0)


def _amounts_of(capacity: Capacity) -> dict[str, float]:
    return {share.resource: share.value for share in capacity.shares}


def _size(capacity: Capacity) -> float:
    return float(capacity.resources.memory_mib) if capacity.mode is CapacityMode.ABSOLUTE else capacity.value


def _order_of(queue: Queue) -> str:
    order = queue.properties.get(_ORDER) or "fifo"
    by_size = queue.properties.get(_SIZE, "").lower() == "true"
    return _BY_SIZE if order == "fair" and by_size else order


def _setting(queue: Queue, name: str, value: Value) -> dict[str, str]:
    """A knob's value as properties, by suffix; the weight by size is named only where it is set or was."""
    if name != _ORDER:
        return {name: format_number(round(float(value), 6))}
    if value == _BY_SIZE:
        return {_ORDER: "fair", _SIZE: "true"}
    off = {_SIZE: "false"} if queue.properties.get(_SIZE, "").lower() == "true" else {}
    return {_ORDER: str(value), **off}
