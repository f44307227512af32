"""Fair Scheduler allocation files: read, look up, change, and write without touching anything else.

The queues come out as the same :class:`~rules.model.QueueTree` as the Capacity Scheduler's, with the elements of the
file as properties. Reading is lenient where the ResourceManager is (unknown elements stay in the file and are left out
of the tree); what is wrong with the values is :mod:`rules.dialects.fair_validate`'s to say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

from rules.dialects.fair_values import FILE_BY_TAG, FILE_PROPERTIES, QUEUE_BY_TAG, QUEUE_PROPERTIES, Kind
from rules.dialects.xml_document import Document, Element, decode_file, parse_document
from rules.model import ROOT, Queue, QueueTree
from tuner.errors import InputError

QUEUE_TAGS = ("queue", "pool")
PLACEMENT_TAG = "queuePlacementPolicy"
USER_TAG = "user"

# FairSchedulerUtilities.trimQueueName cuts these, which are more than XML's blanks.
_NAME_BLANKS = (
    "\t\n\x0b\x0c\r \u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029"
    "\u202f\u205f\u3000"
)


@dataclass(frozen=True)
class AllocationFile:
    """An allocation file.

    Attributes:
        document: its text, element by element.
        queue_elements: the elements of each queue by full path, in the order of the file; more than one where the file
            names a queue twice (Hadoop merges them, the last value of a property wins). Root may have none.
    """

    document: Document
    queue_elements: Mapping[str, tuple[Element, ...]]

    def render(self) -> str:
        """The text, byte for byte what was read but for what was changed."""
        return self.document.render()

    @cached_property
    def tree(self) -> QueueTree:
        """The queues that the file names, with their configured properties under the present names."""
        children: dict[str, list[str]] = {path: [] for path in self.queue_elements}
        for path in self.queue_elements:
            parent = path.rpartition(".")[0]
            if parent:
                children[parent].append(path)
        queues = {
            path: Queue(path, tuple(children[path]), properties=self._properties(path)) for path in self.queue_elements
        }
        return QueueTree(MappingProxyType(queues), self._settings())

    @cached_property
    def user_max_apps(self) -> Mapping[str, str]:
        """``maxRunningApps`` as written, by user."""
        found = {}
        for element in self.document.root.children:
            if element.tag == USER_TAG:
                for child in element.children:
                    if child.tag == "maxRunningApps":
                        found[element.attributes.get("name", "")] = child.text.strip()
        return MappingProxyType(found)

    @property
    def placement(self) -> Element | None:
        """The ``queuePlacementPolicy``; the last, where there are several."""
        found = [element for element in self.document.root.children if element.tag == PLACEMENT_TAG]
        return found[-1] if found else None

    def is_parent(self, path: str) -> bool:
        """Whether a queue has children, or says ``type="parent"``; root always is one."""
        marked = any(element.attributes.get("type") == "parent" for element in self.queue_elements[path])
        return path == ROOT or marked or bool(self.tree[path].children)

    def with_property(self, path: str, name: str, value: str | None) -> AllocationFile:
        """Another file in which a queue has this value of a property; None takes the element out.

        Args:
            path: full path of a queue that the file names.
            name: one of :data:`~rules.dialects.fair_values.QUEUE_PROPERTIES`, under its present name.
            value: as it shall stand in the file.

        Raises:
            InputError: for a queue or a property that is not there to be set.
        """
        if path not in self.queue_elements:
            raise InputError(f"the allocation file has no queue {path!r}", "queues are named by their full path")
        if name not in {prop.name for prop in QUEUE_PROPERTIES}:
            raise InputError(f"{name!r} is not a property of a Fair Scheduler queue")
        elements = self.queue_elements[path]
        if not elements:
            raise InputError(f"the allocation file has no element for {path}", f"add <queue name={path!r}> to it first")
        return self._edited(elements, QUEUE_BY_TAG[name].aliases, name, value)

    def with_setting(self, name: str, value: str | None) -> AllocationFile:
        """Another file with this value of a property of the whole file; None takes the element out.

        Raises:
            InputError: for a name that is not in :data:`~rules.dialects.fair_values.FILE_PROPERTIES`.
        """
        if name not in {prop.name for prop in FILE_PROPERTIES}:
            raise InputError(f"{name!r} is not a setting of an allocation file")
        return self._edited((self.document.root,), FILE_BY_TAG[name].aliases, name, value)

    def _edited(
        self, owners: tuple[Element, ...], aliases: tuple[str, ...], name: str, value: str | None
    ) -> AllocationFile:
        tags = (name, *aliases)
        present = [child for owner in owners for child in owner.children if child.tag in tags]
        if value is None:
            document = self.document
            for element in reversed(present):
                document = document.without(element)
            return _indexed(document)
        if not present:
            return _indexed(self.document.with_child(owners[-1], name, value))
        # The last one is the one that the ResourceManager goes by.
        exact = [element for element in present if element.tag == name] if name in FILE_BY_TAG else present
        return _indexed(self.document.with_text((exact or present)[-1], value))

    def _properties(self, path: str) -> Mapping[str, str]:
        found: dict[str, str] = {}
        for element in self.queue_elements[path]:
            for child in element.children:
                prop = QUEUE_BY_TAG.get(child.tag)
                if prop is not None:
                    found[prop.name] = child.text if prop.kind is Kind.ACL else child.text.strip()
        return MappingProxyType(found)

    def _settings(self) -> Mapping[str, str]:
        found: dict[str, str] = {}
        exact: set[str] = set()
        for child in self.document.root.children:
            prop = FILE_BY_TAG.get(child.tag)
            # An alias yields to the present name wherever it stands, but for the policy, where the last one wins.
            if prop is None or (child.tag != prop.name and prop.name in exact and prop.kind is not Kind.POLICY):
                continue
            found[prop.name] = child.text.strip()
            if child.tag == prop.name:
                exact.add(prop.name)
        return MappingProxyType(found)


def trim_queue_name(name: str) -> str:
    """A queue's name as the scheduler sees it (``FairSchedulerUtilities.trimQueueName``)."""
    return name.strip(_NAME_BLANKS)


