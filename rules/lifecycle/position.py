"""Where a configuration that was read stands between the one of before and the proposed one. Pure."""

from __future__ import annotations

from enum import StrEnum

from rules.model import PropertyChange
from rules.plan import Configuration, differences

__all__ = ["Place", "foreign_changes", "place_of", "taken_back"]


class Place(StrEnum):
    """Where a configuration stands, as far as the changed properties go (a file: as a whole)."""

    BASE = "base"
    """It is the one of before."""
    PROPOSED = "proposed"
    """It is the proposed one."""
    BETWEEN = "between"
    """Each changed property has its old or its new value: the change was made in part."""
    ELSEWHERE = "elsewhere"
    """A changed property has a third value, or the file is a third one: somebody else was there."""


def place_of(stored: Configuration, base: Configuration, proposed: Configuration) -> Place:
    """Where a configuration stands.

    Args:
        stored: as it was read.
        base: the one of before.
        proposed: the one that it should become.
    """
    if proposed.data is not None:
        if stored.data == proposed.data:
            return Place.PROPOSED
        return Place.BASE if stored.data == base.data else Place.ELSEWHERE
    changed = differences(base.properties, proposed.properties)
    values = [stored.properties.get(change.property) for change in changed]
    if all(value == change.after for value, change in zip(values, changed, strict=True)):
        return Place.PROPOSED
    if all(value == change.before for value, change in zip(values, changed, strict=True)):
        return Place.BASE
    mixed = all(value in (change.before, change.after) for value, change in zip(values, changed, strict=True))
    return Place.BETWEEN if mixed else Place.ELSEWHERE


def foreign_changes(stored: Configuration, base: Configuration, proposed: Configuration) -> tuple[PropertyChange, ...]:
    """What somebody else has changed beside our change: properties that the plan does not touch."""
    ours = {change.property for change in differences(base.properties, proposed.properties)}
    return tuple(change for change in differences(base.properties, stored.properties) if change.property not in ours)


def taken_back(stored: Configuration, base: Configuration, proposed: Configuration) -> Configuration:
    """The configuration that taking a change back leads to.

    A file becomes the one of before, byte for byte. Without a file our own properties become what they were, and what
    somebody else has changed beside them stays.
    """
    if base.data is not None:
        return base
    properties = dict(stored.properties)
    for change in differences(base.properties, proposed.properties):
        if change.before is None:
            properties.pop(change.property, None)
        else:
            properties[change.property] = change.before
    return Configuration(properties, version=stored.version)
