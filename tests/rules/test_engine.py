from __future__ import annotations

import threading
from collections.abc import Mapping

import pytest

from rules.engine import Condition, Fact, Rule, RuleEngine, RuleError
from rules.limits import Limit, Limits


def double(fact: Fact) -> Mapping[str, float]:
    """Twice the number."""
    return {"twice": 2 * float(fact["number"])}


def fail(fact: Fact) -> Mapping[str, float]:
    """Never works."""
    raise ZeroDivisionError(f"no {fact['number']}")


def engine(*rules: Rule) -> RuleEngine:
    return RuleEngine("test", rules or (Rule("double", "twice", "Some#class", "thing", double),))


def thing(number: float | str, queue: str = "root.a") -> dict[str, float | str]:
    return {"kind": "thing", "queue": queue, "number": number}


def test_a_rule_derives_a_limit_for_the_fact_s_queue() -> None:
    assert engine().evaluate([thing(2)]) == (Limit("double", "twice", "root.a", {"twice": 4.0}),)


def test_a_condition_that_is_not_met_derives_nothing() -> None:
    rule = Rule("double", "twice", "Some#class", "thing", double, (Condition("number", ">", 2),))
    assert engine(rule).evaluate([thing(2)]) == ()
    assert len(engine(rule).evaluate([thing(3)])) == 1


def test_a_fact_that_no_rule_looks_at_is_no_error() -> None:
    assert engine().evaluate([{"kind": "other", "number": 1}]) == ()


def test_an_exception_in_a_rule_is_raised_and_the_engine_lives_on() -> None:
    rules = engine(Rule("fail", "none", "Some#class", "thing", fail, (Condition("number", "==", 0),)))
    with pytest.raises(RuleError, match="no 0"):
        rules.evaluate([thing(0)])
    assert rules.evaluate([thing(1)]) == ()


def test_text_where_rules_compare_numbers_is_refused() -> None:
    rules = engine(Rule("double", "twice", "Some#class", "thing", double, (Condition("number", ">", 2),)))
    with pytest.raises(RuleError, match="number is '3'"):
        rules.evaluate([thing("3")])


def test_equal_facts_are_not_taken_for_duplicates() -> None:
    assert len(engine().evaluate([thing(1)] * 50)) == 50


def test_more_evaluations_than_an_engine_has_sessions() -> None:
    rules = engine()
    assert all(rules.evaluate([thing(i)])[0]["twice"] == 2 * i for i in range(1500))


def test_evaluations_from_several_threads_do_not_mix() -> None:
    rules, wrong = engine(), []

    def work(number: int) -> None:
        for _ in range(50):
            found = rules.evaluate([thing(number, f"root.q{number}")])
            if [(limit.queue, limit["twice"]) for limit in found] != [(f"root.q{number}", 2.0 * number)]:
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_two_rules_may_not_limit_the_same() -> None:
    limits = [Limit(rule, "most", "root.a", {}) for rule in ("one", "other")]
    with pytest.raises(ValueError, match="one and other"):
        Limits.of(limits)