def parse_allocations(text: str, where: str = "the allocation file") -> AllocationFile:
    """Reads an allocation file.

    Args:
        text: the XML.
        where: what to call it in messages.

    Raises:
        InputError: for what is not XML, not an allocation file, or one of Spark's own pool files; and for queue names
            that give no path, because nothing else could be said of such a file.
    """
    document = parse_document(text, where)
    root = document.root
    if root.tag != "allocations":
        raise InputError(
            f"the top element of {where} is <{root.tag}>, not <allocations>", "give it a Fair Scheduler allocation file"
        )
    pool = next((child for child in root.children if child.tag == "pool" and _has_min_share(child)), None)
    if pool is not None:
        raise InputError(
            f"{where} holds FAIR pools inside one Spark application (<minShare>, line {pool.line}), not YARN queues",
            "give it the file that yarn.scheduler.fair.allocation.file names",
        )
    return _indexed(document)


def read_allocation_file(data: bytes, where: str) -> AllocationFile:
    """Reads the bytes of an allocation file, in the encoding that they declare.

    Raises:
        InputError: as :func:`parse_allocations`, and for bytes that are not text.
    """
    return parse_allocations(decode_file(data, where), where)


def _has_min_share(pool: Element) -> bool:
    return any(child.tag == "minShare" for child in pool.children)


def _indexed(document: Document) -> AllocationFile:
    found: dict[str, list[Element]] = {ROOT: []}
    for element in document.root.children:
        if element.tag in QUEUE_TAGS:
            is_root = trim_queue_name(element.attributes.get("name", "")).lower() == ROOT
            _index(None if is_root else ROOT, element, found)
    return AllocationFile(document, MappingProxyType({path: tuple(elements) for path, elements in found.items()}))


def _index(parent: str | None, element: Element, found: dict[str, list[Element]]) -> None:
    name = trim_queue_name(element.attributes.get("name", ""))
    if not name or "." in name:
        raise InputError(
            f"the queue name {element.attributes.get('name', '')!r} in line {element.line} of the allocation file is "
            + ("empty" if not name else "a path, or has a dot in it"),
            "nest the queues instead: a name may not be empty and may not contain a dot, or the RM does not start",
        )
    path = ROOT if parent is None else f"{parent}.{name}"
    found.setdefault(path, []).append(element)
    for child in element.children:
        if child.tag in QUEUE_TAGS:
            _index(path, child, found)
