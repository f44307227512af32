"""The Fair Scheduler: its allocation file, which the ResourceManager reads again by itself.

``AllocationFileLoaderService`` looks every 10 s and reads a file that has not changed for 5 s. A file that it cannot
read is told in its log alone and the old one stays in force, so whether a new one is in force is seen by the queues.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

from rules.backends import WriteAnswer
from rules.backends.checks import error, never_done, present_errors_forgiven
from rules.backends.fair_shown import unseeable_fair, unseen_fair
from rules.backends.files import read_file, replace_file
from rules.configuration import fair_configuration
from rules.dialects.fair import read_allocation_file
from rules.dialects.fair_site import FairSite, read_site
from rules.dialects.fair_validate import validate
from rules.live.translate import differences as not_in_force
from rules.model import Finding, PropertyChange, Resources
from rules.plan import BackEndKind, Configuration
from tuner.errors import InputError
from tuner.yarn.client import ResourceManagerClient
from tuner.yarn.model import Applied, Rejected

__all__ = ["RELOAD_S", "FairFile"]


RELOAD_S = 16.0
"""By then a changed file was read: it is looked at every 10 s, and read once it has been left alone for 5 s."""


class FairFile:
    """Reads and replaces the allocation file.

    Args:
        rm: the ResourceManager.
        path: the file.
        site: yarn-site's properties.
    """

    kind = BackEndKind.FAIR_FILE
    needs_activation = False

    def __init__(self, rm: ResourceManagerClient, path: Path, site: Mapping[str, str]) -> None:
        self._rm = rm
        self._path = path
        self._site = site

    @property
    def where(self) -> str:
        """The file's path."""
        return str(self._path)

    def read(self) -> Configuration:
        """The file.

        Raises:
            InputError: it cannot be read, or is no allocation file.
        """
        return fair_configuration(read_file(self._path), str(self._path))

    def check(self, current: Configuration, proposed: Configuration) -> tuple[Finding, ...]:
        """Our own checks; the ResourceManager has none for a file.

        Raises:
            YarnError: the ResourceManager does not say what the cluster has.
        """
        total = self._rm.metrics().total
        try:
            before = read_allocation_file(current.data or b"", str(self._path))
            after = read_allocation_file(proposed.data or b"", "the proposed allocation file")
        except InputError as problem:
            return (error("fair-file", problem.message),)
        site = self._fair_site()
        cluster = Resources(total.memory_mib, total.vcores)
        found = present_errors_forgiven(validate(after, site, cluster), validate(before, site, cluster))
        stale = [
            error("file-not-in-force", note) for note in not_in_force(before.tree, self._rm.scheduler(), self.where)
        ]
        return (*found, *never_done(before.tree, after.tree), *stale)

    def _fair_site(self) -> FairSite | None:
        try:
            return read_site(self._site)
        except InputError:
            # yarn-site is not ours to judge here; the ResourceManager runs with it.
            return None

    def write(self, current: Configuration, proposed: Configuration) -> WriteAnswer:
        """Replaces the file, unless it is another one by now."""
        if current.data is None or proposed.data is None:
            return Rejected("the plan has no allocation file", "", 0)
        return replace_file(self._path, current.data, proposed.data)

    def activate(self) -> WriteAnswer:
        """Nothing is to be done: the ResourceManager looks by itself."""
        return Applied()

    def unseen(self, wanted: Configuration, before: Configuration) -> tuple[PropertyChange, ...]:
        """What the queues do not show yet; what they never show counts as unseen until the file must have been read.

        Raises:
            YarnError: the ResourceManager cannot be asked.
        """
        found = unseen_fair(wanted, before, self._rm.scheduler(), self._rm.metrics().total)
        hidden = unseeable_fair(wanted, before)
        if found or not hidden or self._age_s() >= RELOAD_S:
            return found
        return tuple(PropertyChange(name, wanted.properties.get(name), "not yet read by now") for name in hidden)

    def _age_s(self) -> float:
        try:
            return time.time() - self._path.stat().st_mtime
        except OSError:
            return 0.0
