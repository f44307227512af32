"""Writes down a production run, in the store or at a server: a process beside the wrapper, which nobody waits for.

It is told what is submitted on its standard input, and later how spark-submit ended; the rest it asks the
ResourceManager. A driver on the cluster is watched to its end, also where spark-submit did not wait for it.
"""

from __future__ import annotations

import json
import select
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tuner.errors import ClusterError, YarntuneError
from tuner.model.failures import classify
from tuner.services.evidence import LOG_WAIT_S, event_log_evidence, local_event_log_dir
from tuner.services.load import read_load
from tuner.settings import Settings
from tuner.spark.failure_line import cause_of
from tuner.store import RunOutcome, RunState
from tuner.submit.ledger import Ledger, ledger_of
from tuner.yarn.client import ResourceManagerClient
from tuner.yarn.errors import YarnError
from tuner.yarn.locate import locate
from tuner.yarn.model import ACTIVE_STATES, FINAL_STATES, Application

POLL_S = 2.0
SLOW_POLL_S = 15.0
_SIGNALLED = 128
"""A status above it is that of a process that a signal has ended, or of a shell around it."""
SETTLE_S = 30.0
"""How long the ResourceManager may take to know of an application, or of its end, once spark-submit has ended."""
LONGEST_S = 7 * 86400.0
_STATES = {"SUCCEEDED": RunState.SUCCEEDED, "KILLED": RunState.KILLED}


@dataclass
class _Ended:
    """How spark-submit ended; the status is None where the wrapper went away without a word."""

    status: int | None
    at: float


def main() -> None:
    """Records the run that is described on standard input."""
    record = json.loads(sys.stdin.readline())
    settings = Settings.from_environment()
    target = locate(settings)
    with ledger_of(settings, record) as ledger, ResourceManagerClient.of(target, settings) as client:
        # spark-submit needs seconds to get to the cluster, so this is still the load that the run meets.
        ledger.begin(read_load(client, record["queue"]) if record["load"] is None else None)
        # The run's own configuration says where its log goes; without one of its own it is the embedded cluster's.
        event_log_dir = local_event_log_dir(record["configuration"]) or target.event_log_dir
        in_client = record["configuration"].get("spark.submit.deployMode", "client") == "client"
        Recorder(ledger, client, event_log_dir, str(record["tag"]), in_client, record["advised"]).follow()


@dataclass
class Recorder:
    """Follows one run to its end.

    Attributes:
        event_log_dir: where its event log will be; None where that is not on this machine.
        driver_in_client: whether the driver is in the process of spark-submit, and not on the cluster.
        advised: what was chosen for it, by which its job's advice knows it again: some of it may have given way to
            what the user set.
    """

    ledger: Ledger
    client: ResourceManagerClient
    event_log_dir: Path | None
    tag: str
    driver_in_client: bool
    advised: Mapping[str, str] | None = None
    _application: Application | None = None

    def follow(self) -> None:
        """Waits for spark-submit and for the application, and writes how they ended."""
        ended = self._wait_for_submit()
        application = self._settled(ended)
        self.ledger.finish(self._outcome(ended, application))

    def _wait_for_submit(self) -> _Ended:
        pause_s = POLL_S
        while True:
            readable, _, _ = select.select([sys.stdin], [], [], pause_s)
            if readable:
                line = sys.stdin.readline()
                if not line:
                    return _Ended(None, time.time())
                told = json.loads(line)
                return _Ended(int(told["exit_status"]), float(told["ended_at"]))
            self._look()
            pause_s = SLOW_POLL_S if self._application is not None else POLL_S

    def _look(self) -> None:
        try:
            if self._application is None:
                found = self.client.applications(states=(*ACTIVE_STATES, *FINAL_STATES), tags=[self.tag])
                if found:
                    self._application = found[0]
                    self.ledger.set_application(found[0].id)
            else:
                self._application = self.client.application(self._application.id) or self._application
        except (YarnError, ClusterError):
            # Asked again at the next look; the ResourceManager may be on its way to another machine.
            return

    def _settled(self, ended: _Ended) -> Application | None:
        """The application once it has ended; None where none is found in time."""
        while time.time() < ended.at + LONGEST_S:
            self._look()
            if self._application is not None and self._application.ended:
                # Containers that end after the application still add memory-seconds.
                time.sleep(POLL_S)
                self._look()
                return self._application
            if self._application is None and time.time() > ended.at + SETTLE_S:
                return None
            time.sleep(POLL_S if time.time() < ended.at + SETTLE_S else SLOW_POLL_S)
        return self._application

    def _outcome(self, ended: _Ended, application: Application | None) -> RunOutcome:
        if application is None:
            said = "ended without a word" if ended.status is None else f"ended with status {ended.status}"
            state = RunState.FAILED if ended.status else RunState.LOST
            return RunOutcome(state=state, finished_at=ended.at, failure=f"spark-submit {said}; no application on YARN")
        state = self._state(ended, application)
        launched_at = application.launched_at_s or application.started_at_s
        finished_at = application.finished_at_s or application.started_at_s + application.elapsed_s
        return RunOutcome(
            state=state,
            finished_at=finished_at,
            wait_s=max(0.0, launched_at - application.started_at_s),
            run_s=max(0.0, finished_at - launched_at),
            duration_s=finished_at - application.started_at_s,
            memory_seconds=application.memory_seconds,
            vcore_seconds=application.vcore_seconds,
            metrics=self._evidence(application, failed=state is RunState.FAILED),
            failure=None if state is RunState.SUCCEEDED else self._cause(ended, application),
            application_id=application.id,
        )

    def _state(self, ended: _Ended, application: Application) -> RunState:
        """How a run ended.

        spark-submit's status is 0 for much that has failed, and of an application on the cluster it may know nothing,
        so the ResourceManager's word counts. But of a driver in spark-submit that knows no more than that it went
        away: the application of one that has failed is SUCCEEDED, too.
        """
        if not application.ended:
            return RunState.LOST
        if self._failed_in_client(ended, application):
            return RunState.KILLED if ended.status is not None and ended.status > _SIGNALLED else RunState.FAILED
        return _STATES.get(application.final_status, RunState.FAILED)

    def _cause(self, ended: _Ended, application: Application) -> str:
        if self._failed_in_client(ended, application):
            return f"the driver ended with status {ended.status}"
        return cause_of(application.diagnostics) or "no reason is given"

    def _failed_in_client(self, ended: _Ended, application: Application) -> bool:
        return self.driver_in_client and bool(ended.status) and application.final_status == "SUCCEEDED"

    def _evidence(self, application: Application, *, failed: bool) -> dict[str, Any]:
        evidence: dict[str, Any] = {}
        if self.event_log_dir is not None:
            wait_s = LOG_WAIT_S if application.final_status == "SUCCEEDED" else 0.0
            evidence = event_log_evidence(self.event_log_dir, application.id, wait_s=wait_s)
        if failed and not evidence.get("deaths"):
            # Without a log there is what YARN was told, which names a limit of memory where one was outgrown.
            evidence["deaths"] = {classify(application.diagnostics).kind.value: 1}
        return evidence if self.advised is None else {**evidence, "advised": dict(self.advised)}


if __name__ == "__main__":
    try:
        main()
    except YarntuneError as error:
        # Nobody reads it in everyday life; it is there for who starts the recorder by hand.
        sys.exit(f"error: {error.message}")
