"""The text of an XML file, element by element, so that a change touches nothing else.

A parser that builds a tree and writes it again loses quoting, blanks inside tags, the declaration and line ends. Here
the source stays as it is: the parser only notes where each element begins and ends, and an edit replaces those bytes.
Both of Hadoop's kinds of file are read with it: configurations and the Fair Scheduler's allocation file.
Reading refuses a document type, so neither entity bombs nor external entities exist (Hadoop's own reader,
``XMLUtils.newSecureDocumentBuilderFactory``, refuses them too).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.parsers import expat  # no other parser tells byte offsets; a document type is refused below
from xml.sax.saxutils import escape  # only text is escaped, nothing is parsed

from tuner.errors import InputError

MAX_BYTES = 16 * 1024 * 1024
MAX_DEPTH = 64

_BLANKS_AND_COMMENTS = rb"(?:\s|<!--.*?-->)*"
_LEADING = re.compile(_BLANKS_AND_COMMENTS, re.DOTALL)
_TRAILING = re.compile(_BLANKS_AND_COMMENTS + rb"\Z", re.DOTALL)
_TAG_END = re.compile(rb"""(?:[^>"']|"[^"]*"|'[^']*')*>""")
_DECLARED_ENCODING = re.compile(rb"""<\?xml[^>]*?encoding\s*=\s*["']([A-Za-z0-9._-]+)["']""")
_NOT_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class Element:
    """An element and where it stands in the source.

    Attributes:
        tag: its name as written.
        attributes: names and values.
        text: its own character data, without that of its children and without comments.
        children: its child elements in order.
        line: the line of its start tag, from 1.
        start: offset in bytes of ``<``.
        end: offset behind its last ``>``.
        content: offsets of what is between its tags; None for ``<tag/>``.
    """

    tag: str
    attributes: dict[str, str]
    text: str
    children: tuple[Element, ...]
    line: int
    start: int
    end: int
    content: tuple[int, int] | None

    def walk(self) -> Iterator[Element]:
        """This element and all below it, in the order of the file."""
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass(frozen=True)
class Document:
    """A parsed text. It never changes: every edit gives another document."""

    source: bytes
    root: Element

    def render(self) -> str:
        """The text, byte for byte what was read but for what was edited."""
        return self.source.decode("utf-8")

    def with_text(self, element: Element, value: str) -> Document:
        """Another document in which this element has this value; blanks and comments around the old one stay."""
        new = escape(_checked(value)).encode("utf-8")
        if element.content is None:
            opening = self.source[element.start : element.end].rstrip(b">").rstrip(b"/").rstrip()
            return self._spliced(element.start, element.end, opening + b">" + new + f"</{element.tag}>".encode())
        begin, end = element.content
        raw = self.source[begin:end]
        leading = _LEADING.match(raw)
        first = leading.end() if leading else 0
        trailing = _TRAILING.search(raw, first)
        last = trailing.start() if trailing else len(raw)
        return self._spliced(begin + first, begin + max(first, last), new)

    def with_child(self, parent: Element, tag: str, value: str, attributes: dict[str, str] | None = None) -> Document:
        """Another document in which a new element is the first child of this one, indented as its siblings are."""
        names = "".join(
            f' {name}="{escape(_checked(text), {chr(34): "&quot;"})}"' for name, text in (attributes or {}).items()
        )
        new = f"<{tag}{names}>{escape(_checked(value))}</{tag}>".encode()
        outer = self._indent_of(parent.start)
        inner = self._indent_of(parent.children[0].start) if parent.children else outer + b"  "
        if parent.content is None:
            opening = self.source[parent.start : parent.end].rstrip(b">").rstrip(b"/").rstrip()
            body = b">\n" + inner + new + b"\n" + outer + f"</{parent.tag}>".encode()
            return self._spliced(parent.start, parent.end, opening + body)
        at = parent.content[0]
        closing = b"" if parent.children or parent.text.strip() else b"\n" + outer
        end = at if closing == b"" else parent.content[0] + len(self._blank_content(parent))
        return self._spliced(at, end, b"\n" + inner + new + closing)

    def without(self, element: Element) -> Document:
        """Another document without this element and the blanks in front of it."""
        start = element.start
        while start > 0 and self.source[start - 1 : start] in (b" ", b"\t"):
            start -= 1
        if start > 0 and self.source[start - 1 : start] == b"\n":
            start -= 2 if self.source[start - 2 : start] == b"\r\n" else 1
        return self._spliced(start, element.end, b"")

    def _blank_content(self, parent: Element) -> bytes:
        begin, end = parent.content or (0, 0)
        raw = self.source[begin:end]
        return raw if not raw.strip() else b""

    def _indent_of(self, offset: int) -> bytes:
        line_start = self.source.rfind(b"\n", 0, offset) + 1
        before = self.source[line_start:offset]
        return before[: len(before) - len(before.lstrip())]

    def _spliced(self, start: int, end: int, new: bytes) -> Document:
        return parse_document((self.source[:start] + new + self.source[end:]).decode("utf-8"))


def _checked(value: str) -> str:
    bad = _NOT_XML.search(value)
    if bad:
        raise InputError(f"the character {bad.group()!r} cannot stand in an XML file")
    return value


def decode_file(data: bytes, where: str) -> str:
    """The text of an XML file in the encoding that its byte order mark or its declaration names, else UTF-8.

    Raises:
        InputError: for an encoding that is unknown, or that the bytes are not in.
    """
    declared = _DECLARED_ENCODING.match(data[:200])
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16"
    else:
        encoding = declared.group(1).decode("ascii") if declared else "utf-8"
        if encoding.lower().replace("-", "") == "utf8":
            encoding = "utf-8-sig"
    try:
        return data.decode(encoding)
    except (UnicodeDecodeError, LookupError) as error:
        raise InputError(f"{where} is not text in {encoding}: {error}", "save it as UTF-8") from error


def parse_document(text: str, where: str = "the file") -> Document:
    """Parses a text; comments, order, blanks and unknown elements all stay in it.

    Args:
        text: the XML.
        where: what to call it in messages.

    Raises:
        InputError: for what is not well-formed, has a document type, or is absurdly large or deep.
    """
    source = text.encode("utf-8", errors="surrogatepass")
    if len(source) > MAX_BYTES:
        raise InputError(f"{where} has {len(source)} bytes, more than any configuration ({MAX_BYTES})")
    builder = _Builder(source, where)
    try:
        builder.parser.Parse(source, True)
    except expat.ExpatError as error:
        raise InputError(
            f"{where} is not well-formed XML: {expat.ErrorString(error.code)} in line {error.lineno}",
            "the ResourceManager cannot read it either; mend the XML at that place",
        ) from error
    if builder.root is None:
        raise InputError(f"{where} has no element")
    return Document(source, builder.root)


@dataclass
class _Open:
    tag: str
    attributes: dict[str, str]
    line: int
    start: int
    text: list[str] = field(default_factory=list)
    children: list[Element] = field(default_factory=list)


class _Builder:
    """Receives the parser's events and notes the offsets."""

    def __init__(self, source: bytes, where: str) -> None:
        self.source = source
        self.where = where
        self.root: Element | None = None
        self.stack: list[_Open] = []
        # The text was decoded before, so what the declaration says of the encoding no longer holds.
        self.parser = expat.ParserCreate("utf-8")
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._data
        self.parser.StartDoctypeDeclHandler = self._refuse_doctype

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        if len(self.stack) >= MAX_DEPTH:
            raise InputError(
                f"{self.where} nests elements more than {MAX_DEPTH} deep, line {self.parser.CurrentLineNumber}"
            )
        self.stack.append(_Open(tag, attributes, self.parser.CurrentLineNumber, self.parser.CurrentByteIndex))

    def _data(self, data: str) -> None:
        self.stack[-1].text.append(data)

    def _end(self, _tag: str) -> None:
        opened = self.stack.pop()
        at = self.parser.CurrentByteIndex
        opening_end = self._tag_end(opened.start)
        if at <= opened.start or self.source[opening_end - 2 : opening_end] == b"/>":
            end, content = opening_end, None
        else:
            end, content = self._tag_end(at), (opening_end, at)
        element = Element(
            opened.tag,
            opened.attributes,
            "".join(opened.text),
            tuple(opened.children),
            opened.line,
            opened.start,
            end,
            content,
        )
        if self.stack:
            self.stack[-1].children.append(element)
        else:
            self.root = element

    def _tag_end(self, start: int) -> int:
        match = _TAG_END.match(self.source, start)
        assert match is not None  # the parser has accepted the tag
        return match.end()

    def _refuse_doctype(self, *_: object) -> None:
        raise InputError(
            f"{self.where} has a document type (<!DOCTYPE ...>), line {self.parser.CurrentLineNumber}",
            "take it out: Hadoop's configurations have none, and entities in it can read files or exhaust memory",
        )
