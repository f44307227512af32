"""Reads a policy file: YAML, checked against the types of :mod:`rules.policy.model`; errors name line and key."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import yaml

from rules.policy.model import TUNED, Bounds, Policy, QueuePolicy
from tuner.errors import InputError

__all__ = ["load_policy", "parse_policy"]

_HINT = "the fields are in docs/policy.md"


class _Loader(yaml.SafeLoader):
    """YAML 1.2's plain values: in 1.1, which PyYAML reads, ``off`` is false and ``22:00`` is 1320."""


_Loader.yaml_implicit_resolvers = {}
for _tag, _pattern, _first in (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("int", r"[-+]?[0-9]+", "-+0123456789"),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", "-+.0123456789"),
    ("null", r"~|null|Null|NULL|", "~nN\0"),
):
    _firsts = [*_first.replace("\0", ""), *([""] if "\0" in _first else [])]
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"^(?:{_pattern})$"), _firsts)


def load_policy(path: Path) -> Policy:
    """Reads and checks a policy file.

    Raises:
        InputError: the file cannot be read, is not YAML, or says something that no policy can say; with the line.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot read the policy file {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"the policy file {path} is not UTF-8: {error.reason}") from error
    return parse_policy(text, str(path))


def parse_policy(text: str, where: str = "the policy") -> Policy:
    """Reads and checks the text of a policy file.

    Args:
        text: YAML; an empty text is the default policy.
        where: what to call it in messages.

    Raises:
        InputError: as :func:`load_policy`.
    """
    try:
        node = yaml.compose(text, Loader=_Loader)
        _check_keys(node, where)
        value = yaml.load(text, Loader=_Loader)  # noqa: S506 - a SafeLoader
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise InputError(f"{where}, line {line}: not YAML: {error.problem}", _HINT) from error
    except yaml.YAMLError as error:
        raise InputError(f"{where}: not YAML: {error}", _HINT) from error
    if value is None:
        return Policy()
    if not isinstance(value, dict):
        raise InputError(f"{where}, line 1: expected fields and values, got {type(value).__name__}", _HINT)
    for key, part in _parts(value):
        kind: Any = Policy if not key else QueuePolicy if len(key) == 2 else Bounds
        try:
            msgspec.convert(part, kind)
        except msgspec.ValidationError as error:
            raise _as_input_error(error, key, node, where) from error
    policy = msgspec.convert(value, Policy)
    _check_names(policy, node, where)
    return policy


def _parts(value: dict[Any, Any]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The file's objects, the innermost first, so that an error is found where its own name is still known."""
    queues = value.get("queues")
    if isinstance(queues, dict):
        for name, queue in queues.items():
            bounds = queue.get("bounds") if isinstance(queue, dict) else None
            if isinstance(bounds, dict):
                yield from ((("queues", str(name), "bounds", str(key)), part) for key, part in bounds.items())
            yield ("queues", str(name)), queue
    yield (), value


def _as_input_error(
    error: msgspec.ValidationError, key: tuple[str, ...], node: yaml.Node | None, where: str
) -> InputError:
    words, _, place = str(error).partition(" - at `$")
    own = [part for part in place.rstrip("`").split(".") if part]
    field = own[0].partition("[")[0] if own else _quoted(words)
    full = [*key, *([field] if field else [])]
    return InputError(f"{where}, line {_line(node, full)}: {'.'.join(full) or 'policy'}: {words}", _HINT)


def _quoted(words: str) -> str:
    """The field that msgspec names in words rather than as a place: one that is unknown or missing."""
    return words.split("`")[1] if "field" in words and words.count("`") >= 2 else ""


def _check_keys(node: yaml.Node | None, where: str) -> None:
    """A key that stands twice would silently win over the first."""
    if isinstance(node, yaml.MappingNode):
        seen: dict[str, int] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            first = seen.setdefault(str(key.value), line)
            if first != line:
                raise InputError(f"{where}, line {line}: {key.value} stands twice, first in line {first}", _HINT)
            _check_keys(value, where)
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            _check_keys(item, where)


def _check_names(policy: Policy, node: yaml.Node | None, where: str) -> None:
    """What types cannot say: known properties, and ranges that are not empty."""
    for name, queue in policy.queues.items():
        locked = queue.locked if isinstance(queue.locked, tuple) else ()
        for prop in (*locked, *queue.bounds):
            if prop not in TUNED:
                line = _line(node, ["queues", name, "bounds" if prop in queue.bounds else "locked", prop])
                raise InputError(
                    f"{where}, line {line}: queues.{name}: {prop} is not a property that is tuned",
                    f"one of {', '.join(TUNED)}",
                )
        for prop, bounds in queue.bounds.items():
            if bounds.least is not None and bounds.most is not None and bounds.least > bounds.most:
                line = _line(node, ["queues", name, "bounds", prop])
                raise InputError(
                    f"{where}, line {line}: queues.{name}.bounds.{prop}: least {bounds.least:g} is above "
                    f"most {bounds.most:g}",
                    _HINT,
                )


def _line(node: yaml.Node | None, keys: list[str]) -> int:
    """The line of the deepest of these keys that is there."""
    line = 1
    for wanted in keys:
        if not isinstance(node, yaml.MappingNode):
            break
        found = next(((key, value) for key, value in node.value if str(key.value) == wanted), None)
        if found is None:
            break
        line, node = found[0].start_mark.line + 1, found[1]
    return line
