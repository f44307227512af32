"""What a running ResourceManager does not allow, or does not notice, when a configuration changes."""

from __future__ import annotations

from collections.abc import Iterator

from rules.dialects.capacity import queue_property
from rules.dialects.capacity_checks.context import Context, Hit
from rules.dialects.capacity_properties import (
    PREFIX,
    TEMPLATE_PREFIXES,
    Effect,
    PropertySpec,
    default_of,
    find_global_property,
    find_queue_property,
)
from rules.model import Queue, QueueState


def deleted_while_running(current: Context, proposed: Context) -> Iterator[Hit]:
    """A queue goes in two steps: first it is stopped and drains, then it is removed (YARN-9780)."""
    for queue in current.tree:
        if queue.path not in proposed.tree and current.state(queue) is not QueueState.STOPPED:
            full = queue_property(queue.path, "state")
            message = f"{queue.path} is not in the new configuration and is not yet in stopped state"
            yield Hit(queue.path, full, f"{message}; first set its state to STOPPED and let it drain, then remove it")


def leaf_became_parent(current: Context, proposed: Context) -> Iterator[Hit]:
    """A leaf must be stopped before it gets children (``LeafQueueConversionValidator``)."""
    for queue in current.tree:
        if queue.path not in proposed.tree or current.acts_as_parent(queue):
            continue
        if proposed.acts_as_parent(proposed.tree[queue.path]) and current.state(queue) is not QueueState.STOPPED:
            message = f"{queue.path} becomes a parent while it runs; first set its state to STOPPED and let it drain"
            yield Hit(queue.path, queue_property(queue.path, "state"), message)


def auto_creation_converted(current: Context, proposed: Context) -> Iterator[Hit]:
    """A parent cannot become a managed parent, nor the other way (``ParentQueueConversionValidator``)."""
    for queue in current.tree:
        if queue.path not in proposed.tree or not current.acts_as_parent(queue):
            continue
        was, will = _is_managed(queue), _is_managed(proposed.tree[queue.path])
        if was != will:
            full = queue_property(queue.path, "auto-create-child-queue.enabled")
            verb = "stop" if was else "begin"
            message = f"{queue.path} would {verb} to create its leaves by itself, which no running parent may"
            yield Hit(queue.path, full, f"{message}; make a new queue for it")


def _is_managed(queue: Queue) -> bool:
    return queue.properties.get("auto-create-child-queue.enabled", "").lower() == "true"


def maximum_allocation_lowered(current: Context, proposed: Context) -> Iterator[Hit]:
    """The largest container only grows while the RM runs; a queue's first limit is compared with the cluster's."""
    for unit in ("mb", "vcores"):
        name = f"yarn.scheduler.maximum-allocation-{unit}"
        before, after = current.value(name), proposed.value(name)
        yield from _lowered(None, name, before, after)
        suffix = f"maximum-allocation-{unit}"
        for queue in proposed.tree:
            if queue.path in current.tree:
                old = current.tree[queue.path].properties.get(suffix) or before
                new = queue.properties.get(suffix) or after
                if queue.properties.get(suffix) or current.tree[queue.path].properties.get(suffix):
                    yield from _lowered(queue.path, queue_property(queue.path, suffix), old, new)
    yield from _vector_lowered(current, proposed)


def _lowered(path: str | None, full: str, before: str, after: str) -> Iterator[Hit]:
    if before.isdigit() and after.isdigit() and int(after) < int(before):
        message = f"{full} would fall from {before} to {after}, which a running ResourceManager refuses"
        yield Hit(path, full, f"{message}; keep it, or restart with the new value in the file")


def _vector_lowered(current: Context, proposed: Context) -> Iterator[Hit]:
    for queue in proposed.tree:
        if queue.path not in current.tree:
            continue
        full = queue_property(queue.path, "maximum-allocation")
        before = _amounts(current.tree[queue.path].properties.get("maximum-allocation", ""))
        after = _amounts(queue.properties.get("maximum-allocation", ""))
        cluster = {
            "memory-mb": current.value("yarn.scheduler.maximum-allocation-mb"),
            "vcores": current.value("yarn.scheduler.maximum-allocation-vcores"),
        }
        for resource, amount in after.items():
            yield from _lowered(queue.path, full, before.get(resource) or cluster.get(resource, ""), amount)


def _amounts(text: str) -> dict[str, str]:
    parts = (part.partition("=") for part in text.split(",") if part)
    return {name.strip(): amount.strip() for name, _, amount in parts}


def needs_restart(current: Context, proposed: Context) -> Iterator[Hit]:
    """What the RM reads at its start only: it takes the change, answers 200, and goes on as before."""
    for name in dict.fromkeys([*current.tree.settings, *proposed.tree.settings]):
        spec = find_global_property(name)
        if spec is not None and spec.effect is Effect.RESTART:
            before = current.tree.settings.get(name) or _default(spec, current)
            after = proposed.tree.settings.get(name) or _default(spec, proposed)
            yield from _restart_hit(None, name, before, after)
    for queue in proposed.tree:
        if queue.path not in current.tree:
            continue
        old = current.tree[queue.path]
        for suffix in dict.fromkeys([*old.properties, *queue.properties]):
            spec = find_queue_property(suffix)
            if spec is not None and spec.effect is Effect.RESTART and not suffix.startswith(tuple(TEMPLATE_PREFIXES)):
                before = old.properties.get(suffix) or _default(spec, current)
                after = queue.properties.get(suffix) or _default(spec, proposed)
                yield from _restart_hit(queue.path, queue_property(queue.path, suffix), before, after)


def _default(spec: PropertySpec, context: Context) -> str:
    # A name with a placeholder is a key of the table all the same.
    return default_of(spec.name, context.version)


def _restart_hit(path: str | None, full: str, before: str, after: str) -> Iterator[Hit]:
    if before != after:
        message = f"{full} would change from {before or 'nothing'} to {after or 'nothing'}, which only a restart does"
        yield Hit(
            path, full, f"{message}; a running ResourceManager takes the value without effect, so change the file"
        )


def legacy_mode_changed(current: Context, proposed: Context) -> Iterator[Hit]:
    """Capacities are then reckoned in another way everywhere."""
    if current.legacy_mode != proposed.legacy_mode:
        name = f"{PREFIX}legacy-queue-mode.enabled"
        message = f"{name} changes to {str(proposed.legacy_mode).lower()}: all capacities are then reckoned anew"
        yield Hit(None, name, f"{message}; make it a change of its own")
