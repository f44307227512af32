"""Candidates of the Fair Scheduler: weights, and each leaf's own elements of the allocation file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from xml.sax.saxutils import escape, quoteattr  # nothing is parsed

from rules.dialects.capacity_values import format_number
from rules.dialects.fair import parse_allocations
from rules.dialects.fair_resources import UNBOUNDED, parse_resources
from rules.dialects.fair_site import read_site
from rules.dialects.fair_validate import validate
from rules.dialects.fair_values import read_number, read_policy
from rules.model import ROOT, Finding, PropertyChange, Severity
from rules.optimizer.knobs import Candidate, Knob, Value, number_knob
from rules.optimizer.space import LeafQuestion, Settings, Space
from rules.policy import Policy
from workloads.trace import Case, Job, Update

__all__ = ["FairSpace"]

_WEIGHT, _LEAST, _MOST, _APPS = "weight", "minResources", "maxResources", "maxRunningApps"
_AM, _ORDER = "maxAMShare", "schedulingPolicy"
_NO_LIMIT = 10_000.0
"""``maxRunningApps`` from which on it is left out."""
_GRIDS: Mapping[str, tuple[tuple[float, ...], float]] = {
    _LEAST: ((0, 5, 10, 20, 30, 40, 60), 1),
    _MOST: ((20, 30, 40, 50, 60, 70, 80, 90, 100), 1),
    _APPS: ((1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, _NO_LIMIT), 1),
    _AM: ((0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0), 0.01),
}


class FairSpace(Space):
    """See :class:`~rules.optimizer.space.Space`; a policy's ``weight`` is a queue's part of its siblings' weights."""

    share_property = _WEIGHT
    table_spans = 2

    def __init__(self, case: Case, policy: Policy) -> None:
        """Reads the allocation file.

        Raises:
            InputError: it cannot be read.
        """
        self._file = parse_allocations(case.allocations)
        self._site = read_site({name: value for name, value in case.conf.items() if value is not None})
        super().__init__(case, self._file.tree, policy)
        known = set(self.tree.queues)
        names = {queue.name for queue in self.tree}
        unnamed = {job.queue for job in case.jobs if job.queue not in known and job.queue not in names}
        if unnamed:
            self.notes.append(
                f"{len(unnamed)} queues that the allocation file does not name are left alone, such as {min(unnamed)}"
            )

    # --- what is there -------------------------------------------------------------------------------------------

    def _weights(self, parent: str) -> dict[str, float]:
        return {child.path: read_number(child.properties.get(_WEIGHT, "1.0")) for child in self.tree.children(parent)}

    def _present_parts(self, parent: str) -> dict[str, float] | None:
        weights = self._weights(parent)
        total = sum(weights.values())
        if total <= 0:
            self.notes.append(f"{parent}: its children's weights are left alone, as they are all 0")
            return None
        return {path: 100.0 * weight / total for path, weight in weights.items()}

    def _share_step(self, parent: str) -> float:  # noqa: ARG002
        return 0.0

    def _most_share(self, path: str) -> float:  # noqa: ARG002
        return 100.0

    def _is_closed(self, path: str) -> bool:
        return any(element.attributes.get("type") == "parent" for element in self._file.queue_elements[path]) or any(
            child.tag == "reservation" for element in self._file.queue_elements[path] for child in element.children
        )

    def _fraction(self, text: str | None, missing: int) -> float:
        """An amount of resources in percent of the cluster: of memory and vcores the smaller."""
        if text is None:
            return 0.0 if missing == 0 else 100.0
        found = parse_resources(text).resolve(self.cluster.memory_mib, self.cluster.vcores, missing=missing)
        whole = (max(self.cluster.memory_mib, 1), max(self.cluster.vcores, 1))
        return min(100.0, *(100.0 * part / all_ for part, all_ in zip(found, whole, strict=True)))

    def _leaf_knobs(self, path: str) -> list[Knob]:
        own, settings = self.tree[path].properties, self.tree.settings
        policy = self.policy.queue(path)
        am = own.get(_AM, settings.get("queueMaxAMShareDefault"))
        apps = own.get(_APPS, settings.get("queueMaxAppsDefault"))
        present = {
            _LEAST: self._fraction(own.get(_LEAST), 0),
            _MOST: self._fraction(own.get(_MOST, settings.get("queueMaxResourcesDefault")), UNBOUNDED),
            _APPS: _NO_LIMIT if apps is None else min(read_number(apps), _NO_LIMIT),
            _AM: 0.5 if am is None else read_number(am),
        }
        found: list[Knob | None] = []
        for name, (grid, step) in _GRIDS.items():
            if name == _AM and present[name] < 0:
                continue
            found.append(number_knob(path, name, present[name], grid, step, policy))
        if not policy.is_locked(_ORDER):
            order = self._order(path)
            above = self._order(self.tree[path].parent or ROOT)
            orders = ("fair", "fifo", "drf") if above == "drf" else ("fair", "fifo")
            if order in orders:
                found.append(Knob(path, _ORDER, order, orders))
        return [knob for knob in found if knob is not None]

    def _order(self, path: str) -> str:
        settings = self.tree.settings
        return read_policy(self.tree[path].properties.get(_ORDER, settings.get("defaultQueueSchedulingPolicy", "fair")))

    def _smallest(self) -> float:
        return 1.0 / max(self.cluster.vcores, 1)

    def presets(self) -> Iterable[Settings]:
        """Orders, AM shares and numbers of applications, from careful to bold."""
        for order in ("fair", "fifo"):
            for am in (0.2, 0.3, 0.5, 0.8):
                yield {_ORDER: order, _AM: am}
            for apps in (2.0, 4.0, 8.0, 16.0):
                yield {_ORDER: order, _APPS: apps}
            for most in (50.0, 70.0):
                yield {_ORDER: order, _MOST: most}

    def _repair(self, values: list[Value]) -> None:
        """A minimum is no higher than the maximum, and minima are no more than the whole together."""
        least_of = {knob.path: i for i, knob in enumerate(self.knobs) if knob.name == _LEAST}
        most_of = {knob.path: i for i, knob in enumerate(self.knobs) if knob.name == _MOST}
        for path, i in least_of.items():
            if path in most_of and float(values[i]) > float(values[most_of[path]]):
                values[i] = self.knobs[i].present
                values[most_of[path]] = max(float(values[most_of[path]]), float(values[i]))
        if sum(float(values[i]) for i in least_of.values()) > 100.0:
            for i in least_of.values():
                values[i] = self.knobs[i].present

    # --- the way back --------------------------------------------------------------------------------------------

    def _elements(self, candidate: Candidate) -> dict[tuple[str, str], str | None]:
        """What the file says other than now, by queue and element; None takes an element out."""
        found: dict[tuple[str, str], str | None] = {}
        for group in self.groups:
            if all(candidate[i] == self.knobs[i].present for i in group.knobs):
                continue
            total = sum(self._weights(group.parent).values())
            for i in group.knobs:
                found[self.knobs[i].path, _WEIGHT] = _text(round(float(candidate[i]) / 100.0 * total, 4))
        for path, places in self.leaf_knobs.items():
            for i in places:
                if candidate[i] != self.knobs[i].present:
                    found[path, self.knobs[i].name] = self._setting(self.knobs[i].name, candidate[i])
        return found

    def _setting(self, name: str, value: Value) -> str | None:
        """A knob's value as the text of its element."""
        if isinstance(value, str):
            return value
        if name == _APPS:
            no_default = "queueMaxAppsDefault" not in self.tree.settings
            return None if value >= _NO_LIMIT and no_default else str(int(value))
        if name == _LEAST:
            return self._amount(value) if value > 0 else None
        if name == _MOST:
            no_default = "queueMaxResourcesDefault" not in self.tree.settings
            return None if value >= 100.0 and no_default else f"{_text(value)}%"
        return _text(value)

    def _amount(self, percent: float) -> str:
        """An amount rather than a percentage, which Hadoop ignores in a minimum."""
        memory, vcores = (int(percent / 100.0 * whole) for whole in (self.cluster.memory_mib, self.cluster.vcores))
        return f"{memory} mb,{vcores} vcores"

    def case(self, candidate: Candidate, workload: Case) -> Case:
        """The workload under a candidate."""
        changed = self._elements(candidate)
        return replace(workload, allocations=self._render(changed)) if changed else workload

    def _render(self, changed: Mapping[tuple[str, str], str | None]) -> str:
        """A file that means what the edited one means: to write it anew is many times faster than to edit the text."""
        top = self._file.document.root
        kept = [child for child in top.children if child.tag not in ("queue", "pool")]
        source = self._file.document.source
        parts = ["<allocations>", *(source[child.start : child.end].decode() for child in kept)]
        own: dict[str, dict[str, str | None]] = {}
        for (path, name), text in changed.items():
            own.setdefault(path, {})[name] = text

        def write(path: str) -> None:
            queue = self.tree[path]
            is_parent = ' type="parent"' if self._file.is_parent(path) and not queue.children and path != ROOT else ""
            parts.append(f"<queue name={quoteattr(queue.name)}{is_parent}>")
            for name, text in {**queue.properties, **own.get(path, {})}.items():
                if text is not None:
                    parts.append(f"<{name}>{escape(text)}</{name}>")
            for child in queue.children:
                write(child)
            parts.append("</queue>")

        write(ROOT)
        return "".join([*parts, "</allocations>"])

    def leaf_case(self, question: LeafQuestion, jobs: tuple[Job, ...], workload: Case) -> Case:
        """The leaf beside one queue without jobs, with maxResources that change with what it could use."""
        queue, settings = self.tree[question.path], dict(question.settings)
        most = float(settings.pop(_MOST, 100.0)) / 100.0
        own: dict[str, str | None] = {
            name: text for name, text in queue.properties.items() if name not in (_WEIGHT, _MOST)
        }
        own.update((name, self._setting(name, value)) for name, value in settings.items())
        share = min(max(question.share, 1e-4), 1.0)
        elements = "".join(f"<{name}>{escape(text)}</{name}>" for name, text in own.items() if text is not None)
        defaults = "".join(f"<{name}>{escape(text)}</{name}>" for name, text in self.tree.settings.items())
        order = self._order(queue.parent or ROOT)

        def allocations(usable: float) -> str:
            limit = f"{_text(round(100.0 * max(share, min(usable, most)), 2))}%"
            return (
                f"<allocations>{defaults}<queue name='root'><schedulingPolicy>{order}</schedulingPolicy>"
                f"<queue name='leaf'><weight>{_text(round(share, 4))}</weight>{elements}"
                f"<maxResources>{limit}</maxResources></queue>"
                f"<queue name='rest'><weight>{_text(round(1.0 - share, 4))}</weight></queue></queue></allocations>"
            )

        spans = question.usable or ((0.0, 1.0),)
        updates = tuple(Update(time_s, allocations=allocations(usable)) for time_s, usable in spans[1:])
        return replace(workload, allocations=allocations(spans[0][1]), jobs=jobs, updates=updates)

    def outcome(self, candidate: Candidate) -> tuple[tuple[PropertyChange, ...], str | None]:
        """The elements that change, and the file with them."""
        file, changes = self._file, []
        for (path, name), text in self._elements(candidate).items():
            before = self.tree[path].properties.get(name)
            if before != text:
                changes.append(PropertyChange(f"{path}.{name}", before, text))
                file = file.with_property(path, name, text)
        return tuple(changes), file.render() if changes else None

    def findings(self, candidate: Candidate) -> tuple[Finding, ...]:
        """The errors that the file has anew."""
        _, text = self.outcome(candidate)
        if text is None:
            return ()
        known = set(validate(self._file, self._site, self.cluster))
        found = validate(parse_allocations(text), self._site, self.cluster)
        return tuple(item for item in found if item.severity is Severity.ERROR and item not in known)


def _text(value: float) -> str:
    return format_number(value)
