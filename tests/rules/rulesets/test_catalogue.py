from __future__ import annotations

import re

import pytest

from rules.rulesets.catalogue import RULE_SETS, render
from tests.conftest import ROOT


def test_the_document_is_in_step() -> None:
    assert (ROOT / "docs" / "rules.md").read_text() == render(), "generate docs/rules.md anew"


@pytest.mark.parametrize("scheduler", RULE_SETS)
def test_every_rule_is_named_explained_and_traced_to_hadoop(scheduler: str) -> None:
    rules = RULE_SETS[scheduler]
    assert len({rule.id for rule in rules}) == len(rules)
    for rule in rules:
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", rule.id)
        assert len(rule.summary) > 30, rule.id
        assert re.search(r"[A-Z][a-z]+[A-Z]?[a-z]*", rule.yarn), rule.id
