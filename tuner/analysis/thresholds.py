"""Every number at which a finding begins, in one table: name, value, unit, reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tuner.model.memory_need import DEFAULT_POLICY


@dataclass(frozen=True)
class Threshold:
    """One number that decides, and why it is this one."""

    value: float
    unit: str
    reason: str


THRESHOLDS: Final[dict[str, Threshold]] = {
    "memory-margin": Threshold(
        DEFAULT_POLICY.margin, "times", "peaks are sampled at heartbeats (10 s), so that a short one is missed"
    ),
    "memory-step-down": Threshold(
        DEFAULT_POLICY.largest_step_down, "share", "a heap's need is an estimate: the next run shows whether it holds"
    ),
    "gc-low": Threshold(DEFAULT_POLICY.gc_low, "share of run time", "a smaller heap collects more often"),
    "gc-high": Threshold(DEFAULT_POLICY.gc_high, "share of run time", "where Spark's own pages turn red"),
    "gc-min": Threshold(DEFAULT_POLICY.gc_min_s, "s", "every JVM collects while it warms up"),
    "heap-filled": Threshold(
        DEFAULT_POLICY.heap_filled, "share of the heap", "a heap that never filled is not what makes its collector work"
    ),
    "raise-after-gc": Threshold(DEFAULT_POLICY.raise_after_gc, "times", "one step, as time is lost but the run ends"),
    "raise-after-failure": Threshold(
        DEFAULT_POLICY.raise_after_failure, "times", "how much was missing is not known; a second failure costs a run"
    ),
    "near-limit": Threshold(DEFAULT_POLICY.near_limit, "share", "YARN kills at 1, and peaks are sampled"),
    "stage-share": Threshold(0.05, "share of task time", "nobody waits for a stage that is smaller"),
    "skew-ratio": Threshold(3.0, "times", "longest task to median; also largest read to mean, as dr-elephant has it"),
    "skew-min-tasks": Threshold(4, "tasks", "a median of fewer says nothing"),
    "skew-min-gain": Threshold(5.0, "s", "less is within a run's noise"),
    "spill-min": Threshold(64, "MiB", "a single sorter that spills once costs nothing"),
    "spill-share": Threshold(0.05, "of bytes read", "spill beside much larger reads is not what costs time"),
    "partition-target": Threshold(128, "MiB", "of shuffle data a task: large enough to keep its start-up cheap"),
    "partition-most": Threshold(20_000, "partitions", "the driver keeps state for each task of a stage"),
    "partition-most-growth": Threshold(8, "times", "one step; spill is measured in memory, partitions on disk"),
    "idle-slots-share": Threshold(0.25, "share of slots", "one slot of many without a task costs nothing"),
    "long-task": Threshold(10.0, "s", "median; splitting shorter tasks gains less than it costs"),
    "tiny-task": Threshold(0.2, "s", "median; below it launching costs as much as running"),
    "tiny-tasks-min": Threshold(4, "tasks a slot", "fewer waves of short tasks cost no time that matters"),
    "small-input": Threshold(8, "MiB", "mean input of a task: a sixteenth of Spark's 128 MiB"),
    "small-input-min-tasks": Threshold(100, "tasks", "fewer small files cost seconds"),
    "result-share": Threshold(0.8, "of maxResultSize", "more data, or more tasks, and the action fails"),
    "result-by-count": Threshold(0.25, "MiB", "mean result below which the number of tasks, not a collect, fills it"),
    "result-cut": Threshold(0.5, "times", "so that the same plan stays at half the limit"),
    "idle-share": Threshold(0.5, "share of task slots", "half of what is reserved does nothing"),
    "idle-min-wall": Threshold(30.0, "s", "in a shorter run start-up is most of the idle time"),
    "driver-margin": Threshold(2.0, "times", "its heap is sampled seldom, and a driver that dies ends the application"),
    "driver-share": Threshold(0.5, "share of wall time", "executors are reserved while no task runs"),
    "driver-min": Threshold(30.0, "s", "every application starts and ends without tasks"),
    "wait-share": Threshold(0.2, "share of wall time", "waiting dominates what tuning the tasks could gain"),
    "wait-min": Threshold(15.0, "s", "a container and its JVM take about so long on an idle cluster"),
    "short-life": Threshold(30.0, "s", "an executor that lives less has hardly paid for its start"),
    "short-lives": Threshold(0.3, "share of executors", "a few are always short"),
    "fetch-share": Threshold(0.1, "share of run time", "as for garbage collection"),
    "rounding-share": Threshold(0.05, "of the container", "less is not worth a change"),
    "most-shown": Threshold(3, "findings", "of one heuristic; the largest stages come first"),
    "cache-min": Threshold(16, "MiB", "a smaller cache costs nothing, whatever its level"),
    "cache-min-gain": Threshold(1.0, "s of task time", "less is within the estimate's error"),
    "cache-disk-rate": Threshold(100, "MiB/s", "one task on a local disk, where the log does not show its own rate"),
    "cache-serial-rate": Threshold(150, "MiB/s", "one core reading Java- or Kryo-serialized objects"),
    "cache-serial-ratio": Threshold(2.5, "times", "objects on the heap against serialized ones (tuning guide: 2 to 5)"),
}
"""The table; ``docs/analyze.md`` repeats it, and a test holds the two together."""


def limit(name: str) -> float:
    """The value of one threshold."""
    return THRESHOLDS[name].value
