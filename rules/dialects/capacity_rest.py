"""The Capacity Scheduler's configuration as the ResourceManager's REST API reads and writes it.

``GET /ws/v1/cluster/scheduler-conf`` gives the properties, ``PUT`` takes an update. The update must not be wrapped in
``{"sched-conf": ...}``: the ResourceManager then answers 200 and changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rules.dialects.capacity import queue_property, read, split_names
from rules.dialects.capacity_properties import PREFIX
from rules.model import ROOT, PropertyChange, Queue, QueueTree
from tuner.errors import InputError


def properties_of(body: Mapping[str, Any]) -> dict[str, str]:
    """The properties in the JSON of ``GET scheduler-conf``, by full name.

    Raises:
        InputError: if it is not of that shape.
    """
    entries = body.get("property")
    if isinstance(entries, Mapping):
        entries = [entries]
    if not isinstance(entries, list) or not all(isinstance(entry, Mapping) and "name" in entry for entry in entries):
        raise InputError(
            'the answer of scheduler-conf has no list "property" of names and values',
            "is the store of the scheduler's configuration mutable (yarn.scheduler.configuration.store.class)?",
        )
    return {str(entry["name"]): str(entry.get("value") or "") for entry in entries}


def changes(current: Mapping[str, str], proposed: Mapping[str, str]) -> tuple[PropertyChange, ...]:
    """What differs between two configurations, in the order of the proposed one, then what is only in the current."""
    names = dict.fromkeys([*proposed, *current])
    pairs = ((name, current.get(name), proposed.get(name)) for name in names)
    return tuple(PropertyChange(name, before, after) for name, before, after in pairs if before != after)


def update_body(current: Mapping[str, str], proposed: Mapping[str, str]) -> dict[str, Any]:
    """The body for ``PUT scheduler-conf`` that leads from one configuration to another in one step.

    The ResourceManager removes, adds, updates and then sets global properties, and checks the outcome as a whole, so
    siblings may change together. It keeps ``queues`` itself when queues come and go.

    Args:
        current: what the ResourceManager has now, by full name.
        proposed: what it is to have.

    Returns:
        JSON with ``remove-queue``, ``add-queue``, ``update-queue`` and ``global-updates``, each only where it has
        something to say; empty where nothing differs. An empty value unsets a property.

    Raises:
        InputError: if one of the two has no queues, or changes a queue that it does not have.
    """
    before, after = read(current), read(proposed)
    differing = {change.property: change.after for change in changes(current, proposed)}
    stray = [name for name in differing if name in {**before.orphans, **after.orphans}]
    kept_stray = [name for name in stray if differing[name] is not None]
    if kept_stray:
        raise InputError(
            f"{kept_stray[0]} belongs to no queue, and the ResourceManager would store it without effect",
            "name the full path of a queue that exists, or add the queue to its parent's queues",
        )
    removed = [path for path in before.tree.queues if path not in after.tree]
    added = [path for path in after.tree.queues if path not in before.tree]
    body: dict[str, Any] = {}
    if removed:
        # A queue takes all below it along; named by themselves, those would then not be found.
        body["remove-queue"] = [path for path in removed if before.tree[path].parent not in removed]
    if added:
        body["add-queue"] = [_entry(after.tree[path], _own(after.tree[path], proposed)) for path in added]
    updates = [
        _entry(queue, parameters)
        for queue in after.tree
        if queue.path not in added and (parameters := _updates(queue, before.tree, differing))
    ]
    if updates:
        body["update-queue"] = updates
    settings = {name: value for name, value in differing.items() if not name.startswith(f"{PREFIX}{ROOT}.")}
    if settings:
        body["global-updates"] = {"entry": _pairs(settings)}
    return body


def _own(queue: Queue, proposed: Mapping[str, str]) -> dict[str, str | None]:
    """What a new queue is added with: all but its children, which are added themselves."""
    return {suffix: proposed[queue_property(queue.path, suffix)] for suffix in queue.properties if suffix != "queues"}


def _updates(queue: Queue, before: QueueTree, differing: Mapping[str, str | None]) -> dict[str, str | None]:
    suffixes = dict.fromkeys([*queue.properties, *before[queue.path].properties])
    found = {
        suffix: differing[full]
        for suffix in suffixes
        if (full := queue_property(queue.path, suffix)) in differing and suffix != "queues"
    }
    kept = [child for child in before[queue.path].children if child in queue.children]
    fresh = [child for child in queue.children if child not in kept]
    if tuple(kept + fresh) != queue.children:
        found["queues"] = ",".join(child.rpartition(".")[2] for child in queue.children)
    return found


def _entry(queue: Queue, parameters: Mapping[str, str | None]) -> dict[str, Any]:
    return {"queue-name": queue.path, "params": {"entry": _pairs(parameters)}}


def _pairs(parameters: Mapping[str, str | None]) -> list[dict[str, str]]:
    return [{"key": key, "value": value or ""} for key, value in parameters.items()]


def apply_update(current: Mapping[str, str], body: Mapping[str, Any]) -> dict[str, str]:
    """The configuration that an update makes of another one, in the ResourceManager's order of things.

    This is what the configuration that is read back after a ``PUT`` is held against.
    """
    result = dict(current)
    for path in body.get("remove-queue", []):
        _list_child(result, path, present=False)
        for name in [name for name in result if name.startswith(f"{PREFIX}{path}.")]:
            del result[name]
    for entry in body.get("add-queue", []):
        _list_child(result, entry["queue-name"], present=True)
    for entry in [*body.get("add-queue", []), *body.get("update-queue", [])]:
        _set_all(result, f"{PREFIX}{entry['queue-name']}.", entry["params"]["entry"])
    _set_all(result, "", body.get("global-updates", {}).get("entry", []))
    return result


def _list_child(result: dict[str, str], path: str, *, present: bool) -> None:
    parent, _, name = path.rpartition(".")
    full = queue_property(parent, "queues")
    names = [child for child in split_names(result.get(full, "")) if child != name] + ([name] if present else [])
    if names:
        result[full] = ",".join(names)
    else:
        result.pop(full, None)


def _set_all(result: dict[str, str], prefix: str, entries: list[dict[str, str]]) -> None:
    for entry in entries:
        if entry["value"]:
            result[prefix + entry["key"]] = entry["value"]
        else:
            result.pop(prefix + entry["key"], None)
