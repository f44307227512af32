"""Case files that what-ifs are asked about: those in the data folder, which an operator may add to."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tuner.errors import InputError
from tuner.files import write_text_atomically
from workloads.trace import Case, case_to_json, parse_case, read_case

LARGEST_BYTES = 32 * 1024**2
MOST_CHANGES = 200


class Cases:
    """Case files by name.

    Args:
        folder: ``cases`` in the data folder; what is put there by hand is found, too.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def names(self) -> list[str]:
        """The names, in the alphabet's order."""
        return sorted(path.stem for path in self._folder.glob("*.json"))

    def get(self, name: str) -> Case:
        """One case.

        Raises:
            InputError: there is none of that name, or it is not valid.
        """
        if name not in self.names():
            raise InputError(f"there is no case {name!r}", "upload one, or put a case file into the folder `cases`")
        return read_case(self._folder / f"{name}.json")

    def add(self, name: str, data: bytes) -> None:
        """Keeps a case.

        Raises:
            InputError: the name is taken or none, or the data is no valid case.
        """
        if not name or not all(each.isalnum() or each in "-_" for each in name) or len(name) > 80:
            raise InputError(f"{name!r} cannot be a case's name", "use letters, digits, - and _")
        if name in self.names():
            raise InputError(f"there is a case {name!r} already", "choose another name")
        try:
            value = json.loads(data)
        except ValueError as error:
            raise InputError(f"the case is not JSON: {error}", "a case file is one JSON object") from None
        case = parse_case(value)
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_text_atomically(self._folder / f"{name}.json", json.dumps(case_to_json(case)))


def properties_of(case: Case) -> dict[str, str]:
    """What a what-if may change: the scheduler's properties that the case sets."""
    return {name: value for name, value in sorted(case.conf.items()) if value is not None}


def with_changes(case: Case, changes: Mapping[str, str], allocations: str | None) -> Case:
    """The case under another configuration; an empty value unsets a property.

    Raises:
        InputError: there are too many changes, or one has no name.
    """
    if len(changes) > MOST_CHANGES:
        raise InputError(f"{len(changes)} changes are more than {MOST_CHANGES}")
    for name in changes:
        if not name.startswith("yarn."):
            raise InputError(f"{name!r} is no property of YARN", "write its full name, yarn.scheduler.capacity....")
    conf: dict[str, str | None] = {**case.conf, **{name: value or None for name, value in changes.items()}}
    return replace(case, conf=conf, allocations=case.allocations if allocations is None else allocations)


def question(before: Case, after: Case) -> dict[str, Any]:
    """What the estimator is asked."""
    return {"before": case_to_json(before), "after": case_to_json(after)}
