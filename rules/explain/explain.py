"""Why applications of a live cluster wait. Pure: a cluster that was read in, explanations out."""

from __future__ import annotations

from collections.abc import Iterable

from rules.dialects.capacity_validation import errors, validate_change
from rules.dialects.fair import parse_allocations
from rules.dialects.fair_site import read_site
from rules.dialects.fair_validate import refusal
from rules.dialects.fair_validate import validate as validate_fair
from rules.explain.effect import effect_of
from rules.explain.knobs import Knob, knobs_of
from rules.explain.model import Explanation, Remedy
from rules.explain.replay import Replay, Setting, Verdict
from rules.explain.search import Change, smallest_change
from rules.explain.words import GETS_ON, NO_PROPERTY, RM_SAYS, figures, sentence
from rules.live.model import LiveApplication, LiveCluster, Unreadable
from rules.model import DEFAULT_LABEL, Finding, Resources
from tuner.errors import InputError

__all__ = ["explain"]

_STARTING = frozenset({"NEW", "NEW_SAVING", "SUBMITTED"})
_NO_ROOM = "cluster-resources"


def explain(
    live: LiveCluster, applications: Iterable[LiveApplication], *, effects: bool = True
) -> tuple[Explanation, ...]:
    """Explains why applications wait.

    Of those that are alike (queue, user, size, rule) the change is worked out for the first; the others wait in line
    behind it. Ask for one by itself to get its own.

    Args:
        live: the cluster.
        applications: some of it, in the order of the answer; of those that wait for nothing, that is said.
        effects: also what the change that would free one would do to all.

    Raises:
        InputError: a figure of the configuration cannot be read.
    """
    chosen = tuple(applications)
    model = _Model(live) if any(each.waiting for each in chosen) else None
    return tuple(_explain(live, model, each, effects) for each in chosen)


class _Model:
    """The present state in the simulation, or why it cannot be put there. Remedies are shared by what is alike."""

    def __init__(self, live: LiveCluster) -> None:
        self.live = live
        self.verdicts: dict[str, Verdict] = {}
        self.doubts: tuple[str, ...] = ()
        self._remedies: dict[tuple[object, ...], Remedy] = {}
        self._first: dict[tuple[object, ...], str] = {}
        self._replay: Replay | None = None
        if isinstance(live.configuration, Unreadable):
            self.doubts = (f"{live.configuration.reason}: {live.configuration.hint}",)
            return
        try:
            self._replay = Replay(live)
            self.verdicts, complete = self._replay.verdicts(self._replay.present)
        except InputError as error:
            self._replay = None
            self.doubts = (f"the model does not know this configuration: {error.message}",)
            return
        self.doubts = live.configuration.notes
        if not complete:
            self.doubts += (
                "what runs could not be set up in the model just so: the cluster's nodes are filled otherwise",
            )

    def before(self, application: LiveApplication, rule: str | None) -> str | None:
        """An application that waits for the same with the same user and queue and was asked about before this one."""
        size = application.asks[0].resources if application.asks else None
        key = (application.queue, application.user, application.am_started, size, rule)
        first = self._first.setdefault(key, application.id)
        return None if first == application.id else first

    def change(self, application: LiveApplication, rule: str | None) -> Change | str:
        """The smallest change that frees an application; else why there is none."""
        if self._replay is None or application.id not in self.verdicts:
            return "without the configuration no change can be worked out"
        found = smallest_change(self._replay, application.id, self._knobs(application), rule)
        if isinstance(found, Change):
            finding = _refused(self.live, self._replay.present, found.setting)
            return found if finding is None else f"what would free it is no valid configuration: {finding.message}"
        if found is None or found == rule or found in GETS_ON:
            return "no change of its queues would free it at once"
        return f"with its queues' limits raised it would still wait, as {sentence(self.live, application, found)}"

    def remedy(self, change: Change, effects: bool) -> Remedy:
        """The change with its effect, which is worked out once for all whom it frees."""
        key = (change.changes, effects)
        if key not in self._remedies:
            assert self._replay is not None
            effect = effect_of(self.live, self._replay.present, change.setting) if effects else None
            self._remedies[key] = Remedy(change.changes, effect)
        return self._remedies[key]

    def _knobs(self, application: LiveApplication) -> list[Knob]:
        assert self._replay is not None
        return knobs_of(self.live, self._replay.limits, application)


