"""Names of queues and properties, and values that are not of their property's kind."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from difflib import get_close_matches

from rules.dialects.capacity import queue_property, split_names
from rules.dialects.capacity_checks.context import Context, Hit
from rules.dialects.capacity_properties import (
    PREFIX,
    TEMPLATE_PREFIXES,
    Kind,
    find_global_property,
    find_queue_property,
    nearest_global_property,
    nearest_queue_property,
)
from rules.dialects.capacity_values import parse_capacity
from rules.model import ROOT
from tuner.errors import InputError

_INT_MAX = 2**31 - 1
_INTEGER = re.compile(r"[+-]?\d+")
_QUEUE_NAME = re.compile(r"[^\s.,]+")
_VARIABLE = re.compile(r"\$\{[^}]*\}")
# What the RM reads without trimming; a plain number it trims all the same, but for the last.
_UNTRIMMED = ("capacity", "maximum-capacity", "state", "max-parallel-apps")


def unreadable_value(context: Context) -> Iterator[Hit]:
    """Capacities and states that cannot be read, numbers that are none, booleans other than true and false."""
    for malformed in context.reading.malformed:
        yield Hit(malformed.queue, malformed.property, f"{malformed.property}: {malformed.message}")
    yield from _unreadable_templates(context)
    for setting in context.settings:
        kind, text = setting.spec.kind, setting.text
        is_wrong = (
            (kind is Kind.INTEGER and not (_INTEGER.fullmatch(text) and abs(int(text)) <= _INT_MAX))
            or (kind is Kind.NUMBER and setting.number is None)
            or (kind is Kind.BOOLEAN and text.lower() not in ("true", "false"))
        )
        if is_wrong and text:
            owner = setting.queue.path if setting.queue else None
            yield Hit(owner, setting.full, f"{setting.full} is {text!r}, which is no {kind.value}; write one")


def _unreadable_templates(context: Context) -> Iterator[Hit]:
    for setting in context.template_capacities:
        try:
            parse_capacity(setting.text)
        except InputError as error:
            assert setting.queue is not None
            yield Hit(setting.queue.path, setting.full, f"{setting.full}: {error.message}; {error.hint}")


def blank_around_value(context: Context) -> Iterator[Hit]:
    """Blanks around values that the RM reads as they are."""
    for setting in context.settings:
        raw = context.properties[setting.full]
        name = setting.spec.name.rpartition(".")[2]
        is_trimmed = name not in _UNTRIMMED or (setting.number is not None and name != "max-parallel-apps")
        if raw != raw.strip() and not is_trimmed:
            owner = setting.queue.path if setting.queue else None
            yield Hit(owner, setting.full, f"{setting.full} has blanks around its value {raw!r}; remove them")


def unresolved_variable(context: Context) -> Iterator[Hit]:
    """Variables that nothing in the configuration stands for."""
    for name, text in context.properties.items():
        match = _VARIABLE.search(text)
        if match and name.startswith(PREFIX):
            yield Hit(None, name, f"{name} uses {match.group()}, which is set nowhere here; write the value itself")


def include_not_read(context: Context) -> Iterator[Hit]:
    """Files that are included and not looked into."""
    for href in context.includes:
        yield Hit(None, None, f"the configuration includes {href!r}, which is not read; what it sets is not checked")


def unknown_queue(context: Context) -> Iterator[Hit]:
    """Properties of queues that no ``queues`` property names: the RM keeps them without effect."""
    for full in context.reading.orphans:
        path = _foreign_queue(full, context)
        if path is not None:
            near = get_close_matches(path, list(context.tree.queues), n=1, cutoff=0.8)
            hint = f"; did you mean {near[0]}?" if near else "; add it to its parent's queues, or remove the property"
            yield Hit(path, full, f"{full} is for the queue {path}, which does not exist, and has no effect{hint}")


def _foreign_queue(full: str, context: Context) -> str | None:
    """The queue that an orphan property seems to be for: what stands before the longest known suffix."""
    parts = full.removeprefix(PREFIX).split(".")
    for length in range(1, len(parts)):
        path = ".".join(parts[:length])
        if path not in context.tree and find_queue_property(".".join(parts[length:])) is not None:
            return path
    return None


def unknown_property(context: Context) -> Iterator[Hit]:
    """Keys that the Capacity Scheduler does not have: the RM keeps them without effect."""
    for queue in context.tree:
        for suffix in queue.properties:
            full = queue_property(queue.path, suffix)
            is_foreign = full in context.reading.orphans and _foreign_queue(full, context) is not None
            if find_queue_property(suffix) is None and not is_foreign:
                near = nearest_queue_property(suffix)
                hint = f"; did you mean {near}?" if near else "; remove it"
                yield Hit(queue.path, full, f"{full} is not a property that queues have, and has no effect{hint}")
    for name in context.tree.settings:
        is_ours = name.startswith(PREFIX) and find_global_property(name) is None
        if is_ours and _short_named(name, context) is None:
            near = nearest_global_property(name)
            hint = f"; did you mean {near}?" if near else "; remove it"
            yield Hit(None, name, f"{name} is not a property of the Capacity Scheduler, and has no effect{hint}")


def short_queue_name(context: Context) -> Iterator[Hit]:
    """Properties of a queue that is named without its full path."""
    for name in context.tree.settings:
        path = _short_named(name, context)
        if path is not None and find_global_property(name) is None:
            yield Hit(path, name, f"{name} has no effect: queues are named by their full path; did you mean {path}?")


def _short_named(name: str, context: Context) -> str | None:
    parts = name.removeprefix(PREFIX).split(".")
    for length in range(1, len(parts)):
        short, suffix = ".".join(parts[:length]), ".".join(parts[length:])
        if find_queue_property(suffix) is None:
            continue
        for path in context.tree.queues:
            if path.endswith(f".{short}"):
                return path
    return None


def invalid_queue_name(context: Context) -> Iterator[Hit]:
    """Names of children that hold blanks, or nothing, or are there twice."""
    for queue in context.tree:
        full = queue_property(queue.path, "queues")
        text = queue.properties.get("queues", "")
        for name in split_names(text):
            if not _QUEUE_NAME.fullmatch(name):
                yield Hit(queue.path, full, f"{full} has the name {name!r}; names hold no blanks and no dots")
        for name, count in Counter(split_names(text)).items():
            if count > 1:
                yield Hit(queue.path, full, f"{full} names {name!r} {count} times; name it once")
        if text and len(split_names(text)) < len(text.split(",")):
            yield Hit(queue.path, full, f"{full} is {text!r}, with an empty name in it; remove the comma")


def ambiguous_leaf_name(context: Context) -> Iterator[Hit]:
    """Leaves of one name under several parents, which cannot be submitted to by that name."""
    counts = Counter(leaf.name for leaf in context.tree.leaves())
    for leaf in context.tree.leaves():
        if counts[leaf.name] > 1:
            yield Hit(
                leaf.path,
                None,
                f"{leaf.path} shares its name {leaf.name!r} with {counts[leaf.name] - 1} other leaves; "
                "applications must name the full path",
            )


def not_in_version(context: Context) -> Iterator[Hit]:
    """Properties that this version of Hadoop does not have yet."""
    for setting in context.settings:
        since = setting.spec.since
        for prefix, prefix_since in TEMPLATE_PREFIXES.items():
            if setting.queue is not None and setting.suffix.startswith(prefix):
                since = prefix_since or since
        if since is not None and context.version < since:
            owner = setting.queue.path if setting.queue else None
            yield Hit(
                owner,
                setting.full,
                f"{setting.full} has no effect in Hadoop {context.version[0]}.{context.version[1]}: "
                f"it came with {since[0]}.{since[1]}; remove it",
            )


def root_stopped(context: Context) -> Iterator[Hit]:
    """Root stopped, and so every queue."""
    if context.tree.root.properties.get("state", "").upper() == "STOPPED":
        full = queue_property(ROOT, "state")
        yield Hit(
            ROOT,
            full,
            f"{full} is STOPPED, so that no queue takes applications, and Hadoop 3.4 does not start; set it to RUNNING",
        )
