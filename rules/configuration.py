"""The files of the two schedulers as configurations: what they say, and every byte of them. Pure."""

from __future__ import annotations

from rules.dialects.capacity_document import read_capacity_document
from rules.dialects.fair import AllocationFile, read_allocation_file
from rules.plan import Configuration

__all__ = ["capacity_configuration", "fair_configuration"]


def capacity_configuration(data: bytes, where: str) -> Configuration:
    """A capacity-scheduler file as a configuration.

    Raises:
        InputError: it is none.
    """
    return Configuration(read_capacity_document(data, where).properties, data)


def fair_configuration(data: bytes, where: str) -> Configuration:
    """An allocation file as a configuration: ``root.a.weight`` and the like, and the file itself.

    Raises:
        InputError: it is none.
    """
    return Configuration(_properties(read_allocation_file(data, where)), data)


def _properties(allocations: AllocationFile) -> dict[str, str]:
    tree = allocations.tree
    found = {f"{queue.path}.{name}": value for queue in tree for name, value in queue.properties.items()}
    return {**dict(tree.settings), **found}
