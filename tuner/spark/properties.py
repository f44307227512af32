"""Java properties, the syntax of ``spark-defaults.conf`` and of ``--properties-file``.

Source: ``java.util.Properties.load``, and ``Utils.getPropertiesFromFile``, which trims the values.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from tuner.errors import InputError
from tuner.spark.params import PARAMS

_BLANK = " \t\f"
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_WRITTEN = {"\t": "\\t", "\n": "\\n", "\r": "\\r", "\f": "\\f", "\\": "\\\\"}
# Utils.trimExceptCRLF: everything up to the space is trimmed, but not what ends a line.
_TRIMMED = "".join(chr(code) for code in range(33) if chr(code) not in "\r\n")
_LINE_END = re.compile(r"\r\n|\r|\n")


def parse_properties(text: str, *, where: str = "the properties") -> dict[str, str]:
    r"""Reads properties as Spark does; of a repeated key the last value holds.

    Args:
        text: the file's text.
        where: what to call it in an error.

    Raises:
        InputError: for a ``\u`` without four hexadecimal digits, which Java refuses.
    """
    result: dict[str, str] = {}
    for number, line in _logical_lines(text):
        key, value = _split(line)
        try:
            result[_unescape(key)] = _unescape(value).strip(_TRIMMED)
        except ValueError:
            raise InputError(
                f"{where}, line {number}: \\u must be followed by four hexadecimal digits",
                "write a backslash as \\\\",
            ) from None
    return result


def render_properties(conf: Mapping[str, str], *, comment: str = "") -> str:
    """Writes properties, sorted by name, so that spark-submit reads the same back.

    Sizes and times of known properties get their unit where it is missing: the same bare number means MiB in one
    place and bytes in another. Blanks around a value are not kept, as Spark does not keep them either.

    Args:
        conf: property -> value.
        comment: lines to put first.
    """
    lines = [f"# {line}".rstrip() for line in _LINE_END.split(comment)] if comment else []
    for name in sorted(conf):
        spec = PARAMS.get(name)
        value = spec.with_unit(conf[name]) if spec else conf[name]
        lines.append(f"{_escape_key(name)}={_escape(value)}")
    return "".join(f"{line}\n" for line in lines)


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines without blank ones, comments, leading blanks and continuations; each with the number it starts at."""
    pending = ""
    start = 0
    for number, raw in enumerate(_LINE_END.split(text), start=1):
        line = raw.lstrip(_BLANK)
        if not pending:
            # Java asks how much it has, not whether it is continuing: a lone backslash starts nothing.
            if not line or line[0] in "#!":
                continue
            start = number
        pending += line
        if (len(line) - len(line.rstrip("\\"))) % 2:
            pending = pending[:-1]
            continue
        yield start, pending
        pending = ""
    if pending:
        yield start, pending


def _split(line: str) -> tuple[str, str]:
    """Key and value, still escaped: apart at the first ``=``, ``:`` or blank that is not escaped."""
    at = 0
    while at < len(line) and line[at] not in "=:" + _BLANK:
        at += 2 if line[at] == "\\" else 1
    key, rest = line[:at], line[at:].lstrip(_BLANK)
    if rest[:1] in ("=", ":"):
        rest = rest[1:].lstrip(_BLANK)
    return key, rest


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    parts: list[str] = []
    at = 0
    while at < len(text):
        char = text[at]
        at += 1
        if char != "\\" or at == len(text):
            parts.append("" if char == "\\" else char)
            continue
        escaped = text[at]
        at += 1
        if escaped == "u":
            parts.append(_code_unit(text[at : at + 4]))
            at += 4
        else:
            parts.append(_ESCAPES.get(escaped, escaped))
    # Two escapes may be the halves of one character.
    return "".join(parts).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _code_unit(digits: str) -> str:
    if not re.fullmatch(r"[0-9A-Fa-f]{4}", digits):
        raise ValueError(digits)
    return chr(int(digits, 16))


def _escape(text: str) -> str:
    return "".join(_WRITTEN.get(char) or _printable(char) for char in text)


def _escape_key(text: str) -> str:
    return re.sub(r"([ =:#!])", r"\\\1", _escape(text))


def _printable(char: str) -> str:
    return f"\\u{ord(char):04x}" if ord(char) < 32 or 0x7F <= ord(char) < 0xA0 else char
