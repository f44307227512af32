"""Small logs made by hand, for what no real log shows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

START = 1_700_000_000_000


def event(name: str, **fields: Any) -> dict[str, Any]:
    return {"Event": name, **fields}


def application(app_id: str = "application_1_0001", attempt: str | None = None) -> list[dict[str, Any]]:
    start = event("SparkListenerApplicationStart", **{"App Name": "made", "App ID": app_id, "Timestamp": START})
    if attempt:
        start["App Attempt ID"] = attempt
    return [event("SparkListenerLogStart", **{"Spark Version": "3.5.0"}), start]


def executor(executor_id: str, added: int = 0, cores: int = 1) -> dict[str, Any]:
    info = {"Host": f"host-{executor_id}", "Total Cores": cores}
    fields = {"Timestamp": START + added, "Executor ID": executor_id, "Executor Info": info}
    return event("SparkListenerExecutorAdded", **fields)


def task(
    number: int, launch: int = 1000, finish: int = 2000, stage: int = 0, executor_id: str = "1", **metrics: Any
) -> dict[str, Any]:
    info = {
        "Task ID": number,
        "Index": number,
        "Attempt": 0,
        "Launch Time": START + launch,
        "Finish Time": START + finish,
        "Executor ID": executor_id,
        "Accumulables": [],
    }
    fields = {
        "Stage ID": stage,
        "Stage Attempt ID": 0,
        "Task End Reason": {"Reason": "Success"},
        "Task Info": info,
        "Task Metrics": {"Executor Run Time": finish - launch, "Executor CPU Time": 7, **metrics},
    }
    return event("SparkListenerTaskEnd", **fields)


def stage(number: int, tasks: int, completed: int | None = None, attempt: int = 0) -> dict[str, Any]:
    info: dict[str, Any] = {
        "Stage ID": number,
        "Stage Attempt ID": attempt,
        "Stage Name": f"stage {number}",
        "Number of Tasks": tasks,
        "Submission Time": START + 500,
    }
    if completed is not None:
        info["Completion Time"] = START + completed
    return event(f"SparkListenerStage{'Submitted' if completed is None else 'Completed'}", **{"Stage Info": info})


def end(after: int = 10_000) -> dict[str, Any]:
    return event("SparkListenerApplicationEnd", Timestamp=START + after)


def text(*events: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(each, separators=(",", ":")).encode() + b"\n" for each in events)


def write(path: Path, *events: dict[str, Any]) -> Path:
    path.write_bytes(text(*events))
    return path
