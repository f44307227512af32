"""Event logs that are late, or that a History Server would not know yet."""

from __future__ import annotations

import threading
import time
from pathlib import Path

from tests.tuner.eventlog.synthetic import application, end, executor, stage, task, write
from tuner.services.evidence import event_log_evidence

APP = "application_1_0001"
EVENTS = [*application(APP), executor("1"), stage(0, 2), task(0), task(1), stage(0, 2, 3000)]


def test_the_log_itself_is_read_and_waited_for(tmp_path: Path) -> None:
    """G3-24: the application has ended, but its log is not there, then it has no end, then it is whole."""

    def arrive() -> None:
        time.sleep(0.3)
        running = write(tmp_path / f"{APP}.inprogress", *EVENTS)
        time.sleep(0.7)
        write(running, *EVENTS, end()).rename(tmp_path / APP)

    assert event_log_evidence(tmp_path, APP) == {}
    late = threading.Thread(target=arrive)
    late.start()
    evidence = event_log_evidence(tmp_path, APP, wait_s=30.0)
    late.join()
    assert evidence["tasks"] == 2
    assert "problem" not in evidence


def test_a_log_that_never_gets_its_end_contradicts_a_success(tmp_path: Path) -> None:
    """G3-24: what is there is told all the same."""
    write(tmp_path / f"{APP}.inprogress", *EVENTS)
    evidence = event_log_evidence(tmp_path, APP, wait_s=0.1)
    assert evidence["tasks"] == 2
    assert "has no end" in evidence["problem"]
