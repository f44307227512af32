"""What a check gets to see, and what it answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from rules.dialects.capacity import LABELS, Reading, queue_property, read, split_names
from rules.dialects.capacity_properties import (
    PREFIX,
    TEMPLATE_PREFIXES,
    HadoopVersion,
    Kind,
    PropertySpec,
    default_of,
    find_global_property,
    find_queue_property,
)
from rules.dialects.capacity_values import parse_number
from rules.model import Queue, QueueState, QueueTree, Resources
from tuner.errors import InputError

ALL_LABELS = "*"


class Hit(NamedTuple):
    """What a check found: the queue and the full property name (None for none), and a sentence with what to do."""

    queue: str | None
    property: str | None
    message: str


class Setting(NamedTuple):
    """One configured property: the queue it belongs to (None: the scheduler), its names, its row, its trimmed value."""

    queue: Queue | None
    suffix: str
    full: str
    spec: PropertySpec
    text: str

    @property
    def number(self) -> float | None:
        """The value as a number; None where it is none, which another check tells."""
        try:
            return parse_number(self.text)
        except InputError:
            return None


@dataclass(frozen=True)
class Context:
    """A configuration, and what is known of where it is to run.

    Args:
        properties: as configured, by full name, values not trimmed.
        version: of Hadoop.
        cluster: the resources of all nodes; None where they are not known.
        includes: files that the configuration includes and that were not read.
    """

    properties: Mapping[str, str]
    version: HadoopVersion
    cluster: Resources | None = None
    includes: tuple[str, ...] = ()

    @cached_property
    def reading(self) -> Reading:
        """The queues, and what could not be read."""
        return read(self.properties)

    @property
    def tree(self) -> QueueTree:
        """The queues."""
        return self.reading.tree

    @cached_property
    def settings(self) -> tuple[Setting, ...]:
        """Every configured property that is known, the queues' and the scheduler's."""
        found = []
        for name, text in self.tree.settings.items():
            spec = find_global_property(name)
            if spec is not None:
                found.append(Setting(None, name, name, spec, text))
        for queue in self.tree:
            for suffix, text in queue.properties.items():
                spec = find_queue_property(suffix)
                if spec is not None:
                    found.append(Setting(queue, suffix, queue_property(queue.path, suffix), spec, text))
        return tuple(found)

    def named(self, *names: str) -> Iterator[Setting]:
        """The settings of these names (as suffixes), those of templates and of the whole scheduler among them."""
        wanted = {*names, *(PREFIX + name for name in names)}
        return (setting for setting in self.settings if setting.spec.name in wanted)

    @property
    def template_capacities(self) -> tuple[Setting, ...]:
        """The capacities in the templates of queues that are made by themselves."""
        return tuple(
            setting
            for setting in self.settings
            if setting.spec.kind is Kind.CAPACITY and setting.suffix.startswith(tuple(TEMPLATE_PREFIXES))
        )

    def value(self, name: str) -> str:
        """A setting of the scheduler by its full name, or its default."""
        return self.tree.settings.get(name) or default_of(name, self.version)

    @cached_property
    def legacy_mode(self) -> bool:
        """Whether siblings must all write their capacities in one way (always, before Hadoop 3.4)."""
        return self.version < (3, 4) or self.value(f"{PREFIX}legacy-queue-mode.enabled").lower() != "false"

    @property
    def counts_vcores(self) -> bool:
        """Whether the calculator looks at more than memory."""
        return "DominantResourceCalculator" in self.value(f"{PREFIX}resource-calculator")

    def acts_as_parent(self, queue: Queue) -> bool:
        """Whether a queue is, or may become, the parent of others and takes no applications itself."""
        # A queue that reservations are planned for holds a child for each of them (PlanQueue).
        switches = ("auto-create-child-queue.enabled", "auto-queue-creation-v2.enabled", "reservable")
        return bool(queue.children) or any(queue.properties.get(name, "").lower() == "true" for name in switches)

    def state(self, queue: Queue) -> QueueState:
        """The state that a queue starts in: its own, else the nearest ancestor's, else RUNNING."""
        line = (queue, *self.tree.ancestors(queue.path))
        return next((member.state for member in line if member.state is not None), QueueState.RUNNING)

    def accessible_labels(self, queue: Queue) -> frozenset[str]:
        """The labels whose nodes a queue may use; ``*`` alone for all."""
        parents = self.tree.ancestors(queue.path)
        if not parents:
            return frozenset({ALL_LABELS})
        if LABELS not in queue.properties:
            return self.accessible_labels(parents[0])
        labels = frozenset(split_names(queue.properties[LABELS]))
        return frozenset({ALL_LABELS}) if ALL_LABELS in labels else labels
