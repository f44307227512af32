"""Which queue an application goes to: ``queuePlacementPolicy``, or what yarn-site's properties stand for.

As ``QueuePlacementPolicy`` and the rules of ``resourcemanager.placement`` (Hadoop 3.4). Groups of users are the
ResourceManager's own knowledge, so rules that need them are handed a table, empty by default.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from rules.dialects.xml_document import Element
from rules.model import ROOT, Finding, Severity
from tuner.errors import InputError

# Rule name: whether nothing gets past it; None where that is so if it creates queues.
TERMINAL: Mapping[str, bool | None] = {
    "user": None,
    "primaryGroup": None,
    "secondaryGroupExistingQueue": False,
    "specified": False,
    "nestedUserQueue": None,
    "default": None,
    "reject": True,
}
_NO_PARENT = ("specified", "default", "reject")


@dataclass(frozen=True)
class PlacementRule:
    """One rule.

    Attributes:
        name: ``specified``, ``user``, ``default`` and so on.
        create: whether it may send applications to queues that the file does not name.
        queue: the queue of a ``default`` rule, as a full path.
        parent: the rule that finds the queue above.
    """

    name: str
    create: bool = True
    queue: str = "root.default"
    parent: PlacementRule | None = None

    @property
    def is_terminal(self) -> bool:
        """Whether no application gets past it."""
        own = TERMINAL[self.name]
        return (self.create if own is None else own) and (self.parent is None or self.parent.is_terminal)


@dataclass(frozen=True)
class Submission:
    """What the rules look at."""

    queue: str
    user: str
    groups: Sequence[str] = field(default_factory=tuple)


def rules_of_site(allow_undeclared: bool, user_as_default: bool) -> tuple[PlacementRule, ...]:
    """The rules where the file has no policy (``QueuePlacementPolicy.fromConfiguration``)."""
    rules = [PlacementRule("specified", allow_undeclared)]
    if user_as_default:
        rules.append(PlacementRule("user", allow_undeclared))
    if not user_as_default or not allow_undeclared:
        rules.append(PlacementRule("default"))
    return tuple(rules)


def read_policy_element(policy: Element) -> tuple[PlacementRule, ...]:
    """Reads a ``queuePlacementPolicy``.

    Raises:
        InputError: for a rule that the ResourceManager does not know or does not take there.
    """
    rules = tuple(_read_rule(element) for element in policy.children if element.tag.lower() == "rule")
    if not policy.children:
        raise InputError("queuePlacementPolicy is empty", "take it out or give it a rule")
    return rules


def _read_rule(element: Element) -> PlacementRule:
    name = element.attributes.get("name", "")
    where = f"line {element.line}"
    if name not in TERMINAL:
        raise InputError(
            f"queuePlacementPolicy: there is no rule {name!r} ({where})", f"use one of {', '.join(TERMINAL)}"
        )
    nested = [child for child in element.children if child.tag.lower() == "rule"]
    parent = _read_rule(nested[-1]) if nested else None
    if parent is not None and parent.name in ("reject", "nestedUserQueue"):
        raise InputError(f"queuePlacementPolicy: {parent.name!r} cannot be the parent of a rule ({where})")
    if parent is not None and (name in _NO_PARENT or parent.name == name):
        raise InputError(f"queuePlacementPolicy: the rule {name!r} cannot have the parent {parent.name!r} ({where})")
    if name == "nestedUserQueue" and parent is None:
        raise InputError(f"queuePlacementPolicy: nestedUserQueue needs a rule inside it ({where})")
    create = element.attributes.get("create", "")
    queue = element.attributes.get("queue", "")
    return PlacementRule(
        name, not create or create.lower() == "true", with_root(queue) if queue else "root.default", parent
    )


def check_rules(rules: Sequence[PlacementRule]) -> list[Finding]:
    """What the ResourceManager refuses of the order of the rules (``updateRuleSet``)."""
    messages = []
    for number, rule in enumerate(rules[:-1], start=1):
        if rule.is_terminal:
            messages.append(f"the rules after rule {number} ({rule.name}) can never be reached; move it to the end")
    if rules and not rules[-1].is_terminal:
        messages.append(f"applications can get past the last rule ({rules[-1].name}); end with default or reject")
    return [
        Finding(None, "queuePlacementPolicy", "fair-placement", Severity.ERROR, f"queuePlacementPolicy: {message}")
        for message in messages
    ]


def place(rules: Sequence[PlacementRule], submission: Submission, is_configured: Callable[[str], bool]) -> str | None:
    """The full path of the queue that an application goes to; None where it is turned away.

    Args:
        rules: in their order.
        submission: the queue it asked for, its user and the user's groups.
        is_configured: whether the file names a queue.
    """
    for rule in rules:
        if rule.name == "reject":
            return None
        path = _candidate(rule, submission, is_configured)
        if path is not None and (rule.create or is_configured(path)):
            return path
    return None


def _candidate(rule: PlacementRule, submission: Submission, is_configured: Callable[[str], bool]) -> str | None:
    if rule.name == "specified":
        asked = submission.queue
        return None if asked == "default" or asked.startswith(".") or asked.endswith(".") else with_root(asked)
    if rule.name == "default":
        return rule.queue
    above = ROOT
    if rule.parent is not None:
        found = place((rule.parent,), submission, is_configured)
        if found is None:
            return None
        above = found
    if rule.name in ("user", "nestedUserQueue"):
        return f"{above}.{_cleaned(submission.user)}"
    groups = [f"{above}.{_cleaned(group)}" for group in submission.groups]
    if rule.name == "primaryGroup":
        return groups[0] if groups else None
    return next((path for path in groups[1:] if is_configured(path)), None)


def _cleaned(name: str) -> str:
    return name.strip().replace(".", "_dot_")


def with_root(queue: str) -> str:
    """A queue's full path from what an application wrote (``FairQueuePlacementUtils.assureRoot``)."""
    return queue if queue == ROOT or queue.startswith(f"{ROOT}.") else f"{ROOT}.{queue}"
