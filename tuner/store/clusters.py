"""Who may change the queues of a cluster at this moment (a lease), and whether anybody may (the freeze switch)."""

from __future__ import annotations

import sqlalchemy as sa
import sqlalchemy.exc

from tuner.store.connection import Database
from tuner.store.owner import is_alive, this_process
from tuner.store.records import ClusterFreeze, ClusterLease
from tuner.store.rows import from_row, owner_values
from tuner.store.schema import cluster_freeze, cluster_lease


class ClusterRepository:
    """Leases and freeze switches, by the name of the cluster."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def acquire(self, cluster: str, purpose: str, *, now: float, ttl_s: float) -> ClusterLease | None:
        """Takes the lease of a cluster for this process.

        Free is one that nobody has, that has expired, or whose owner was on this host and is gone.

        Args:
            cluster: its name.
            purpose: what for; told to whoever has to wait.
            now: the clock, in seconds.
            ttl_s: after how long another host may take it for abandoned; renew it before.

        Returns:
            None where it was got; else the lease that is in the way.
        """
        values = {
            "purpose": purpose,
            "acquired_at": now,
            "expires_at": now + ttl_s,
            **owner_values(this_process()),
        }
        with self._database.write() as connection:
            # Locked on PostgreSQL too, so that of two at once the second sees what the first has written.
            row = connection.execute(
                sa.select(cluster_lease).where(cluster_lease.c.cluster == cluster).with_for_update()
            ).one_or_none()
            if row is None:
                return self._insert(connection, cluster, values)
            present = from_row(ClusterLease, row)
            if present.expires_at > now and is_alive(present.owner) is not False:
                return present
            connection.execute(sa.update(cluster_lease).where(cluster_lease.c.cluster == cluster).values(**values))
        return None

    def _insert(self, connection: sa.Connection, cluster: str, values: dict[str, object]) -> ClusterLease | None:
        try:
            with connection.begin_nested():
                connection.execute(sa.insert(cluster_lease).values(cluster=cluster, **values))
        except sa.exc.IntegrityError:
            # PostgreSQL: somebody else's first lease was committed between our look and our insert.
            row = connection.execute(sa.select(cluster_lease).where(cluster_lease.c.cluster == cluster)).one()
            return from_row(ClusterLease, row)
        return None

    def renew(self, cluster: str, *, now: float, ttl_s: float) -> bool:
        """Keeps the lease of this process for longer.

        Returns:
            False where this process does not have it any more.
        """
        update = sa.update(cluster_lease).where(*self._ours(cluster)).values(expires_at=now + ttl_s)
        with self._database.write() as connection:
            return connection.execute(update).rowcount == 1

    def release(self, cluster: str) -> None:
        """Gives the lease of this process back; fine where it does not have it."""
        with self._database.write() as connection:
            connection.execute(sa.delete(cluster_lease).where(*self._ours(cluster)))

    def lease(self, cluster: str) -> ClusterLease | None:
        """The lease of a cluster, in force or not."""
        with self._database.read() as connection:
            row = connection.execute(sa.select(cluster_lease).where(cluster_lease.c.cluster == cluster)).one_or_none()
        return None if row is None else from_row(ClusterLease, row)

    def freeze(self, switch: ClusterFreeze) -> bool:
        """Turns the freeze switch of a cluster on.

        Returns:
            False where it is on already; it then stays as it is.
        """
        values = {"cluster": switch.cluster, "at": switch.at, "who": switch.who, "reason": switch.reason}
        with self._database.write() as connection:
            try:
                with connection.begin_nested():
                    connection.execute(sa.insert(cluster_freeze).values(**values))
            except sa.exc.IntegrityError:
                return False
        return True

    def unfreeze(self, cluster: str) -> bool:
        """Turns it off; False where it was not on."""
        with self._database.write() as connection:
            return connection.execute(sa.delete(cluster_freeze).where(cluster_freeze.c.cluster == cluster)).rowcount > 0

    def frozen(self, cluster: str) -> ClusterFreeze | None:
        """The freeze switch of a cluster; None where it is off."""
        with self._database.read() as connection:
            row = connection.execute(sa.select(cluster_freeze).where(cluster_freeze.c.cluster == cluster)).one_or_none()
        return None if row is None else from_row(ClusterFreeze, row)

    @staticmethod
    def _ours(cluster: str) -> tuple[sa.ColumnElement[bool], ...]:
        owner = this_process()
        return (
            cluster_lease.c.cluster == cluster,
            cluster_lease.c.owner_host == owner.host,
            cluster_lease.c.owner_pid == owner.pid,
        )
