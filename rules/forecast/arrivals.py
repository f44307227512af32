"""Jobs to come: those of the recent past, and of the same time of recent days, once more.

Blocks of arrivals are drawn, not single jobs, since jobs come in bursts. Only what was seen is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rules.forecast.observation import Observation, SeenJob

__all__ = ["Arrival", "next_arrivals"]

_DAY_S = 86_400.0
_MOST_DAYS = 7
_BLOCK_S = 120.0
_RECENT_S = 1_800.0
"""How far back the recent past goes: long enough for a few bursts, short enough for one regime."""
_SAME_TIME = 0.5
"""The share of blocks taken from the same time of recent days, where there are such days."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """A job to come: when, in seconds from now, and the job that it is a copy of."""

    after_s: float
    like: SeenJob


def next_arrivals(
    seen: Observation, span_s: float, random: np.random.Generator, *, in_order: bool = False, rate: float = 1.0
) -> tuple[Arrival, ...]:
    """Draws the arrivals of the next ``span_s`` seconds.

    Args:
        seen: what was submitted so far.
        span_s: how far to look ahead.
        random: source of the draw.
        in_order: instead of drawing blocks, the recent past as it was, again and again until the span is full.
        rate: how many times as many jobs come in a second as came in the past.

    Returns:
        The arrivals in the order of their times; none where nothing was seen yet.
    """
    recent_s = min(seen.time_s - seen.since_s, _RECENT_S)
    if recent_s <= 0 or not seen.jobs:
        return ()
    submits = np.array([job.submit_s for job in seen.jobs])
    begin_s = seen.time_s - recent_s
    length_s = recent_s if in_order else min(_BLOCK_S, recent_s)
    days = int(min((seen.time_s - seen.since_s) // _DAY_S, _MOST_DAYS))
    found: list[Arrival] = []
    after_s, whole_s = 0.0, span_s * rate
    while after_s < whole_s:
        take_s = min(length_s, whole_s - after_s)
        source_s = begin_s if in_order else begin_s + float(random.random()) * (recent_s - length_s)
        if days and not in_order and random.random() < _SAME_TIME:
            same_time_s = seen.time_s + after_s / rate - _DAY_S * int(random.integers(1, days + 1))
            source_s = same_time_s if same_time_s + take_s <= seen.time_s else source_s
        found += _block(seen.jobs, submits, source_s, take_s, after_s)
        after_s += take_s
    return tuple(Arrival(arrival.after_s / rate, arrival.like) for arrival in found)


def _block(
    jobs: Sequence[SeenJob], submits: np.ndarray[tuple[int, ...], np.dtype[np.float64]], source_s: float,
    take_s: float, after_s: float,
) -> list[Arrival]:  # fmt: skip
    first, last = np.searchsorted(submits, [source_s, source_s + take_s])
    return [Arrival(after_s + job.submit_s - source_s, job) for job in jobs[first:last]]
