"""A file with the Capacity Scheduler's configuration: XML or properties, read and changed in place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rules.dialects.capacity import parse
from rules.dialects.capacity_properties import PREFIX
from rules.dialects.hadoop_xml import HadoopXml, read_hadoop_xml, substitute
from rules.dialects.java_properties import JavaProperties, read_java_properties
from rules.model import QueueTree
from tuner.errors import InputError


@dataclass(frozen=True)
class CapacityDocument:
    """A configuration file, never changed: every edit gives another one."""

    source: HadoopXml | JavaProperties

    @property
    def properties(self) -> dict[str, str]:
        """The values by full name, with variables put in (``${name}``); an empty value counts as not set."""
        return substitute({name: value for name, value in self.source.values().items() if value})

    @property
    def includes(self) -> tuple[str, ...]:
        """Files that this one includes and that are not read."""
        return self.source.includes if isinstance(self.source, HadoopXml) else ()

    def tree(self) -> QueueTree:
        """The queues.

        Raises:
            InputError: if a capacity or a state cannot be read.
        """
        return parse(self.properties)

    def with_changes(self, changes: Mapping[str, str | None]) -> CapacityDocument:
        """Another document in which these properties have these values; None takes one out.

        Nothing else differs. A property whose value with variables put in is already the wanted one stays as it is.

        Raises:
            InputError: if a value cannot stand in such a file.
        """
        present = self.properties
        needed = {name: value for name, value in changes.items() if value is None or present.get(name) != value}
        return CapacityDocument(self.source.with_changes(needed))

    def render(self) -> bytes:
        """The file: byte for byte what was read but for what was changed."""
        return self.source.render()


def read_capacity_document(data: bytes, where: str = "the capacity scheduler's configuration") -> CapacityDocument:
    """Reads a capacity-scheduler file; XML if it begins as XML does, else a properties file.

    Args:
        data: the file.
        where: what to call it in messages.

    Raises:
        InputError: if it is neither, is a template, is another scheduler's, or has no property of this scheduler.
    """
    beginning = data.lstrip(b"\xef\xbb\xbf\xff\xfe \t\r\n\x00")
    is_xml = beginning.startswith(b"<")
    document = CapacityDocument(read_hadoop_xml(data, where) if is_xml else read_java_properties(data, where))
    if not any(name.startswith(PREFIX) for name in document.source.values()):
        raise InputError(
            f"{where} has no property of the Capacity Scheduler ({PREFIX}...)",
            "give it capacity-scheduler.xml, or the same as NAME=VALUE lines",
        )
    return document
