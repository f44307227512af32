"""The rule engine: durable-rules over facts, each rule's terms out.

The one place that imports durable. What it takes care of, all of it seen to go wrong otherwise:

* a session (``sid``) of its own for every evaluation, deleted afterwards: an engine holds at most 1,024, and what is in
  one stays in memory (jruizgit/rules#137);
* an exception in a rule does not raise, it becomes the state's ``exception``: it is raised here (jruizgit/rules#305);
* every fact carries an id of its own: equal or merely similar facts are taken for duplicates (jruizgit/rules#376);
* a fact that no rule looks at raises MessageNotHandledException: it derives nothing, which is no error; but to delete
  a session in which no fact met any rule aborts the process, so each begins with a fact that a rule of our own takes;
* conditions compare numbers with numbers: a text where a rule expects a number would silently not match, so facts are
  checked;
* the engine's own threads, which run what is pending whenever they like, are never started, and evaluations go one at
  a time;
* an engine takes fewer than about 480 rules.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from durable.engine import Host, MessageNotHandledException

from rules.limits import Limit

__all__ = ["Condition", "Fact", "Rule", "RuleEngine", "RuleError"]

Fact = Mapping[str, float | str]
"""What is known of one thing (a queue, the cluster, a request), by name; booleans are 0 and 1."""

_OPERATORS = {"==": None, "!=": "$neq", "<": "$lt", "<=": "$lte", ">": "$gt", ">=": "$gte"}


_OPENING = "durable-rules session opens"


class RuleError(Exception):
    """A rule failed, or was given a fact that it cannot judge: a fault of ours."""


@dataclass(frozen=True, slots=True)
class Condition:
    """``field operator value`` on one fact, for example ``Condition("user_limit_factor", ">=", 0)``."""

    field: str
    operator: str
    value: float | str

    def definition(self) -> dict[str, Any]:
        """The condition as durable-rules writes it."""
        operator = _OPERATORS[self.operator]
        comparison = {self.field: self.value}
        return comparison if operator is None else {operator: comparison}

    def __str__(self) -> str:
        return f"{self.field} {self.operator} {self.value}"


@dataclass(frozen=True, slots=True)
class Rule:
    """One mechanism of a scheduler.

    Attributes:
        id: kebab-case, unique in its rule set; it is what a job's waiting time is put down to.
        kind: the kind of limit that it derives.
        yarn: the class (and method) of Hadoop that does this.
        fact: the kind of fact that it looks at.
        then: derives the term's coefficients from a fact; its docstring says what the mechanism does.
        when: conditions that the fact must meet, all of them.
    """

    id: str
    kind: str
    yarn: str
    fact: str
    then: Callable[[Fact], Mapping[str, float]]
    when: tuple[Condition, ...] = ()

    @property
    def summary(self) -> str:
        """What the mechanism does, in the words of the docstring of ``then``."""
        return " ".join((self.then.__doc__ or "").split())


class _QuietHost(Host):  # type: ignore[misc]
    """A host without background threads: actions run in the thread that asserts the fact, and nowhere else."""

    def _run(self) -> None:
        pass


class RuleEngine:
    """A rule set, ready to be evaluated any number of times.

    Example:
        >>> def am_share(fact: Fact) -> Mapping[str, float]:
        ...     "A share of the queue is for AMs."
        ...     return {"fraction": float(fact["am_fraction"])}
        >>> engine = RuleEngine("example", [Rule("am-share", "am-share", "LeafQueue", "queue", am_share)])
        >>> [limit] = engine.evaluate([{"kind": "queue", "queue": "root.a", "am_fraction": 0.1}])
        >>> limit.rule, limit.queue, limit["fraction"]
        ('am-share', 'root.a', 0.1)
    """

    def __init__(self, name: str, rules: Sequence[Rule]) -> None:
        if len({rule.id for rule in rules}) != len(rules):
            raise ValueError(f"rule set {name}: an id is used twice")
        self._name = name
        self._rules = tuple(rules)
        self._lock = threading.Lock()
        self._evaluations = itertools.count()
        self._derived: list[Limit] = []
        self._current: Mapping[str, Fact] = {}
        self._places = {rule.id: i for i, rule in enumerate(rules)}
        self._conditions: dict[str, set[Condition]] = {}
        for rule in rules:
            self._conditions.setdefault(rule.fact, set()).update(rule.when)
        definitions = {f"rule_{i}": self._definition(rule) for i, rule in enumerate(rules)}
        opening = {"all": [{"m": {"kind": _OPENING}}], "run": lambda _: None}
        self._host = _QuietHost({name: {**definitions, "opening": opening}})

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules, in the order of the rule set."""
        return self._rules

    def _definition(self, rule: Rule) -> dict[str, Any]:
        conditions = [Condition("kind", "==", rule.fact), *rule.when]
        return {"all": [{"m": {"$and": [c.definition() for c in conditions]}}], "run": self._action(rule)}

    def _action(self, rule: Rule) -> Callable[[Any], None]:
        def derive(context: Any) -> None:
            fact = self._current[context.m.id]
            coefficients = dict(rule.then(fact))
            self._derived.append(Limit(rule.id, rule.kind, str(fact.get("queue", "")), coefficients))

        return derive

    def evaluate(self, facts: Iterable[Fact]) -> tuple[Limit, ...]:
        """Derives all that the rules give for these facts.

        Args:
            facts: each with its ``kind``, with the ``queue`` that it is about (none: the cluster), and with the fields
                that the rules of that kind use.

        Returns:
            The limits, in the order of the rule set and then of the facts.

        Raises:
            RuleError: a rule failed, or a fact has text where a rule compares numbers, or the reverse.
        """
        with self._lock:
            number = next(self._evaluations)
            session = f"{self._name}-{number}"
            self._current = {f"{session}-{i}": fact for i, fact in enumerate(facts)}
            self._derived = []
            shown = {fact_id: self._shown(fact) for fact_id, fact in self._current.items()}
            if not shown:
                return ()
            self._assert({"kind": _OPENING, "id": session, "sid": session})
            try:
                for fact_id, fields in shown.items():
                    self._assert({**fields, "id": fact_id, "sid": session})
            finally:
                self._host.delete_state(self._name, session)
            return tuple(sorted(self._derived, key=lambda limit: self._places[limit.rule]))

    def _shown(self, fact: Fact) -> dict[str, float | str]:
        """What the engine is told of a fact: the fields that conditions look at, each of the type that they expect."""
        shown: dict[str, float | str] = {"kind": fact["kind"]}
        for condition in self._conditions.get(str(fact["kind"]), ()):
            value = fact.get(condition.field)
            if value is None:
                continue
            if isinstance(value, str) != isinstance(condition.value, str):
                raise RuleError(f"fact {fact['kind']}: {condition.field} is {value!r} where a rule has {condition}")
            shown[condition.field] = value
        return shown

    def _assert(self, message: dict[str, float | str]) -> None:
        try:
            state = self._host.assert_fact(self._name, message)
        except MessageNotHandledException:
            return
        if isinstance(state, Mapping) and state.get("exception"):
            raise RuleError(
                f"a rule of {self._name} failed on {self._current[str(message['id'])]}: {state['exception']}"
            )
