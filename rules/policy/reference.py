"""The policy file as a document: ``python -m rules.policy.reference > docs/policy.md``."""

from __future__ import annotations

from typing import Any

import msgspec

from rules.policy.model import TUNED, Bounds, Policy, QueuePolicy, QuietHours

__all__ = ["render"]

_HEAD = """\
# The policy file

What the queue tuner may change, and what it is to reach. YAML; every field may be left out. `--policy FILE` gives it to
`yarntune scheduler optimize` and `backtest`, and to the live commands. An unknown field, a value of the wrong kind, a
field that stands twice: an error that names the line. An example with comments is `deploy/policy.example.yaml`.

Capacity is in percent of what the parent has, in whichever way the queues' capacities are written (percentages,
weights, absolute resources); so is the Fair Scheduler's `weight`, as a part of all its siblings' weights. The bounds
of `maximum-capacity`, `minResources` and `maxResources` are in percent too: of the parent, and of the cluster.

This page is written by `python -m rules.policy.reference`.
"""
_SECTIONS = (
    ("The file", Policy),
    ("A queue (`queues.PATH`)", QueuePolicy),
    ("A range (`queues.PATH.bounds.PROPERTY`)", Bounds),
    ("Quiet hours (an item of `quiet_hours`)", QuietHours),
)


def render() -> str:
    """The document, in Markdown."""
    schemas = msgspec.json.schema_components([kind for _, kind in _SECTIONS])[1]
    parts = [_HEAD]
    for title, kind in _SECTIONS:
        parts += [f"## {title}", "", "| field | is | default | meaning |", "|---|---|---|---|"]
        schema = schemas[kind.__name__]
        parts += [_row(name, field, schema, schemas) for name, field in schema["properties"].items()]
        parts.append("")
    parts += ["## Properties", "", "What may be locked or bounded:", "", ", ".join(f"`{name}`" for name in TUNED) + "."]
    return "\n".join(parts) + "\n"


def _row(name: str, field: dict[str, Any], schema: dict[str, Any], schemas: dict[str, Any]) -> str:
    default = "required" if name in schema.get("required", ()) else f"`{_shown(field.get('default'))}`"
    words = " ".join(_descriptions(field))
    return f"| `{name}` | {_kind(field, schemas)} | {default} | {words} |"


def _descriptions(field: dict[str, Any]) -> list[str]:
    found = [field["description"]] if "description" in field else []
    return found + [words for option in field.get("anyOf", ()) for words in _descriptions(option)]


def _kind(field: dict[str, Any], schemas: dict[str, Any]) -> str:
    if "anyOf" in field:
        return " or ".join(_kind(option, schemas) for option in field["anyOf"] if option.get("type") != "null")
    if "allOf" in field:
        return _kind(field["allOf"][0], schemas)
    if "$ref" in field:
        target = schemas[field["$ref"].rpartition("/")[2]]
        if "enum" in target:
            return ", ".join(f"`{value}`" for value in sorted(target["enum"]))
        return "fields as below"
    if field["type"] == "array":
        return f"list of {_kind(field['items'], schemas)}"
    if field["type"] == "object":
        return "by name: fields as below"
    return {"number": "number", "integer": "whole number", "boolean": "true or false", "string": "text"}[field["type"]]


def _shown(value: Any) -> str:
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


if __name__ == "__main__":
    print(render(), end="")
