"""Which of several ResourceManagers is active."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tuner.yarn import normalize
from tuner.yarn.errors import YarnConnectionError, YarnError, YarnStandbyError
from tuner.yarn.model import ClusterInfo
from tuner.yarn.transport import API, Transport, check


@dataclass(frozen=True)
class Probe:
    """What one ResourceManager says of itself, or why it says nothing."""

    url: str
    answer: ClusterInfo | YarnError

    @property
    def words(self) -> str:
        """Its address and state, or what went wrong, for a message."""
        if isinstance(self.answer, YarnError):
            return self.answer.message
        return f"{self.url} is {self.answer.ha_state or 'silent about its state'}"


def probe(transport: Transport) -> Probe:
    """Asks one ResourceManager for ``/info``, which is what a standby answers itself."""
    try:
        reply = check(transport.get(f"{API}/info"), "say whether it is active")
        return Probe(transport.base_url, normalize.cluster_info(reply.document))
    except YarnError as error:
        return Probe(transport.base_url, error)


def find_active(transports: Sequence[Transport]) -> Transport:
    """The active ResourceManager.

    One that refuses to say (401: it wants Kerberos) is there and healthy, so where no other one is active it is its
    refusal that is passed on.

    Args:
        transports: one for each; a single one is taken as it is, without a question.

    Raises:
        YarnStandbyError: some are there, and none is active.
        YarnConnectionError: none is there.
        YarnError: what one that answered said.
    """
    if len(transports) == 1:
        return transports[0]
    probes = []
    for transport in transports:
        found = probe(transport)
        if isinstance(found.answer, ClusterInfo) and found.answer.ha_state == "ACTIVE":
            return transport
        probes.append(found)
    for found in probes:
        if isinstance(found.answer, YarnError) and not isinstance(found.answer, YarnConnectionError):
            raise found.answer
    what = "; ".join(found.words for found in probes)
    if any(isinstance(found.answer, ClusterInfo) for found in probes):
        raise YarnStandbyError(
            f"no ResourceManager is active: {what}",
            "wait for the failover to end, or see `yarn rmadmin -getAllServiceState`",
        )
    raise YarnConnectionError(
        f"no ResourceManager can be reached: {what}",
        "look whether they run, and whether the addresses in yarn-site.xml are right",
    )
