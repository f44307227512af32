"""Reads the properties of the Capacity Scheduler into a tree of queues."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from rules.dialects.capacity_properties import PREFIX, find_queue_property
from rules.dialects.capacity_values import parse_capacity
from rules.model import DEFAULT_LABEL, ROOT, Capacity, Queue, QueueCapacity, QueueState, QueueTree
from tuner.errors import InputError

LABELS = "accessible-node-labels"


@dataclass(frozen=True, slots=True)
class Malformed:
    """A value that cannot be read, and what is wrong with it."""

    queue: str
    property: str
    message: str


@dataclass(frozen=True)
class Reading:
    """What could be read of a configuration.

    Args:
        tree: the queues; a value that cannot be read counts as not set.
        malformed: those values.
        orphans: properties under ``root.`` that belong to no queue that some ``queues`` property names.
    """

    tree: QueueTree
    malformed: tuple[Malformed, ...] = ()
    orphans: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


def queue_property(path: str, suffix: str) -> str:
    """The full name of a queue's property: ``yarn.scheduler.capacity.<path>.<suffix>``."""
    return f"{PREFIX}{path}.{suffix}"


def split_names(text: str) -> list[str]:
    """Splits a comma list as Hadoop does: trimmed, empty parts left out."""
    return [part.strip() for part in text.split(",") if part.strip()]


def parse(properties: Mapping[str, str]) -> QueueTree:
    """Reads the queues and the settings of the scheduler.

    Args:
        properties: by full name; the scheduler's and yarn-site's may be mixed.

    Raises:
        InputError: if there are no queues, or a capacity or state cannot be read.
    """
    reading = read(properties)
    if reading.malformed:
        first, *others = reading.malformed
        more = f" ({len(others)} more like it)" if others else ""
        raise InputError(f"{first.property}: {first.message}{more}")
    return reading.tree


def read(properties: Mapping[str, str]) -> Reading:
    """Reads as much as can be read, so that everything that is wrong can be told at once.

    Raises:
        InputError: if there are no queues at all.
    """
    if not split_names(properties.get(queue_property(ROOT, "queues"), "")):
        raise InputError(
            f"there are no queues: {queue_property(ROOT, 'queues')} is not set",
            "is this the configuration of the Capacity Scheduler? It lives in capacity-scheduler.xml",
        )
    paths = dict(_walk(properties, ROOT))
    owned: dict[str, dict[str, str]] = {path: {} for path in paths}
    settings: dict[str, str] = {}
    orphans: dict[str, str] = {}
    for name, value in properties.items():
        if not name.startswith(f"{PREFIX}{ROOT}."):
            settings[name] = value.strip()
            continue
        path, suffix = _owner(name.removeprefix(PREFIX), paths)
        owned[path][suffix] = value.strip()
        if find_queue_property(suffix) is None and suffix.count("."):
            orphans[name] = value.strip()
    malformed: list[Malformed] = []
    queues = {path: _queue(path, paths[path], owned[path], malformed) for path in paths}
    tree = QueueTree(MappingProxyType(queues), MappingProxyType(settings))
    return Reading(tree, tuple(malformed), MappingProxyType(orphans))


def _walk(properties: Mapping[str, str], path: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Queues below a path, parents first, each with its children's paths (a name that is listed twice, once)."""
    names = dict.fromkeys(split_names(properties.get(queue_property(path, "queues"), "")))
    children = tuple(f"{path}.{name}" for name in names)
    yield path, children
    for child in children:
        yield from _walk(properties, child)


def _owner(dotted: str, paths: Mapping[str, object]) -> tuple[str, str]:
    """The longest queue path that a dotted name starts with, and the rest of the name."""
    parts = dotted.split(".")
    for length in range(len(parts) - 1, 0, -1):
        path = ".".join(parts[:length])
        if path in paths:
            return path, ".".join(parts[length:])
    raise AssertionError(f"{dotted} does not start with root")


def _queue(path: str, children: tuple[str, ...], owned: Mapping[str, str], malformed: list[Malformed]) -> Queue:
    def capacity(suffix: str) -> Capacity:
        text = owned.get(suffix, "")
        if not text:
            return Capacity()
        try:
            return parse_capacity(text)
        except InputError as error:
            malformed.append(Malformed(path, queue_property(path, suffix), f"{error.message}; {error.hint}"))
            return Capacity()

    labels = dict.fromkeys(
        suffix.removeprefix(f"{LABELS}.").rpartition(".")[0]
        for suffix in owned
        if suffix.startswith(f"{LABELS}.") and suffix.endswith((".capacity", ".maximum-capacity"))
    )
    capacities = {DEFAULT_LABEL: QueueCapacity(capacity("capacity"), capacity("maximum-capacity"))}
    for label in labels:
        base = f"{LABELS}.{label}"
        capacities[label] = QueueCapacity(capacity(f"{base}.capacity"), capacity(f"{base}.maximum-capacity"))
    state = _state(path, owned.get("state"), malformed)
    return Queue(path, children, state, MappingProxyType(dict(owned)), MappingProxyType(capacities))


def _state(path: str, text: str | None, malformed: list[Malformed]) -> QueueState | None:
    if not text:
        return None
    try:
        return QueueState(text.upper())
    except ValueError:
        message = f"the state {text!r} is not one of RUNNING and STOPPED; write one of them"
        malformed.append(Malformed(path, queue_property(path, "state"), message))
        return None
