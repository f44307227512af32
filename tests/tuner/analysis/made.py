"""Event logs made event by event, read by the real reader."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.tuner.eventlog.synthetic import START, event, write
from tuner.analysis import Analysis, Finding, analyze
from tuner.spark.eventlog import ApplicationLog, read_log

MIB = 1024**2
YARN = {"spark.master": "yarn", "spark.submit.deployMode": "cluster"}


class Log:
    """Events of one application, in the order in which they are added; times are ms after its start."""

    def __init__(self, conf: dict[str, str] | None = None, *, version: str = "3.5.0", name: str = "made") -> None:
        start = {"App Name": name, "App ID": "application_1700000000000_0001", "Timestamp": START, "User": "u"}
        self.events = [event("SparkListenerLogStart", **{"Spark Version": version})]
        if conf is not None:
            self.events.append(event("SparkListenerEnvironmentUpdate", **{"Spark Properties": {**YARN, **conf}}))
        self.events.append(event("SparkListenerApplicationStart", **start))
        self._tasks = 0

    def executors(self, count: int, *, cores: int = 1, added: int = 5_000, first: int = 1) -> Log:
        for number in range(first, first + count):
            info = {"Host": f"host-{number}", "Total Cores": cores}
            fields = {"Timestamp": START + added, "Executor ID": str(number), "Executor Info": info}
            self.events.append(event("SparkListenerExecutorAdded", **fields))
        return self

    def removed(self, executor: int, reason: str, *, at: int = 50_000) -> Log:
        fields = {"Timestamp": START + at, "Executor ID": str(executor), "Removed Reason": reason}
        self.events.append(event("SparkListenerExecutorRemoved", **fields))
        return self

    def driver_heap(self, mib: int) -> Log:
        updates = [{"Stage ID": -1, "Stage Attempt ID": -1, "Executor Metrics": memory(heap_mib=mib)}]
        fields = {"Executor ID": "driver", "Metrics Updated": [], "Executor Metrics Updated": updates}
        self.events.append(event("SparkListenerExecutorMetricsUpdate", **fields))
        return self

    def sql(self) -> Log:
        fields = {"executionId": 0, "description": "query", "time": START + 5_000}
        self.events.append(event("org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart", **fields))
        return self

    def job(self, *, failed: str | None = None) -> Log:
        self.events.append(event("SparkListenerJobStart", **{"Job ID": 0, "Submission Time": START, "Stage IDs": [0]}))
        result: dict[str, Any] = {"Result": "JobSucceeded"}
        if failed is not None:
            result = {"Result": "JobFailed", "Exception": {"Message": failed, "Stack Trace": []}}
        fields = {"Job ID": 0, "Completion Time": START + 90_000, "Job Result": result}
        self.events.append(event("SparkListenerJobEnd", **fields))
        return self

    def task(
        self,
        stage: int,
        launch: int,
        duration: int,
        *,
        executor: int = 1,
        reason: dict[str, str] | None = None,
        memory: dict[str, int] | None = None,
        shuffle_mib: float = 0,
        input_mib: float = 0,
        **metrics: Any,
    ) -> Log:
        info = {
            "Task ID": self._tasks,
            "Index": self._tasks,
            "Attempt": 0,
            "Launch Time": START + launch,
            "Finish Time": START + launch + duration,
            "Executor ID": str(executor),
            "Failed": reason is not None,
            "Accumulables": [],
        }
        numbers: dict[str, Any] = {"Executor Run Time": duration, "Executor CPU Time": 1, **metrics}
        if shuffle_mib:
            numbers["Shuffle Read Metrics"] = {"Local Bytes Read": round(shuffle_mib * MIB), "Total Records Read": 1}
        if input_mib:
            numbers["Input Metrics"] = {"Bytes Read": round(input_mib * MIB), "Records Read": 1}
        fields: dict[str, Any] = {
            "Stage ID": stage,
            "Stage Attempt ID": 0,
            "Task End Reason": reason or {"Reason": "Success"},
            "Task Info": info,
            "Task Metrics": numbers,
        }
        if memory is not None:
            fields["Task Executor Metrics"] = memory
        self.events.append(event("SparkListenerTaskEnd", **fields))
        self._tasks += 1
        return self

    def stage(self, number: int, tasks: int, *, at: int = 10_000, rdds: list[dict[str, Any]] | None = None) -> Log:
        info: dict[str, Any] = {
            "Stage ID": number,
            "Stage Attempt ID": 0,
            "Stage Name": f"count at job.py:{number}",
            "Number of Tasks": tasks,
            "RDD Info": rdds or [],
            "Submission Time": START + at,
            "Completion Time": START + 90_000,
        }
        self.events.append(event("SparkListenerStageCompleted", **{"Stage Info": info}))
        return self

    def cached_blocks(self, rdd: int, partitions: int, mib: float) -> Log:
        level = {"Use Disk": False, "Use Memory": True, "Deserialized": True, "Replication": 1}
        for number in range(partitions):
            block = {"Block ID": f"rdd_{rdd}_{number}", "Storage Level": level, "Memory Size": round(mib * MIB)}
            self.events.append(event("SparkListenerBlockUpdated", **{"Block Updated Info": block}))
        return self

    def end(self, after: int = 100_000) -> Log:
        self.events.append(event("SparkListenerApplicationEnd", Timestamp=START + after))
        return self

    def read(self, folder: Path) -> ApplicationLog:
        return read_log(write(folder / "application_1700000000000_0001", *self.events))

    def analyze(self, folder: Path, *, increment_mib: int = 1024, pinned: frozenset[str] = frozenset()) -> Analysis:
        return analyze(self.read(folder), increment_mib=increment_mib, pinned=pinned)


def rdd(number: int, partitions: int, *, disk: bool = False, name: str = "cached") -> dict[str, Any]:
    return {
        "RDD ID": number,
        "Name": name,
        "Storage Level": {"Use Disk": disk, "Use Memory": True, "Deserialized": True, "Replication": 1},
        "Number of Partitions": partitions,
    }


def memory(*, unified_mib: int = 0, heap_mib: int = 0, jvm_rss_mib: int = 0, python_rss_mib: int = 0) -> dict[str, int]:
    return {
        "JVMHeapMemory": heap_mib * MIB,
        "OnHeapUnifiedMemory": unified_mib * MIB,
        "ProcessTreeJVMRSSMemory": jvm_rss_mib * MIB,
        "ProcessTreePythonRSSMemory": python_rss_mib * MIB,
    }


def found(analysis: Analysis, heuristic: str) -> list[Finding]:
    return [finding for finding in analysis.findings if finding.id == heuristic]


def conf(analysis: Analysis) -> dict[str, str]:
    return analysis.configuration.settings(analysis.case.facts)
