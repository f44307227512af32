"""From one configuration of the Capacity Scheduler to another: what differs, and the one update that does it."""

from __future__ import annotations

from collections.abc import Mapping

from rules.dialects.capacity import queue_property, read, split_names
from rules.dialects.capacity_properties import PREFIX
from rules.model import ROOT, PropertyChange, Queue, QueueTree
from tuner.errors import InputError
from tuner.yarn.schedulerconf import Params, SchedulerConfUpdate

_POLICY = "ordering-policy"


def changes(current: Mapping[str, str], proposed: Mapping[str, str]) -> tuple[PropertyChange, ...]:
    """What differs between two configurations, in the order of the proposed one, then what is only in the current."""
    names = dict.fromkeys([*proposed, *current])
    pairs = ((name, current.get(name), proposed.get(name)) for name in names)
    return tuple(PropertyChange(name, before, after) for name, before, after in pairs if before != after)


def update_between(current: Mapping[str, str], proposed: Mapping[str, str]) -> SchedulerConfUpdate:
    """The update for ``PUT scheduler-conf`` that leads from one configuration to another in one step.

    The ResourceManager removes, adds, updates and then sets global properties, and judges the outcome as a whole, so
    siblings may change together. It keeps ``queues`` itself when queues come and go.

    Args:
        current: what the ResourceManager has now, by full name.
        proposed: what it is to have.

    Raises:
        InputError: if one of the two has no queues, or a property that changes belongs to no queue.
    """
    before, after = read(current), read(proposed)
    differing = {change.property: change.after for change in changes(current, proposed)}
    for name in after.orphans:
        if name in differing:
            raise InputError(
                f"{name} belongs to no queue, and the ResourceManager would store it without effect",
                "name the full path of a queue that exists, or add the queue to its parent's queues",
            )
    removed = [path for path in before.tree.queues if path not in after.tree]
    added = [path for path in after.tree.queues if path not in before.tree]
    return SchedulerConfUpdate(
        # A queue takes all below it along; named by themselves, those would then not be found.
        remove=tuple(path for path in removed if before.tree[path].parent not in removed),
        add={path: _own(after.tree[path], proposed) for path in added},
        update={
            queue.path: parameters
            for queue in after.tree
            if (parameters := {**_updates(queue, before.tree, differing), **_lost_policy(queue, before.tree)})
        },
        global_updates={
            name: value
            for name, value in differing.items()
            if not name.startswith(f"{PREFIX}{ROOT}.") or name in before.orphans
        },
    )


def _own(queue: Queue, proposed: Mapping[str, str]) -> Params:
    """What a new queue is added with: all but its children, which are added themselves."""
    return {suffix: proposed[queue_property(queue.path, suffix)] for suffix in queue.properties if suffix != "queues"}


def _updates(queue: Queue, before: QueueTree, differing: Mapping[str, str | None]) -> dict[str, str | None]:
    if queue.path not in before:
        return {}
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


def _lost_policy(queue: Queue, before: QueueTree) -> dict[str, str | None]:
    """The order of a queue that gets its first children: the RM drops it then, so it is set once more.

    Source: ``ConfigurationUpdateAssembler.addQueue`` and ``removeQueue``, since a leaf's order is none for a parent.
    """
    old = before[queue.path].children if queue.path in before else ()
    kept = [child for child in old if child in queue.children]
    if kept or old == queue.children or _POLICY not in queue.properties:
        return {}
    return {_POLICY: queue.properties[_POLICY]}


def apply_update(current: Mapping[str, str], update: SchedulerConfUpdate) -> dict[str, str]:
    """The configuration that an update makes of another one, in the ResourceManager's order of things.

    This is what the configuration that is read back after a ``PUT`` is held against.
    """
    result = dict(current)
    for path in update.remove:
        _list_child(result, path, present=False)
        for name in [name for name in result if name.startswith(f"{PREFIX}{path}.")]:
            del result[name]
    for path, parameters in update.add.items():
        _list_child(result, path, present=True)
        _set(result, {queue_property(path, suffix): value for suffix, value in parameters.items()})
    for path, parameters in update.update.items():
        _set(result, {queue_property(path, suffix): value for suffix, value in parameters.items()})
    _set(result, update.global_updates)
    return result


def _set(result: dict[str, str], values: Params) -> None:
    for name, value in values.items():
        if value:
            result[name] = value
        else:
            result.pop(name, None)


def _list_child(result: dict[str, str], path: str, *, present: bool) -> None:
    parent, _, name = path.rpartition(".")
    full = queue_property(parent, "queues")
    names = [child for child in split_names(result.get(full, "")) if child != name] + ([name] if present else [])
    if len(names) == int(present):  # the first child came, or the last one went
        result.pop(queue_property(parent, _POLICY), None)
    if names:
        result[full] = ",".join(names)
    else:
        result.pop(full, None)
