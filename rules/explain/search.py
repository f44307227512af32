"""The smallest change of the configuration under which an application that waits gets on.

Candidates are tried in the simulation of the present state: there is no formula here. More of a limit never keeps an
application waiting that less of it would let on, as long as nothing else changes, so each property is halved in on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rules.explain.knobs import Knob
from rules.explain.replay import Replay, Setting
from rules.model import PropertyChange

__all__ = ["Change", "smallest_change"]

_Test = Callable[[Mapping[int, int]], bool]


@dataclass(frozen=True)
class Change:
    """Properties to change.

    Attributes:
        rule: id of the rule whose limit the first of them sets.
        changes: the properties.
        setting: the configuration with all of them.
    """

    rule: str
    changes: tuple[PropertyChange, ...]
    setting: Setting


def smallest_change(replay: Replay, application: str, knobs: list[Knob], first_rule: str | None) -> Change | str | None:
    """The change; where not even all properties at their most would free it, the rule that would bind then.

    Of several properties that would do, the one of the rule that binds is taken; where no single one does, as few as
    possible, each raised as little as possible.

    Args:
        replay: the present state.
        application: id of one that waits.
        knobs: the properties that may be changed.
        first_rule: id of the rule that binds now.
    """
    order = sorted(range(len(knobs)), key=lambda number: knobs[number].rule != first_rule)
    most = {number: len(knobs[number].values) - 1 for number in order}

    def frees(choice: Mapping[int, int]) -> bool:
        verdicts, _ = replay.verdicts(_turned(replay.present, choice, knobs))
        return verdicts[application].served

    needed = _needed(order, most, frees)
    if needed is None:
        return replay.verdicts(_turned(replay.present, most, knobs))[0][application].rule
    choice = {number: most[number] for number in needed}
    for number in needed:
        choice[number] = _least_place(choice, number, frees)
    changes = tuple(knobs[number].change(place) for number, place in choice.items())
    return Change(knobs[needed[0]].rule, changes, _turned(replay.present, choice, knobs))


def _turned(setting: Setting, choice: Mapping[int, int], knobs: list[Knob]) -> Setting:
    """A setting with properties changed: the place of each knob, and of its value."""
    for number, place in choice.items():
        setting = knobs[number].turn(setting, knobs[number].values[place])
    return setting


def _needed(order: list[int], most: Mapping[int, int], frees: _Test) -> list[int] | None:
    """The fewest properties that free it when they are at their most: one if one will do, else all that have to be."""
    for number in order:
        if frees({number: most[number]}):
            return [number]
    if not order or not frees(most):
        return None
    kept = list(order)
    for number in reversed(order):
        rest = [each for each in kept if each != number]
        if frees({each: most[each] for each in rest}):
            kept = rest
    return kept


def _least_place(choice: dict[int, int], number: int, frees: _Test) -> int:
    low, high = -1, choice[number]  # at high it is freed, at low it is not
    while high - low > 1:
        middle = (low + high) // 2
        if frees({**choice, number: middle}):
            high = middle
        else:
            low = middle
    return high
