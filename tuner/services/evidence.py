"""What the event log of a run says about it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from tuner.errors import InputError

if TYPE_CHECKING:
    from tuner.model.runtime import RunProfile
    from tuner.spark.eventlog import ApplicationLog

LOG_WAIT_S = 10.0
"""How long the whole log of an application that succeeded may be on its way, through a file system that lags behind."""
_LOOK_S = 0.5


def local_event_log_dir(conf: Mapping[str, str]) -> Path | None:
    """The folder of the event logs, where it is on this machine."""
    if conf.get("spark.eventLog.enabled", "false").strip().lower() != "true":
        return None
    parts = urlsplit(conf.get("spark.eventLog.dir", "file:///tmp/spark-events"))
    if parts.scheme not in ("", "file"):
        return None
    folder = Path(unquote(parts.path))
    return folder if folder.is_dir() else None


def event_log_evidence(event_log_dir: Path, application_id: str, *, wait_s: float = 0.0) -> dict[str, Any]:
    """Figures of a run for the store, as :class:`tuner.spark.metrics.RunMetrics` has them.

    Args:
        event_log_dir: a folder on this machine.
        application_id: of an application that has ended.
        wait_s: how long to look again for a log that is not there, or has no end yet. The log itself is read and not
            asked for at the History Server, which knows an application only after it has scanned the folder.

    Returns:
        Empty where there is no log. ``problem`` is added where the log contradicts a success: the last job failed,
        or the log has no end; ``losses`` where parts of it could not be read; ``deaths`` where executors or tasks
        did not end well: how many, by class of :class:`tuner.model.failures.FailureKind`.
    """
    from tuner.analysis.deaths import deaths
    from tuner.analysis.facts import Facts
    from tuner.spark.eventlog import LogState
    from tuner.spark.metrics import run_metrics

    try:
        log = _log_of(event_log_dir, application_id, wait_s)
    except InputError as error:
        # The ResourceManager's word stands; a log that cannot be read is worth a line, not the run.
        return {"losses": [error.message]}
    if log is None:
        return {}
    evidence: dict[str, Any] = {**run_metrics(log).to_json(), "spark_version": log.spark_version}
    found = deaths(Facts(log, increment_mib=1))
    if found:
        evidence["deaths"] = {each.kind.value: len(each.executors) + each.tasks for each in found}
    if log.losses:
        evidence["losses"] = list(log.losses)
    if log.state is LogState.INCOMPLETE:
        evidence["problem"] = "the event log has no end: the driver did not finish its work"
    return evidence


def _log_of(folder: Path, application_id: str, wait_s: float) -> ApplicationLog | None:
    from tuner.spark.eventlog import LogState, find_log, read_log

    deadline = time.monotonic() + wait_s
    while True:
        path = find_log(folder, application_id)
        log = None if path is None else read_log(path)
        whole = log is not None and log.state not in (LogState.NOT_READY, LogState.INCOMPLETE)
        if whole or time.monotonic() >= deadline:
            return log
        time.sleep(_LOOK_S)


def run_profile(event_log_dir: Path, application_id: str) -> RunProfile | None:
    """The run's profile for what-if questions; None where its log is not here, or does not tell enough."""
    from tuner.analysis.profile import profile_of
    from tuner.spark.eventlog import find_log, read_log

    path = find_log(event_log_dir, application_id)
    try:
        return None if path is None else profile_of(read_log(path))
    except InputError:
        return None
