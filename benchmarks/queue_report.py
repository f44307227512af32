"""What ``benchmarks/queues.py`` found, as Markdown."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.page import table
from tuner.files import write_text_atomically

__all__ = ["write_report"]

_HEAD = """\
# Queue tuner

`make bench-queues` writes this page. Windows of real traces (Facebook 2009, hours; Google 2011, 300 s), on as many
nodes as make the offered load 0.75 (application masters not counted), are run four ways and **replayed through Hadoop
3.4.2's own scheduler**, which knows nothing of the estimator; latencies are in seconds.

- **default**: equal parts, otherwise the scheduler's defaults.
- **clock**: capacities (weights) set four times, in proportion to the work that really came in, 10 % at least; all
  else default. What an administrator with a calendar does, with hindsight.
- **optimize**: `yarntune scheduler optimize --guard none`, one configuration for a whole window that it knows.
- **adaptive**: `yarntune scheduler backtest --guard none`, which at each time knows the past only; a decision every
  120 s (Google: 60 s).

Each window has queues by team (mixed jobs of three teams; the busiest changes at half-time), by size of job, or as
recorded; jobs take a container per task, or executors as Spark does. Not every combination is there; those that are
stand in the table.
"""


def write_report(path: Path, found: Mapping[str, Mapping[str, Any]], names: Sequence[str]) -> None:
    """Writes the page.

    Args:
        path: of the page.
        found: results by part.
        names: all parts; those without a result are named as missing.
    """
    ways = {name: part for name, part in found.items() if "ways" in part}
    searches = {name.removeprefix("search: "): part for name, part in found.items() if name.startswith("search: ")}
    trees = [part for name, part in found.items() if name.startswith("tree: ")]
    lines = [_HEAD, f"Machine: {os.cpu_count()} CPUs, {platform.system()}, Python {platform.python_version()}.", ""]
    missing = [name for name in names if name not in found]
    if missing:
        lines += [f"Not run: {', '.join(missing)}.", ""]
    if ways:
        lines += ["## Latency", "", *_latencies(ways), "", "## Goals", "", *_goals(ways), "", *_effort(ways), ""]
    if searches:
        lines += ["## Against random and local search", "", *_searches(searches), ""]
    if trees:
        lines += ["## Large hierarchies", "", *_trees(trees), ""]
    write_text_atomically(path, "\n".join(lines).rstrip() + "\n")


_LEAST_GAIN = 2.22
_WAYS = ("static", "clock", "optimize", "adaptive")


def _latencies(ways: Mapping[str, Mapping[str, Any]]) -> list[str]:
    header = ["window", "jobs", "nodes"]
    header += [f"{'default' if way == 'static' else way}: mean / median / p95" for way in _WAYS]
    header += ["optimize, times", "adaptive, times"]
    rows = []
    for name, part in ways.items():
        cells = [_cell(part["ways"][way]) for way in _WAYS]
        gains = [_times(part, way) for way in ("optimize", "adaptive")]
        rows.append([name, str(part["jobs"]), str(part["nodes"]), *cells, *(f"{gain:.2f}" for gain in gains)])
    words = "\"times\": the default's mean divided by this one's; jobs without an end are counted in brackets."
    return [*table(header, rows), "", words]


def _cell(way: Mapping[str, Any]) -> str:
    if "error" in way:
        return f"not replayed: {way['error']}"
    unfinished = f" [{way['unfinished']}]" if way["unfinished"] else ""
    return f"{way['mean']:.1f} / {way['median']:.1f} / {way['p95']:.1f}{unfinished}"


def _times(part: Mapping[str, Any], way: str) -> float:
    before, after = part["ways"]["static"], part["ways"][way]
    return float(before["mean"] / after["mean"]) if "error" not in before and "error" not in after else float("nan")


def _goals(ways: Mapping[str, Mapping[str, Any]]) -> list[str]:
    teams = {name: part for name, part in ways.items() if "by team" in name and name.endswith("(capacity)")}
    others = {name: part for name, part in ways.items() if name not in teams}
    adaptive = {name: _times(part, "adaptive") for name, part in teams.items()}
    optimized = {name: _times(part, "optimize") for name, part in teams.items()}
    lines = []
    if teams:
        values, best = list(adaptive.values()), list(optimized.values())
        low = [
            f"{name} ({gain:.2f}; {optimized[name]:.2f} with hindsight)"
            for name, gain in adaptive.items()
            if gain < _LEAST_GAIN
        ]
        lines += [
            f"- Capacity, by team, adaptive: {np.mean(values):.2f} times lower on average over the windows (goal 3): "
            f"{_verdict(np.mean(values) >= 3)}; {max(values):.2f} at best (goal 6): {_verdict(max(values) >= 6)}; "
            f"never under {_LEAST_GAIN}: {_verdict(not low)}" + (f", under it: {', '.join(low)}" if low else "") + ".",
            f"- Capacity, by team, `optimize`: {np.mean(best):.2f} times lower on average (goal 4.5): "
            f"{_verdict(np.mean(best) >= 4.5)}.",
        ]
    for way in ("adaptive", "optimize"):
        worse = [f"{name} ({_times(part, way):.2f})" for name, part in ways.items() if _is_worse(part, way)]
        lines.append(
            f"- {way} never above the default, on any window: {_verdict(not worse)}"
            + (f"; above it: {', '.join(worse)}" if worse else "")
            + "."
        )
    if others:
        gains = [_times(part, "optimize") for part in others.values()]
        lines.append(f"- All other windows, `optimize`: {np.mean(gains):.2f} times lower on average.")
    return lines


def _is_worse(part: Mapping[str, Any], way: str) -> bool:
    before, after = part["ways"]["static"], part["ways"][way]
    if "error" in before or "error" in after:
        return True
    return bool((after["unfinished"], after["mean"]) > (before["unfinished"], before["mean"] * (1 + 1e-9)))


def _verdict(met: bool) -> str:
    return "met" if met else "**missed**"


def _effort(ways: Mapping[str, Mapping[str, Any]]) -> list[str]:
    header = [
        "window",
        "optimize, s",
        "of the cluster",
        "of one leaf",
        "predicted, s",
        "replayed, s",
        "updates",
        "backtest, s",
    ]
    rows = [
        [
            name,
            f"{part['optimize_s']:.1f}",
            str(part["evaluations"]),
            str(part["leaf_evaluations"]),
            f"{part['predicted']:.2f}",
            f"{part['ways']['optimize'].get('mean', float('nan')):.2f}",
            str(part["updates"]),
            f"{part['backtest_s']:.0f}",
        ]
        for name, part in ways.items()
    ]
    words = "Simulations that `optimize` made, the mean latency it predicted and the replay's, the closed loop:"
    return [words, "", *table(header, rows)]


def _searches(searches: Mapping[str, Mapping[str, Any]]) -> list[str]:
    header = ["window", "default", "optimize", "simulations", "s", "random + local", "simulations", "s", "optimize is"]
    rows = []
    for name, part in searches.items():
        gap = 100.0 * (part["optimize"] / part["baseline"] - 1.0)
        rows.append(
            [
                name,
                f"{part['default']:.2f}",
                f"{part['optimize']:.2f}",
                f"{part['evaluations']} (+{part['leaf_evaluations']} of one leaf)",
                f"{part['seconds']:.1f}",
                f"{part['baseline']:.2f}",
                str(part["baseline_evaluations"]),
                f"{part['baseline_seconds']:.0f}",
                f"{abs(gap):.2f} % {'worse' if gap > 0 else 'better'}",
            ]
        )
    missed = [
        name
        for name, part in searches.items()
        if part["optimize"] > 1.003 * part["baseline"] or part["evaluations"] > part["baseline_evaluations"] / 10
    ]
    return [
        "Mean latency as the estimator has it. The other search draws configurations at random for a fifth of its time",
        "and climbs from the best ones for the rest: same estimator, same knobs (`benchmarks/queue_baseline.py`).",
        "",
        *table(header, rows),
        "",
        f"Goal: at most 0.3 % worse, in a tenth of its simulations: {_verdict(not missed)}"
        + (f"; not on {', '.join(missed)}" if missed else "")
        + ".",
    ]


def _trees(trees: Sequence[Mapping[str, Any]]) -> list[str]:
    header = ["leaf queues", "jobs", "nodes", "mean before", "unfinished", "limited, s", "mean after", "to the end, s",
              "of the cluster", "of one leaf", "mean after"]  # fmt: skip
    rows = [
        [
            str(part["leaves"]),
            str(part["jobs"]),
            str(part["nodes"]),
            f"{part['before']:.1f}",
            f"{part['unfinished'][0]} -> {part['unfinished'][1]}",
            f"{part['seconds']:.1f}",
            f"{part['after']:.1f}",
            f"{part['whole_seconds']:.1f}",
            str(part["whole_evaluations"]),
            str(part["whole_leaf_evaluations"]),
            f"{part['whole_after']:.1f}",
        ]
        for part in trees
    ]
    slowest = max(float(part["seconds"]) for part in trees)
    sizes, seconds = ([float(part[key]) for part in trees] for key in ("leaves", "whole_seconds"))
    exponent = float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0]) if len(trees) > 1 else float("nan")
    return [
        "Three levels, equal parts, jobs of very unequal queues. `limited`: the search ends after 40 s, as that of the",
        "command does unless told otherwise; `to the end`: without a limit. Seconds of CPU.",
        "",
        *table(header, rows),
        "",
        f"Goal: 60 s at most: {_verdict(slowest <= 60)}. A search to its end takes time by the queues to the power",
        f"of {exponent:.2f} (goal: no worse than linear): {_verdict(exponent <= 1.05)}.",
    ]
