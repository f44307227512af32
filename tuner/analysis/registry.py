"""Every heuristic: its id, its title, what it needs of a log, and what it tells; a literal table.

``docs/analyze.md`` has a paragraph for each, and a test holds the two together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from tuner.analysis.case import Case
from tuner.analysis.facts import Facts, Platform
from tuner.analysis.heuristics import executors, failed, memory, storage, tasks
from tuner.analysis.model import Observation


class Need(StrEnum):
    """What a log must have for a heuristic to judge it; the value says what is missing."""

    PROPERTIES = "the log does not say the Spark properties"
    TASKS = "tasks are missing from the log"
    WHOLE_RUN = "the log does not hold the whole run"
    CLUSTER = "it ran in one JVM, without executors of its own"
    SIZES = "the executors' sizes are not known, or of several profiles"


@dataclass(frozen=True)
class Heuristic:
    """One row: what it is called, what it needs, and the function that looks."""

    id: str
    title: str
    needs: tuple[Need, ...]
    look: Callable[[Case], Iterator[Observation]]


def missing(need: Need, case: Case) -> bool:
    """Whether a log lacks it."""
    facts: Facts = case.facts
    if need is Need.PROPERTIES:
        return not facts.log.properties
    if need is Need.TASKS:
        return facts.lost_tasks or facts.log.totals.tasks == 0
    if need is Need.WHOLE_RUN:
        return not facts.whole
    if need is Need.CLUSTER:
        return facts.platform is Platform.LOCAL
    return case.memory is None


_P, _T, _W, _C, _S = Need.PROPERTIES, Need.TASKS, Need.WHOLE_RUN, Need.CLUSTER, Need.SIZES

HEURISTICS: Final[tuple[Heuristic, ...]] = (
    Heuristic("memory-failures", "Executors or tasks ran out of memory", (), failed.memory_failures),
    Heuristic("virtual-memory", "Containers killed for virtual memory", (), failed.virtual_memory),
    Heuristic("result-size", "Results at the limit of the driver", (_P,), tasks.result_size),
    Heuristic("application-errors", "Exceptions of the application", (), failed.application_errors),
    Heuristic("lost-executors", "Executors lost, or tasks failed with them", (), failed.lost_executors),
    Heuristic("near-limit", "Containers nearly full", (_C, _P, _S), memory.near_limit),
    Heuristic("garbage-collection", "Time lost to garbage collection", (_T,), memory.garbage_collection),
    Heuristic("heap-oversized", "Heap reserved and not used", (_C, _P, _W, _S), memory.heap_oversized),
    Heuristic("overhead-oversized", "Overhead reserved and not used", (_C, _P, _W, _S), memory.overhead_oversized),
    Heuristic("driver-oversized", "Driver reserved and not used", (_P, _W), memory.driver_oversized),
    Heuristic("rounding", "Memory lost to rounding", (_C, _P, _S), memory.rounding),
    Heuristic("skew", "Skewed stages", (), tasks.skew),
    Heuristic("spill", "Stages that spill", (), tasks.spill),
    Heuristic("idle-slots", "Too few partitions", (_C, _P), tasks.idle_slots),
    Heuristic("tiny-tasks", "Too many partitions", (_P,), tasks.tiny_tasks),
    Heuristic("small-files", "Small input files or splits", (), tasks.small_files),
    Heuristic("idle-executors", "Executors reserved and idle", (_C, _P, _W), executors.idle_executors),
    Heuristic("driver-alone", "The driver works alone", (_W,), executors.driver_alone),
    Heuristic("waiting", "A long wait for the first task", (_C, _T), executors.waiting),
    Heuristic("short-lives", "Executors given back too soon", (_C, _P), executors.short_lives),
    Heuristic("fetch-wait", "Tasks wait for shuffle data", (_T,), executors.fetch_wait),
    Heuristic("cached-data", "Cached data at the wrong storage level", (_T,), storage.cached_data),
    Heuristic("untraced-cache", "Cached data of which the log says nothing", (), storage.untraced_cache),
)
"""In the order in which a report has findings of the same severity."""
