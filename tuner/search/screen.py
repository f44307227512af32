"""Which properties beyond the core ones a search takes up: those that the first run's event log gives a reason for.

Each row of the table says what share of a run's time a property could have a say in, by rough figures of what a core
gets through; a run that shows none leaves the property alone. Few are taken, since each costs trials.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Final

from tuner.spark.metrics import RunMetrics

__all__ = ["SCREENED", "Admitted", "screen"]

MOST_ADMITTED: Final = 3
LEAST_SHARE: Final = 0.03
"""Less of the time than that is lost in the noise of single runs."""
_COMPRESSED_BYTES_S: Final = 150.0e6
"""What a core compresses and reads back in a second, of all codecs about."""
_DISK_BYTES_S: Final = 100.0e6
"""What a core spills and reads back in a second."""
_SHORT_TASK_S: Final = 0.5
_SCAN_BYTES: Final = 256 * 1024**2


@dataclass(frozen=True)
class Admitted:
    """A property to search, and why.

    Attributes:
        name: of the property.
        value: what to try first, as Spark reads it.
        share: the part of the tasks' time that it could have a say in, in (0, 1].
        reason: half a sentence.
    """

    name: str
    value: str
    share: float
    reason: str


_Evidence = tuple[float, str] | None
"""A share and a reason; None where nothing speaks for the property."""


def _gib(count: int) -> str:
    return f"{count / 1024**3:.1f} GiB"


def _shuffled(metrics: RunMetrics) -> _Evidence:
    moved = metrics.shuffle_write_bytes + metrics.shuffle_read_bytes
    return moved / _COMPRESSED_BYTES_S / metrics.task_s, f"{_gib(moved)} go through the shuffle"


def _waited(metrics: RunMetrics) -> _Evidence:
    share = metrics.fetch_wait_s / metrics.task_s
    return share, f"tasks wait for shuffled data in {share:.0%} of their time"


def _spilled(metrics: RunMetrics) -> _Evidence:
    if not metrics.cached_bytes or not metrics.disk_spill_bytes:
        return None
    share = 2 * metrics.disk_spill_bytes / _DISK_BYTES_S / metrics.task_s
    return (
        share,
        f"{_gib(metrics.disk_spill_bytes)} are spilled beside {_gib(metrics.cached_bytes)} cached",
    )


def _short(metrics: RunMetrics) -> _Evidence:
    """Many short tasks after a shuffle: adaptive execution keeps them apart while it puts parallelism first."""
    mean_s = metrics.task_s / metrics.tasks
    if not metrics.shuffle_read_bytes or mean_s > _SHORT_TASK_S:
        return None
    share = max(0.0, metrics.task_s - metrics.executor_run_s) / metrics.task_s
    return share, f"{metrics.tasks} tasks take {mean_s:.2f} s on average, {share:.0%} of it around the work"


def _scanned(metrics: RunMetrics) -> _Evidence:
    """Large scans: how they are cut is the parallelism of all that comes before the first shuffle."""
    if metrics.input_bytes < _SCAN_BYTES:
        return None
    share = metrics.input_bytes / _DISK_BYTES_S / metrics.task_s
    return share, f"{_gib(metrics.input_bytes)} are read from files"


SCREENED: Final[dict[str, tuple[str, Callable[[RunMetrics], _Evidence]]]] = {
    "spark.io.compression.codec": ("zstd", _shuffled),
    "spark.reducer.maxSizeInFlight": ("96m", _waited),
    "spark.memory.storageFraction": ("0.3", _spilled),
    "spark.sql.adaptive.coalescePartitions.parallelismFirst": ("false", _short),
    "spark.sql.files.maxPartitionBytes": ("256m", _scanned),
}
"""The properties that a search may take up: the other value that is tried first, and what speaks for it. None of them
can make a run fail, or write its output twice, as speculation could."""


def screen(metrics: RunMetrics, names: Collection[str]) -> tuple[Admitted, ...]:
    """The properties that are worth a place in the search.

    Args:
        metrics: of the first run.
        names: those that could be searched: not pinned, and with an effect under the present configuration.

    Returns:
        At most :data:`MOST_ADMITTED`, those with the largest share first.
    """
    if not metrics.tasks or not metrics.task_s:
        return ()
    found = []
    for name, (value, evidence) in SCREENED.items():
        seen = evidence(metrics) if name in names else None
        if seen is not None and seen[0] >= LEAST_SHARE:
            found.append(Admitted(name, value, min(seen[0], 1.0), seen[1]))
    return tuple(sorted(found, key=lambda each: -each.share)[:MOST_ADMITTED])
