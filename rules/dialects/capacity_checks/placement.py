"""Which queue an application is put into; what the ResourceManager 3.5 takes and refuses was tried on it."""

from __future__ import annotations

from collections.abc import Iterator

from rules.dialects.capacity import split_names
from rules.dialects.capacity_checks.context import Context, Hit
from rules.dialects.capacity_properties import PREFIX
from rules.model import Queue

_MAPPINGS = f"{PREFIX}queue-mappings"
_FORMAT = f"{PREFIX}mapping-rule-format"


def queue_mapping(context: Context) -> Iterator[Hit]:
    """Mappings are u:USER:QUEUE or g:GROUP:QUEUE, to a leaf that there is, or that its parent may create."""
    if context.value(_FORMAT) == "json":
        return
    for mapping in split_names(context.tree.settings.get(_MAPPINGS, "")):
        parts = [part.strip() for part in mapping.split(":")]
        if len(parts) != 3 or parts[0] not in ("u", "g") or not all(parts):
            yield Hit(None, _MAPPINGS, f"{_MAPPINGS} has {mapping!r}; write u:USER:QUEUE or g:GROUP:QUEUE")
        elif problem := _target_problem(parts[2], context):
            yield Hit(None, _MAPPINGS, f"{_MAPPINGS} has {mapping!r}, but {problem}; name the path of a leaf queue")


def _target_problem(target: str, context: Context) -> str | None:
    if "%" in target:
        fixed = target.partition("%")[0].rstrip(".")
        if not fixed:
            return None
        found = _matches(fixed, context)
        return None if any(context.acts_as_parent(queue) for queue in found) else f"{fixed} is no parent queue"
    found = _matches(target, context)
    if len(found) > 1:
        return f"{target} means {' or '.join(queue.path for queue in found)}"
    if found:
        return f"{found[0].path} is a parent queue" if context.acts_as_parent(found[0]) else None
    above = _matches(target.rpartition(".")[0], context)
    is_creatable = any(context.acts_as_parent(queue) and not _only_static(queue) for queue in above)
    return None if is_creatable else f"there is no queue {target}"


def _only_static(queue: Queue) -> bool:
    keys = ("auto-create-child-queue.enabled", "auto-queue-creation-v2.enabled")
    return not any(queue.properties.get(key, "").lower() == "true" for key in keys)


def _matches(name: str, context: Context) -> list[Queue]:
    """The queue of that full path, else all whose path ends so."""
    if name in context.tree:
        return [context.tree[name]]
    return [queue for queue in context.tree if name and queue.path.endswith(f".{name}")]


def mapping_format(context: Context) -> Iterator[Hit]:
    """Mapping rules are in the old format or in JSON."""
    text = context.value(_FORMAT)
    if text not in ("legacy", "json"):
        yield Hit(None, _FORMAT, f"{_FORMAT} is {text!r}; write legacy or json")
