"""Which of several ResourceManagers is active."""

from __future__ import annotations

from collections.abc import Sequence

from tuner.yarn import normalize
from tuner.yarn.errors import YarnConnectionError, YarnError, YarnStandbyError
from tuner.yarn.transport import API, Transport, check


def find_active(transports: Sequence[Transport]) -> Transport:
    """Asks every ResourceManager for its state; ``/info`` is what a standby answers itself.

    One that refuses to say (401: it wants Kerberos) is there and healthy, and its own words are passed on when no
    other one is active.

    Args:
        transports: one for each; a single one is taken as it is, without a question.

    Raises:
        YarnStandbyError: some are there, and none is active.
        YarnConnectionError: none is there.
        YarnError: what the only ones that answered said.
    """
    if len(transports) == 1:
        return transports[0]
    failures: list[YarnError] = []
    standby: list[str] = []
    for transport in transports:
        try:
            info = normalize.cluster_info(check(transport.get(f"{API}/info"), "say whether it is active").document)
        except YarnError as error:
            failures.append(error)
            continue
        if info.ha_state == "ACTIVE":
            return transport
        standby.append(f"{transport.base_url} is {info.ha_state or 'silent about its state'}")
    refusals = [error for error in failures if not isinstance(error, YarnConnectionError)]
    if refusals:
        raise refusals[0]
    if standby:
        raise YarnStandbyError(
            f"no ResourceManager is active: {'; '.join(standby)}",
            "wait for the failover to end, or see `yarn rmadmin -getAllServiceState`",
        )
    raise YarnConnectionError(
        "no ResourceManager can be reached: " + "; ".join(error.message for error in failures), failures[0].hint
    )
