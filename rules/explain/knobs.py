"""The properties that may keep an application waiting, each with the values that would grant more.

Present values are those of the rules' limit terms, defaults and inheritance included.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from rules.dialects.capacity import queue_property
from rules.dialects.capacity_properties import PREFIX
from rules.dialects.fair import USER_TAG, AllocationFile, parse_allocations
from rules.dialects.fair_resources import absolute
from rules.explain.replay import Setting
from rules.limits import Limits
from rules.live.model import LiveApplication, LiveCluster
from rules.model import ROOT, CapacityMode, PropertyChange, Resources
from rules.rulesets.capacity_facts import user_place
from rules.rulesets.fair_facts import USER_PLACE

__all__ = ["Knob", "knobs_of"]

_MOST_VALUES = 1000


@dataclass(frozen=True)
class Knob:
    """One property that can be raised.

    Attributes:
        property: its full name.
        rule: id of the rule whose limit it sets.
        before: its text now; None where it is not set.
        values: the texts to choose from, the smallest change first, the most generous last.
        turn: gives a setting with one of the values.
    """

    property: str
    rule: str
    before: str | None
    values: tuple[str, ...]
    turn: Callable[[Setting, str], Setting]

    def change(self, place: int) -> PropertyChange:
        """The change to the value at a place."""
        return PropertyChange(self.property, self.before, self.values[place])


def knobs_of(live: LiveCluster, limits: Limits, application: LiveApplication) -> list[Knob]:
    """Every property whose limit holds for an application, the ones nearest to it first.

    Args:
        live: the cluster.
        limits: the present configuration's.
        application: one that waits.
    """
    found = _fair(live, limits, application) if live.scheduler == "fair" else _capacity(live, limits, application)
    return [knob for knob in found if knob.values]


def _lineage(path: str) -> list[str]:
    """A queue and those above it, the nearest first."""
    parts = path.split(".")
    return [".".join(parts[:length]) for length in range(len(parts), 0, -1)]


def _raised(value: float, step: float, most: float) -> tuple[str, ...]:
    """The multiples of a step above a value, up to the largest."""
    first = math.floor(value / step + 1e-6) + 1
    last = math.floor(most / step + 1e-6)
    return tuple(f"{number * step:.2f}".rstrip("0").rstrip(".") for number in range(first, last + 1))[:_MOST_VALUES]


def _counts(value: float, live: LiveCluster) -> tuple[str, ...]:
    return tuple(str(int(value) + more) for more in range(1, len(live.applications) + 2))[:_MOST_VALUES]


def _more_resources(present: tuple[float, float], size: Resources, total: Resources) -> list[Resources]:
    """The present amounts and so many containers more, up to the whole cluster."""
    found = []
    for number in range(1, _MOST_VALUES):
        memory = min(int(present[0]) + number * size.memory_mib, max(total.memory_mib, int(present[0])))
        vcores = min(int(present[1]) + number * size.vcores, max(total.vcores, int(present[1])))
        found.append(Resources(memory, vcores))
        if memory >= total.memory_mib and vcores >= total.vcores:
            break
    return found


# ---------------------------------------------------------------- Capacity Scheduler


def _capacity(live: LiveCluster, limits: Limits, application: LiveApplication) -> Iterator[Knob]:
    tree, leaf = live.require_configuration().tree, application.queue
    properties = live.require_configuration().properties

    def knob(name: str, rule: str, values: tuple[str, ...]) -> Knob:
        def turn(setting: Setting, value: str) -> Setting:
            return replace(setting, conf={**setting.conf, name: value})

        return Knob(name, rule, properties.get(name), values, turn)

    am, percent = limits.get("am-limit", leaf), limits.get("user-limit", leaf)
    factor, guarantee = limits.get("user-limit-factor", leaf), limits.get("guarantee", leaf)
    if am:
        name = queue_property(leaf, "maximum-am-resource-percent")
        yield knob(name, "am-limit", _raised(am["fraction"], 0.01, 1.0))
    if factor:
        part = guarantee["absolute"] if guarantee else 1.0
        most = math.ceil(1 / part) + 1 if part > 0 else 100
        name = queue_property(leaf, "user-limit-factor")
        yield knob(name, "user-limit-factor", _raised(factor["factor"], 0.1, most))
    if percent:
        name = queue_property(leaf, "minimum-user-limit-percent")
        yield knob(name, "user-limit", _raised(percent["minimum_percent"], 1, 100))
    for path in _lineage(leaf):
        if path != ROOT and path in tree:
            name = queue_property(path, "maximum-capacity")
            yield knob(name, "maximum-capacity", _maxima(live, limits, path, application))
    for path in _lineage(leaf):
        if parallel := limits.get("parallel", path):
            name = queue_property(path, "max-parallel-apps")
            yield knob(name, "parallel-applications", _counts(parallel["applications"], live))
    for user in (application.user, ""):
        if parallel := limits.get("parallel", user_place("", user)):
            name = f"{PREFIX}user.{application.user}.max-parallel-apps"
            yield knob(name, "user-parallel-applications", _counts(parallel["applications"], live))
            return


def _maxima(live: LiveCluster, limits: Limits, path: str, application: LiveApplication) -> tuple[str, ...]:
    tree = live.require_configuration().tree
    maximum, present = tree[path].maximum_capacity, limits.get("maximum", path)
    if present is not None and present.rule == "maximum-resources":
        if maximum.mode is not CapacityMode.ABSOLUTE:
            return ()
        amounts = _more_resources(
            (present["memory_mib"], present["vcores"]), _next_size(application), live.snapshot.total
        )
        return tuple(f"[memory={each.memory_mib},vcores={each.vcores}]" for each in amounts)
    if maximum.mode is CapacityMode.PERCENT and 0 <= maximum.value < 100:
        return _raised(maximum.value, 1, 100)
    return ()


def _next_size(application: LiveApplication) -> Resources:
    return application.asks[0].resources if application.asks else Resources(1024, 1)


# -------------------------------------------------------------------- Fair Scheduler


def _fair(live: LiveCluster, limits: Limits, application: LiveApplication) -> Iterator[Knob]:
    text = live.require_configuration().allocations or "<allocations/>"
    file = parse_allocations(text)
    if am := limits.get("am-share", application.queue):
        values = (*_raised(am["am_share"], 0.01, 1.0), "-1.0")
        yield _element(file, application.queue, "maxAMShare", "queueMaxAMShareDefault", "fair-am-share", values)
    for path in _lineage(application.queue):
        if apps := limits.get("max-running-apps", path):
            values = _counts(apps["max_apps"], live)
            yield _element(file, path, "maxRunningApps", "queueMaxAppsDefault", "fair-max-running-apps", values)
    if apps := limits.get("max-running-apps", f"{USER_PLACE}{application.user}"):
        yield _user_element(file, application.user, _counts(apps["max_apps"], live))
    for path in _lineage(application.queue):
        if most := limits.get("max-share", path):
            amounts = _more_resources(
                (most["most_memory"], most["most_vcores"]), _next_size(application), live.snapshot.total
            )
            values = tuple(absolute(each.memory_mib, each.vcores).format() for each in amounts)
            yield _element(file, path, "maxResources", "queueMaxResourcesDefault", "fair-max-share", values)


def _element(file: AllocationFile, path: str, name: str, default: str, rule: str, values: tuple[str, ...]) -> Knob:
    """A queue's element; the file's default for all queues where the file does not name the queue."""
    if not file.queue_elements.get(path):

        def turn_default(setting: Setting, value: str) -> Setting:
            edited = parse_allocations(setting.allocations).with_setting(default, value)
            return replace(setting, allocations=edited.render())

        return Knob(default, rule, file.tree.settings.get(default), values, turn_default)

    def turn(setting: Setting, value: str) -> Setting:
        edited = parse_allocations(setting.allocations).with_property(path, name, value)
        return replace(setting, allocations=edited.render())

    return Knob(f"{path}.{name}", rule, file.tree[path].properties.get(name), values, turn)


def _user_element(file: AllocationFile, user: str, values: tuple[str, ...]) -> Knob:
    rule = "fair-user-max-running-apps"
    if user not in file.user_max_apps:
        name = "userMaxAppsDefault"

        def turn_default(setting: Setting, value: str) -> Setting:
            edited = parse_allocations(setting.allocations).with_setting(name, value)
            return replace(setting, allocations=edited.render())

        return Knob(name, rule, file.tree.settings.get(name), values, turn_default)

    def turn(setting: Setting, value: str) -> Setting:
        document = parse_allocations(setting.allocations).document
        for element in document.root.children:
            if element.tag == USER_TAG and element.attributes.get("name") == user:
                child = next(each for each in element.children if each.tag == "maxRunningApps")
                return replace(setting, allocations=document.with_text(child, value).render())
        raise AssertionError("the user is in the file")

    return Knob(f"user {user}.maxRunningApps", rule, file.user_max_apps[user], values, turn)
