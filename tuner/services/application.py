"""Runs one Spark application on YARN and watches it to its end."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from tuner.errors import ClusterError
from tuner.spark.failure_line import cause_of
from tuner.spark.launcher import SparkProcess
from tuner.yarn.client import ResourceManagerClient
from tuner.yarn.errors import YarnConnectionError, YarnError, YarnTimeoutError
from tuner.yarn.model import ACTIVE_STATES, FINAL_STATES, Application

POLL_S = 0.4
KILL_TIMEOUT_S = 20.0
LINGER_S = 60.0
"""How long spark-submit may go on after its application has ended; threads of a driver can keep it for ever."""

SETTLE_TIMEOUT_S = 20.0
"""How long to wait, once spark-submit has ended, for the ResourceManager to say the same."""

NO_APPLICATION = "it ended without starting an application on YARN: does it set its master in its own code?"

_ALL_STATES = (*ACTIVE_STATES, *FINAL_STATES)


class Ending(StrEnum):
    """How a watched application ended."""

    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    STOPPED = "STOPPED"
    """Killed by the watcher, because its time was up."""


@dataclass(frozen=True)
class Finished:
    """An application that has ended, with the ResourceManager's figures.

    Attributes:
        application: None where it never reached the ResourceManager.
        duration_s: from submission to end, by the ResourceManager's clock.
        wait_s: the part before its application master was launched.
        failure: one line on why it failed; empty where it did not.
        checksums: the lines of its output that begin with ``checksum``.
    """

    ending: Ending
    application: Application | None
    duration_s: float
    wait_s: float
    memory_seconds: int
    vcore_seconds: int
    failure: str
    checksums: tuple[str, ...]


class ResourceManagerLostError(ClusterError):
    """The ResourceManager stopped answering while an application was watched."""


@dataclass(frozen=True)
class Submission:
    """What to run.

    Attributes:
        command: spark-submit and its arguments; they set ``spark.yarn.tags`` to `tag`.
        environ: the whole environment of the process.
        tag: by which the application is found at the ResourceManager.
        folder: an existing folder for its standard output and error.
        cap_s: stop it after so many seconds of running; None for never.
    """

    command: tuple[str, ...]
    environ: Mapping[str, str]
    tag: str
    folder: Path
    cap_s: float | None


def run_application(
    submission: Submission,
    client: ResourceManagerClient,
    *,
    lost_after_s: float,
    on_application: Callable[[Application], None] = lambda _: None,
) -> Finished:
    """Submits and waits.

    Args:
        submission: what to run.
        client: the ResourceManager.
        lost_after_s: the ResourceManager is taken for gone when it has not answered for so long.
        on_application: called at every look at the application, the first time as soon as it has an id.

    Returns:
        How it ended. A failing application is a value, not an exception.

    Raises:
        ResourceManagerLostError: it no longer answers; spark-submit has been ended.
        KeyboardInterrupt: passed on, after the application was killed.
    """
    process = SparkProcess(
        submission.command, submission.environ, submission.folder / "stdout", submission.folder / "stderr"
    )
    watch = _Watch(process, client, submission, lost_after_s, on_application)
    try:
        stopped = watch.until_exit()
        return watch.result(stopped)
    except BaseException:
        watch.abort()
        raise


class _Watch:
    """The state of watching one submission."""

    def __init__(
        self,
        process: SparkProcess,
        client: ResourceManagerClient,
        submission: Submission,
        lost_after_s: float,
        on_application: Callable[[Application], None],
    ) -> None:
        self._process = process
        self._client = client
        self._submission = submission
        self._lost_after_s = lost_after_s
        self._on_application = on_application
        self._application: Application | None = None
        self._answered_at = time.monotonic()
        self._ended_at: float | None = None

    def until_exit(self) -> bool:
        """Returns whether the application was stopped because its time was up."""
        while self._process.exit_status() is None:
            self._look()
            if self._overdue():
                self._kill()
                self._process.stop()
                return True
            if self._lingers():
                self._process.stop()
            time.sleep(POLL_S)
        return False

    def result(self, stopped: bool) -> Finished:
        """The figures, once the ResourceManager has the application's end too."""
        application = self._settled()
        status = self._process.exit_status()
        output = self._process.output.read_text(errors="replace").splitlines()
        checksums = tuple(line.strip() for line in output if line.startswith("checksum"))
        if application is None:
            failure = self._process.last_error() if status else NO_APPLICATION
            return Finished(Ending.FAILED, None, 0.0, 0.0, 0, 0, failure, checksums)
        finished_at_s = application.finished_at_s or application.started_at_s + application.elapsed_s
        launched_at_s = application.launched_at_s or application.started_at_s
        failure = ""
        if application.final_status != "SUCCEEDED":
            failure = cause_of(application.diagnostics) or self._process.last_error()
        elif status:
            # The ResourceManager's word counts, but a client that failed after it is worth a line.
            failure = f"spark-submit ended with status {status}: {self._process.last_error()}"
        ending = Ending.STOPPED if stopped else Ending.FAILED if failure else Ending.SUCCEEDED
        return Finished(
            ending=ending,
            application=application,
            duration_s=finished_at_s - application.started_at_s,
            wait_s=max(0.0, launched_at_s - application.started_at_s),
            memory_seconds=application.memory_seconds or 0,
            vcore_seconds=application.vcore_seconds or 0,
            failure="stopped: it took longer than a hopeful trial may" if stopped else failure,
            checksums=checksums,
        )

    def abort(self) -> None:
        """Ends everything that was started, as far as that is possible."""
        self._kill()
        self._process.stop()

    def _look(self) -> None:
        try:
            self._application = self._ask()
        except (YarnConnectionError, YarnTimeoutError) as error:
            if time.monotonic() - self._answered_at > self._lost_after_s:
                raise ResourceManagerLostError(
                    f"the ResourceManager has not answered for {self._lost_after_s:.0f} s: {error.message}", error.hint
                ) from error
            return
        self._answered_at = time.monotonic()
        if self._application is not None:
            self._on_application(self._application)

    def _ask(self) -> Application | None:
        if self._application is None:
            found = self._client.applications(states=_ALL_STATES, tags=[self._submission.tag])
            return found[0] if found else None
        application = self._client.application(self._application.id)
        if application is None:
            raise ResourceManagerLostError(
                f"the ResourceManager no longer knows {self._application.id}: it was started anew meanwhile"
            )
        return application

    def _settled(self) -> Application | None:
        """The application with its final figures: containers that end after it still add memory-seconds."""
        deadline = time.monotonic() + SETTLE_TIMEOUT_S
        previous: int | None = None
        while time.monotonic() < deadline:
            self._look()
            application = self._application
            if application is None and self._process.exit_status() not in (None, 0):
                return None
            if application is not None and application.ended:
                if previous is not None and application.memory_seconds == previous:
                    return application
                previous = application.memory_seconds
            time.sleep(POLL_S)
        if self._application is not None and not self._application.ended:
            self._kill()
        return self._application

    def _lingers(self) -> bool:
        if self._application is None or not self._application.ended:
            return False
        self._ended_at = self._ended_at or time.monotonic()
        return time.monotonic() - self._ended_at > LINGER_S

    def _overdue(self) -> bool:
        cap_s = self._submission.cap_s
        return cap_s is not None and self._application is not None and self._application.elapsed_s > cap_s

    def _kill(self) -> None:
        try:
            if self._application is None:
                self._look()
            if self._application is not None and not self._application.ended:
                self._client.kill(self._application.id, KILL_TIMEOUT_S)
        except (YarnError, ClusterError):
            # Nothing more can be done about it from here; spark-submit itself is ended in any case.
            return
