"""A change of the scheduler's configuration, as ``PUT /scheduler-conf`` takes it. Pure.

A change is put together by the ResourceManager in the order remove, add, update, global, and judged as a whole
(``MutableCSConfigurationProvider``), so siblings whose capacities must total 100 are changed together in one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tuner.errors import InputError
from tuner.yarn.model import SchedulerConf

PREFIX = "yarn.scheduler.capacity."

Params = Mapping[str, str | None]


@dataclass(frozen=True)
class SchedulerConfUpdate:
    """What to change; a value of None takes the property out, so that its default holds.

    Attributes:
        update: by full path of the queue, the properties by the last part of their names (``capacity``).
        add: queues to add, likewise; the parent's ``queues`` is the ResourceManager's to change.
        remove: full paths of queues to remove; they have to be stopped first.
        global_updates: properties by full name.

    Raises:
        InputError: a queue is not named by its full path. The ResourceManager would say that it has applied the
            change, and keep it under a name that means nothing.
    """

    update: Mapping[str, Params] = field(default_factory=dict)
    add: Mapping[str, Params] = field(default_factory=dict)
    remove: tuple[str, ...] = ()
    global_updates: Params = field(default_factory=dict)

    def __post_init__(self) -> None:
        for path in (*self.update, *self.add, *self.remove):
            if path != "root" and not path.startswith("root."):
                raise InputError(f"the queue {path!r} is not named by its full path", f"write root.{path} or the like")
        for queue_params in (*self.update.values(), *self.add.values()):
            for name in queue_params:
                if name.startswith("yarn."):
                    raise InputError(f"{name!r} is a full name, where a queue's own property was expected")

    @classmethod
    def from_properties(cls, changes: Params, queues: Iterable[str]) -> SchedulerConfUpdate:
        """Sorts changed properties into those of queues and the others.

        Args:
            changes: by full name, as in :class:`SchedulerConf`.
            queues: the full paths of all queues there are.
        """
        longest_first = sorted(queues, key=len, reverse=True)
        update: dict[str, dict[str, str | None]] = {}
        others: dict[str, str | None] = {}
        for name, value in changes.items():
            path = next((each for each in longest_first if name.startswith(f"{PREFIX}{each}.")), None)
            if path is None:
                others[name] = value
            else:
                update.setdefault(path, {})[name.removeprefix(f"{PREFIX}{path}.")] = value
        return cls(update=update, global_updates=others)

    def to_json(self) -> dict[str, Any]:
        """The body of the request.

        Unwrapped: within ``{"sched-conf": ...}`` the ResourceManager answers 200 and changes nothing.
        """
        body: dict[str, Any] = {}
        if self.remove:
            body["remove-queue"] = list(self.remove)
        if self.add:
            body["add-queue"] = [_queue(path, params) for path, params in self.add.items()]
        if self.update:
            body["update-queue"] = [_queue(path, params) for path, params in self.update.items()]
        if self.global_updates:
            body["global-updates"] = _entries(self.global_updates)
        return body

    def properties(self) -> dict[str, str | None]:
        """What the change sets (or takes out: None), by full name; removed queues are not in it."""
        named = {
            f"{PREFIX}{path}.{name}": value
            for queues in (self.add, self.update)
            for path, params in queues.items()
            for name, value in params.items()
        }
        return {**named, **self.global_updates}

    def missing_from(self, conf: SchedulerConf) -> dict[str, str | None]:
        """What of this change is not in a configuration: empty when it has been applied.

        Args:
            conf: read back after the write.

        Returns:
            By full name, the value that the configuration has instead; None where the property is not set.
        """
        return {
            name: conf.properties.get(name)
            for name, value in self.properties().items()
            if conf.properties.get(name) != value
        }


def _queue(path: str, params: Params) -> dict[str, Any]:
    return {"queue-name": path, "params": _entries(params)}


def _entries(params: Params) -> dict[str, Any]:
    # An empty value takes the property out (updatePropertyValue in MutableCSConfigurationProvider).
    return {"entry": [{"key": name, "value": "" if value is None else value} for name, value in params.items()]}
