"""The Capacity Scheduler with its file: ``capacity-scheduler.xml`` is replaced, then the queues are refreshed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from rules.backends import WriteAnswer
from rules.backends.capacity_checks import check_capacity_change
from rules.backends.capacity_shown import unseen_capacity
from rules.backends.checks import error, warning
from rules.backends.files import read_file, replace_file
from rules.backends.refresh import Refresh
from rules.configuration import capacity_configuration
from rules.dialects.capacity import read as read_queues
from rules.dialects.capacity_properties import HadoopVersion
from rules.live.translate import differences as not_in_force
from rules.model import Finding, PropertyChange, Resources
from rules.plan import BackEndKind, Configuration
from tuner.errors import InputError
from tuner.yarn.client import ResourceManagerClient
from tuner.yarn.model import Rejected

__all__ = ["CapacityFile", "managed_elsewhere"]

_MANAGERS = re.compile(
    rb"ansible[ _-]managed|managed by (ansible|puppet|chef|salt|ambari|cloudera|terraform)|do not edit", re.IGNORECASE
)


def managed_elsewhere(data: bytes) -> str | None:
    """The words by which a file says that a configuration management writes it; None where it does not."""
    found = _MANAGERS.search(data)
    return found.group().decode("ascii") if found else None


class CapacityFile:
    """Reads and replaces the file.

    Args:
        rm: the ResourceManager.
        path: the file.
        refresh: lets the ResourceManager read it; None where there is no way to.
        site: yarn-site's properties, which some checks look at.
        version: of Hadoop.
        managers: how many ResourceManagers there are; each has a file of its own.
    """

    kind = BackEndKind.CAPACITY_FILE
    needs_activation = True

    def __init__(
        self,
        rm: ResourceManagerClient,
        path: Path,
        refresh: Refresh | None,
        *,
        site: Mapping[str, str],
        version: HadoopVersion,
        managers: int = 1,
    ) -> None:
        self._rm = rm
        self._path = path
        self._refresh = refresh
        self._site = site
        self._version = version
        self._managers = managers

    @property
    def where(self) -> str:
        """The file's path."""
        return str(self._path)

    def read(self) -> Configuration:
        """The file.

        Raises:
            InputError: it cannot be read, or is not the Capacity Scheduler's.
        """
        return capacity_configuration(read_file(self._path), self.where)

    def check(self, current: Configuration, proposed: Configuration) -> tuple[Finding, ...]:
        """Our own checks; the ResourceManager checks a file when the queues are refreshed, not before.

        Raises:
            YarnError: the ResourceManager does not say what the cluster has.
        """
        total = self._rm.metrics().total
        found = check_capacity_change(
            current,
            proposed,
            site=self._site,
            version=self._version,
            cluster_total=Resources(total.memory_mib, total.vcores),
        )
        return (*found, *self._about_the_file(current))

    def _about_the_file(self, current: Configuration) -> tuple[Finding, ...]:
        found = []
        if self._refresh is None:
            found.append(
                error(
                    "no-rmadmin",
                    "the queues cannot be refreshed from here: put Hadoop's yarn command on PATH, or set HADOOP_HOME, "
                    "and set HADOOP_CONF_DIR",
                )
            )
        try:
            tree = read_queues(current.properties).tree
            found += [error("file-not-in-force", note) for note in not_in_force(tree, self._rm.scheduler(), self.where)]
        except InputError as problem:
            found.append(error("unreadable-value", problem.message))
        if self._managers > 1:
            found.append(
                warning(
                    "file-on-every-rm",
                    f"there are {self._managers} ResourceManagers and each reads its own {self._path.name}: put the "
                    "same file on all of them, or a failover brings the old queues back, or fails (YARN-11833)",
                )
            )
        words = managed_elsewhere(current.data or b"")
        if words is not None:
            found.append(
                warning(
                    "file-managed-elsewhere",
                    f"{self.where} says {words!r}: what writes it will undo this change; make it there too",
                )
            )
        return tuple(found)

    def write(self, current: Configuration, proposed: Configuration) -> WriteAnswer:
        """Replaces the file, unless it is another one by now; in force only once it is activated."""
        if current.data is None or proposed.data is None:
            return Rejected("the plan has no file", "", 0)
        return replace_file(self._path, current.data, proposed.data)

    def activate(self) -> WriteAnswer:
        """Refreshes the queues."""
        if self._refresh is None:
            return Rejected("the queues cannot be refreshed from here", "put Hadoop's yarn command on PATH", 0)
        return self._refresh()

    def unseen(self, wanted: Configuration, before: Configuration) -> tuple[PropertyChange, ...]:
        """What the queues do not show.

        Raises:
            YarnError: the ResourceManager cannot be asked.
        """
        return unseen_capacity(wanted, before, self._rm.scheduler())
