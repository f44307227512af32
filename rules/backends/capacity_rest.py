"""The Capacity Scheduler with a mutable store: everything over ``scheduler-conf``."""

from __future__ import annotations

from collections.abc import Mapping

from rules.backends import WriteAnswer
from rules.backends.capacity_checks import check_capacity_change
from rules.backends.capacity_shown import unseen_capacity
from rules.backends.checks import error, warning
from rules.dialects.capacity_properties import HadoopVersion
from rules.dialects.capacity_update import update_between
from rules.model import Finding, PropertyChange, Resources
from rules.plan import BackEndKind, Configuration
from tuner.errors import YarnError
from tuner.yarn.client import ResourceManagerClient
from tuner.yarn.model import Applied, NotMutable, Rejected, Unsupported

__all__ = ["CapacityRest"]

_READS = 5


class CapacityRest:
    """Reads and writes over REST; what was written is in force at once.

    Args:
        rm: the ResourceManager.
        site: yarn-site's properties, which some checks look at.
        version: of Hadoop.
    """

    kind = BackEndKind.CAPACITY_REST
    needs_activation = False

    def __init__(self, rm: ResourceManagerClient, site: Mapping[str, str], version: HadoopVersion) -> None:
        self._rm = rm
        self._site = site
        self._version = version

    def read(self) -> Configuration:
        """The configuration and its version, as they were at one moment.

        Raises:
            YarnError: the ResourceManager cannot be asked, or its store is not mutable any more.
        """
        for _ in range(_READS):
            version = self._rm.scheduler_conf_version()
            conf = self._rm.scheduler_conf()
            if isinstance(version, NotMutable) or isinstance(conf, NotMutable):
                reason = version.reason if isinstance(version, NotMutable) else str(conf)
                raise YarnError(f"the scheduler's configuration is not in a mutable store any more: {reason}")
            # There is no call for both, so whatever changes in between is seen by the version.
            if self._rm.scheduler_conf_version() == version:
                return Configuration(dict(conf.properties), version=version)
        raise YarnError(
            "the scheduler's configuration changes all the time",
            "see who else writes to scheduler-conf, then try again",
        )

    def check(self, current: Configuration, proposed: Configuration) -> tuple[Finding, ...]:
        """Our own checks; where they find no ERROR, the ResourceManager's (``scheduler-conf/validate``).

        Raises:
            YarnError: the ResourceManager cannot be asked.
        """
        total = self._rm.metrics().total
        found = check_capacity_change(
            current,
            proposed,
            site=self._site,
            version=self._version,
            cluster_total=Resources(total.memory_mib, total.vcores),
        )
        if any(finding.severity.value == "ERROR" for finding in found):
            return found
        answer = self._rm.validate(update_between(current.properties, proposed.properties))
        if isinstance(answer, Rejected):
            return (*found, error("rm-refuses", f"the ResourceManager refuses it: {answer.reason}"))
        if isinstance(answer, NotMutable):
            return (*found, error("rm-refuses", f"the ResourceManager's store is not mutable: {answer.reason}"))
        if isinstance(answer, Unsupported):
            return (*found, warning("rm-not-asked", answer.reason))
        return found

    def write(self, current: Configuration, proposed: Configuration) -> WriteAnswer:
        """One PUT with all that differs, so that siblings change together.

        Raises:
            YarnError: there was no connection; nothing was written.
        """
        answer = self._rm.update_scheduler_conf(update_between(current.properties, proposed.properties))
        if isinstance(answer, NotMutable):
            return Rejected(answer.reason, "change the queues in their file", 400)
        return answer

    def activate(self) -> WriteAnswer:
        """Nothing is to be done."""
        return Applied()

    def unseen(self, wanted: Configuration, before: Configuration) -> tuple[PropertyChange, ...]:
        """What the queues do not show of it.

        Raises:
            YarnError: the ResourceManager cannot be asked.
        """
        return unseen_capacity(wanted, before, self._rm.scheduler())
