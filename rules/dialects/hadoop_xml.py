"""Hadoop's configuration files: ``<configuration><property><name/><value/></property>...``, read and changed in place.

What counts is what ``org.apache.hadoop.conf.Configuration`` makes of a file: names are trimmed and values are not, an
empty value is none, the last of several equal names wins unless an earlier one is final, ``${name}`` stands for another
property. A change replaces the bytes of that property alone; comments, descriptions, order, line ends and unknown
elements stay.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from xml.sax.saxutils import escape

from rules.dialects.xml_document import Document, Element, parse_document
from tuner.errors import InputError

MAX_SUBSTITUTIONS = 20
"""How deep variables may refer to variables (``Configuration.MAX_SUBST``)."""

_VARIABLE = re.compile(r"\$\{([^}$\s]+)\}")
_DECLARED_ENCODING = re.compile(rb"""<\?xml[^>]*?encoding\s*=\s*["']([A-Za-z0-9._-]+)["']""")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_BYTE_ORDER_MARKS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
_TEMPLATE = re.compile(r"\{\{|\{%|<%|<#")


@dataclass(frozen=True, slots=True)
class Encoded:
    """How a file's text is stored: what stands before it (a byte order mark or nothing), and its encoding."""

    prefix: bytes
    encoding: str

    def encode(self, text: str) -> bytes:
        """The bytes of a text; characters that the encoding lacks become character references."""
        return self.prefix + text.encode(self.encoding, errors="xmlcharrefreplace")


@dataclass(frozen=True, slots=True)
class HadoopProperty:
    """One ``<property>``: trimmed name, value as written (None where it is empty or missing), whether it is final."""

    name: str
    value: str | None
    final: bool
    description: str
    element: Element


@dataclass(frozen=True)
class HadoopXml:
    """A configuration file, never changed: every edit gives another one.

    Args:
        document: its text and where its elements stand.
        encoded: how the text is stored.
        properties: in the order of the file, repeated names included.
        includes: the files that it includes (``xi:include``), which are not read.
    """

    document: Document
    encoded: Encoded
    properties: tuple[HadoopProperty, ...]
    includes: tuple[str, ...]

    def values(self) -> dict[str, str]:
        """The values as written, by name, of those occurrences that Hadoop would use."""
        return {name: found.value for name, found in self._effective().items() if found.value is not None}

    def render(self) -> bytes:
        """The file: byte for byte what was read but for what was changed."""
        return self.encoded.encode(self.document.render())

    def with_changes(self, changes: Mapping[str, str | None]) -> HadoopXml:
        """Another file in which these properties have these values, or are not there where the value is None.

        A changed value loses the blanks around it (the scheduler would take them for part of it) and keeps comments. An
        empty value is the same as none to Hadoop, but the element stays.

        Raises:
            InputError: if a value cannot stand in XML.
        """
        effective = self._effective()
        splices: list[tuple[int, int, str]] = []
        added: list[tuple[str, str]] = []
        for name, value in changes.items():
            if value is None:
                splices += [(*self._with_blanks(p.element), "") for p in self.properties if p.name == name]
            elif name in effective:
                if effective[name].value != value:
                    splices.append(self._set_value(effective[name].element, value))
            else:
                added.append((name, value))
        if added:
            splices.append(self._append(added))
        if not splices:
            return self
        return _from_text(self._spliced(splices), self.encoded, "the changed configuration")

    def _effective(self) -> dict[str, HadoopProperty]:
        found: dict[str, HadoopProperty] = {}
        for candidate in self.properties:
            former = found.get(candidate.name)
            if former is None or former.value is None or (candidate.value is not None and not former.final):
                found[candidate.name] = candidate
        return found

    def _spliced(self, splices: list[tuple[int, int, str]]) -> str:
        source = self.document.source
        for start, end, new in sorted(splices, reverse=True):
            source = source[:start] + new.encode() + source[end:]
        return source.decode()

    def _set_value(self, element: Element, value: str) -> tuple[int, int, str]:
        if "value" in element.attributes:
            return element.start, element.end, self._rewritten_attributes(element, value)
        child = next((child for child in element.children if child.tag == "value"), None)
        if child is None:
            name = next(child for child in element.children if child.tag == "name")
            return name.end, name.end, f"<value>{_text(value)}</value>"
        if child.content is None:
            return child.start, child.end, f"<value>{_text(value)}</value>"
        start, end = child.content
        comments = "".join(_COMMENT.findall(self.document.source[start:end].decode()))
        return start, end, comments + _text(value)

    def _rewritten_attributes(self, element: Element, value: str) -> str:
        raw = self.document.source[element.start : element.end].decode()
        quoted = escape(value, {'"': "&quot;"}).replace("\\", "\\\\")
        return re.sub(r"""(\svalue\s*=\s*)("[^"]*"|'[^']*')""", rf'\g<1>"{quoted}"', raw, count=1)

    def _with_blanks(self, element: Element) -> tuple[int, int]:
        """Where an element stands, with the blanks in front of it and one line end."""
        source, start = self.document.source, element.start
        while start > 0 and source[start - 1 : start] in (b" ", b"\t"):
            start -= 1
        if source[start - 1 : start] == b"\n":
            start -= 2 if source[start - 2 : start] == b"\r\n" else 1
        return start, element.end

    def _append(self, added: list[tuple[str, str]]) -> tuple[int, int, str]:
        """New properties behind the last one, indented as that one is."""
        source, root = self.document.source, self.document.root
        line_end = "\r\n" if b"\r\n" in source else "\n"
        outer = "  "
        if root.children:
            anchor = root.children[-1].start
            before = source[source.rfind(b"\n", 0, anchor) + 1 : anchor].decode()
            outer = before if not before.strip() else outer
        inner = outer + ("\t" if outer.startswith("\t") else "  ")
        text = "".join(
            f"{line_end}{outer}<property>"
            f"{line_end}{inner}<name>{_text(name)}</name>"
            f"{line_end}{inner}<value>{_text(value)}</value>"
            f"{line_end}{outer}</property>"
            for name, value in added
        )
        if root.content is None:
            return root.start, root.end, f"<{root.tag}>{text}{line_end}</{root.tag}>"
        at = root.children[-1].end if root.children else root.content[0]
        follows = source[at : root.content[1]]
        return at, at, text if b"\n" in follows else text + line_end


def read_hadoop_xml(data: bytes, where: str) -> HadoopXml:
    """Reads a configuration file.

    Args:
        data: the file.
        where: what to call it in messages.

    Raises:
        InputError: for what is not well-formed, not Hadoop's configuration, a template, or has a document type (no
            entity is ever expanded, so neither entity bombs nor external entities exist).
    """
    encoded, text = _decode(data, where)
    return _from_text(text, encoded, where)


def _decode(data: bytes, where: str) -> tuple[Encoded, str]:
    prefix, encoding = next((mark for mark in _BYTE_ORDER_MARKS if data.startswith(mark[0])), (b"", "utf-8"))
    declared = _DECLARED_ENCODING.match(data[:200])
    if not prefix and declared:
        encoding = declared.group(1).decode("ascii")
    try:
        return Encoded(prefix, encoding), data[len(prefix) :].decode(encoding)
    except (UnicodeDecodeError, LookupError) as error:
        raise InputError(f"{where} is not text in {encoding}: {error}", "save it as UTF-8") from error


def _from_text(text: str, encoded: Encoded, where: str) -> HadoopXml:
    document = parse_document(text, where)
    root = document.root
    if root.tag != "configuration":
        kinds = {"allocations": "a Fair Scheduler's allocation file"}
        raise InputError(
            f"{where} is {kinds.get(root.tag, f'XML with the root element <{root.tag}>')}, not a Hadoop configuration",
            "give it a file with <configuration> as its root element, such as capacity-scheduler.xml",
        )
    properties = tuple(_property(element, where) for element in root.walk() if element.tag == "property")
    includes = tuple(
        element.attributes.get("href", "?") for element in root.walk() if element.tag.rpartition(":")[2] == "include"
    )
    if not properties and _TEMPLATE.search(root.text):
        raise _template(where, root)
    return HadoopXml(document, encoded, properties, includes)


def _property(element: Element, where: str) -> HadoopProperty:
    fields = dict(element.attributes)
    for child in element.children:
        fields[child.tag] = child.text
    name = fields.get("name", "").strip()
    if _TEMPLATE.search(name) or _TEMPLATE.search(fields.get("value") or ""):
        raise _template(where, element)
    if not name:
        raise InputError(f"{where} has a <property> without a <name>, line {element.line}", "give it one, or remove it")
    # Hadoop compares the word as it stands, and takes an empty value for none.
    final = fields.get("final", "") == "true"
    return HadoopProperty(name, fields.get("value") or None, final, fields.get("description", "").strip(), element)


def _template(where: str, element: Element) -> InputError:
    return InputError(
        f"{where} is a template, not a configuration: it has placeholders near line {element.line}",
        "render it first (Ansible, Jinja, FreeMarker), and give the result",
    )


def _text(value: str) -> str:
    # A parser turns a carriage return that stands for itself into a line feed.
    return escape(value, {"\r": "&#13;"})


def substitute(values: Mapping[str, str]) -> dict[str, str]:
    """Puts other properties' values in for ``${name}``, as ``Configuration.get`` does.

    What refers to something that is not among the values (``${env.HOME}``, Java's system properties), to itself, or
    on and on, stays as it is written.
    """
    return {name: _substituted(text, values) for name, text in values.items()}


def _substituted(written: str, values: Mapping[str, str]) -> str:
    text = written
    for _ in range(MAX_SUBSTITUTIONS):
        match = _VARIABLE.search(text)
        if match is None:
            return text
        if match.group(1) not in values:
            return text
        text = text[: match.start()] + values[match.group(1)] + text[match.end() :]
        if match.group() in values[match.group(1)]:
            return written
    return written
