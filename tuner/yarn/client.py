"""The ResourceManager's REST API, typed.

``with ResourceManagerClient.of(target, settings) as rm: rm.metrics()``. Reads raise :class:`YarnError`; what a write
came to is a value. ``docs/yarn.md`` tells how the versions of Hadoop differ.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Collection, Sequence
from typing import Literal, Self, TypeVar

from tuner.settings import Settings
from tuner.yarn import ha, normalize, queues
from tuner.yarn.auth import Authentication, KerberosAuth, SimpleAuth
from tuner.yarn.errors import (
    YarnConnectionError,
    YarnInterruptedError,
    YarnProtocolError,
    YarnStandbyError,
    YarnTimeoutError,
)
from tuner.yarn.fields import excerpt
from tuner.yarn.locate import Target
from tuner.yarn.model import (
    ACTIVE_STATES,
    FINAL_STATES,
    Application,
    ApplicationSubmission,
    Applied,
    ClusterInfo,
    ClusterMetrics,
    Container,
    NewApplication,
    Node,
    NotMutable,
    Rejected,
    Resource,
    SchedulerConf,
    SchedulerInfo,
    Unknown,
    Unsupported,
    Valid,
    ValidationOutcome,
    WriteOutcome,
)
from tuner.yarn.schedulerconf import SchedulerConfUpdate
from tuner.yarn.transport import API, Reply, Transport, check, hint_of_status

_T = TypeVar("_T")
_NOT_MUTABLE = re.compile(r"MutableConfScheduler|mutable-conf scheduler|mutable configuration store", re.IGNORECASE)
_APPLIED = "successfully applied"
_POLL_S = 0.3


class ResourceManagerClient:
    """Talks to the active one of the ResourceManagers of a cluster.

    Args:
        urls: of every ResourceManager; where there are several, the active one is found, and found again after a
            failover.
        auth: who we are.
        timeout_s: to connect, and for each silence while an answer comes.
    """

    def __init__(self, urls: str | Sequence[str], auth: Authentication, timeout_s: float) -> None:
        each = [urls] if isinstance(urls, str) else list(urls)
        self._transports = [Transport(url, auth, timeout_s) for url in each]
        self._active: Transport | None = self._transports[0] if len(each) == 1 else None

    @classmethod
    def of(cls, target: Target, settings: Settings) -> Self:
        """The client for a cluster that :func:`tuner.yarn.locate.locate` has found."""
        auth: Authentication = KerberosAuth() if target.kerberos else SimpleAuth(settings.user)
        return cls(target.rm_urls, auth, settings.rm_timeout_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections."""
        for transport in self._transports:
            transport.close()

    # ------------------------------------------------------------------ reads

    def probes(self) -> tuple[ha.Probe, ...]:
        """What every ResourceManager says of itself, the standby ones too."""
        return tuple(ha.probe(transport) for transport in self._transports)

    def info(self) -> ClusterInfo:
        """Version and state of the active ResourceManager."""
        return normalize.cluster_info(self._read("/info", "say what it is").document)

    def metrics(self) -> ClusterMetrics:
        """The load of the cluster now."""
        return normalize.cluster_metrics(self._read("/metrics", "read the metrics").document)

    def nodes(self) -> tuple[Node, ...]:
        """Every node that is active, or was and is still remembered."""
        return normalize.nodes(self._read("/nodes", "read the nodes").document)

    def application(self, app_id: str) -> Application | None:
        """One application; None where the ResourceManager does not know it, or no longer."""
        path = f"/apps/{app_id}"
        reply = self._get(path)
        if reply.status == 404 and "RemoteException" in reply.text:
            return None
        return normalize.application(check(reply, f"read the application {app_id}").document)

    def applications(
        self,
        *,
        states: Collection[str] = ACTIVE_STATES,
        user: str | None = None,
        queue: str | None = None,
        types: Collection[str] = (),
        tags: Collection[str] = (),
        started_since_s: float | None = None,
        finished_since_s: float | None = None,
        limit: int | None = None,
        requests: bool = False,
    ) -> tuple[Application, ...]:
        """Applications, always filtered: the whole list of a busy cluster is 10 MB and more (YARN-11276).

        Args:
            states: of YarnApplicationState; the active ones where it is not given.
            user: whose.
            queue: where; a full path, or the leaf's name where this version knows queues by it.
            types: for example SPARK.
            tags: one of them is enough.
            started_since_s: submitted at that time, seconds since the epoch, or later.
            finished_since_s: ended then or later.
            limit: at most so many, the latest.
            requests: also what each still waits for, which makes most of the answer's size.

        Raises:
            ValueError: ended applications are asked for, and nothing else bounds their number.
        """
        if (
            FINAL_STATES & set(states)
            and all(bound is None for bound in (started_since_s, finished_since_s, limit))
            and not tags
        ):
            raise ValueError("a list of ended applications needs a time, a limit or tags")
        params = {
            "states": ",".join(states),
            "user": user,
            "queue": queue,
            "applicationTypes": ",".join(types),
            "applicationTags": ",".join(tags),
            "startedTimeBegin": _milliseconds(started_since_s),
            "finishedTimeBegin": _milliseconds(finished_since_s),
            "limit": None if limit is None else str(limit),
            "deSelects": None if requests else "resourceRequests",
        }
        given = {name: value for name, value in params.items() if value}
        return normalize.applications(check(self._get("/apps", given), "list applications").document)

    def containers(self, app_id: str) -> tuple[Container, ...]:
        """What an application's present attempt holds; empty where it has ended, or is not known.

        Two calls for each application: for a busy cluster, ask for a part of its applications only.
        """
        reply = self._get(f"/apps/{app_id}/appattempts")
        if reply.status == 404:
            return ()
        attempts = normalize.attempt_ids(check(reply, f"list the attempts of {app_id}").document, app_id)
        if not attempts:
            return ()
        reply = self._get(f"/apps/{app_id}/appattempts/{attempts[-1]}/containers")
        if reply.status == 404:
            return ()
        return normalize.containers(check(reply, f"list the containers of {app_id}").document)

    def scheduler(self) -> SchedulerInfo:
        """The tree of queues, with what each uses, may use and waits for."""
        return queues.scheduler(self._read("/scheduler", "show the queues").document)

    def maximum_allocation(self, queue: str | None = None) -> Resource:
        """The largest container that can be got, by the cluster's limit, its largest node now and the queue's limit.

        Args:
            queue: full path or leaf's name; the cluster's limit alone where it is not given or not known.
        """
        largest = self.new_application().maximum_allocation
        found = self.scheduler().queue(queue) if queue else None
        if found is None or found.maximum_allocation is None:
            return largest
        own = found.maximum_allocation
        return Resource(min(largest.memory_mib, own.memory_mib), min(largest.vcores, own.vcores))

    def configuration(self) -> dict[str, str]:
        """The ResourceManager's whole configuration, its defaults included.

        Raises:
            YarnStatusError: 403 where ACLs are on and the user is no administrator.
        """
        reply = self._call(lambda transport: transport.get("/conf", {"format": "json"}))
        return normalize.configuration(check(reply, "show its configuration").document)

    # -------------------------------------------- the scheduler's configuration

    def scheduler_conf(self) -> SchedulerConf | NotMutable:
        """The scheduler's configuration as it is stored, or that it cannot be read here."""
        return self._conf("/scheduler-conf", "show the scheduler's configuration", normalize.scheduler_conf)

    def scheduler_conf_version(self) -> int | NotMutable:
        """A number that grows with every change, by whomever; there is no compare-and-swap on it."""
        return self._conf(
            "/scheduler-conf/version", "say the version of its configuration", normalize.scheduler_conf_version
        )

    def validate(self, update: SchedulerConfUpdate) -> ValidationOutcome:
        """Asks whether a change would be accepted; nothing is changed.

        The ResourceManager accepts much that has no effect, or harms (unknown queues and keys, a maximum below the
        capacity), so this is the last check, not the only one.
        """
        reply = self._write("POST", "/scheduler-conf/validate", update.to_json())
        if 200 <= reply.status < 300:
            try:
                return Valid(normalize.scheduler_conf(reply.document))
            except YarnProtocolError:
                return Valid(None)
        if reply.status in {404, 405}:
            return Unsupported(f"this version of Hadoop does not validate (HTTP status {reply.status})")
        if reply.status >= 500:
            check(reply, "validate a change")
        return _not_mutable(reply) or Rejected(reply.reason, hint_of_status(reply.status), reply.status)

    def update_scheduler_conf(self, update: SchedulerConfUpdate) -> WriteOutcome:
        """Changes the scheduler's configuration, once.

        Raises:
            YarnConnectionError: no connection could be made; nothing was written.
            YarnStandbyError: no ResourceManager is active; nothing was written.
        """
        try:
            reply = self._write("PUT", "/scheduler-conf", update.to_json())
        except (YarnTimeoutError, YarnInterruptedError, YarnProtocolError) as error:
            return Unknown(error.message)
        if 200 <= reply.status < 300:
            if _APPLIED in reply.text:
                return Applied()
            return Unknown(f"the answer is not the ResourceManager's: {excerpt(reply.text)}")
        if reply.status >= 500 or reply.status == 408:
            return Unknown(f"HTTP status {reply.status}: {reply.reason}")
        return _not_mutable(reply) or Rejected(reply.reason, hint_of_status(reply.status), reply.status)

    # ----------------------------------------------------------- applications

    def new_application(self) -> NewApplication:
        """An id for a new application."""
        reply = self._write("POST", "/apps/new-application")
        return normalize.new_application(check(reply, "give out an application id").document)

    def submit(self, submission: ApplicationSubmission) -> None:
        """Submits an application; whether its queue takes it shows in its state, later.

        Raises:
            YarnStatusError: it was refused.
        """
        body = {
            "application-id": submission.id,
            "application-name": submission.name,
            "application-type": submission.type,
            "application-tags": {"tag": list(submission.tags)},
            "queue": submission.queue,
            "max-app-attempts": submission.max_attempts,
            "am-container-spec": {"commands": {"command": submission.command}},
            "resource": {"memory": submission.memory_mib, "vCores": submission.vcores},
        }
        check(self._write("POST", "/apps", body), f"take the application {submission.id}")

    def kill(self, app_id: str, timeout_s: float) -> Application:
        """Kills an application and waits until it has ended, needing no ``yarn`` command.

        Returns:
            The application in the state it ended in, which is not KILLED where it had ended before.

        Raises:
            YarnStatusError: it is not known, or not ours to kill.
            YarnTimeoutError: it has not ended within ``timeout_s``; it may still.
        """
        deadline = time.monotonic() + timeout_s
        # Where the answer is lost, the application's state will tell whether the request has arrived.
        with contextlib.suppress(YarnTimeoutError, YarnInterruptedError):
            check(self._write("PUT", f"/apps/{app_id}/state", {"state": "KILLED"}), f"kill {app_id}")
        while True:
            application = self.application(app_id)
            if application is not None and application.ended:
                return application
            if time.monotonic() >= deadline:
                state = "no longer known" if application is None else application.state
                raise YarnTimeoutError(
                    f"{app_id} was asked to end, and is {state} after {timeout_s:g} s",
                    f"look at it with `yarn application -status {app_id}`",
                )
            time.sleep(min(_POLL_S, max(deadline - time.monotonic(), 0.0)))

    # --------------------------------------------------------------- plumbing

    def _conf(self, path: str, what: str, read: Callable[[dict[str, object]], _T]) -> _T | NotMutable:
        reply = self._get(path)
        if 200 <= reply.status < 300:
            return read(reply.document)
        refused = _not_mutable(reply)
        if refused is None:
            check(reply, what)
            raise AssertionError("a status outside 2xx is an error")
        return refused

    def _read(self, path: str, what: str) -> Reply:
        return check(self._get(path), what)

    def _get(self, path: str, params: dict[str, str] | None = None) -> Reply:
        return self._call(lambda transport: transport.get(f"{API}{path}", params))

    def _write(self, method: Literal["PUT", "POST"], path: str, body: object = None) -> Reply:
        return self._call(lambda transport: transport.write(method, f"{API}{path}", body))

    def _call(self, send: Callable[[Transport], Reply]) -> Reply:
        """Sends to the active one; once more after a failover, since a standby and a dead one have done nothing."""
        active = self._active or ha.find_active(self._transports)
        try:
            reply = send(active)
        except (YarnStandbyError, YarnConnectionError):
            self._active = None
            if len(self._transports) == 1:
                self._active = active
                raise
            active = ha.find_active(self._transports)
            reply = send(active)
        self._active = active
        return reply


def _not_mutable(reply: Reply) -> NotMutable | None:
    if reply.status == 400 and _NOT_MUTABLE.search(reply.reason):
        return NotMutable(reply.reason)
    if reply.status in {404, 405}:
        return NotMutable(f"this version of Hadoop has no such call (HTTP status {reply.status})")
    return None


def _milliseconds(time_s: float | None) -> str | None:
    return None if time_s is None else str(round(time_s * 1000))
