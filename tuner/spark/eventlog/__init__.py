"""Spark's event logs: finding, reading and adding them up."""

from tuner.spark.eventlog.files import find_log, find_logs
from tuner.spark.eventlog.model import (
    ApplicationLog,
    ExecutorLog,
    JobLog,
    LogState,
    MemoryPeaks,
    RddInfo,
    ResourceProfile,
    SqlExecution,
    StageLog,
    TaskFailure,
)
from tuner.spark.eventlog.parallel import ReadResult, read_logs
from tuner.spark.eventlog.properties import lookup, mask
from tuner.spark.eventlog.reader import read_log
from tuner.spark.eventlog.tasks import TaskSample, TaskTotals

__all__ = [
    "ApplicationLog",
    "ExecutorLog",
    "JobLog",
    "LogState",
    "MemoryPeaks",
    "RddInfo",
    "ReadResult",
    "ResourceProfile",
    "SqlExecution",
    "StageLog",
    "TaskFailure",
    "TaskSample",
    "TaskTotals",
    "find_log",
    "find_logs",
    "lookup",
    "mask",
    "read_log",
    "read_logs",
]
