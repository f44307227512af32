"""The rules as a document: ``python -m rules.rulesets.catalogue > docs/rules.md``."""

from __future__ import annotations

from collections.abc import Sequence

from rules.engine import Rule
from rules.rulesets.capacity import RULES
from rules.rulesets.fair import FAIR_RULES

__all__ = ["RULE_SETS", "render"]

RULE_SETS: dict[str, Sequence[Rule]] = {"Capacity Scheduler": RULES, "Fair Scheduler": FAIR_RULES}
"""Every rule set, by the name of its scheduler."""


def render() -> str:
    """The document with all rules, in Markdown."""
    parts = [
        "# Rules",
        "",
        "Generated from the rule sets by `python -m rules.rulesets.catalogue`; a test holds it in step.",
        "",
        "A rule stands for one mechanism of a scheduler. It looks at a fact (of the cluster, a queue, a user) and",
        "derives a limit: a term with coefficients, which the simulation evaluates against its state. Without the rule",
        "the simulation acts as a scheduler without that mechanism. What a job waits for is put down to rules by their",
        "ids.",
    ]
    for name, rules in RULE_SETS.items():
        parts += ["", f"## {name}"]
        for rule in rules:
            parts += _render_rule(rule)
    return "\n".join(parts) + "\n"


def _render_rule(rule: Rule) -> list[str]:
    conditions = ", ".join(f"`{condition}`" for condition in rule.when) or "always"
    return [
        "",
        f"### {rule.id}",
        "",
        rule.summary,
        "",
        f"- Hadoop: `{rule.yarn}`",
        f"- Looks at: {rule.fact}; applies: {conditions}",
        f"- Gives: limit `{rule.kind}`",
    ]


if __name__ == "__main__":
    print(render(), end="")