def _explain(live: LiveCluster, model: _Model | None, application: LiveApplication, effects: bool) -> Explanation:
    waiting_s = max(live.time_s - application.submitted_s, 0.0)
    if application.state in _STARTING:
        reason = "the ResourceManager has not handed it to the scheduler yet"
        return Explanation(application, waiting_s, None, reason, no_remedy="that takes seconds; look again")
    if model is None or not application.waiting:
        return Explanation(application, 0.0, None, "it waits for no container", no_remedy="nothing is in its way")
    plain = _plain_fact(live, application)
    if plain is not None:
        fact, reason, advice = plain
        shown = figures(live, application, _NO_ROOM)
        return Explanation(application, waiting_s, fact, reason, shown, no_remedy=advice)
    rule, doubts = _rule(live, model, application)
    verdict = model.verdicts.get(application.id)
    if verdict is not None and verdict.rejected is not None:
        doubts += (f"the model would refuse it: {verdict.rejected}",)
    change: Change | str = NO_PROPERTY.get(rule or "", "")
    if rule not in NO_PROPERTY and not (verdict is not None and verdict.served and rule in GETS_ON):
        before = model.before(application, rule)
        change = model.change(application, rule) if before is None else f"first what frees {before}, its like"
        if isinstance(change, Change) and rule in GETS_ON:
            # A queue above is at its limit, so that nobody has looked at the application yet.
            rule = change.rule
    if rule in GETS_ON:
        return _gets_on(live, application, rule, verdict, doubts)
    assert rule is not None
    remedy = model.remedy(change, effects) if isinstance(change, Change) else None
    advice = "" if isinstance(change, Change) else change
    shown = figures(live, application, rule)
    return Explanation(application, waiting_s, rule, sentence(live, application, rule), shown, remedy, advice, doubts)


def _gets_on(
    live: LiveCluster,
    application: LiveApplication,
    rule: str | None,
    verdict: Verdict | None,
    doubts: tuple[str, ...],
) -> Explanation:
    """By the rules nothing, or nothing but the next beat, keeps it."""
    reason = "by the rules nothing keeps it: its next container comes at one of the next heartbeats"
    if verdict is None or not verdict.served:
        reason = "no limit of its queues keeps it; why it waits cannot be told from here"
    said = application.diagnostics
    advice = f"the ResourceManager says: {said}" if said else "look again in a moment"
    waiting_s = max(live.time_s - application.submitted_s, 0.0)
    return Explanation(application, waiting_s, rule, reason, figures(live, application, ""), None, advice, doubts)


def _plain_fact(live: LiveCluster, application: LiveApplication) -> tuple[str, str, str] | None:
    """What is plain without the model: a label or size that no node has. Rule, reason, and what to do."""
    for ask in application.asks:
        nodes = [node for node in live.snapshot.nodes if node.label == ask.label]
        if ask.label and not nodes:
            reason = f"no node that runs has the label {ask.label!r} that it asks for"
            return "node-label", reason, f"put the label on a node, or submit it without the label {ask.label!r}"
        if not nodes:
            return _NO_ROOM, "no node runs", "start NodeManagers, or see `yarn node -list -all`"
        if not any(_fits(live, ask.resources, node.total) for node in nodes):
            largest = max(nodes, key=lambda node: node.total.memory_mib)
            reason = f"its container ({ask.resources}) is larger than any node ({largest.total} at most)"
            return _NO_ROOM, reason, "let it ask for smaller containers, or add a larger node"
    return None


def _fits(live: LiveCluster, size: Resources, room: Resources) -> bool:
    """Whether a container fits, in what the scheduler counts: memory alone with Hadoop's default calculator."""
    configuration = live.configuration
    if live.scheduler == "capacity" and not isinstance(configuration, Unreadable):
        calculator = configuration.properties.get("yarn.scheduler.capacity.resource-calculator", "")
        if "Dominant" not in calculator:
            return size.memory_mib <= room.memory_mib
    return size.fits_in(room)


def _rule(live: LiveCluster, model: _Model, application: LiveApplication) -> tuple[str | None, tuple[str, ...]]:
    """The rule that binds: the ResourceManager's word where it gives one, else the model's."""
    verdict = model.verdicts.get(application.id)
    rule = verdict.rule if verdict else None
    said = next((rule for words, rule in RM_SAYS.items() if words in application.diagnostics), None)
    doubts = model.doubts
    if said is not None and not application.am_started and said != rule:
        if rule is not None:
            doubts += (f"the model has {rule} where the ResourceManager says {said}",)
        return said, doubts
    label = application.asks[0].label if application.asks else DEFAULT_LABEL
    if label != DEFAULT_LABEL:
        doubts += ("it asks for nodes with a label, which the model does not know",)
    elif rule in GETS_ON and not any(_fits(live, application.asks[0].resources, room) for room in live.free.values()):
        return _NO_ROOM, doubts
    return rule, doubts


def _refused(live: LiveCluster, before: Setting, after: Setting) -> Finding | None:
    """What is wrong with a changed configuration that was not wrong before; None where nothing is."""
    if live.scheduler == "fair":
        properties = {name: value for name, value in after.conf.items() if value is not None}
        return refusal(validate_fair(parse_allocations(after.allocations), read_site(properties)))
    first, second = (
        {name: value for name, value in setting.conf.items() if value is not None} for setting in (before, after)
    )
    found = errors(validate_change(first, second, version=live.version, cluster_total=live.snapshot.total))
    return found[0] if found else None
