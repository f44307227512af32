"""Java's properties files, as Ambari exports a configuration: read, and changed line by line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from tuner.errors import InputError

_BLANKS = " \t\f"
# Java ends lines at these only; Python's splitlines knows many more.
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_ENTRY = re.compile(r"(?P<head>[ \t\f]*(?P<name>(?:\\.|[^ \t\f=:\\])+)[ \t\f]*[=:][ \t\f]*)(?P<value>.*)", re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_CONTINUATION = re.compile(r"\\(?:\r\n|\r|\n)[ \t\f]*")
_NAMED_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


@dataclass(frozen=True, slots=True)
class Line:
    """One logical line, as written, its line end included; name and value are None for blanks and comments."""

    raw: str
    name: str | None = None
    value: str | None = None


@dataclass(frozen=True)
class JavaProperties:
    """A properties file, never changed: every edit gives another one."""

    lines: tuple[Line, ...]

    def values(self) -> dict[str, str]:
        """The values by name; the last of several equal names wins."""
        return {line.name: line.value or "" for line in self.lines if line.name is not None}

    def render(self) -> bytes:
        """The file: byte for byte what was read but for what was changed."""
        return "".join(line.raw for line in self.lines).encode()

    def with_changes(self, changes: Mapping[str, str | None]) -> JavaProperties:
        """Another file in which these properties have these values, or are not there where the value is None."""
        current = self.values()
        last = {line.name: index for index, line in enumerate(self.lines)}
        kept: list[str] = []
        for index, line in enumerate(self.lines):
            if line.name not in changes or line.name is None:
                kept.append(line.raw)
                continue
            value = changes[line.name]
            if value is not None:
                is_changed = index == last[line.name] and value != current[line.name]
                kept.append(_with_value(line.raw, value) if is_changed else line.raw)
        line_end = "\r\n" if any(line.raw.endswith("\r\n") for line in self.lines) else "\n"
        added = [
            f"{_escaped_name(name)}={_escaped(value)}{line_end}"
            for name, value in changes.items()
            if value is not None and name not in current
        ]
        if added and kept and not kept[-1].endswith(("\n", "\r")):
            kept[-1] += line_end
        return read_java_properties("".join(kept + added).encode(), "the changed configuration")


def read_java_properties(data: bytes, where: str) -> JavaProperties:
    """Reads a properties file.

    Args:
        data: the file, in UTF-8.
        where: what to call it in messages.

    Raises:
        InputError: for other encodings, and for a line that is neither a comment nor NAME=VALUE.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{where} is not text in UTF-8: {error}", "save it as UTF-8") from error
    lines: list[Line] = []
    physical = _LINE.findall(text)
    number = 0
    while number < len(physical):
        first, raw = number + 1, physical[number]
        number += 1
        if not raw.strip(_BLANKS + "\r\n") or raw.lstrip(_BLANKS).startswith(("#", "!")):
            lines.append(Line(raw))
            continue
        while _continues(raw) and number < len(physical):
            raw += physical[number]
            number += 1
        match = _ENTRY.fullmatch(_CONTINUATION.sub("", raw.rstrip("\r\n")))
        if match is None:
            raise InputError(
                f"{where}, line {first}: {raw.strip()!r} is not NAME=VALUE", "mend the line, or comment it"
            )
        lines.append(Line(raw, _unescaped(match["name"]), _unescaped(match["value"])))
    return JavaProperties(tuple(lines))


def _continues(raw: str) -> bool:
    body = raw.rstrip("\r\n")
    return raw != body and (len(body) - len(body.rstrip("\\"))) % 2 == 1


def _with_value(raw: str, value: str) -> str:
    body = raw.rstrip("\r\n")
    match = _ENTRY.fullmatch(body)
    assert match is not None  # the line was read before
    return match["head"] + _escaped(value) + raw[len(body) :]


def _unescaped(text: str) -> str:
    def character(match: re.Match[str]) -> str:
        code = match.group(1)
        return chr(int(code[1:], 16)) if len(code) == 5 else _NAMED_ESCAPES.get(code, code)

    return _ESCAPE.sub(character, text)


def _escaped(text: str) -> str:
    text = text.replace("\\", "\\\\")
    for letter, character in _NAMED_ESCAPES.items():
        text = text.replace(character, f"\\{letter}")
    # A blank in front of a value would be taken for part of the separator.
    return f"\\{text}" if text.startswith(" ") else text


def _escaped_name(text: str) -> str:
    return re.sub(r"([=:\s#!\\])", r"\\\1", text)
